export { applyTemplateRoute } from "./apply_template.ts";
export { llamaCompletionRoutes } from "./completion.ts";
export { llamaEmbeddingRoutes } from "./embedding.ts";
export { infillRoute } from "./infill.ts";
export { LLAMA_OPERATIONS } from "./operations.ts";
export { propsRoutes } from "./props.ts";
export { tokenRoutes } from "./tokens.ts";
