/** The report of `m40 doctor`: its shape, its exit codes, what it must not hold; and what it says of store and port. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path";
import { LEVELS } from "../../../cli/doctor/finding.ts";
import { portFindings } from "../../../cli/doctor/port.ts";
import { redact, redactAll } from "../../../cli/doctor/redact.ts";
import { asJson, asText } from "../../../cli/doctor/report.ts";
import { storeFindings } from "../../../cli/doctor/store.ts";
import type { StoredModel } from "../../../engine/store/mod.ts";
import { Home, m40, TINY } from "../../fixtures/cli_program.ts";
import { takeEmulatedDriver } from "./fixture.ts";
import { withEnvironment } from "../../fixtures/emulated_environment.ts";
import { startServer } from "../../fixtures/server_fixture.ts";

const variables = await takeEmulatedDriver();

/** A user with planted names, keys and addresses wherever the program could find them. */
async function plantedHome() {
  const home = await Home.make();
  const own = join(home.path, "gwendolyn");
  const models = join(own, "models-of-gwendolyn");
  await Deno.mkdir(models, { recursive: true });
  await Deno.copyFile(TINY, join(models, "tiny.gguf"));
  await Deno.writeTextFile(join(models, "broken.gguf"), "no model");
  const env = {
    ...variables,
    HOME: own,
    USER: "gwendolyn",
    LOGNAME: "gwendolyn",
    M40_MODELS: models,
    M40_API_KEY: "planted-api-key",
    HF_TOKEN: "hf_plantedtoken",
    OLLAMA_MODELS: join(own, "none"),
    XDG_CACHE_HOME: join(own, "cache"),
  };
  return { home, env };
}

/** Runs doctor on a port that is free. */
async function runDoctor(home: Home, args: string[], env: Record<string, string>) {
  const probe = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = probe.addr;
  probe.close();
  return await m40(home, ["doctor", "--port", String(port), ...args], { env });
}

Deno.test("m40 doctor --json: findings by area, name and level, nothing private, and the exit code", async () => {
  const { home, env } = await plantedHome();
  await using _ = home;
  const { code, stdout, stderr } = await runDoctor(home, ["--json"], {
    ...env,
    M40_EMULATION_NVML: "ecc=1,pcie_width=4",
  });
  assertEquals([code, stderr], [1, ""]);
  const report = JSON.parse(stdout);
  assertEquals(Object.keys(report), ["version", "status", "exit_code", "findings"]);
  assertEquals([report.status, report.exit_code], ["to_do", 1]);
  for (const finding of report.findings) {
    const { area, name, level, says, values } = finding;
    assert(LEVELS.includes(level), level);
    assertMatch(area, /^[a-z_]+$/);
    assertMatch(name, /^[a-z_0-9]+$/);
    assertMatch(says, /^[A-Z~a-z0-9].*\.$/, says);
    assert(Object.values(values).every((value) => typeof value !== "object"));
    if (finding.advice !== undefined) assertMatch(finding.advice, /\.$/);
  }
  const named = (name: string) =>
    report.findings.find((one: { name: string }) => one.name === name);
  assertEquals(named("few_lanes").values.width, 4);
  assertEquals(named("ecc_on").values.ecc, true);
  assertMatch(named("fits").says, /^(demo|tiny) fits with its whole context of \d+ tokens/);
  assertMatch(named("cannot_run").says, /^broken cannot run: /);
  assertMatch(named("folder").says, /^Models are kept in ~\/models-of-USER, with /);
  const host = Deno.hostname();
  for (const secret of ["gwendolyn", home.path, "planted", ...(host.length > 3 ? [host] : [])]) {
    assert(!stdout.includes(secret), `${secret} is in ${stdout}`);
  }
  assert(!/\d+\.\d+\.\d+\.\d+|GPU-[0-9a-f]/.test(stdout), stdout);
});

Deno.test("m40 doctor: lines for a person under the areas' titles, and 0, 1 or 2 at the end", async () => {
  const { home, env } = await plantedHome();
  await using _ = home;
  const lost = await runDoctor(home, [], {
    ...env,
    M40_EMULATION_DEVICES: "0",
    M40_EMULATION_NVML: "handle=15",
  });
  assertEquals([lost.code, lost.stderr], [2, ""]);
  assertMatch(
    lost.stdout,
    /^Driver\n {2}ok {6}NVIDIA driver [^\n]+\n(?: {10}[^\n]+\n)?Card\n {2}broken {2}The card fell off its bus/,
  );
  assertMatch(lost.stdout, /\n\nm40 cannot use the card as it is\.\n$/);
  assert(!lost.stdout.includes("gwendolyn"), lost.stdout);
  await Deno.remove(join(env.M40_MODELS, "broken.gguf"));
  const sound = await runDoctor(home, ["--load", "--load-seconds", "1"], {
    ...env,
    M40_EMULATION_NVML: "",
  });
  assertEquals([sound.code, sound.stderr], [0, ""], sound.stdout);
  assertMatch(sound.stdout, /After 1 s of load: 41 °C, 183 W, 1114 to 1114 MHz\./);
  assertMatch(sound.stdout, /\n\nAll is well\.\n$/);
});

