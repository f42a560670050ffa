export { readJson } from "./body.ts";
export { type ConstraintFields, constraintFields, constraintOf } from "./constraint_fields.ts";
export { contentAsText } from "./content_as_text.ts";
export { effortBudget, effortFields, thinkingVariables } from "./effort.ts";
export {
  arrayOf,
  boolean,
  describe,
  ignored,
  integer,
  mostTokens,
  object,
  objectSchema,
  oneOf,
  optionalArrayOf,
  present,
  type Prompt,
  prompt,
  prompts,
  read,
  requiredInteger,
  requiredObject,
  streamOptions,
  string,
  strings,
  tokenIds,
  typeName,
  wants,
} from "./fields.ts";
export { encodeGap, gapTokens, requireFim, shorten } from "./fill_in_the_middle.ts";
export { notShown } from "./not_shown.ts";
export { parseBody, wrongField } from "./parse_body.ts";
export { markPrefix, PREFIX_HEADER } from "./prefix.ts";
export { engineRequest, samplingFields } from "./sampling_fields.ts";
export { argumentsText, wholeArguments } from "./tool_arguments.ts";
export { nameAt, objectAt, optionalStringAt, schemaAt, stringAt } from "./values.ts";
