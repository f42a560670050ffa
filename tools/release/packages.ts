import { join } from "@std/path";
import { type Lock, nameOf, versionOf } from "../build/packages.ts";

/** An npm package in the executable. */
export interface Package {
  /** Its key in the lock. */
  readonly key: string;
  readonly name: string;
  readonly version: string;
  readonly author?: string;
  /** As its package.json declares it. */
  readonly licence: string;
  /** The files of its folder that say under what terms it may be used. */
  readonly licenceTexts: readonly { readonly file: string; readonly text: string }[];
  /** "sha512-" and base64, of the package as the registry gives it. */
  readonly integrity: string;
  readonly homepage?: string;
}

const LICENCE_FILE = /^(licen[sc]e|copying|notice|third.?party)/i;

/** The packages of a lock as they lie in a cache of Deno's, in the order of their names. */
export async function packagesOf(lock: Lock, cache: string): Promise<Package[]> {
  const registries = [...Deno.readDirSync(join(cache, "npm"))].filter((entry) => entry.isDirectory);
  if (registries.length !== 1) {
    throw new Error(`${cache}/npm has packages of ${registries.length} registries, wanted one`);
  }
  const found = new Map<string, Package>();
  for (const [key, { integrity }] of Object.entries(lock.npm)) {
    const name = nameOf(key), version = versionOf(key);
    const folder = join(cache, "npm", registries[0].name, name, version);
    const about = JSON.parse(await Deno.readTextFile(join(folder, "package.json")));
    const licence = typeof about.license === "string" ? about.license : about.license?.type;
    if (!licence) throw new Error(`npm package ${name} ${version} declares no licence`);
    const files = [...Deno.readDirSync(folder)]
      .filter((entry) => entry.isFile && LICENCE_FILE.test(entry.name))
      .map((entry) => entry.name).sort();
    found.set(`${name}@${version}`, {
      key,
      name,
      version,
      author: typeof about.author === "string" ? about.author : about.author?.name,
      licence,
      licenceTexts: files.map((file) => ({
        file,
        text: Deno.readTextFileSync(join(folder, file)),
      })),
      integrity,
      homepage: typeof about.homepage === "string" ? about.homepage : undefined,
    });
  }
  return [...found.values()].sort((a, b) =>
    `${a.name}@${a.version}` < `${b.name}@${b.version}` ? -1 : 1
  );
}
