import { nearest } from "../../nearest.ts";
import ALIASES from "./aliases.json" with { type: "json" };

/** A short name for a file of a repository; `aliases.json` has them all. */
export interface Alias {
  /** What it is called, the shortest name first. */
  readonly names: readonly string[];
  /** The repository, as `m40 pull` takes it. */
  readonly source: string;
  /** The file; of several parts the first. */
  readonly file: string;
  /** About how long it is; what counts is what the repository says. */
  readonly bytes: number;
  /** Why it suits a card of 24 GB. */
  readonly why: string;
}

/** All aliases, in the order of their file. */
export const aliases: readonly Alias[] = ALIASES;

/** The alias of a name, whatever its case; `:latest` says nothing, as with Ollama. */
export function findAlias(name: string): Alias | undefined {
  const wanted = name.toLowerCase().replace(/:latest$/, "");
  return aliases.find(({ names }) => names.some((each) => each.toLowerCase() === wanted));
}

/** The names most like one that there is not: those of the same family, else the nearest. */
export function similarAliases(name: string): string[] {
  const family = name.toLowerCase().split(":")[0];
  const names = aliases.flatMap(({ names }) => names);
  const related = names.filter((each) => each.split(":")[0] === family);
  if (related.length > 0) return related;
  const near = nearest(name, names) ?? nearest(family, names);
  const base = near?.split(":")[0];
  return base === undefined ? [] : names.filter((each) => each.split(":")[0] === base);
}
