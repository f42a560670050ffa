/**
 * Which of a repository's files are no models but companions, by the first bytes of their headers.
 *
 * @module
 */
import { basename } from "@std/path";
import type { Companion } from "../../gguf/mod.ts";
import { DownloadError } from "../download/errors.ts";
import type { RemoteFile } from "../download/types.ts";
import { splitFileName } from "../names.ts";
import { onlyOfQuantisation, type Variant } from "./quantisations.ts";
import { remoteCompanion } from "./remote_head.ts";

/** Files that are looked at, at most, how many at once, and the time for all, in milliseconds. */
const MAX_LOOKS = 24;
const AT_ONCE = 4;
const TIMEOUT_MS = 15_000;

/** Names that companions often have. They only say where to look first; headers say what is there. */
const OFTEN_A_COMPANION =
  /(^|[-._/])(mmproj|projector|imatrix|vocab|mtp|draft(er)?|assistant|eagle\d*|d-?flash|d-?spark|medusa|lora|adapter)([-._/]|$)/i;

/** A variant and what it is. */
export interface Identified {
  readonly variant: Variant;
  readonly companion: Companion;
}

/**
 * The companions among variants that have to be distinguished: those of one quantisation, and those with the name
 * of a companion, unless that is how all are named. What cannot be looked at counts as a model.
 *
 * @param variants Those that matter.
 * @param repository All that there are.
 * @param fileOf The first file of a variant, for a request.
 * @throws {DownloadError} Where the server refuses access (401, 403): then the model's file is as closed.
 */
export async function findCompanions(
  variants: readonly Variant[],
  repository: readonly Variant[],
  fileOf: (variant: Variant) => RemoteFile,
  signal?: AbortSignal,
): Promise<Identified[]> {
  const suspects = suspectsOf(variants, repository).slice(0, MAX_LOOKS);
  if (suspects.length === 0) return [];
  const found = new Map<Variant, Identified>();
  const late = AbortSignal.timeout(TIMEOUT_MS);
  const either = signal === undefined ? late : AbortSignal.any([signal, late]);
  let next = 0;
  const look = async () => {
    while (next < suspects.length && !either.aborted) {
      const variant = suspects[next++];
      try {
        const companion = await remoteCompanion(fileOf(variant), isPart(variant), either);
        if (companion !== undefined) found.set(variant, { variant, companion });
      } catch (error) {
        signal?.throwIfAborted();
        const status = error instanceof DownloadError ? error.status : undefined;
        if (status === 401 || status === 403) throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, look));
  // In the order of the repository, whichever answered first.
  return suspects.flatMap((variant) => found.get(variant) ?? []);
}

function suspectsOf(variants: readonly Variant[], repository: readonly Variant[]): Variant[] {
  const isNamed = ({ stem }: Variant) => OFTEN_A_COMPANION.test(stem);
  const distinguishes = !repository.every(isNamed);
  const only = onlyOfQuantisation(variants);
  return variants.filter((variant) => {
    const hasTwin = variant.quantisation !== undefined && !only.has(variant);
    return hasTwin || distinguishes && isNamed(variant);
  });
}

/** Whether a variant's name says that it is in several files. */
export function isPart({ files }: Pick<Variant, "files">): boolean {
  return (splitFileName(basename(files[0].path))?.part?.count ?? 1) > 1;
}

/** Companions for a message: `mtp-X-Q8_0.gguf is a drafter`; three at most. */
export function describeCompanions(companions: readonly Identified[]): string {
  const shown = companions.slice(0, 3)
    .map(({ variant, companion }) => `${variant.files[0].path} is a ${companion.kind}`);
  const more = companions.length - shown.length;
  return shown.join(", ").replace(/ is a ([aeiou])/g, " is an $1") +
    (more > 0 ? `, and ${more} more are none either` : "");
}
