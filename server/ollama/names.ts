import { LATEST, type Models } from "../models/mod.ts";

/** A model's name as Ollama lists it: with a tag, which is `latest` where it has none. */
export function taggedName(name: string): string {
  return name.lastIndexOf(":") > name.lastIndexOf("/") ? name : name + LATEST;
}

/**
 * The own name of the model that a request asks for.
 *
 * @throws {HttpError | M40Error} for a model that there is not.
 */
export async function ownName(models: Models, asked: string | null | undefined): Promise<string> {
  return await models.nameOf(asked ?? undefined);
}
