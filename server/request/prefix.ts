/**
 * A name for what a prompt begins with. Requests of one conversation have the same, so that a load
 * balancer, or a client that sends it back, can bring them to the replica that has computed it already.
 *
 * @module
 */
import { createHash } from "node:crypto";
import type { Context } from "hono";
import type { ServerEnv } from "../context.ts";

/** The header that answers bring it in, and requests may. */
export const PREFIX_HEADER = "X-M40-Prefix";

/** Characters of a prompt that is no conversation which its name is made of. */
export const PROMPT_CHARACTERS = 256;

/** Token ids of a prompt that its name is made of. */
export const PROMPT_TOKENS = 64;

/**
 * Characters that are hashed in the event loop, in a millisecond at most: another thread's turn and the way back cost
 * a request more processor time than all of its JSON.
 */
const SHORT = 256 * 1024;

/** What a request may bring: nothing that could be mistaken for another header, or fill a log. */
const BROUGHT = /^[A-Za-z0-9._~-]{1,64}$/;

/** The roles that speak before the first user does. */
const BEFORE_USER: ReadonlySet<unknown> = new Set(["system", "developer"]);

/**
 * Has the answer carry {@link PREFIX_HEADER}: what the request brought, else the name of what its body
 * begins with; nothing where neither is there.
 *
 * @param body The body of a request to any route that a model answers.
 */
export async function markPrefix(c: Context<ServerEnv>, body: object): Promise<void> {
  const brought = c.req.header(PREFIX_HEADER);
  if (brought !== undefined && BROUGHT.test(brought)) return c.set("prefix", brought);
  const prefix = promptPrefix(body);
  if (prefix !== "") c.set("prefix", await prefixOf(prefix));
}

/** The name of a prefix: 16 hexadecimal digits of the SHA-256 of its UTF-8. */
export async function prefixOf(prefix: string): Promise<string> {
  if (prefix.length <= SHORT) {
    return createHash("sha256").update(prefix).digest("hex").slice(0, 16);
  }
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(prefix));
  return new Uint8Array(digest, 0, 8).toHex();
}

/**
 * What stays the same over the turns of a conversation, in whichever dialect: the texts of its system
 * messages and of the first message of its user, one behind the other. Of a prompt that is no
 * conversation, its first {@link PROMPT_CHARACTERS} characters or {@link PROMPT_TOKENS} token ids.
 *
 * @returns "" where nothing identifies the request.
 */
export function promptPrefix(body: object): string {
  const { system, instructions, messages, input, prompt, input_prefix } = body as Fields;
  let prefix = "";
  for (const before of [system, instructions]) if (before !== undefined) prefix += textOf(before);
  const said = Array.isArray(messages) ? messages : input;
  if (!Array.isArray(said)) return prefix + promptText(said ?? prompt ?? input_prefix);
  for (const message of said) {
    const { role, content } = (message ?? {}) as { role?: unknown; content?: unknown };
    if (role !== "user" && !BEFORE_USER.has(role)) continue;
    prefix += typeof content === "string" ? content : textOf(content);
    if (role === "user") break;
  }
  return prefix;
}

type Fields = Partial<
  Record<"system" | "instructions" | "messages" | "input" | "prompt" | "input_prefix", unknown>
>;

/** A text, or the texts of parts; whatever else parts say (a mark for a cache, say) may change with every turn. */
function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) => typeof part?.text === "string" ? part.text : "").join("");
}

/** The prefix of the first of several prompts, or of the only one. */
function promptText(prompt: unknown): string {
  if (typeof prompt === "string") return prompt.slice(0, PROMPT_CHARACTERS);
  if (!Array.isArray(prompt)) return "";
  if (typeof prompt[0] === "number") return prompt.slice(0, PROMPT_TOKENS).join(" ");
  return promptText(prompt[0]);
}
