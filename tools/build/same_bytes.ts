/**
 * How nvcc makes the same bytes of the same sources, wherever and whenever it runs.
 *
 * @module
 */

/**
 * nvcc puts three things into the names of what is a file's own: where the checkout lies, a temporary file's name with a
 * process's number in it, and that number again where the file defines nothing for others. With these flags all of it
 * follows from the source's name, so that the same sources give the same bytes.
 */
export function sameNames(source: string, folder: string): string[] {
  return [
    ...["-Xcudafe", `--orig_src_path_name=/m40/${source}`, "--keep", "--keep-dir", folder],
    ...["-include", "cuda/runtime/source_name.h"],
    `-DM40_SOURCE_NAME=m40_${source.replace(/\W/g, "_")}`,
  ];
}

/**
 * Starts a program with its memory at the same addresses each time, where the system lets it. The front end of CUDA 11.8
 * goes through some of its tables in the order of their addresses: without this the same kernel becomes other machine code
 * from build to build, with other registers and more or fewer clocks.
 */
export async function sameAddresses(): Promise<readonly string[]> {
  const launcher = ["setarch", "-R"];
  try {
    const { success } = await new Deno.Command("setarch", {
      args: ["-R", "true"],
      stdout: "null",
      stderr: "null",
    }).output();
    return success ? launcher : [];
  } catch {
    return [];
  }
}
