import type { Models } from "../models/models.ts";

const LATEST = ":latest";

/** A model's name as Ollama lists it: with a tag, which is `latest` where it has none. */
export function taggedName(name: string): string {
  return name.lastIndexOf(":") > name.lastIndexOf("/") ? name : name + LATEST;
}

/**
 * The own name of the model that a request asks for: `llama` and `llama:latest` are one model, as long as there are
 * no two.
 *
 * @throws {HttpError | M40Error} for a model that there is not.
 */
export async function ownName(models: Models, asked: string | null | undefined): Promise<string> {
  return await eitherName(asked ?? undefined, async (name) => await models.nameOf(name));
}

/** What is found by a name, or else by the same one without `:latest`. */
export async function eitherName<T>(
  asked: string | undefined,
  find: (name: string | undefined) => Promise<T>,
): Promise<T> {
  try {
    return await find(asked);
  } catch (error) {
    const isLatest = asked !== undefined && asked.endsWith(LATEST) && isNotFound(error);
    if (!isLatest) throw error;
    try {
      return await find(asked.slice(0, -LATEST.length));
    } catch (other) {
      // Of the name that was asked for.
      throw isNotFound(other) ? error : other;
    }
  }
}

function isNotFound(error: unknown): boolean {
  return (error as { code?: unknown }).code === "model_not_found";
}
