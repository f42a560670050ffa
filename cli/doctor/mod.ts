/**
 * The door of this room: what the rest of the house may use of it.
 *
 * @module
 */
export { worst } from "./finding.ts";
export { asJson, asText, CODES, STATUS } from "./report.ts";
