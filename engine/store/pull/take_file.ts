import { basename, join, resolve } from "@std/path";
import { M40Error } from "../../errors.ts";
import { type Gguf, readGguf } from "../../gguf/mod.ts";
import { type Suitability, suitabilityOf, type Target } from "../../memory/mod.ts";
import {
  lockModel,
  parseNewModelName,
  type PathReference,
  plainName,
  splitFileName,
  writeRecord,
} from "../mod.ts";
import { type Checking, withForce } from "./check.ts";
import { assertReplaceable, fileNames, link, placeFiles, removeFormer } from "./place.ts";
import type { Pulled, PullOptions } from "./types.ts";

/**
 * Gives a file of this machine a name: by a second name of the same file (a hard link), on another file
 * system by a symbolic link, or by a copy.
 *
 * @throws {M40Error} Where it is no model that m40 runs, or the name is taken.
 */
export async function takeFile(
  { path: given }: PathReference,
  directory: string,
  options: PullOptions & { readonly checking: () => Checking },
): Promise<Pulled> {
  const { force = false, copy = false } = options;
  const path = resolve(given);
  const gguf = await readGguf(path, { anyType: force });
  if (!force) check(gguf, options.checking());
  const { stem = basename(path) } = splitFileName(basename(path)) ?? {};
  const { name } = parseNewModelName(options.name ?? plainName(stem));
  const names = fileNames(name, gguf.files.length);
  if (gguf.files.every((file, i) => resolve(file.path) === join(directory, names[i]))) {
    throw new M40Error("invalid_request", `${path} is the model ${name} already.`);
  }
  using _lock = await lockModel(directory, name);
  await assertReplaceable(directory, name, { source: path, force });
  await placeFiles(directory, name, names, (i, path) => {
    const from = gguf.files[i].path;
    return copy ? Deno.copyFile(from, path) : link(from, path);
  });
  const files = names.map((name, i) => ({ name, bytes: gguf.files[i].bytes }));
  await removeFormer(directory, name, files);
  await writeRecord(directory, name, { source: path, pulledAt: new Date(), files });
  return { name, source: path, outcome: copy ? "copied" : "linked", files };
}

/** Whether it runs; nothing is fetched here, so that it does not fit is only said. */
function check(gguf: Gguf, { target, onNote }: Checking): void {
  if (typeof target === "string") return;
  const { fit } = suitable(gguf, target);
  if (fit.contextTokens === 0) onNote(`It does not fit on ${target.card.name}.`);
}

function suitable(gguf: Gguf, target: Target): Suitability {
  try {
    return suitabilityOf(gguf, target);
  } catch (error) {
    throw withForce(error);
  }
}
