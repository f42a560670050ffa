export { worst } from "./finding.ts";
export { asJson, asText, CODES, STATUS } from "./report.ts";
