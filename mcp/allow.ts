import { isServerPattern } from "./names.ts";

/** Checks names that tools are allowed by. @throws What `refuse` makes, where one can be no tool's. */
export function checkAllow(
  names: readonly string[],
  refuse: (message: string) => Error,
): readonly string[] {
  for (const name of names) {
    if (/^[A-Za-z0-9_-]{1,64}$/.test(name) || isServerPattern(name)) continue;
    throw refuse(
      `got ${
        JSON.stringify(name.slice(0, 100))
      }; wanted SERVER__TOOL, or SERVER__* for all tools of a server`,
    );
  }
  return names;
}
