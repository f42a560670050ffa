/**
 * Repositories of the Hugging Face Hub, by its API.
 *
 * @module
 */
import { basename } from "@std/path";
import { z } from "zod";
import { M40Error } from "../../errors.ts";
import { joinAdvice, piecesOf, wholeOf } from "../../gguf/mod.ts";
import { quoteName } from "../names.ts";
import { DownloadError } from "../download/errors.ts";
import type { RemoteFile } from "../download/types.ts";
import { type Answer, ask, parseAnswer } from "./answers.ts";
import { describeCompanions, findCompanions, type Identified } from "./companions.ts";
import { hubEndpoint, hubToken, urlBelow } from "./endpoints.ts";
import { plainName } from "./plain_name.ts";
import {
  type ListedFile,
  onlyOfQuantisation,
  quantisationOf,
  sameQuantisation,
  type Variant,
  variantsOf,
} from "./quantisations.ts";
import { type HubReference, isSafePath } from "./references.ts";
import type { Choice, Source } from "./source.ts";

const MAX_ANSWER_BYTES = 16 * 2 ** 20;
/** Pages of a listing, each of up to 1000 files. */
const MAX_PAGES = 50;
/** Pieces of files that are remembered. */
const MAX_PIECES = 10_000;
/** No real file comes near it. */
const MAX_FILE_BYTES = 2 ** 46;

const commitSchema = z.object({ sha: z.string().regex(/^[0-9a-f]{40}$/) });

const sizeSchema = z.number().int().min(0).max(MAX_FILE_BYTES);

const treeSchema = z.array(
  z.object({
    type: z.string(),
    path: z.string().max(4096),
    size: sizeSchema.optional(),
    lfs: z.object({ oid: z.string().regex(/^[0-9a-f]{64}$/), size: sizeSchema }).optional(),
  }),
).max(10_000);

/** A repository at one commit. */
interface Snapshot {
  readonly endpoint: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** `OWNER/REPOSITORY`. */
  readonly id: string;
  readonly commit: string;
  readonly files: readonly ListedFile[];
  /** Paths of what are pieces of GGUF files, and none themselves. */
  readonly pieces: readonly string[];
}

/**
 * What of a repository is to be fetched.
 *
 * @throws {M40Error} `model_not_found` where there is no such repository, file or quantisation, with
 * those that there are; `io` where the Hub does not answer as it should, or wants a token.
 */
export async function findOnHub(reference: HubReference, signal?: AbortSignal): Promise<Source> {
  const snapshot = await listRepository(reference, signal);
  const all = variantsOf(snapshot.files);
  assertWhole(snapshot, reference);
  const companions = await companionsOf(all, snapshot, reference, signal);
  const variants = all.filter((each) => companions.every(({ variant }) => variant !== each));
  if (variants.length === 0 && reference.file === undefined) {
    throw new M40Error(
      "model_not_found",
      `hf.co/${snapshot.id} has no GGUF file that holds a model` +
        (companions.length > 0 ? `: ${describeCompanions(companions)}. ` : ". ") +
        "Repositories of GGUF files often end in -GGUF; its page lists its quantisations.",
    );
  }
  const wanted = select({ variants, all, companions }, reference, snapshot.id);
  const only = onlyOfQuantisation(variants);
  const choices = wanted.map((variant) =>
    choiceOf(variant, only.has(variant), reference, snapshot)
  );
  const chosen = new Set(wanted);
  return {
    title: reference.alias?.names[0] ?? `hf.co/${snapshot.id}`,
    choices,
    others: variants.filter((variant) => !chosen.has(variant)),
    // The files of gated repositories are listed for everybody, and given to users with access.
    refusal: (status) => refusalOf(status, reference, snapshot),
    notes: [],
  };
}

