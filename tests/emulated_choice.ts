import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import { join } from "@std/path";
import { openDevice } from "../engine/device/open.ts";
import { M40Error } from "../engine/errors.ts";
import { ROOT } from "./cli_program.ts";

// What --device takes where there is a GPU, or a driver that is too old for it. Run by emulated_test.ts: the emulated
// library stands in the GPU's library's place.

const folder = await Deno.makeTempDir();
await Deno.symlink(Deno.env.get("M40_KERNELS")!, join(folder, "libm40_cuda.so"));
await Deno.symlink(join(ROOT, "dist", "libm40_cpu.so"), join(folder, "libm40_cpu.so"));
Deno.env.set("M40_KERNELS", folder);
globalThis.addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));

Deno.test("auto takes the GPU where there is one", () => {
  const { library, index, fallback } = openDevice("auto");
  assertEquals([library.backend, index, fallback], ["emulated", 0, undefined]);
  library.close();
});

Deno.test("a GPU that is not there is refused with those that are", () => {
  const error = assertThrows(() => openDevice("cuda:9"), M40Error);
  assertEquals([error.code, error.message], [
    "device",
    "there is no device cuda:9; there is cuda:0 (Emulated compute capability 5.2)",
  ]);
});

const ABSENCES: [name: string, value: string, reason: RegExp][] = [
  ["M40_EMULATION_DEVICES", "0", /^no NVIDIA driver is installed, or it is not loaded$/],
  ["M40_EMULATION_DRIVER", "10020", /^the NVIDIA driver is too old: .*install driver 450 or newer/],
  [
    "M40_EMULATION_CAPABILITY",
    "35",
    /has compute capability 3\.5: this library needs 5\.2 or newer$/,
  ],
];
for (const [name, value, reason] of ABSENCES) {
  Deno.test(`auto takes the CPU and says why: ${name}=${value}`, () => {
    Deno.env.set(name, value);
    try {
      const { library, fallback } = openDevice("auto");
      assertEquals(library.backend, "cpu");
      assertMatch(fallback!, reason);
      library.close();
    } finally {
      Deno.env.delete(name);
    }
  });
}
