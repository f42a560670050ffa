import type { ListedModel, Models } from "./models.ts";

/** A name that lists show: a model's own, or an alias of it. */
export type ListedName<Model> = Model & {
  /** What requests may ask for; {@link ListedModel.name} is the model's own name. */
  readonly shown: string;
};

/** What is in a list of models: each by its own name, then each alias whose model is in the list. */
export function withAliases<Model extends Pick<ListedModel, "name">>(
  models: Models,
  listed: readonly Model[],
): ListedName<Model>[] {
  const byName = new Map(listed.map((model) => [model.name, model]));
  const aliases = [...models.catalogue?.aliases ?? []].flatMap(([shown, name]) => {
    const model = byName.get(name);
    return model === undefined ? [] : [{ ...model, shown }];
  });
  return [...listed.map((model) => ({ ...model, shown: model.name })), ...aliases];
}
