import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { COMMANDS } from "../../cli/commands/mod.ts";
import config from "../../deno.json" with { type: "json" };
import { join } from "@std/path";
import { ABI_VERSION } from "../../engine/device/structs.ts";
import { Home, ROOT } from "../fixtures/cli_program.ts";
import { m40 } from "../fixtures/cli_session.ts";

Deno.test("m40 --version says the version of deno.json", async () => {
  await using home = await Home.make();
  for (const option of ["--version", "-V"]) {
    assertEquals(await m40(home, [option]), {
      code: 0,
      stdout: `m40 ${config.version}\n`,
      stderr: "",
    });
  }
});

Deno.test("m40 --version --json says what the libraries were built for, and which are missing", async () => {
  await using home = await Home.make();
  const folder = join(home.path, "kernels with spaces");
  await Deno.mkdir(folder);
  await Deno.copyFile(join(ROOT, "dist/libm40_cpu.so"), join(folder, "libm40_cpu.so"));
  await Deno.writeTextFile(join(folder, "libm40_cuda.so"), "no library");
  const { code, stdout, stderr } = await m40(home, ["--version", "--json"], {
    env: { M40_KERNELS: folder },
  });
  assertEquals([code, stderr], [0, ""]);
  const { version, commit, abi, deno, libraries } = JSON.parse(stdout);
  assertEquals([version, commit, abi, deno], [
    config.version,
    null,
    ABI_VERSION,
    Deno.version.deno,
  ]);
  const [cpu, cuda] = libraries;
  assertEquals([cpu.backend, cpu.path, cpu.problem, cpu.abi, cpu.cuda_toolkit], [
    "cpu",
    join(folder, "libm40_cpu.so"),
    null,
    ABI_VERSION,
    null,
  ]);
  assertEquals(cpu.architectures, ["baseline", "avx", "avx2", "avx512"]);
  assertMatch(cpu.compiler, /\d+\.\d+/);
  assertEquals([cuda.backend, cuda.path, cuda.abi], [
    "cuda",
    join(folder, "libm40_cuda.so"),
    null,
  ]);
  assertMatch(cuda.problem, /libm40_cuda\.so/);
  const odd = await m40(home, ["--version", "--yaml"]);
  assertEquals([odd.code, odd.stdout], [2, ""]);
  assertMatch(odd.stderr, /--version takes --json or nothing; got "--yaml"/);
});

Deno.test("m40 --help lists every command; without a command the help comes with exit code 2", async () => {
  await using home = await Home.make();
  const help = await m40(home, ["--help"]);
  assertEquals([help.code, help.stderr], [0, ""]);
  for (const { name, summary } of COMMANDS) assertStringIncludes(help.stdout, `${name} `, summary);
  assertEquals(help.stdout.includes("\x1b"), false, "colours where there is no terminal");
  assertEquals(await m40(home, []), { ...help, code: 2 });
});

for (const { name, examples } of COMMANDS) {
  Deno.test(`m40 ${name} --help and m40 help ${name} say the same, with examples`, async () => {
    await using home = await Home.make();
    const [option, command] = await Promise.all([
      m40(home, [name, "--help"]),
      m40(home, ["help", name]),
    ]);
    assertEquals([option.code, option.stderr], [0, ""]);
    assertEquals(option, command);
    assertStringIncludes(option.stdout, "Usage:");
    for (const line of Object.keys(examples)) assertStringIncludes(option.stdout, line);
  });
}

Deno.test("a mistyped command, help topic or option ends with 2 and the nearest one", async () => {
  await using home = await Home.make();
  for (
    const [args, wanted] of [
      [["srve"], /no command "srve"; did you mean serve\?/],
      [["help", "tokenise"], /no command "tokenise"; did you mean tokenize\?/],
      [["--verson"], /no option "--verson"/],
      [["run", "demo", "--tempratur", "1"], /did you mean --temperature\?/],
      [["run", "demo", "--temperature", "hot"], /got "hot", wanted a number from 0 to 100/],
    ] as const
  ) {
    const { code, stdout, stderr } = await m40(home, [...args]);
    assertEquals([code, stdout], [2, ""], args.join(" "));
    assertMatch(stderr, wanted);
    assertMatch(stderr, /^error: /);
    assertEquals(stderr.includes("    at "), false, "a stack trace");
  }
});

Deno.test("M40_DEBUG=1 shows where an error comes from", async () => {
  await using home = await Home.make();
  const { code, stderr } = await m40(home, ["show", "nowhere"], { env: { M40_DEBUG: "1" } });
  assertEquals(code, 1);
  assertMatch(stderr, /\n +at .*store\.ts/);
});
