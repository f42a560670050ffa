/**
 * The npm packages that go into the executable: those that deno.json names less those of tests alone, and what they
 * need, in the versions of deno.lock.
 *
 * @module
 */

/** Packages that tests alone use; `deno compile` would embed every package that its configuration names. */
const TEST_PACKAGES: readonly string[] = [
  "@anthropic-ai/sdk",
  "@cyclonedx/cyclonedx-library",
  "ajv-formats-draft2019",
  "axe-core/",
  "fast-check",
  "ollama",
  "openai",
  "playwright-core",
];

/** A package in deno.lock; those that it needs by their names, with versions where there are several. */
export interface LockedPackage {
  readonly integrity: string;
  readonly dependencies?: readonly string[];
  readonly optionalDependencies?: readonly string[];
}

/** deno.lock, version 5. */
export interface Lock {
  readonly version: string;
  /** "npm:ajv@8.20.0" to the version's key. */
  readonly specifiers: Readonly<Record<string, string>>;
  /** By name and version, with those of peers behind: "ajv-formats@3.0.1_ajv@8.20.0". */
  readonly npm: Readonly<Record<string, LockedPackage>>;
  readonly workspace: { readonly dependencies: readonly string[] };
}

/** The imports of deno.json without the tests' packages. */
export function programImports(imports: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(imports).filter(([name]) => !TEST_PACKAGES.includes(name)),
  );
}

/**
 * A lock of the packages that some imports lead to, and no others: `deno compile` embeds all that its lock has.
 *
 * @throws {Error} Where the lock lacks one of them.
 */
export function prunedLock(lock: Lock, imports: Readonly<Record<string, string>>): Lock {
  if (lock.version !== "5") {
    throw new Error(
      `deno.lock has version ${lock.version}, wanted 5; teach tools/build/packages.ts`,
    );
  }
  const wanted = new Set(Object.values(imports).map(specifierOf));
  const specifiers: Record<string, string> = {};
  const npm: Record<string, LockedPackage> = {};
  const add = (key: string) => {
    if (npm[key] !== undefined) return;
    const found = npm[key] = lock.npm[key];
    for (const name of [...found.dependencies ?? [], ...found.optionalDependencies ?? []]) {
      add(keyOf(lock, name));
    }
  };
  for (const specifier of [...wanted].sort()) {
    const version = lock.specifiers[specifier];
    if (version === undefined) throw new Error(`deno.lock lacks ${specifier}; run deno install`);
    specifiers[specifier] = version;
    add(keyOf(lock, nameOf(specifier.slice("npm:".length)) + "@" + version));
  }
  return {
    version: lock.version,
    specifiers,
    npm: Object.fromEntries(Object.entries(npm).sort(([a], [b]) => a < b ? -1 : 1)),
    workspace: { dependencies: Object.keys(specifiers) },
  };
}

/** "npm:ajv@8.20.0" of "npm:/ajv@8.20.0/dist/ajv.js". */
function specifierOf(address: string): string {
  const match = address.match(/^npm:\/?((?:@[^/@]+\/)?[^/@]+@[^/]+)/);
  if (match === null) throw new Error(`deno.json imports ${address}, which is no npm package`);
  return `npm:${match[1]}`;
}

/** The key of a package that another one needs: its name alone where the lock has one version of it. */
export function keyOf(lock: Lock, name: string): string {
  if (lock.npm[name] !== undefined) return name;
  const versioned = nameOf(name) !== name;
  const keys = Object.keys(lock.npm).filter((key) =>
    versioned ? key.startsWith(name + "_") : nameOf(key) === name
  );
  if (keys.length === 1) return keys[0];
  throw new Error(`deno.lock has ${keys.length} packages for ${name}, wanted one`);
}

/** "@scope/name" of "@scope/name@1.2.3_peer@4.5.6". */
export function nameOf(key: string): string {
  const at = key.indexOf("@", 1);
  return at < 0 ? key : key.slice(0, at);
}

/** "1.2.3" of "@scope/name@1.2.3_peer@4.5.6". */
export function versionOf(key: string): string {
  return key.slice(nameOf(key).length + 1).split("_", 1)[0];
}