/** Fails where what is asked for is there in pieces only. */
function assertWhole({ id, files, pieces }: Snapshot, reference: HubReference): void {
  const { file, quantisation } = reference;
  const paths = new Set(files.map(({ path }) => path));
  const missing = [...new Set(pieces.map((piece) => wholeOf(piece)!))]
    .filter((whole) => !paths.has(whole));
  const isThere = quantisation === undefined
    ? files.length > 0
    : files.some(({ path }) => sameQuantisation(quantisationOf(path), quantisation));
  const wanted = missing.find((whole) =>
    file !== undefined ? whole === file : !isThere &&
      (quantisation === undefined || sameQuantisation(quantisationOf(whole), quantisation))
  );
  if (wanted === undefined) return;
  const names = piecesOf(wanted, pieces).map((path) => basename(path));
  throw new M40Error(
    "unsupported",
    `hf.co/${id} has no ${wanted} as one file, nor in parts that m40 reads. Fetch the pieces from its page. ` +
      joinAdvice(basename(wanted), names),
  );
}

/** Those of a repository's files that are no models, as far as a reference makes one look. */
async function companionsOf(
  variants: readonly Variant[],
  snapshot: Snapshot,
  reference: HubReference,
  signal?: AbortSignal,
): Promise<Identified[]> {
  const asked = reference.quantisation ?? (reference.file && quantisationOf(reference.file));
  const ofIt = asked === undefined
    ? variants
    : variants.filter((each) => sameQuantisation(each.quantisation, asked));
  const among = (some: readonly Variant[]) =>
    findCompanions(some, variants, ({ files: [file] }) => remoteFile(snapshot, file), signal);
  try {
    const companions = await among(ofIt);
    if (companions.length < ofIt.length || asked === undefined) return companions;
    // Of a quantisation that no model has, the others are offered.
    return [
      ...companions,
      ...await among(variants.filter((each) => !sameQuantisation(each.quantisation, asked))),
    ];
  } catch (error) {
    const status = error instanceof DownloadError ? error.status : undefined;
    if (status === undefined) throw error;
    throw refusalOf(status, reference, snapshot) ?? error;
  }
}

async function listRepository(reference: HubReference, signal?: AbortSignal): Promise<Snapshot> {
  const endpoint = hubEndpoint();
  const token = await hubToken();
  const headers: Record<string, string> = token ? { authorization: `Bearer ${token}` } : {};
  const { owner, repository, revision = "main" } = reference;
  const id = `${owner}/${repository}`;
  const what = `hf.co/${id}`;
  const question = { what, headers, maxBytes: MAX_ANSWER_BYTES, signal };

  const model = ["api", "models", owner, repository];
  const info = await ask(urlBelow(endpoint, ...model, "revision", revision), question);
  assertFound(info, reference, token !== undefined);
  // Pinned: a push in the middle of a pull must not mix files of two commits.
  const { sha: commit } = parseAnswer(info, commitSchema, what);

  const files: ListedFile[] = [];
  const pieces: string[] = [];
  let next: URL | undefined = urlBelow(endpoint, ...model, "tree", commit);
  next.searchParams.set("recursive", "true");
  for (let page = 0; next !== undefined; page++) {
    if (page === MAX_PAGES) {
      throw new M40Error("io", `${what} has more files than can be listed; name one: ${what}/FILE`);
    }
    const answer: Answer = await ask(next, question);
    assertFound(answer, reference, token !== undefined);
    for (const entry of parseAnswer(answer, treeSchema, what)) {
      if (entry.type !== "file") continue;
      if (wholeOf(entry.path) !== undefined && pieces.length < MAX_PIECES) pieces.push(entry.path);
      if (!entry.path.endsWith(".gguf")) continue;
      if (!isSafePath(entry.path)) {
        throw new M40Error("io", `${what} lists a file at ${quoteName(entry.path)}: refused`);
      }
      const bytes = entry.lfs?.size ?? entry.size;
      if (bytes === undefined) continue;
      files.push({ path: entry.path, bytes, sha256: entry.lfs?.oid });
    }
    next = nextPage(answer, endpoint);
  }
  return { endpoint, headers, id, commit, files, pieces };
}

