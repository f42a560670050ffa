import { bisect } from "./bisect.ts";
import { sizeOf } from "./cache_groups.ts";
import {
  type Context,
  type DeviceInfo,
  type DeviceKind,
  openDeviceInPassing,
  type OpenedDevice,
} from "../device/mod.ts";
import type { Gguf } from "../gguf/mod.ts";
import { type Model, readModel } from "../models/mod.ts";
import { type Arithmetic, type CacheLayer, stepWork, withArithmetic } from "../program/mod.ts";
import { DEFAULT_PREFILL_SHARE } from "../scheduler/mod.ts";
import { M40Error } from "../errors.ts";
import {
  hasLanes,
  KV_BLOCK_TOKENS,
  type KvType,
  type MemoryPlan,
  planMemory,
} from "./memory_plan.ts";
import { usualParallel } from "./state_plan.ts";

/** What of a model fits on a device. */
export interface Fit {
  readonly backend: string;
  /** The device's name. */
  readonly device: string;
  /** Why it is the CPU, where there is a library for GPUs but no GPU that it can use. */
  readonly fallback?: string;
  /** Bytes of its memory in all and free. */
  readonly memoryBytes: number;
  readonly freeBytes: number;
  /** Tokens that the model was trained for. */
  readonly trainedTokens: number;
  /** The most tokens of context that fit, up to the trained ones; 0 where not even the weights do. */
  readonly contextTokens: number;
  /** Bytes of KV cache that a token takes, and those of them that it still takes behind all windows. */
  readonly tokenBytes: number;
  readonly farTokenBytes: number;
  /** Bytes that a decoded token of one sequence reads, at {@link USUAL_DEPTH}: of experts those it chooses. */
  readonly readBytes: number;
  /** Where the memory goes with that context; undefined where nothing fits. */
  readonly plan?: MemoryPlan;
}

/** A device that is planned for and need not be there. */
export interface Card {
  readonly name: string;
  readonly kind: DeviceKind;
  /** Bytes of its memory, of which nothing else takes any. */
  readonly memoryBytes: number;
  /** What its memory gives, where that is known. */
  readonly bytesPerSecond?: number;
}

/** What a library for such a device is for. */
const BACKENDS: Readonly<Record<DeviceKind, string>> = { cpu: "cpu", gpu: "cuda" };
/** Tokens before one whose reading is counted. */
const USUAL_DEPTH = 1024;

/** What is asked of a {@link FitDevice}. */
export interface FitRequest {
  readonly kvType?: KvType;
  /** What products are computed in; default "exact". */
  readonly arithmetic?: Arithmetic;
  /** Used for planning instead of the device, whose library only reports sizes. */
  readonly card?: Card;
}

/** A device, opened once to find out what of many models fits on it. */
export class FitDevice implements Disposable {
  private constructor(private readonly opened: OpenedDevice, private readonly context: Context) {}

  /** @throws {M40Error} As {@link Engine.load} does where there is no such device. */
  static open(device = "auto"): FitDevice {
    const opened = openDeviceInPassing(device);
    const { library, index } = opened;
    try {
      return new FitDevice(opened, library.createContext({ device: index, threads: 1 }));
    } catch (error) {
      library.close();
      throw error;
    }
  }

  /** What the device is. */
  get info(): DeviceInfo {
    const { library, index } = this.opened;
    return library.device(index);
  }

