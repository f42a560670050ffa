/** The longest message that is read of a server, in bytes. */
export const MOST_MESSAGE_BYTES = 10 * 2 ** 20;
/** Tools of one server that a model is offered. */
export const MOST_TOOLS = 128;
/** Pages of its list of tools that a server is asked for. */
export const MOST_PAGES = 64;
/** The longest description of a tool, in characters. */
export const MOST_DESCRIPTION = 8192;
/** The longest JSON Schema of a tool's arguments, in characters of JSON. */
export const MOST_SCHEMA = 2 ** 16;
/** Tools of all servers that a model is offered: a request may have a few more. */
export const MOST_OFFERED = 500;
/** Characters of all their names, descriptions and schemas together; a request's may have a few more. */
export const MOST_CHARACTERS = 1_000_000;
/** How long looking at the schemas of all tools may take, in milliseconds. */
export const SCHEMAS_MS = 2000;
/** How long a server may take to end a session over HTTP, in milliseconds. */
export const FAREWELL_MS = 1000;
/** Characters of a tool's result that a model is given where nothing else is said. */
export const MOST_RESULT = 32_768;
/** Characters of what a server says of an error. */
export const MOST_REASON = 500;
