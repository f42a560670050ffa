/**
 * What the name of something to be fetched means. Nothing is looked up here.
 *
 * @module
 */
import { M40Error } from "../../errors.ts";
import { wholeOf } from "../../gguf/mod.ts";
import { MODEL_EXTENSION, quoteName } from "../names.ts";
import { type Alias, findAlias, similarAliases } from "./aliases.ts";
import { hubEndpoint, ollamaRegistry } from "./endpoints.ts";

/** A repository of the Hugging Face Hub, or a file of one. */
export interface HubReference {
  readonly kind: "hub";
  readonly owner: string;
  readonly repository: string;
  /** A branch, tag or commit; absent: the main branch. */
  readonly revision?: string;
  readonly quantisation?: string;
  /** A path in the repository. */
  readonly file?: string;
  /** The alias that stands for it, and which of its names was said. */
  readonly alias?: Alias;
  readonly name?: string;
}

/** A model of Ollama's library, or of another registry of its kind. */
export interface OllamaReference {
  readonly kind: "ollama";
  readonly namespace: string;
  readonly model: string;
  readonly tag: string;
}

/** A GGUF file at a URL. */
export interface UrlReference {
  readonly kind: "url";
  readonly url: string;
}

/** A GGUF file on this machine. */
export interface PathReference {
  readonly kind: "path";
  readonly path: string;
}

/** Where a model is to come from. */
export type Reference = HubReference | OllamaReference | UrlReference | PathReference;

const MAX_LENGTH = 2000;
const WORD = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;
const REVISION = /^[A-Za-z0-9][A-Za-z0-9._-]*(\/[A-Za-z0-9][A-Za-z0-9._-]*)*$/;

const FORMS = "Wanted an alias (m40 pull --list shows them), hf.co/OWNER/REPOSITORY[:QUANT], " +
  "ollama:NAME[:TAG], the URL of a .gguf file, or the path of one.";

/**
 * What a name means: an alias, a repository, an Ollama model, a URL or a path.
 *
 * @throws {M40Error} `invalid_request`, with what is wrong about it; `model_not_found` where it could
 * be an alias and is none, with the nearest ones.
 */
export function parseReference(text: string): Reference {
  if (text === "") throw refuse(text, "it is empty");
  if (text.length > MAX_LENGTH) {
    throw refuse(text, `it has ${text.length} characters, and ${MAX_LENGTH} are the most`);
  }
  // deno-lint-ignore no-control-regex
  if (/[\x00-\x1f\x7f-\x9f]/.test(text)) throw refuse(text, "it contains a control character");
  const scheme = /^([a-z][a-z\d+.-]*):\/\//i.exec(text)?.[1].toLowerCase();
  if (scheme === "http" || scheme === "https") return parseUrl(text);
  if (scheme === "file") throw refuse(text, "a file on this machine is named by its path");
  if (scheme !== undefined && scheme !== "ollama" && scheme !== "hf") {
    throw refuse(text, `"${scheme}:" is not a way that m40 fetches by`);
  }
  const hub = /^(?:hf:(?:\/\/)?|(?:www\.)?(?:hf\.co|huggingface\.co)\/)(.*)$/is.exec(text)?.[1];
  if (hub !== undefined) return parseHub(text, hub);
  const registry = /^(?:ollama:(?:\/\/)?|(?:www\.)?ollama\.com\/|registry\.ollama\.ai\/)(.*)$/is
    .exec(text)?.[1];
  if (registry !== undefined) return parseOllama(text, registry);
  const isFile = text.endsWith(MODEL_EXTENSION) || wholeOf(text) !== undefined;
  if (/^[./~]/.test(text) || isFile) return { kind: "path", path: text };
  if (text.includes("/")) {
    const isRepository = /^[^/]+\/[^/]+$/.test(text);
    throw refuse(
      text,
      isRepository
        ? `a repository is named hf.co/${text}, and a path as ./${text}`
        : `a path begins with "/" or "./"`,
    );
  }
  return parseAlias(text);
}

function parseAlias(text: string): Reference {
  const alias = findAlias(text);
  if (alias !== undefined) {
    const reference = parseReference(`${alias.source}/${alias.file}`) as HubReference;
    const asked = text.toLowerCase().replace(/:latest$/, "");
    const name = alias.names.find((each) => each.toLowerCase() === asked);
    return { ...reference, alias, name };
  }
  const similar = similarAliases(text);
  const isName = WORD.test(text.split(":")[0]);
  throw new M40Error(
    "model_not_found",
    `There is no alias ${quoteName(text)}.` +
      (similar.length === 0 ? "" : ` Did you mean ${similar.slice(0, 16).join(", ")}?`) +
      " `m40 pull --list` shows all; Ollama's library is asked by " +
      `ollama:${isName ? text : "NAME"}, Hugging Face by hf.co/OWNER/REPOSITORY.`,
  );
}

