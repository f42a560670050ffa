import { fromFileUrl, join } from "@std/path";
import type { Package } from "./packages.ts";

const TEXTS = fromFileUrl(new URL("licences", import.meta.url));
const MIT = fromFileUrl(new URL("../../LICENSE", import.meta.url));

/** Texts that belong to the CUDA library alone. */
const CUDA_TEXTS: readonly string[] = ["NVIDIA-CUDA-EULA.txt"];

/** Puts the licences of all that is inside into a folder. */
export async function writeLicences(
  folder: string,
  packages: readonly Package[],
  hasCuda: boolean,
): Promise<void> {
  await Deno.mkdir(join(folder, "npm"), { recursive: true });
  for await (const { name } of Deno.readDir(TEXTS)) {
    if (CUDA_TEXTS.includes(name) && !hasCuda) continue;
    await Deno.copyFile(join(TEXTS, name), join(folder, name));
  }
  const terms = (await Deno.readTextFile(MIT)).replace(/^[\s\S]*?(?=Permission is hereby)/, "");
  for (const one of packages) {
    const name = `${one.name.replace("/", "__")}@${one.version}.txt`;
    await Deno.writeTextFile(join(folder, "npm", name), licenceOf(one, terms));
  }
}

/** What a package says of its licence; of one that has no text, and declares MIT, the terms of that. */
function licenceOf(one: Package, mit: string): string {
  const head = [
    `${one.name} ${one.version}`,
    ...(one.author ? [`by ${one.author}`] : []),
    ...(one.homepage ? [one.homepage] : []),
    `Licence: ${one.licence}`,
  ].join("\n");
  const texts = one.licenceTexts.map(({ file, text }) => `---- ${file}\n\n${text.trim()}`);
  if (texts.length === 0) {
    if (one.licence !== "MIT") {
      throw new Error(`npm package ${one.name} declares ${one.licence} and has no text of it`);
    }
    texts.push(`The package has no text of its licence, which is:\n\n${mit.trim()}`);
  }
  return [head, ...texts].join("\n\n") + "\n";
}
