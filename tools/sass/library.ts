/**
 * The kernels of a library, or of any other file of machine code, by the CUDA toolkit's own listing of it.
 *
 * @module
 */
import { BuildError } from "../build/build_error.ts";
import { findCudaToolkit } from "../build/cuda_toolkit.ts";
import { addResources, type Kernel, PtxReader, SassParser } from "./kernels.ts";

/** Runs cuobjdump and gives its output's lines. */
async function* cuobjdump(program: string, args: string[]): AsyncGenerator<string> {
  const process = new Deno.Command(program, { args, stdout: "piped", stderr: "null" }).spawn();
  let rest = "";
  for await (const text of process.stdout.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop()!;
    yield* lines;
  }
  if (rest) yield rest;
  const { success } = await process.status;
  if (!success) throw new BuildError(`${program} ${args.join(" ")} failed`);
}

/**
 * The kernels of a library in its machine code for sm_52.
 *
 * @param nvcc The toolkit's compiler, whose cuobjdump stands next to it; by default that of the first toolkit found.
 * @throws {BuildError} where there is no toolkit, or the listing has no control words.
 */
export async function kernelsOf(library: string, nvcc?: string): Promise<Kernel[]> {
  const program = (nvcc ?? (await findCudaToolkit()).nvcc).replace(/nvcc$/, "cuobjdump");
  const parser = new SassParser();
  for await (const line of cuobjdump(program, ["-sass", "-arch", "sm_52", library])) {
    parser.push(line);
  }
  refuseUnscheduled(parser.kernels.values());
  let usage = "";
  for await (const line of cuobjdump(program, ["-res-usage", "-arch", "sm_52", library])) {
    usage += line + "\n";
  }
  addResources(parser.kernels, usage);
  const ptx = new PtxReader(parser.kernels);
  for await (const line of cuobjdump(program, ["-ptx", library])) ptx.push(line);
  return [...parser.kernels.values()].sort((a, b) =>
    a.base.localeCompare(b.base) || compareLists(a.args, b.args)
  );
}

/**
 * Without control words there are no clocks, and budgets of clocks would hold nothing.
 *
 * @throws {BuildError} where an instruction has none.
 */
export function refuseUnscheduled(kernels: Iterable<Kernel>): void {
  for (const { name, instructions } of kernels) {
    const bare = instructions.find(({ control }) => control === undefined);
    if (bare === undefined) continue;
    throw new BuildError(
      `${name}: the instruction at 0x${bare.address.toString(16)} has no control word before it; ` +
        "wanted cuobjdump's listing of sm_52, a control word before every three instructions",
    );
  }
}

function compareLists(a: readonly number[], b: readonly number[]): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    if (a[i] !== b[i]) return a[i] - b[i];
  }
  return a.length - b.length;
}
