export { type ListedName, withAliases } from "./aliases.ts";
export { busy } from "./busy.ts";
export { eitherName, LATEST } from "./either_name.ts";
export { ManagedModels } from "./managed_models.ts";
export type { ListedModel, Models, ServedModel } from "./models.ts";
