/**
 * The emulated device's management library (cuda/emulation/management), for tests.
 *
 * @module
 */
import { fromFileUrl, join } from "@std/path";
import { assert } from "@std/assert";

const SOURCE = fromFileUrl(new URL("../cuda/emulation/management/nvml.cpp", import.meta.url));

/** Builds it; the folder in which the loader of a program that is started finds it (`LD_LIBRARY_PATH`). */
export async function buildManagement(dist: string): Promise<string> {
  const folder = join(dist, "objects", "emulated_management");
  await Deno.mkdir(folder, { recursive: true });
  const path = join(folder, "libnvidia-ml.so.1");
  // Under another name first: other tests may be about to open it.
  const fresh = await Deno.makeTempFile({ dir: folder });
  const { success, stderr } = await new Deno.Command(Deno.env.get("CXX") ?? "g++", {
    args: [
      ...["-shared", "-fPIC", "-Wall", "-Wextra", "-Wl,-soname,libnvidia-ml.so.1"],
      ...[SOURCE, "-o", fresh],
    ],
  }).output();
  assert(success, new TextDecoder().decode(stderr));
  await Deno.rename(fresh, path);
  return folder;
}