  /**
   * Finds the longest context that there is room for, as the model is served without further options,
   * without loading the weights.
   *
   * @throws {M40Error} As {@link Engine.load} does, but for memory.
   */
  fit(gguf: Gguf, { kvType = "f16", arithmetic = "exact", card }: FitRequest = {}): Fit {
    const { shape, program: exact } = readModel(gguf);
    const program = withArithmetic(exact, arithmetic);
    const { library, fallback } = this.opened;
    const info: Omit<Card, "bytesPerSecond"> & { freeBytes: number } = card === undefined
      ? this.info
      : { ...card, freeBytes: card.memoryBytes };
    // A card that need not be there has a library of its own.
    const backend = card === undefined ? library.backend : BACKENDS[card.kind];
    const plan = (contextTokens: number): MemoryPlan | undefined => {
      try {
        return this.plan({ shape, program }, contextTokens, kvType, info, backend);
      } catch (error) {
        if (error instanceof M40Error && error.code === "out_of_memory") return undefined;
        throw error;
      }
    };
    const best = plan(shape.contextLength) ?? largest(plan, shape.contextLength);
    const kvValueBytes = { f16: 2, f32: 4, q8_0: 34 / 32 }[kvType];
    const bytesOf = (layers: readonly CacheLayer[]) =>
      kvValueBytes * layers.reduce((sum, layer) => sum + sizeOf(layer), 0);
    const { cacheLayers } = program;
    const attended = Math.min(USUAL_DEPTH, shape.contextLength);
    const decoded = { tokens: 1, outputs: 1, sequences: 1, attended, kvValueBytes };
    return {
      backend: library.backend,
      device: info.name,
      fallback,
      memoryBytes: info.memoryBytes,
      freeBytes: info.freeBytes,
      trainedTokens: shape.contextLength,
      contextTokens: best?.contextTokens ?? 0,
      tokenBytes: bytesOf(cacheLayers),
      farTokenBytes: bytesOf(cacheLayers.filter(({ window, chunk }) => window + chunk === 0)),
      readBytes: stepWork(program, decoded).bytes,
      plan: best,
    };
  }

  /**
   * Ensures that a model can have a context where nothing else takes memory.
   *
   * @throws {M40Error} As {@link Engine.load} does for a context that cannot be had.
   */
  checkContext(
    gguf: Gguf,
    contextTokens: number,
    { kvType = "f16", arithmetic = "exact" }: Omit<FitRequest, "card"> = {},
  ): void {
    const { info } = this;
    const { library: { backend } } = this.opened;
    const whole = { ...info, freeBytes: info.memoryBytes };
    const { shape, program } = readModel(gguf);
    const model = { shape, program: withArithmetic(program, arithmetic) };
    this.plan(model, contextTokens, kvType, whole, backend);
  }

  /** The plan of a context with the least memory for everything else. */
  private plan(
    { shape, program }: Pick<Model, "shape" | "program">,
    contextTokens: number,
    kvType: KvType,
    { kind, freeBytes }: { readonly kind: DeviceKind; readonly freeBytes: number },
    backend: string,
  ): MemoryPlan {
    const maxRunning = usualParallel(this.context, program, kind, freeBytes);
    return planMemory(this.context, program, shape, {
      contextTokens,
      kvType,
      maxRunning,
      outputs: 1,
      freeBytes,
      device: kind,
      lanes: hasLanes(backend, maxRunning, DEFAULT_PREFILL_SHARE),
      // As few as the context takes.
      kvBlocks: 1,
      slots: 1,
    });
  }

  [Symbol.dispose](): void {
    const { library } = this.opened;
    this.context.close();
    library.close();
  }
}

/**
 * What of one model fits; see {@link FitDevice}.
 *
 * @param device The device; default: auto.
 */
export function fitContext(
  gguf: Gguf,
  { device, ...request }: FitRequest & { device?: string } = {},
): Fit {
  using opened = FitDevice.open(device);
  return opened.fit(gguf, request);
}

/** The plan of the most whole KV blocks that fit, where `tokens` do not. */
function largest(
  plan: (tokens: number) => MemoryPlan | undefined,
  tokens: number,
): MemoryPlan | undefined {
  let best: MemoryPlan | undefined;
  bisect(0, Math.ceil(tokens / KV_BLOCK_TOKENS), (kvBlocks) => {
    const found = plan(kvBlocks * KV_BLOCK_TOKENS);
    best = found ?? best;
    return found !== undefined;
  });
  return best;
}
