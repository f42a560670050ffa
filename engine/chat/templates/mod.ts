import { CHATML } from "./chatml.ts";

/** The templates that come with m40, by name. */
export const BUILT_IN_TEMPLATES: ReadonlyMap<string, string> = new Map([
  ["chatml", CHATML],
]);
