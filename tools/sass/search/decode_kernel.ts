/**
 * Which decode product a search is for, and what its sources say of it.
 *
 * @module
 */
import { join } from "@std/path";
import { BuildError } from "../../build/build_error.ts";
import type { CudaToolkit } from "../../build/cuda_toolkit.ts";
import { WEIGHT_TYPES } from "../budgets.ts";
import type { DecodeOrder, DecodeTable, OrderShape } from "./order.ts";

/** Template arguments of a matmul_decode_kernel: tensor type, tokens of a pass, rows of a lane, prologue. */
export interface DecodeKernel {
  readonly type: number;
  readonly tokens: number;
  readonly rows: number;
  readonly prologue: number;
  /** Thread blocks that a multiprocessor has to have room for; undefined: as many as for a launch of the library. */
  readonly residency?: number;
}

const BASE = "matmul_decode_kernel";
const TOKENS = [1, 2, 4, 8, 16];
const ROWS = 4;
const USUAL_TOKENS = 8;
const WANTED =
  `wanted ${BASE}<…> as "deno task sass" prints it, or a tensor type, as in Q4_K --tokens 8`;

/**
 * Reads the name of a kernel.
 *
 * @param name "matmul_decode_kernel<12, 8, 4, 0, 2, 12>", or "Q4_K".
 * @param tokens Of a tensor type's kernel: 8 if none are said.
 * @throws {BuildError} where that is no kernel with an order to search.
 */
export function decodeKernelOf(name: string, tokens?: number): DecodeKernel {
  const args = /^matmul_decode_kernel<(\d+(?:, ?\d+)*)>$/.exec(name.trim())?.[1].split(",").map(
    Number,
  );
  if (args) {
    if (tokens !== undefined) {
      throw new BuildError(`${name} has its tokens in its name; got --tokens ${tokens}, too`);
    }
    if (args.length !== 6) {
      throw new BuildError(`${name} has ${args.length} template arguments, not 6; ${WANTED}`);
    }
    const [type, n, rows, prologue, residency, other] = args;
    if (other !== type) {
      throw new BuildError(
        `${name} walks weights of two types, ${typeName(type)} and ${typeName(other)}; ` +
          "wanted a kernel of one type",
      );
    }
    return { type: known(type), tokens: knownTokens(n), rows, prologue, residency };
  }
  if (/[<_]kernel\b|</.test(name)) {
    throw new BuildError(`${name} has no order that can be searched; ${WANTED}`);
  }
  const type = Object.entries(WEIGHT_TYPES).find(([, type]) => type.name === name)?.[0];
  if (type === undefined) {
    const names = Object.values(WEIGHT_TYPES).map((type) => type.name).join(", ");
    throw new BuildError(`unknown kernel ${name}; ${WANTED}\nTensor types: ${names}`);
  }
  return {
    type: Number(type),
    tokens: knownTokens(tokens ?? USUAL_TOKENS),
    rows: ROWS,
    prologue: 0,
  };
}

const typeName = (type: number) => WEIGHT_TYPES[type]?.name ?? `type ${type}`;

function known(type: number): number {
  if (WEIGHT_TYPES[type]) return type;
  throw new BuildError(`unknown tensor type ${type}; ${WANTED}`);
}

function knownTokens(tokens: number): number {
  if (TOKENS.includes(tokens)) return tokens;
  throw new BuildError(
    `there is no decode kernel for ${tokens} tokens; wanted ${TOKENS.join(", ")}`,
  );
}

/** "8 tokens of Q4_K" */
export function describeKernel({ type, tokens, rows, prologue }: DecodeKernel): string {
  return `${tokens} ${tokens === 1 ? "token" : "tokens"} of ${
    typeName(type)
  }, ${rows} rows a lane` +
    (prologue === 0 ? "" : `, prologue ${prologue}`);
}

/** What the sources say of a kernel. */
export interface KernelFacts extends OrderShape {
  readonly residency: number;
  /** The order that it has without a search. */
  readonly own: DecodeOrder;
}

/** A program that prints them, for a C++ compiler. */
function factsProgram({ type, tokens, rows }: DecodeKernel): string {
  return `#include <cstdio>
#include "ops/matmul_launch.cuh"
using namespace m40::cuda;
int main() {
  constexpr int kColumns = Format<${type}>::kColumns;
  constexpr DecodeOrder kOrder = decode_order<${type}, ${tokens}, true>();
  std::printf("[%d, %d, %d, [%d, %d, %d, %d, %d, %d, %d, %d]", kColumns, decode_residency<${type}>(${tokens}, ${rows}), by_column<Format<${type}>, ${tokens}>, kOrder.refill,
              kOrder.rows_inside, kOrder.first_row, kOrder.rows_later, kOrder.rows_later_by_token, kOrder.rows_later_by_four,
              kOrder.rows_back, kOrder.tokens_back);
  for (int four = 0; kOrder.table != no_table && four < kColumns / 4; four++) {
    std::printf(", [[");
    for (int turn = 0; turn < ${tokens}; turn++) std::printf("%s%d", turn == 0 ? "" : ", ", decode_token(kOrder, four, turn, ${tokens}));
    std::printf("]");
    for (int token = 0; token < ${tokens}; token++) {
      const int digits = decode_tables[kOrder.table - 1].columns[four][token];
      std::printf(", [%d, %d, %d, %d]", digits >> 9 & 7, digits >> 6 & 7, digits >> 3 & 7, digits & 7);
    }
    std::printf("]");
  }
  std::printf("]");
}
`;
}

/**
 * Asks the sources of a kernel, by a program that a C++ compiler makes of them.
 *
 * @param folder Where cuda/ is; a program is left there.
 * @throws {BuildError} with the compiler's message where it does not compile.
 */
export async function kernelFacts(
  kernel: DecodeKernel,
  folder: string,
  { hostCompiler, version, environment }: CudaToolkit,
): Promise<KernelFacts> {
  const source = join(folder, "facts.cpp");
  const program = join(folder, "facts");
  await Deno.writeTextFile(source, factsProgram(kernel));
  const args = [
    ...["-std=c++17", "-DM40_EMULATED", `-D__CUDACC_VER_MAJOR__=${version.split(".")[0]}`],
    ...["-Icuda", "-w", source, "-o", program],
  ];
  const env = { ...environment, TMPDIR: folder };
  const options = { cwd: folder, env, clearEnv: true, detached: true };
  const compiled = await new Deno.Command(hostCompiler, { args, ...options }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  if (!compiled.success) {
    throw new BuildError(`${hostCompiler} failed:\n${text(compiled.stderr).trim()}`);
  }
  const [columns, residency, byColumn, order, ...fours] = JSON.parse(
    text((await new Deno.Command(program, options).output()).stdout),
  );
  const [refill, inside, firstRow, rowsLater, rowsLaterByToken, rowsLaterByFour, back, tokensBack] =
    order;
  const table: DecodeTable | undefined = fours.length === 0 ? undefined : {
    tokens: fours.map(([tokens]: number[][]) => tokens),
    columns: fours.map(([, ...columns]: number[][]) => columns),
  };
  return {
    columns,
    tokens: kernel.tokens,
    rows: kernel.rows,
    byColumn: byColumn === 1,
    residency: kernel.residency ?? residency,
    own: {
      ...{ refill, rowsInside: inside === 1, firstRow, rowsLater, rowsLaterByToken },
      ...{ rowsLaterByFour, rowsBack: back === 1, tokensBack: tokensBack === 1, table },
    },
  };
}
