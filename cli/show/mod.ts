export { describe, type ModelSummary, summarize } from "./model_summary.ts";
export { lookAt, type Looked, type LookedAt } from "./overview.ts";
export {
  type CardEstimate,
  estimateOf,
  estimateRows,
  fileRows,
  originRows,
  recordAsJson,
  type Row,
  rowsOf,
  templateOrigin,
} from "./show_origin.ts";
export { templateText } from "./show_template.ts";
export { flat, jsonValue, showValue } from "./show_values.ts";
