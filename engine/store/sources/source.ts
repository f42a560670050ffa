import type { M40Error } from "../../errors.ts";
import type { RemoteFile } from "../download/types.ts";
import type { ModelRecord } from "../record.ts";
import type { Variant } from "./quantisations.ts";

/** What comes with a model in addition to its files. */
export type Extras = Pick<ModelRecord, "template" | "system" | "messages" | "parameters">;

/** One model that a source has, ready to be fetched. */
export interface Choice {
  readonly variant: Variant;
  /** Its files, in the order of the parts. */
  readonly files: readonly RemoteFile[];
  /** What it is called where nothing else is said. */
  readonly name: string;
  /** Where it comes from, as it can be given to `m40 pull` again. */
  readonly source: string;
}

/** What a name stands for. */
export interface Source {
  /** What it is called in messages. */
  readonly title: string;
  /** What may be fetched: one, or several of which the first that fits is taken. Never none. */
  readonly choices: readonly Choice[];
  /** Others of the same place, which would be there to choose from. */
  readonly others: readonly Variant[];
  /** What comes with it; asked for when it is wanted. */
  extras?(): Promise<Extras>;
  /** What to do where a file is refused with a status such as 403; undefined where nothing special is. */
  refusal?(status: number): M40Error | undefined;
  /** What is left out, in sentences. */
  readonly notes: readonly string[];
}

/**
 * A place that has one model in one file.
 *
 * @param title What it is called in messages, and can be given to `m40 pull` again.
 * @param name What the model is called where nothing else is said.
 * @param path What the file is called in messages.
 */
export function sourceOfFile(
  title: string,
  file: RemoteFile,
  name: string,
  path: string,
  quantisation?: string,
): Source {
  const { bytes = 0, sha256 } = file;
  const files = [{ path, bytes, sha256 }];
  const variant = { quantisation, stem: path, files, bytes, missing: [] };
  const choices = [{ variant, files: [file], name, source: title }];
  return { title, choices, others: [], notes: [] };
}
