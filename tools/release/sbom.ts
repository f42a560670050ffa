import { keyOf, type Lock } from "../build/packages.ts";
import type { BuildInfo } from "../build/build_info.ts";
import type { Package } from "./packages.ts";

/** What a bill of materials lists. */
export interface Contents {
  readonly version: string;
  readonly commit: string;
  /** Seconds since 1970. */
  readonly time: number;
  /** The executable and the libraries, with the SHA-256 of each. */
  readonly files: readonly { readonly name: string; readonly sha256: string }[];
  readonly packages: readonly Package[];
  readonly lock: Lock;
  readonly deno: { readonly version: string; readonly v8: string };
  /** By the libraries' file names. */
  readonly libraries: Readonly<Record<string, BuildInfo>>;
}

/** SPDX's names of the licences that may be inside; another one is a decision to be made, not a line to be added. */
const SPDX = new Set([
  "0BSD",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "BlueOak-1.0.0",
  "CC0-1.0",
  "ISC",
  "MIT",
  "OFL-1.1",
  "PSF-2.0",
  "Unlicense",
]);

const EXECUTABLE = "m40";
const GCC = "GPL-3.0-or-later WITH GCC-exception-3.1";
const CUDA_LICENCE = "NVIDIA CUDA Toolkit End User License Agreement";

/** What is in a release, as CycloneDX 1.6; the same text from the same contents. */
export async function billOfMaterials(contents: Contents): Promise<unknown> {
  const { version, commit, time, files, packages, lock, deno, libraries } = contents;
  const reference = `m40@${version}`;
  const byKey = new Map(packages.map((one) => [one.key, packageUrl(one)]));
  const urlOf = (name: string) => byKey.get(keyOf(lock, name)) ?? urlOfKey(packages, lock, name);
  const toolchains = Object.entries(libraries).flatMap(([file, info]) => parts(file, info));
  const runtime = [
    {
      type: "framework",
      "bom-ref": `pkg:github/denoland/deno@v${deno.version}`,
      name: "deno",
      version: deno.version,
      description: "The runtime in the executable (denort)",
      purl: `pkg:github/denoland/deno@v${deno.version}`,
      licenses: licences("MIT"),
    },
    {
      type: "library",
      "bom-ref": `v8@${deno.v8}`,
      name: "v8",
      version: deno.v8,
      licenses: licences("BSD-3-Clause"),
    },
  ];
  return {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    serialNumber: `urn:uuid:${await uuidOf(`${reference} ${commit} ${JSON.stringify(files)}`)}`,
    version: 1,
    metadata: {
      timestamp: new Date(time * 1000).toISOString(),
      component: {
        type: "application",
        "bom-ref": reference,
        name: "m40",
        version,
        licenses: licences("MIT"),
        properties: [{ name: "m40:commit", value: commit }],
      },
    },
    components: [
      ...files.map(({ name, sha256 }) => ({
        type: "file",
        "bom-ref": `file:${name}`,
        name,
        hashes: [{ alg: "SHA-256", content: sha256 }],
      })),
      ...runtime,
      ...toolchains.map(({ file: _, ...component }) => component),
      ...packages.map((one) => ({
        type: "library",
        "bom-ref": packageUrl(one),
        name: one.name,
        version: one.version,
        ...(one.author && { author: one.author }),
        purl: packageUrl(one),
        hashes: [{ alg: "SHA-512", content: sha512Of(one) }],
        licenses: licences(one.licence),
      })),
    ],
    dependencies: [
      { ref: reference, dependsOn: files.map(({ name }) => `file:${name}`) },
      {
        ref: `file:${EXECUTABLE}`,
        dependsOn: [
          runtime[0]["bom-ref"],
          ...Object.keys(lock.specifiers).map((name) => urlOf(name.slice("npm:".length))),
        ],
      },
      { ref: runtime[0]["bom-ref"], dependsOn: [runtime[1]["bom-ref"]] },
      ...Object.keys(libraries).map((name) => ({
        ref: `file:${name}`,
        dependsOn: toolchains.filter(({ file }) => file === name).map((one) => one["bom-ref"]),
      })),
      ...packages.map((one) => ({
        ref: packageUrl(one),
        dependsOn: [...new Set((lock.npm[one.key].dependencies ?? []).map(urlOf))].sort(),
      })),
    ],
  };
}

/** What is linked into a kernel library. */
function parts(file: string, info: BuildInfo) {
  const gcc = info.compiler.match(/(\d+\.\d+\.\d+)\s*$/)?.[1];
  const found = [{
    file,
    type: "library",
    "bom-ref": `libstdc++@${gcc ?? info.compiler}#${file}`,
    name: "libstdc++",
    version: gcc ?? info.compiler,
    description: `Linked into ${file} statically`,
    licenses: licences(GCC),
  }];
  if (info.cuda_toolkit !== "") {
    found.push({
      file,
      type: "library",
      "bom-ref": `cudart@${info.cuda_toolkit}`,
      name: "NVIDIA CUDA runtime (cudart)",
      version: info.cuda_toolkit,
      description: `Linked into ${file} statically`,
      licenses: [{ license: { name: CUDA_LICENCE } }],
    });
  }
  return found;
}

/** A licence by SPDX's name, or an expression of several. */
function licences(declared: string): Record<string, unknown>[] {
  const names = declared.replace(/[()]/g, "").split(/ (?:OR|AND) /);
  if (declared === GCC) return [{ expression: GCC }];
  for (const name of names) {
    if (!SPDX.has(name)) {
      throw new Error(`a part of the release declares the licence ${JSON.stringify(declared)}`);
    }
  }
  return names.length === 1 ? [{ license: { id: names[0] } }] : [{ expression: declared }];
}

function packageUrl({ name, version }: Package): string {
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}

/** Of a package that the lock has more than once, with other peers: they have one folder, and one component. */
function urlOfKey(packages: readonly Package[], lock: Lock, name: string): string {
  const key = keyOf(lock, name);
  const found = packages.find((one) => key.startsWith(`${one.name}@${one.version}`));
  if (found === undefined) throw new Error(`the lock's package ${key} is not among the release's`);
  return packageUrl(found);
}

function sha512Of({ name, integrity }: Package): string {
  const match = integrity.match(/^sha512-([A-Za-z0-9+/]{86}==)$/);
  if (match === null) throw new Error(`npm package ${name} has the integrity ${integrity}`);
  return Uint8Array.fromBase64(match[1]).toHex();
}

/** A UUID (version 8, of RFC 9562) that follows from a text. */
async function uuidOf(text: string): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  const bytes = new Uint8Array(hash).slice(0, 16);
  bytes[6] = bytes[6] & 0x0f | 0x80;
  bytes[8] = bytes[8] & 0x3f | 0x80;
  return bytes.toHex().replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
