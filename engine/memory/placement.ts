import type { Cache, Context, DeviceProgram, Limits } from "../device/mod.ts";
import type { Gguf } from "../gguf/mod.ts";
import { encodeOperations, type Program } from "../program/mod.ts";
import type { MemoryPlan } from "./memory_plan.ts";

/** What is placed of a plan. */
export type PlacedMemory = Pick<
  MemoryPlan,
  "weightBytes" | "programBytes" | "cacheBytes" | "stateBytes" | "cache" | "limits" | "decodeLimits"
>;

/** What is on the device then. */
export interface PlacedProgram {
  readonly program: DeviceProgram;
  /** The same for decoding, where prompts are computed concurrently. */
  readonly decodeProgram?: DeviceProgram;
  readonly cache: Cache;
  readonly tensors: readonly number[];
}

/**
 * Puts weights, cache and program on the device, as planned.
 *
 * @param onProgress Receives the bytes of weights that are uploaded, and how many there are.
 */
export async function place(
  context: Context,
  gguf: Gguf,
  source: Program,
  plan: PlacedMemory,
  onProgress: (done: number, total: number) => void = () => {},
): Promise<PlacedProgram> {
  const weights = context.createArena(plan.weightBytes);
  const total = source.weights.reduce((sum, { tensor }) => sum + tensor.bytes, 0);
  const tensors = new Array<number>(source.weights.length);
  // In file order, so that each file is read from start to end.
  const order = source.weights.map((_, i) => i).sort((a, b) => {
    const [one, other] = [source.weights[a].tensor, source.weights[b].tensor];
    return one.file - other.file || one.offset - other.offset;
  });
  let done = 0;
  for (const i of order) {
    const { tensor, desc } = source.weights[i];
    tensors[i] = await weights.uploadFile(desc, gguf.files[tensor.file].path, tensor.offset);
    onProgress(done += tensor.bytes, total);
  }
  await context.finishUploads();
  const cache = context.createArena(plan.cacheBytes + plan.stateBytes).createCache(plan.cache);
  const arena = context.createArena(plan.programBytes);
  const ops = encodeOperations(source.operations, tensors);
  const create = (limits: Limits) =>
    arena.createProgram({ limits, buffers: source.buffers, ops }, cache);
  const program = create(plan.limits);
  const decodeProgram = plan.decodeLimits && create(plan.decodeLimits);
  return { program, decodeProgram, cache, tensors };
}
