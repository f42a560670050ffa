import { join } from "@std/path";
import { M40Error } from "../../errors.ts";
import { targetOrReason } from "../../memory/mod.ts";
import {
  type Choice,
  download,
  DownloadError,
  type Extras,
  findSource,
  lockModel,
  modelFileName,
  parseNewModelName,
  parseReference,
  PARTIAL_FOLDER,
  type RecordedFile,
  type Reference,
  requireModelsDirectory,
  type Source,
  writeRecord,
} from "../mod.ts";
import { checkHeads, type Checking } from "./check.ts";
import { choose, headsOf } from "./choose.ts";
import { linkFromCaches } from "./caches.ts";
import {
  assertReplaceable,
  holdsFile,
  holdsFiles,
  isPresent,
  linkEqual,
  putInPlace,
  removeFormer,
} from "./place.ts";
import { takeFile } from "./take_file.ts";
import type { Pulled, PullOptions } from "./types.ts";

/**
 * Fetches a model into the models directory: an alias, a repository, an Ollama model, a URL or a path.
 * Its files appear whole and checked or not at all.
 *
 * @throws {M40Error} With what is wrong, and what to do.
 */
export async function pull(text: string, options: PullOptions = {}): Promise<Pulled> {
  const { force = false, signal, onNote = () => {} } = options;
  if (options.name !== undefined) parseNewModelName(options.name);
  const directory = requireModelsDirectory();
  const reference = withQuantisation(parseReference(text), options.quantisation);
  const checking = (): Checking => ({
    target: targetOrReason(options.device ?? "auto", options.kvType ?? "f16", options.here),
    force,
    onNote,
  });
  if (reference.kind === "path") {
    return await takeFile(reference, directory, { ...options, checking });
  }
  const source = await findSource(reference, signal);
  for (const note of source.notes) onNote(note);
  const nameOf = (choice: Choice) => parseNewModelName(options.name ?? choice.name).name;
  for (const choice of source.choices) {
    const files = await isPresent(directory, nameOf(choice), choice);
    if (files !== undefined) {
      const model = { name: nameOf(choice), source: choice.source, files };
      // A template may be another without its model being one.
      if (source.extras) await record(directory, model, await source.extras());
      return { ...model, outcome: "present" };
    }
  }
  const choice = await explained(source, choose(source, checking(), signal));
  const name = nameOf(choice);
  using _lock = await lockModel(directory, name);
  const repository = reference.kind === "hub" ? reference.alias?.source : undefined;
  const held = await holdsFiles(directory, name, choice);
  if (held === undefined) {
    await assertReplaceable(directory, name, { source: choice.source, force, repository });
  }
  const extras = await source.extras?.();
  const linked = held ?? await linkEqual(directory, name, choice) ??
    await linkFromCaches(directory, name, choice);
  const files = linked ??
    await explained(source, fetchFiles(choice, source, name, directory, checking(), options));
  await removeFormer(directory, name, files);
  const model = { name, source: choice.source, files };
  await record(directory, model, extras);
  return { ...model, outcome: held ? "present" : linked ? "linked" : "fetched" };
}

async function record(
  directory: string,
  { name, source, files }: Omit<Pulled, "outcome">,
  extras: Extras = {},
): Promise<void> {
  await writeRecord(directory, name, { source, pulledAt: new Date(), files, ...extras });
}

/** Has the source say what to do where its server refuses a file. */
async function explained<T>(source: Source, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const { status } = error instanceof DownloadError ? error : {};
    throw status === undefined ? error : source.refusal?.(status) ?? error;
  }
}

/** A reference whose quantisation is said by an option. */
function withQuantisation(reference: Reference, quantisation?: string): Reference {
  if (quantisation === undefined) return reference;
  if (reference.kind !== "hub") {
    throw new M40Error(
      "invalid_request",
      "A quantisation can be chosen of a repository and of an alias; an Ollama model has it in its tag, " +
        "a URL and a path name one file.",
    );
  }
  const { alias, name } = reference;
  if (alias === undefined && (reference.file ?? reference.quantisation) !== undefined) {
    throw new M40Error(
      "invalid_request",
      "The quantisation is said twice: in the name, and by the option.",
    );
  }
  const base = name?.split(":")[0];
  return { ...reference, file: undefined, quantisation, name: base && `${base}:${quantisation}` };
}

async function fetchFiles(
  choice: Choice,
  source: Source,
  name: string,
  directory: string,
  checking: Checking,
  options: PullOptions,
): Promise<RecordedFile[]> {
  const { signal, onStart, onProgress } = options;
  const bytes = choice.variant.bytes || undefined;
  onStart?.({ name, source: choice.source, files: choice.files.length, bytes });
  if (choice.files.length > 1) {
    await checkHeads(headsOf(choice, signal), choice, source, checking);
    return await fetchParts(choice, name, directory, options);
  }
  const [remote] = choice.files;
  const file = modelFileName(name);
  const { path } = choice.variant.files[0];
  const got = await download(remote, join(directory, file), {
    signal,
    onProgress,
    checkHead: async (head) => {
      await checkHeads([{ path, head }], choice, source, checking);
    },
  });
  return [{ name: file, ...got }];
}

/**
 * Fetches the parts of a model into the folder of partial files, and moves them into place when the last one is there.
 * Parts of an older model stay together until then.
 */
async function fetchParts(
  choice: Choice,
  name: string,
  directory: string,
  { signal, onProgress }: PullOptions,
): Promise<RecordedFile[]> {
  const count = choice.files.length;
  const totalBytes = choice.variant.bytes;
  const folder = join(directory, PARTIAL_FOLDER);
  await Deno.mkdir(folder, { recursive: true });
  const files: RecordedFile[] = [];
  let before = 0;
  for (const [i, remote] of choice.files.entries()) {
    const file = modelFileName(name, { number: i + 1, count });
    // Of an earlier pull that ended before the last part.
    const held = await holdsFile(join(folder, file), remote) ??
      await holdsFile(join(directory, file), remote);
    if (held !== undefined) {
      before += held.bytes;
      files.push(held);
      continue;
    }
    const got = await download(remote, join(folder, file), {
      signal,
      onProgress: ({ doneBytes, note }) =>
        onProgress?.({ doneBytes: before + doneBytes, totalBytes, note }),
    });
    before += got.bytes;
    files.push({ name: file, ...got });
  }
  await putInPlace(folder, directory, files);
  // Of downloads into the folder; where another one goes on, it is not empty and stays.
  await Deno.remove(join(folder, PARTIAL_FOLDER)).catch(() => {});
  return files;
}
