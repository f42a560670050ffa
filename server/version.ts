import config from "../deno.json" with { type: "json" };

/** The version of m40, as `major.minor.patch`. */
export const VERSION: string = config.version;
