/**
 * What the names of a repository's GGUF files say: the quantisation, and which files are one model.
 *
 * @module
 */
import { basename, dirname } from "@std/path";
import { splitFileName } from "../names.ts";

/** A file of a repository. */
export interface ListedFile {
  /** Where it lies in the repository, with slashes. */
  readonly path: string;
  readonly bytes: number;
  /** In hexadecimal, where the source gives it. */
  readonly sha256?: string;
}

/** One model of a repository: a file, or parts that are read as one. */
export interface Variant {
  /** As the file's name spells it; undefined where it names none. */
  readonly quantisation?: string;
  /** Its path, of several parts without their numbers. */
  readonly stem: string;
  /** In the order of their parts. */
  readonly files: readonly ListedFile[];
  readonly bytes: number;
  /** Parts that it should have and that are not there, by number. */
  readonly missing: readonly number[];
}

/**
 * Quantisations in the order in which they are taken where none is asked for and all of them fit.
 *
 * Decoding is as fast as weights are read, so a file of half the size answers in half the time. At four to five bits a
 * weight quality still changes little. Behind them come the larger ones, the smallest first, then those that cost
 * quality, the best first.
 */
const PREFERENCE: readonly string[] = `
  Q4_K_M UD-Q4_K_XL Q4_K_XL Q4_K_L Q4_K_S Q4_K Q4_0 IQ4_NL IQ4_XS MXFP4 MXFP4_MOE NVFP4 Q4_1
  Q5_K_S Q5_K_M Q5_K UD-Q5_K_XL Q5_K_L Q5_0 Q5_1
  Q6_K Q6_K_L UD-Q6_K_XL Q8_0 UD-Q8_K_XL
  UD-Q3_K_XL Q3_K_XL Q3_K_L Q3_K_M Q3_K IQ3_M IQ3_S Q3_K_S IQ3_XS UD-IQ3_XXS IQ3_XXS
  UD-Q2_K_XL Q2_K_XL Q2_K_L Q2_K IQ2_M UD-IQ2_M Q2_K_S IQ2_S IQ2_XS UD-IQ2_XXS IQ2_XXS
  TQ2_0 TQ1_0 UD-IQ1_M IQ1_M UD-IQ1_S IQ1_S F16 BF16 F32
`.trim().split(/\s+/);

/** A quantisation's name between separators, as converters and their users write them into files. */
const QUANTISATION =
  /(?<=^|[-._])(?:UD-)?(?:I?Q\d_(?:K_(?:XXS|XS|XXL|XL|S|M|L)|K|XXS|XS|S|M|NL|[01])|TQ[12]_0|MXFP4(?:_MOE)?|NVFP4|BF16|FP?16|FP?32)(?=$|[-.])/gi;

/**
 * The quantisation that a path names, the last one of its file's name, else of its folder's.
 *
 * @returns As it is spelled there.
 */
export function quantisationOf(path: string): string | undefined {
  const stem = splitFileName(basename(path))?.stem ?? basename(path);
  return stem.match(QUANTISATION)?.at(-1) ?? basename(dirname(path)).match(QUANTISATION)?.at(-1);
}

/** Whether two quantisations are the same: `q4_k_m` is `Q4_K_M`, `FP16` is `F16`; one that is not known is like none. */
export function sameQuantisation(a: string | undefined, b: string | undefined): boolean {
  return a !== undefined && b !== undefined && canonical(a) === canonical(b);
}

/** Those of variants whose quantisation no other one has. */
export function onlyOfQuantisation(variants: readonly Variant[]): ReadonlySet<Variant> {
  const named = variants.filter(({ quantisation }) => quantisation !== undefined);
  const groups = Map.groupBy(named, ({ quantisation }) => canonical(quantisation!));
  return new Set(groups.values().filter(({ length }) => length === 1).flatMap((group) => group));
}

/** One spelling for the same quantisation. */
function canonical(quantisation: string): string {
  return quantisation.toUpperCase().replace(/^FP(?=\d)/, "F");
}

/** The models among a repository's files, and their companions (`companions.ts`); the preferred ones first. */
export function variantsOf(files: readonly ListedFile[]): Variant[] {
  const groups = new Map<string, { stem: string; count: number; parts: Map<number, ListedFile> }>();
  for (const file of files) {
    const name = basename(file.path);
    const split = splitFileName(name);
    if (split === undefined) continue;
    const folder = dirname(file.path);
    const stem = folder === "." ? split.stem : `${folder}/${split.stem}`;
    const { number, count } = split.part ?? { number: 1, count: 1 };
    const key = `${count} ${stem}`;
    const group = groups.get(key) ?? { stem, count, parts: new Map<number, ListedFile>() };
    group.parts.set(number, file);
    groups.set(key, group);
  }
  return [...groups.values()].map(({ stem, count, parts }): Variant => {
    const numbers = Array.from({ length: count }, (_, i) => i + 1);
    const present = numbers.flatMap((number) => parts.get(number) ?? []);
    return {
      quantisation: quantisationOf(present[0].path),
      stem,
      files: present,
      bytes: present.reduce((sum, { bytes }) => sum + bytes, 0),
      missing: numbers.filter((number) => !parts.has(number)),
    };
  }).sort((a, b) => rank(a) - rank(b) || a.bytes - b.bytes || (a.stem < b.stem ? -1 : 1));
}

/** A variant's place in {@link PREFERENCE}; what is not there comes behind. */
function rank({ quantisation }: Variant): number {
  const name = quantisation === undefined ? "" : canonical(quantisation);
  const place = PREFERENCE.indexOf(name);
  return place < 0 ? PREFERENCE.length : place;
}