/** Whether a link's parameters say that it leads to the next page. */
function isNext(parameters: string): boolean {
  const own = parameters.trimStart().split(",", 1)[0];
  return own.startsWith(";") && /\brel="?next\b/i.test(own);
}

/** The address in the Link header: `<https://…>; rel="next"`; never one of another server. */
function nextPage({ headers, url }: Answer, endpoint: URL): URL | undefined {
  const links = (headers.get("Link") ?? "").matchAll(/<([^<>]*)>([^<]*)/g);
  const link = Array.from(links).find(([, , parameters]) => isNext(parameters))?.[1];
  if (link === undefined) return undefined;
  const next = URL.canParse(link, url) ? new URL(link, url) : undefined;
  if (next?.origin === endpoint.origin) return next;
  throw new M40Error(
    "io",
    `the list of files goes on at ${quoteName(link)}, which is not at ${endpoint.origin}: refused`,
  );
}

function assertFound({ status, headers, url }: Answer, reference: HubReference, hasToken: boolean) {
  if (status >= 200 && status < 300) return;
  const { owner, repository, revision } = reference;
  const what = `hf.co/${owner}/${repository}`;
  const reason = headers.get("X-Error-Code");
  if (status === 404 || reason === "RepoNotFound" || reason === "RevisionNotFound") {
    throw new M40Error(
      "model_not_found",
      reason === "RevisionNotFound" || (revision !== undefined && reason === null)
        ? `${what} has no revision ${quoteName(revision ?? "main")}.`
        : `There is no repository ${what}` +
          (hasToken ? ", or the token does not open it." : "; a private one needs HF_TOKEN."),
    );
  }
  const refused = refusal(status, reference, { hasToken, gated: reason === "GatedRepo" });
  if (refused !== undefined) throw refused;
  throw new M40Error(
    "io",
    `${what} cannot be fetched: ${url.origin} answered ${status}` +
      (status === 429
        ? ", too many requests; try again later, or set HF_TOKEN."
        : "; try again later."),
  );
}

/** What to do where a file of a repository that was listed is refused. */
function refusalOf(status: number, reference: HubReference, { headers }: Snapshot) {
  const hasToken = headers.authorization !== undefined;
  return refusal(status, reference, { hasToken, gated: status === 403 });
}

/** What to do where the Hub refuses access, in general or with this token; undefined for other statuses. */
function refusal(
  status: number,
  { owner, repository }: HubReference,
  { hasToken, gated }: { readonly hasToken: boolean; readonly gated: boolean },
): M40Error | undefined {
  if (status !== 401 && status !== 403) return undefined;
  const what = `hf.co/${owner}/${repository}`;
  const terms = `accept its terms on https://huggingface.co/${owner}/${repository}`;
  const tokens = "https://huggingface.co/settings/tokens";
  return new M40Error(
    "io",
    !hasToken
      // The Hub answers 401 both where there is nothing and where the user has to sign in.
      ? `${what} cannot be fetched without a token (${status}): it is gated or private, or does not exist. ` +
        `For access ${terms}, make a token at ${tokens}, and set HF_TOKEN to it.`
      : gated
      ? `${what} is gated, and the token's owner has no access (${status}): ${terms}, and try again ` +
        "when they are granted."
      : `${what} cannot be fetched with the token of HF_TOKEN or of Hugging Face's tools (${status}): it is ` +
        `wrong, or may not read this repository. ${tokens} has those that are valid.`,
  );
}

/** What a repository has. */
interface Content {
  /** Models, and what may be one. */
  readonly variants: readonly Variant[];
  readonly companions: readonly Identified[];
  /** Both. */
  readonly all: readonly Variant[];
}

