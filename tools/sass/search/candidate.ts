/**
 * One kernel compiled with an order to try: what its machine code costs.
 *
 * @module
 */
import { join } from "@std/path";
import { BuildError } from "../../build/build_error.ts";
import type { CudaToolkit } from "../../build/cuda_toolkit.ts";
import { type Kernel, localAccesses, residentBlocks } from "../kernels.ts";
import { kernelsOf } from "../library.ts";
import { kernelClocks } from "../loops.ts";
import { multiplyAddsAClock } from "../schedule.ts";
import type { DecodeKernel, KernelFacts } from "./decode_kernel.ts";
import { type DecodeOrder, orderText, tableText } from "./order.ts";
import type { Cost } from "./order_search.ts";

/** Where and with what candidates are compiled. */
export interface Workshop {
  /** A folder with cuda/. Its path is as long as any other's: nvcc's code follows from that (build/same_bytes.ts). */
  readonly folder: string;
  readonly toolkit: CudaToolkit;
  /** What starts nvcc. */
  readonly launcher: readonly string[];
}

/** A source that instantiates one kernel with an order of its own. */
export function candidateSource(
  { type, tokens, rows, prologue }: DecodeKernel,
  { residency }: KernelFacts,
  order: DecodeOrder,
): string {
  const table = order.table ? `#define M40_SEARCHED_TABLE ${tableText(order.table)}` : "";
  return `${table.replaceAll("\n", " ").replace(/,$/, "")}
#include "kernels/decode_order.cuh"

namespace m40::cuda {
template <>
__host__ __device__ constexpr DecodeOrder decode_order<${type}, ${tokens}, true>() { return ${
    orderText(order)
  }; }
}

#include "kernels/matmul_decode.cuh"

namespace m40::cuda {
template __global__ void matmul_decode_kernel<${type}, ${tokens}, ${rows}, ${prologue}, ${residency}, ${type}>(MatmulDecodeArgs);
}
`;
}

/**
 * What a kernel's code costs, or undefined where it is of no use: it has no loop of multiply-adds, or more registers or
 * shared memory than so many thread blocks of a multiprocessor have.
 */
export function costOf(kernel: Kernel, residency: number): Cost | undefined {
  if ((residentBlocks(kernel) ?? 0) < residency) return undefined;
  const turn = kernelClocks(kernel)?.turn;
  return turn && {
    spills: localAccesses(kernel),
    clocks: Math.ceil(turn.clocks),
    banks: turn.banks,
    registers: kernel.registers,
    share: multiplyAddsAClock(turn),
  };
}

/**
 * Compiles a candidate and reads its machine code.
 *
 * @param number Of at most five digits. Candidates that are compiled at the same time have different ones.
 * @throws {BuildError} with nvcc's message where it does not compile.
 */
export async function rate(
  { folder, toolkit, launcher }: Workshop,
  kernel: DecodeKernel,
  facts: KernelFacts,
  order: DecodeOrder,
  number: number,
): Promise<Cost | undefined> {
  // A folder for each one: nvcc keeps its temporary files there.
  const own = join(folder, `order${String(number).padStart(5, "0")}`);
  await Deno.mkdir(own);
  try {
    const [source, result] = [join(own, "kernel.cu"), join(own, "kernel.fatbin")];
    await Deno.writeTextFile(source, candidateSource(kernel, facts, order));
    const [program, ...args] = [
      ...[...launcher, toolkit.nvcc, "-ccbin", toolkit.hostCompiler, "-std=c++17", "-Icuda", "-O3"],
      ...["-gencode=arch=compute_52,code=[sm_52,compute_52]", "-fatbin", source, "-o", result],
    ];
    const { success, stderr } = await new Deno.Command(program, {
      ...{ args, cwd: folder, clearEnv: true, stdout: "null", stderr: "piped" },
      env: { ...toolkit.environment, TMPDIR: own },
      // A terminal's Ctrl-C is for the search, which waits for what it compiles and removes its folder.
      detached: true,
    }).output();
    if (!success) throw new BuildError(`nvcc failed:\n${new TextDecoder().decode(stderr).trim()}`);
    const [compiled] = await kernelsOf(result, toolkit.nvcc);
    return costOf(compiled, facts.residency);
  } finally {
    await Deno.remove(own, { recursive: true });
  }
}
