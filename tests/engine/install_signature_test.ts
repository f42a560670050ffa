// Signatures of releases: install.sh takes those of its key alone, by minisign and by OpenSSL, and changes nothing else.
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { run } from "../../tools/release/run.ts";
import { DEPLOY, programOf, Release } from "../fixtures/install_release.ts";
import { makeKey } from "../fixtures/minisign.ts";

const ignore = Deno.build.os !== "linux" || Deno.build.arch !== "x86_64";
/** What install.sh is allowed to need, and what these tests' m40 does. */
const PROGRAMS =
  "sh awk basename cat chmod cmp cp dirname getconf grep gzip head id ln mkdir mktemp mv readlink rm rmdir " +
  "sed sha256sum sort tail tar uname wc";

/** A folder with programs of this machine, to be the whole PATH. */
async function programsIn(folder: string, more: readonly string[]): Promise<string> {
  await Deno.mkdir(folder);
  for (const name of [...PROGRAMS.split(" "), ...more]) {
    await Deno.symlink(await which(name) ?? "/nowhere", join(folder, name));
  }
  return folder;
}

/** Where a program of this machine is. */
async function which(name: string): Promise<string | undefined> {
  const found = await run("sh", ["-c", 'command -v "$1" || true', "sh", name]);
  return found.trim() || undefined;
}

/** The ways to check a signature that this machine has, each with the PATH that leaves no other. */
async function verifiers(root: string): Promise<Map<string, string>> {
  const paths = new Map<string, string>();
  for (const name of ["openssl", "minisign"]) {
    if (await which(name) !== undefined) {
      paths.set(name, await programsIn(join(root, `with ${name}`), [name]));
    } else console.log(`skipped: signatures by ${name}, which is not installed`);
  }
  return paths;
}

/** Puts a signature next to the sums of a release. */
async function putSignature(release: Release, sign: (sums: Uint8Array) => Promise<string>) {
  const sums = join(release.root, "SHA256SUMS");
  await Deno.writeTextFile(`${sums}.minisig`, await sign(await Deno.readFile(sums)));
}

Deno.test(
  "install.sh installs what its key has signed, and refuses what another key or none has signed",
  { ignore },
  async () => {
    await using release = await Release.make();
    const key = await makeKey();
    const args = [release.archive, "--user", "--key", key.publicKey];
    const script = join(release.root, "install.sh");
    const signature = join(release.root, "SHA256SUMS.minisig");
    const paths = await verifiers(release.root);
    assert(paths.size > 0, "neither openssl nor minisign is installed");
    for (const [verifier, path] of paths) {
      const refused = async (wanted: string, what: string, given = args) => {
        const { code, stdout, stderr } = await release.install(given, script, path);
        assertEquals([code, stdout], [1, ""], `${verifier}, ${what}: ${stderr}`);
        assertStringIncludes(stderr, wanted);
        assertEquals(await release.there(), [], `${verifier}, ${what}`);
      };
      await refused("there is no signature", "none");
      const good = await Deno.readTextFile(join(release.root, "SHA256SUMS"));
      for (const legacy of [false, true]) {
        await putSignature(release, (sums) => key.sign(sums, legacy));
        const { code, stderr } = await release.install(args, script, path);
        assertEquals([code, stderr], [0, ""], `${verifier}, legacy: ${legacy}`);
        const removed = await release.install(["--uninstall", "--user"], script, path);
        assertEquals([removed.code, await release.there()], [0, []]);
      }
      const sealed = await Deno.readTextFile(signature);

      // An attacker puts another program into the archive, and its right sum next to it.
      const bytes = await Deno.readFile(release.archive);
      await release.publish(programOf("6.6.6"));
      await refused("does not have the signature", "another archive with its right sum");
      await Deno.writeFile(release.archive, bytes);
      await Deno.writeTextFile(join(release.root, "SHA256SUMS"), good);

      const other = await makeKey(), namesake = await makeKey(key.number);
      for (
        const [what, one] of Object.entries({ "another key": other, "of its number": namesake })
      ) {
        await putSignature(release, (sums) => one.sign(sums));
        await refused("does not have the signature", what);
      }
      const lines = sealed.split("\n");
      const spoiled = lines[1].slice(0, 40) + (lines[1][40] === "A" ? "B" : "A") +
        lines[1].slice(41);
      for (
        const text of ["", "\n", lines.toSpliced(1, 1, spoiled).join("\n"), sealed.slice(0, 80)]
      ) {
        await Deno.writeTextFile(signature, text);
        await refused("does not have the signature", JSON.stringify(text));
      }
      await Deno.writeTextFile(signature, sealed);
      for (const wrong of ["RW", key.publicKey.slice(1), "/nowhere/minisign.pub"]) {
        await refused("no public key of minisign", wrong, [...args.slice(0, 3), wrong]);
      }
      await Deno.remove(signature);
    }
  },
);

