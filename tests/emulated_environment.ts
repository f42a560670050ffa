/**
 * What tests of the emulated GPU set up: environment variables, which its device heeds
 * (cuda/emulation/device_state.h), and a folder of libraries in which it stands in the GPU's library's place.
 *
 * @module
 */
import { join } from "@std/path";
import { ROOT } from "./cli_program.ts";

/** Runs a test with environment variables set, and sets them back. */
export async function withEnvironment(
  variables: Record<string, string>,
  test: () => Promise<void> | void,
): Promise<void> {
  const before = Object.keys(variables).map((name) => [name, Deno.env.get(name)] as const);
  for (const [name, value] of Object.entries(variables)) Deno.env.set(name, value);
  try {
    await test();
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) Deno.env.delete(name);
      else Deno.env.set(name, value);
    }
  }
}

/** Has `--device cuda`, of this process and of those that it starts, take the emulated library. */
export async function takeEmulatedForCuda(): Promise<void> {
  const folder = await Deno.makeTempDir();
  await Deno.symlink(Deno.env.get("M40_KERNELS")!, join(folder, "libm40_cuda.so"));
  await Deno.symlink(join(ROOT, "dist", "libm40_cpu.so"), join(folder, "libm40_cpu.so"));
  Deno.env.set("M40_KERNELS", folder);
  globalThis.addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));
}

/** What a program that opens the emulated library needs in its environment beside what every program has. */
export function sanitizerEnvironment(): Record<string, string> {
  const names = ["LD_PRELOAD", "ASAN_OPTIONS", "UBSAN_OPTIONS"];
  return Object.fromEntries(names.map((name) => [name, Deno.env.get(name) ?? ""]));
}