/** The variants that a reference means: of several quantisations all of them. */
function select(content: Content, reference: HubReference, id: string): Variant[] {
  const { variants, companions, all } = content;
  const { file, quantisation } = reference;
  if (file !== undefined) {
    const named = all.find(({ files }) => files.some(({ path }) => path === file));
    if (named !== undefined) return [complete(named, id)];
    // Repositories rename their files now and then; an alias means its quantisation then.
    const ofAlias = reference.alias &&
      variants.filter((variant) =>
        sameQuantisation(variant.quantisation, quantisationOf(file)) && variant.missing.length === 0
      );
    if (ofAlias !== undefined && ofAlias.length === 1) return ofAlias;
    throw new M40Error(
      "model_not_found",
      `hf.co/${id} has no file ${quoteName(file)}. ${describeVariants(variants)}`,
    );
  }
  if (quantisation === undefined) {
    const whole = variants.filter(({ missing }) => missing.length === 0);
    if (whole.length === 0) complete(variants[0], id);
    return whole;
  }
  const matching = variants.filter((variant) =>
    sameQuantisation(variant.quantisation, quantisation)
  );
  if (matching.length === 1) return [complete(matching[0], id)];
  if (matching.length > 1) {
    const paths = matching.map(({ files }) => `hf.co/${id}/${files[0].path}`);
    throw new M40Error(
      "invalid_request",
      `hf.co/${id} has ${matching.length} models in ${quantisation}; name one: ` +
        `${paths.slice(0, 10).join(", ")}${paths.length > 10 ? ", …" : ""}`,
    );
  }
  const namedCompanions = companions.filter(({ variant }) =>
    sameQuantisation(variant.quantisation, quantisation)
  );
  throw new M40Error(
    "model_not_found",
    `hf.co/${id} has no ${namedCompanions.length > 0 ? "model in " : ""}${quantisation}` +
      (namedCompanions.length > 0 ? `: ${describeCompanions(namedCompanions)}.` : ".") +
      ` ${describeVariants(variants)}`,
  );
}

function complete(variant: Variant, id: string): Variant {
  const { missing, files, stem } = variant;
  if (missing.length === 0) return variant;
  throw new M40Error(
    "invalid_model",
    `hf.co/${id} has ${stem} only in part: of its ${files.length + missing.length} files number ` +
      `${missing.slice(0, 10).join(", ")}${missing.length > 10 ? ", …" : ""} ` +
      `${missing.length === 1 ? "is" : "are"} missing. It may still be uploading.`,
  );
}

/** What a repository has, in a sentence. */
function describeVariants(variants: readonly Variant[]): string {
  const names = variants.map(({ quantisation, stem }) => quantisation ?? basename(stem));
  const unique = [...new Set(names)];
  return `It has ${unique.slice(0, 20).join(", ")}${unique.length > 20 ? ", …" : ""}.`;
}

/** A file of a repository, for a request. */
function remoteFile(
  { endpoint, headers, id, commit }: Snapshot,
  { path, bytes, sha256 }: ListedFile,
): RemoteFile {
  const url = urlBelow(endpoint, ...id.split("/"), "resolve", commit, ...path.split("/")).href;
  return { url, headers, bytes, sha256 };
}

/** @param isOnly Whether it is the only model of its quantisation, which names it then. */
function choiceOf(
  variant: Variant,
  isOnly: boolean,
  reference: HubReference,
  snapshot: Snapshot,
): Choice {
  const { quantisation, files } = variant;
  const address = `hf.co/${snapshot.id}` +
    (reference.revision === undefined ? "" : `@${reference.revision}`);
  return {
    variant,
    files: files.map((file) => remoteFile(snapshot, file)),
    name: reference.name ??
      (isOnly
        ? plainName(reference.repository.replace(/[-_.]gguf$/i, ""), quantisation)
        : plainName(basename(variant.stem))),
    source: isOnly ? `${address}:${quantisation}` : `${address}/${files[0].path}`,
  };
}
