/**
 * The door of this room: what the rest of the house may use of it.
 *
 * @module
 */
export { buildNetworks, type BuiltNetworks, type Constraint, grammarOf } from "./constraint.ts";
export { Constraints } from "./constraints.ts";
export type { ContentTrack } from "./content_track.ts";
export { choiceOf, sequenceOf } from "./expressions.ts";
export type { Expression, Grammar } from "./grammar.ts";
export { MOST_SCHEMA_NODES, nodesOf } from "./grammar_size.ts";
export { heaviest, lighter, LIGHTER_STEPS } from "./json_schema/lighter_schema.ts";
export { Budget, tooMuch } from "./json_schema/limits.ts";
export { grammarOfSchema } from "./json_schema/mod.ts";
export { grammarOfTexts } from "./json_schema/plain_texts.ts";
export { relaxing } from "./json_schema/relaxed_schema.ts";
export { MergedRules } from "./merged_rules.ts";
export { MOST_NODES, Network } from "./network.ts";
export { buffersOf } from "./packed_network.ts";
export { MOST_PARTS } from "./rules.ts";
export { tokenTerminal } from "./token_terminals.ts";
