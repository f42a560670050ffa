import { isModelName, MAX_NAME_LENGTH } from "../names.ts";

/** Characters of a tag at most, where one is made up. */
const MAX_TAG = 40;

/**
 * A model's name made out of what something is called elsewhere: what a name cannot have becomes a
 * dash.
 */
export function plainName(text: string, tag?: string): string {
  const suffix = tag === undefined ? "" : `:${plain(tag).slice(0, MAX_TAG)}`;
  const name = plain(text).slice(0, MAX_NAME_LENGTH - suffix.length) + suffix;
  return isModelName(name) ? name : `model${isModelName(`model${suffix}`) ? suffix : ""}`;
}

function plain(text: string): string {
  return text.replace(/\.gguf$/i, "").replace(/[^A-Za-z0-9._-]+/g, "-").replace(
    /^[._-]+|(?<![.-])[.-]+$/g,
    "",
  );
}
