export { isJsonObject, JsonNumber, numberOf } from "./json_number.ts";
export { define, mapMembers, orderedObject } from "./ordered_object.ts";
export {
  type BearableLoss,
  type JsonLimits,
  JsonTooMuch,
  type ParsedJson,
  parseInTurns,
  parseJson,
  parseWhole,
} from "./parse_json.ts";
