/** The default tag of Ollama's names. */
export const LATEST = ":latest";

/**
 * What is found by a name, or else by the same one without `:latest`: `llama` and `llama:latest` are one model, as long
 * as there are no two. Clients read names with tags in Ollama's lists, and ask for them in every dialect.
 */
export async function eitherName<T, Name extends string | undefined>(
  asked: Name,
  find: (name: Name) => T | Promise<T>,
): Promise<T> {
  try {
    return await find(asked);
  } catch (error) {
    const isLatest = asked !== undefined && asked.endsWith(LATEST) && isNotFound(error);
    if (!isLatest) throw error;
    try {
      return await find(asked.slice(0, -LATEST.length) as Name);
    } catch (other) {
      // Of the name that was asked for.
      throw isNotFound(other) ? error : other;
    }
  }
}

function isNotFound(error: unknown): boolean {
  return (error as { code?: unknown }).code === "model_not_found";
}
