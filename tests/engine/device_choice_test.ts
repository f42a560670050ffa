import "../fixtures/own_environment.ts";
import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { join } from "@std/path";
import { findLibrary, KernelLibrary } from "../../engine/device/library.ts";
import { openDevice } from "../../engine/device/open.ts";
import { M40Error } from "../../engine/errors.ts";
import { Home, startM40, TINY, Watched } from "../fixtures/cli_program.ts";
import { m40 } from "../fixtures/cli_session.ts";
import { TemporaryEnvironment } from "../fixtures/temporary.ts";

// What --device takes, by the real libraries: the CPU's, and the GPU's where it is built. A driver that is too old and
// a GPU that can be used are emulated_choice.ts's.

const CUDA = findLibrary("cuda");
const absence = CUDA && absenceOf(CUDA);

/** Why there is no GPU for a library; empty where there is one, undefined where the library is an old one. */
function absenceOf(path: string): string | undefined {
  try {
    const library = KernelLibrary.open(path);
    const { absence } = library.countDevices();
    library.close();
    return absence;
  } catch (error) {
    if (error instanceof M40Error) return undefined;
    throw error;
  }
}

const withoutGpu = {
  ignore: !absence,
  title: "(ignored where libm40_cuda.so is not built, or there is a GPU)",
};

Deno.test(
  `--device auto says in a sentence why it takes the CPU, where that matters ${withoutGpu.title}`,
  { ignore: withoutGpu.ignore },
  async () => {
    await using home = await Home.make();
    const warning = `warning: No GPU is used: ${absence}. Computing on the CPU.\n`;
    assertMatch(absence!, /NVIDIA driver/);
    const args = ["run", "--device", "auto", TINY, "Hello", "--max-tokens", "2"];
    const run = await m40(home, args);
    assertEquals([run.code, run.stderr], [0, ""]);
    const stats = await m40(home, [...args, "--verbose"]);
    assertEquals([stats.code, stats.stderr.startsWith(warning)], [0, true], stats.stderr);
    const text = join(home.path, "text");
    await Deno.writeTextFile(text, "Once upon a time there was a house on a hill.");
    const evaluated = await m40(home, ["eval", "--device", "auto", TINY, "--file", text]);
    assertEquals([evaluated.code, evaluated.stderr], [0, ""]);
    const sizes = "--prompts 8 --batches 1 --steps 1 --repetitions 1".split(" ");
    const measured = await m40(home, ["bench", "--device", "auto", TINY, ...sizes]);
    assertEquals([measured.code, measured.stderr], [0, warning]);
    assertMatch(measured.stdout, /\(cpu, /);
    const serve = startM40(home, ["serve", "--device", "auto", "--model", TINY, "--port", "0"]);
    await serve.stdin.close();
    const served = new Response(serve.stderr).text();
    const output = new Watched(serve.stdout);
    await output.until(/Listening/);
    serve.kill("SIGTERM");
    await output.rest();
    assertEquals([(await serve.status).code, await served], [0, warning]);
    const show = await m40(home, ["show", TINY]);
    assertMatch(show.stdout, new RegExp(`\n *no GPU +${absence}\n`));
    const cpu = await m40(home, ["run", TINY, "Hello", "--max-tokens", "2", "--device", "cpu"]);
    assert(!cpu.stderr.includes("GPU"), cpu.stderr);
  },
);

Deno.test(`--device cuda fails with the reason where there is no GPU ${withoutGpu.title}`, {
  ignore: withoutGpu.ignore,
}, () => {
  for (const device of ["cuda", "cuda:9"]) {
    const error = assertThrows(() => openDevice(device), M40Error);
    assertEquals([error.code, error.message], ["device", absence]);
  }
});

Deno.test("--device auto says why where the GPU's library cannot be loaded", async () => {
  await using home = await Home.make();
  await Deno.writeTextFile(join(home.path, "libm40_cuda.so"), "not a library");
  const env = { M40_KERNELS: home.path };
  const args = ["run", "--device", "auto", TINY, "Hello", "--max-tokens", "2", "--verbose"];
  const { code, stderr } = await m40(home, args, { env });
  assertEquals(code, 0);
  assertMatch(
    stderr,
    /^warning: No GPU is used: .*libm40_cuda\.so cannot be loaded .* on the CPU\.$/m,
  );
});

Deno.test("a wrong M40_KERNELS is said, and no other library taken", async () => {
  await using home = await Home.make();
  const file = join(home.path, "file");
  await Deno.writeTextFile(file, "");
  const wrong: [string, RegExp][] = [
    [join(home.path, "nowhere"), /cannot be opened: there is no such file or directory/],
    [join(home.path, "nowhere.so"), /cannot be opened: there is no such file or directory/],
    [home.models, /has no kernel library/],
    [file, /is neither a folder nor a library/],
    [join(file, "below"), /a part of the path is not a directory/],
  ];
  for (const [path, reason] of wrong) {
    using _environment = new TemporaryEnvironment({ M40_KERNELS: path });
    for (const device of ["auto", "cpu", "cuda"]) {
      const { message } = assertThrows(() => openDevice(device), M40Error);
      assertMatch(message, /^M40_KERNELS is "/);
      assertMatch(message, reason);
    }
  }
  const [[path, reason]] = wrong;
  const env = { M40_KERNELS: path };
  const run = await m40(home, ["run", TINY, "Hello", "--max-tokens", "2"], { env });
  assertEquals([run.code, run.stdout], [1, ""], run.stderr);
  assertMatch(run.stderr, /^error: M40_KERNELS is "/);
  assertMatch(run.stderr, reason);
  const shown = await m40(home, ["show", TINY], { env });
  assertEquals(shown.code, 0);
  assertMatch(shown.stdout, /Context that fits\n *M40_KERNELS is/);
});

Deno.test("an unknown device is refused with the known ones", () => {
  for (const name of ["gpu", "cuda:", "cuda:-1", "cuda:99999", "cpu:0"]) {
    const error = assertThrows(() => openDevice(name), M40Error);
    assertEquals(error.code, "invalid_request");
    assertMatch(error.message, /wanted auto, cpu, cuda or cuda:N$/);
  }
});