Deno.test("install.sh refuses a signature that it cannot check, and says what to install", {
  ignore,
}, async () => {
  await using release = await Release.make();
  const key = await makeKey();
  await putSignature(release, key.sign);
  const path = await programsIn(join(release.root, "bare"), []);
  const args = [release.archive, "--user", "--key", key.publicKey];
  const { code, stderr } = await release.install(args, join(release.root, "install.sh"), path);
  assertEquals(code, 1);
  assertStringIncludes(
    stderr,
    "neither minisign nor OpenSSL 3 is installed; apt install minisign",
  );
  assertEquals(await release.there(), []);
});

Deno.test("an install.sh that has a key wants its signature, unless --unsigned is given", {
  ignore,
}, async () => {
  await using release = await Release.make();
  const key = await makeKey();
  const script = join(release.root, "install.sh");
  const text = await Deno.readTextFile(script);
  const args = [release.archive, "--user"];
  // Without a key a signature is no use, which is said.
  await putSignature(release, key.sign);
  const unknown = await release.install(args);
  assertEquals(unknown.code, 0);
  assertStringIncludes(unknown.stdout, "was not checked: this install.sh has no key");
  await Deno.remove(join(release.root, "SHA256SUMS.minisig"));

  const keyed = text.replace("\nPUBLIC_KEY=''\n", `\nPUBLIC_KEY='${key.publicKey}'\n`);
  assert(keyed !== text);
  await Deno.writeTextFile(script, keyed);
  const unsigned = await release.install(args);
  assertEquals([unsigned.code, unsigned.stdout], [1, ""]);
  assertStringIncludes(unsigned.stderr, "--unsigned");
  assertEquals((await release.install([...args, "--unsigned"])).code, 0);
  await putSignature(release, key.sign);
  assertEquals((await release.install(args)).code, 0);
  // A file with the key, as minisign writes it.
  const file = join(release.root, "minisign.pub");
  await Deno.writeTextFile(file, `untrusted comment: a key\n${key.publicKey}\n`);
  assertEquals((await release.install([...args, "--key", file])).code, 0);
  for (const wrong of [["--key", "RWx", "--unsigned"], ["--key"]]) {
    assertEquals((await release.install([...args, ...wrong])).code, 2, wrong.join(" "));
  }
  assertEquals((await release.install(["--user", "--key", "RWx"])).code, 2, "no archive");
});

Deno.test("OpenSSL takes what minisign itself has signed (ignored where minisign is not)", {
  ignore: ignore || await which("minisign") === undefined || await which("openssl") === undefined,
}, async () => {
  await using release = await Release.make();
  const [secret, open] = ["secret.key", "minisign.pub"].map((name) => join(release.root, name));
  await run("minisign", ["-G", "-W", "-f", "-s", secret, "-p", open]);
  const path = await programsIn(join(release.root, "with openssl"), ["openssl"]);
  for (const options of [[], ["-l"]]) {
    await run("minisign", [
      "-S",
      ...options,
      "-s",
      secret,
      "-m",
      join(release.root, "SHA256SUMS"),
    ]);
    const args = [release.archive, "--user", "--key", open];
    const { code, stderr } = await release.install(args, join(release.root, "install.sh"), path);
    assertEquals([code, stderr], [0, ""]);
  }
});

Deno.test("install.sh's own key is none or a whole one", async () => {
  const text = await Deno.readTextFile(join(DEPLOY, "install.sh"));
  assertMatch(text, /^PUBLIC_KEY='(RW[A-Za-z0-9+/]{54})?'$/m);
});