Deno.test("m40 doctor --device takes cuda:1 as other commands do, and --json says which card a finding is of", async () => {
  const { home, env } = await plantedHome();
  await using _ = home;
  const two = {
    ...env,
    M40_EMULATION_DEVICES: "2",
    M40_EMULATION_NVML: "devices=2,1:pcie_width=4",
  };
  const one = await runDoctor(home, ["--device", "cuda:1"], two);
  assertEquals(one.code, 1, one.stdout + one.stderr);
  assertMatch(one.stdout, /The link under load is PCIe generation 3, x4/);
  assert(!one.stdout.includes("cuda:"), one.stdout);
  const every = await runDoctor(home, ["--json"], two);
  const findings: { name: string; card?: string }[] = JSON.parse(every.stdout).findings;
  const cards = (wanted: string) =>
    findings.filter(({ name }) => name === wanted).map(({ card }) => card);
  assertEquals(
    [cards("few_lanes"), cards("usable"), cards("free")],
    [["cuda:1"], ["cuda:0", "cuda:1"], [undefined]],
  );
  const refused = await runDoctor(home, ["--device", "cpu"], two);
  assertEquals(refused.code, 2);
  assertMatch(refused.stderr, /wanted cuda:0, cuda:1, … or the card's number/);
});

Deno.test("doctor's report shows control characters of names as text", () => {
  const finding = {
    area: "store",
    name: "unreadable_model",
    level: "to_do",
    says: "The model \x1b[31mred cannot be opened.",
    advice: "Two\nlines.",
  } as const;
  const text = asText([finding]);
  assert(!text.includes("\x1b[31m"), text);
  assertMatch(
    text,
    /\\x1b\[31mred cannot be opened\.\n {10}Two lines\.\n\nm40 works; one thing to do\.\n$/,
  );
  assertEquals((asJson([]) as { status: string }).status, "fine");
});

Deno.test("what is private is taken out of any text", () => {
  const facts = { home: "/home/ada", user: "ada", host: "lovelace", secrets: ["s3cret-key"] };
  const cases: [string, string][] = [
    ["/home/ada/models and /home/adam", "~/models and /home/adam"],
    ["/mnt/ada/x of Ada on LOVELACE.", "/mnt/USER/x of USER on HOST."],
    ["an adapter for Canada", "an adapter for Canada"],
    ["key s3cret-key!", "key (removed)!"],
    ["GPU-8d3f7a60-1111-2222-3333-abcdefabcdef", "(removed)"],
    ["10.1.2.3, 127.0.0.1, 535.183.01", "(removed), 127.0.0.1, 535.183.01"],
    ["fe80::1a2b:3c4d at 02:42:ac:11:00:02", "(removed) at (removed)"],
    ["2001:db8:0:0:0:0:0:1", "(removed)"],
    ["hf_abcdefghijkl and sk-abcdefghijkl", "(removed) and (removed)"],
    ["generation 3, x16; 1.5 GB; 12:30", "generation 3, x16; 1.5 GB; 12:30"],
  ];
  for (const [text, wanted] of cases) assertEquals(redact(text, facts), wanted);
  assertEquals(redactAll({ ada: ["ada", 5, { x: "/home/ada" }, true] }, facts), {
    ada: ["USER", 5, { x: "~" }, true],
  });
  const common = { home: "/root", user: "root", host: "localhost", secrets: [] };
  assertEquals(redact("/root/models: run it as root", common), "~/models: run it as root");
});

Deno.test("doctor reports who has the port: no program, m40, another program", async () => {
  await using server = await startServer({});
  const [serving] = await portFindings("127.0.0.1", server.port);
  assertEquals([serving.name, serving.level], ["serving", "fine"]);
  const other = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    () => new Response("{}"),
  );
  const [taken] = await portFindings("127.0.0.1", other.addr.port);
  assertEquals([taken.name, taken.level], ["taken", "to_do"]);
  await other.shutdown();
  const [free] = await portFindings("127.0.0.1", other.addr.port);
  assertEquals([free.name, free.level], ["free", "fine"]);
  // An address for documentation, which no machine has.
  const [nowhere] = await portFindings("192.0.2.1", 11434);
  assertEquals([nowhere.name, nowhere.level], ["no_address", "to_do"]);
  assert(!JSON.stringify([serving, taken, free, nowhere]).includes("192.0.2"), "an address");
});

Deno.test("doctor reports a folder of models that is not there yet, no folder, and a file for one", async () => {
  const folder = await Deno.makeTempDir();
  const find = async (models: string, stored: StoredModel[] = []) => {
    let found = await storeFindings("/", []);
    await withEnvironment({ M40_MODELS: models }, async () => {
      found = await storeFindings("/", stored);
    });
    return found;
  };
  const [later] = await find(join(folder, "a/b"));
  assertEquals([later.name, later.level], ["folder", "fine"]);
  assertMatch(later.says, /made when it is wanted, with .* free/);
  await Deno.writeTextFile(join(folder, "file"), "");
  const [file] = await find(join(folder, "file"));
  assertEquals([file.name, file.level], ["unreadable_folder", "to_do"]);
  await withEnvironment({ M40_MODELS: "", XDG_DATA_HOME: "", HOME: "" }, async () => {
    assertEquals((await storeFindings("/", []))[0].name, "no_folder");
  });
  // 16 MiB that were written just now, and one that was taken away.
  const large = join(folder, "large.gguf");
  await Deno.writeFile(large, new Uint8Array(16 * 2 ** 20));
  const model = (name: string, path: string): StoredModel => ({
    ...{ name, path, files: [path], fileBytes: 16 * 2 ** 20, builtIn: false },
    origin: "store",
  });
  const found = await find(folder, [model("large", large), model("gone", join(folder, "gone"))]);
  const speed = found.find(({ values }) => values?.read_bytes_per_second !== undefined);
  assert(speed !== undefined && ["cached", "disk", "slow_disk"].includes(speed.name));
  assertMatch(
    found.find(({ name }) => name === "unreadable_model")!.says,
    /^The model gone cannot be opened/,
  );
  await Deno.remove(folder, { recursive: true });
});
