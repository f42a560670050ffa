/**
 * Where repositories and registries are asked, and with which token.
 *
 * @module
 */
import { join } from "@std/path";
import { M40Error } from "../../errors.ts";
import { systemReason } from "../../system_error.ts";
import { huggingFaceDirectory } from "../folders.ts";

/** The Hugging Face Hub, or the mirror that `$HF_ENDPOINT` names. */
export function hubEndpoint(): URL {
  return endpoint("HF_ENDPOINT", "https://huggingface.co");
}

/** Ollama's registry, or the one that `$M40_OLLAMA_REGISTRY` names. */
export function ollamaRegistry(): URL {
  return endpoint("M40_OLLAMA_REGISTRY", "https://registry.ollama.ai");
}

function endpoint(variable: string, standard: string): URL {
  const text = Deno.env.get(variable) || standard;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username || url.password) {
    throw new M40Error(
      "invalid_request",
      `${variable} is not the URL of a server: wanted one such as ${standard}`,
    );
  }
  // Mirrors may lie in a folder of their server: what is joined to it begins behind the slash.
  url.pathname = url.pathname.replace(/(?<!\/)\/*$/, "/");
  url.search = url.hash = "";
  return url;
}

/** A URL below an endpoint, each part of the path escaped. */
export function urlBelow(endpoint: URL, ...parts: readonly string[]): URL {
  // Colons are plain characters there, and registries have them in digests.
  const path = parts.map((part) => encodeURIComponent(part).replaceAll("%3A", ":")).join("/");
  return new URL(endpoint.href + path);
}

/**
 * The token for the Hub: `$HF_TOKEN`, else the file that `$HF_TOKEN_PATH` names, else
 * `$HF_HOME/token`, else `~/.cache/huggingface/token`; undefined where there is none.
 *
 * @throws {M40Error} `invalid_request` where it cannot be one: a header would carry it.
 */
export async function hubToken(): Promise<string | undefined> {
  const given = Deno.env.get("HF_TOKEN")?.trim();
  if (given) return checked(given, "HF_TOKEN");
  const path = tokenPath();
  if (path === undefined) return undefined;
  try {
    const info = await Deno.stat(path);
    if (!info.isFile || info.size > 4096) return undefined;
    const text = (await Deno.readTextFile(path)).trim();
    return text === "" ? undefined : checked(text, path);
  } catch (error) {
    if (error instanceof M40Error) throw error;
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw new M40Error("io", `the token in ${path} cannot be read: ${systemReason(error)}`);
  }
}

function tokenPath(): string | undefined {
  const base = huggingFaceDirectory();
  return Deno.env.get("HF_TOKEN_PATH") || base && join(base, "token");
}

function checked(token: string, where: string): string {
  if (/^[\x21-\x7e]{1,1000}$/.test(token)) return token;
  throw new M40Error("invalid_request", `${where} has no token in it: wanted one that begins hf_`);
}
