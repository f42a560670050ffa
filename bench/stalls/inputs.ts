/**
 * What strangers send to stall a server: each is cheap to send, within the limit of a body, and known to have cost
 * much, or likely to.
 *
 * @module
 */
import { BODIES, FIELDS, INFILL, TOKENS } from "./bodies.ts";
import { EXPRESSIONS, SCHEMAS } from "./constraints.ts";
import { CONVERSATIONS } from "./conversations.ts";
import type { Input } from "./input.ts";

const page = (path: string): Input => ({ name: `GET ${path}`, path, body: () => "" });

/** All that is known. */
export const INPUTS: readonly Input[] = [
  ...["/openapi.json", "/docs", "/metrics", "/slots", "/v1/models", "/api/tags", "/"].map(page),
  ...BODIES,
  ...TOKENS,
  ...INFILL,
  ...CONVERSATIONS,
  ...FIELDS,
  ...EXPRESSIONS,
  ...SCHEMAS,
];