function parseUrl(text: string): Reference {
  if (!URL.canParse(text)) throw refuse(text, "it is not a URL");
  const url = new URL(text);
  if (url.username !== "" || url.password !== "") {
    throw refuse(
      url.origin,
      "its user and password would be kept in the model's record; for Hugging Face set HF_TOKEN",
    );
  }
  const host = url.hostname.replace(/^www\./, "");
  const path = safeDecode(url.pathname.slice(1));
  const isHub = ["hf.co", "huggingface.co"].includes(host) || url.origin === hubEndpoint().origin;
  if (isHub) return parseHub(text, path);
  const isRegistry = ["ollama.com", "registry.ollama.ai"].includes(host) ||
    url.origin === ollamaRegistry().origin;
  if (isRegistry && !path.endsWith(MODEL_EXTENSION)) return parseOllama(text, path);
  if (!path.endsWith(MODEL_EXTENSION)) {
    throw refuse(text, `a URL is fetched if its path ends in "${MODEL_EXTENSION}"`);
  }
  url.hash = "";
  return { kind: "url", url: url.href };
}

/** A path of a URL without its escapes; where they are damaged, as it is. */
export function safeDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** `OWNER/REPOSITORY[@REVISION][:QUANT]`, or a page or a file of a repository. */
function parseHub(text: string, path: string): HubReference {
  const [owner, rest, ...inside] = path.replace(/(?<!\/)\/+$/, "").split("/");
  const match = /^([^@:]+)(?:@([^:]+))?(?::(.+))?$/s.exec(rest ?? "");
  if (!owner || match === null) throw refuse(text, "wanted hf.co/OWNER/REPOSITORY[:QUANT]");
  const [, repository, at, tag] = match;
  // As with Ollama, which has `latest` where nothing is said.
  const quantisation = tag?.toLowerCase() === "latest" ? undefined : tag;
  for (const word of [owner, repository, ...quantisation === undefined ? [] : [quantisation]]) {
    if (!isWord(word)) {
      throw refuse(text, `${quoteName(word)} cannot be a part of a repository's name`);
    }
  }
  // Pages of the Hub: the files, one file for people, one file for programs.
  const page = ["tree", "blob", "resolve", "raw"].includes(inside[0]) ? inside : undefined;
  const named = (page?.slice(2) ?? inside).join("/");
  // Of a piece the file, which the repository may have otherwise; if not, what to do is said there.
  const file = wholeOf(named) ?? named;
  const revision = page?.[1] ?? at;
  if (revision !== undefined && (!REVISION.test(revision) || revision.includes(".."))) {
    throw refuse(text, `${quoteName(revision)} cannot be a revision`);
  }
  if (file !== "" && !isSafePath(file)) throw refuse(text, `it has a path that leaves its folder`);
  if (file !== "" && quantisation !== undefined) {
    throw refuse(text, "a file has a quantisation already");
  }
  const isFile = file.endsWith(MODEL_EXTENSION);
  if (file !== "" && !isFile && page?.[0] !== "tree") {
    throw refuse(text, `wanted a file that ends in "${MODEL_EXTENSION}"`);
  }
  return {
    kind: "hub",
    owner,
    repository,
    revision,
    quantisation,
    file: isFile ? file : undefined,
  };
}

/** Whether a path stays where it is, taken literally. */
export function isSafePath(path: string): boolean {
  // deno-lint-ignore no-control-regex
  return path.length <= 1000 && !/[\\\x00-\x1f\x7f]/.test(path) &&
    path.split("/").every((part) => part !== "" && part !== "." && part !== "..");
}

function isWord(word: string): boolean {
  return WORD.test(word) && !word.includes("..");
}

/** `[NAMESPACE/]NAME[:TAG]`; the library's namespace is `library`. */
function parseOllama(text: string, path: string): OllamaReference {
  const parts = path.replace(/(?<!\/)\/+$/, "").split("/");
  const [model, tag = "latest", ...more] = parts.pop()!.split(":");
  const [namespace = "library", ...others] = parts;
  if (others.length > 0 || more.length > 0) throw refuse(text, "wanted ollama:NAME[:TAG]");
  for (const word of [namespace, model, tag]) {
    if (!isWord(word)) throw refuse(text, `${quoteName(word)} cannot be a part of a model's name`);
  }
  return { kind: "ollama", namespace, model, tag };
}

function refuse(text: string, reason: string): M40Error {
  return new M40Error(
    "invalid_request",
    `${quoteName(text)} cannot be fetched: ${reason}. ${FORMS}`,
  );
}
