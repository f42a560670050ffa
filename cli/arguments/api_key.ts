import { withoutSpaces } from "../../server/access/mod.ts";
import { UsageError } from "../errors.ts";

/**
 * The API key: what `--api-key` says, else `$M40_API_KEY`; undefined where that is not set or empty.
 *
 * @param option The option's value.
 * @param command The command that takes it.
 * @throws {UsageError} For a key that no request could bring: the spaces around a header's value are
 * no part of it, and control characters cannot be in one.
 */
export function apiKeyOf(option: string | undefined, command: string): string | undefined {
  const [source, given] = option === undefined
    ? ["M40_API_KEY", Deno.env.get("M40_API_KEY") || undefined]
    : ["--api-key", option];
  const key = given && withoutSpaces(given);
  if (key === "") {
    throw new UsageError(
      `${source} has nothing but spaces; wanted a key. Leave it out where no key is needed`,
      command,
    );
  }
  // deno-lint-ignore no-control-regex
  if (key !== undefined && /[\x00-\x1f\x7f]/.test(key)) {
    throw new UsageError(
      `${source} has a control character in it, such as a line feed, which no request can send; ` +
        "wanted a key on one line",
      command,
    );
  }
  return key;
}
