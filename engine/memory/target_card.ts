import { M40Error } from "../errors.ts";
import { bandwidthOf, openDeviceInPassing, parseDeviceList } from "../device/mod.ts";
import type { Gguf } from "../gguf/mod.ts";
import { wantedContext } from "../models/mod.ts";
import { type Card, type Fit, fitContext } from "./fit.ts";
import type { KvType } from "./memory_plan.ts";

/** What models are fetched for where there is no GPU: the card of 24 GB, as its driver counts it with ECC. */
export const TESLA_M40: Card = {
  name: "Tesla M40 24GB",
  kind: "gpu",
  memoryBytes: 22945 * 2 ** 20,
  // 384 bits at 3004 MHz, two transfers a cycle.
  bytesPerSecond: 288.4e9,
};

/** What the driver and a context of CUDA take for themselves, in bytes. */
const CONTEXT_BYTES = 300 * 2 ** 20;

/** Bytes that a model needs at least in addition to its weights, where only its size is known. */
const OTHER_BYTES = 2 ** 30;

/** The device that a model is fetched for. */
export interface Target {
  /** What it has in all: what others take of it now, they will not for ever. */
  readonly card: Card;
  /** The library that says what things take. */
  readonly device: string;
  readonly kvType: KvType;
}

/**
 * The device of a name; for `auto` the GPU, or where there is none the {@link TESLA_M40}.
 *
 * @param here Whether it is about this machine alone: then without a GPU it is the CPU.
 * @throws {M40Error} Where another one is named that is not there.
 */
export function targetOf(device: string, kvType: KvType, here = false): Target {
  const names = parseDeviceList(device);
  if (names.length > 1) return togetherOf(names.map((name) => targetOf(name, kvType, true)));
  const { library, index } = openDeviceInPassing(device);
  try {
    const info = library.device(index);
    const { name, kind, memoryBytes } = info;
    if (kind === "gpu") {
      const usable = Math.max(0, memoryBytes - CONTEXT_BYTES);
      const bytesPerSecond = bandwidthOf(info);
      return { card: { name, kind, memoryBytes: usable, bytesPerSecond }, device, kvType };
    }
    return device === "auto" && !here
      ? { card: TESLA_M40, device: "cpu", kvType }
      : { card: { name, kind, memoryBytes }, device, kvType };
  } finally {
    library.close();
  }
}

/** Devices that have a model's layers among them: taken for one, with the memory of all. */
function togetherOf(targets: readonly Target[]): Target {
  const cards = targets.map(({ card }) => card);
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  return {
    ...targets[0],
    card: {
      name: cards.map(({ name }) => name).join(" and "),
      kind: cards[0].kind,
      memoryBytes: sum(cards.map(({ memoryBytes }) => memoryBytes)),
    },
  };
}

/** How a model fits on a card. */
export interface Suitability {
  readonly fit: Fit;
  /** Tokens of context that it should have: the default, or all that it was trained for. */
  readonly wantedTokens: number;
  /** Bytes that it needs in addition to its weights, with that context. */
  readonly otherBytes: number;
}

/**
 * Plans a model for a card.
 *
 * @throws {M40Error} Where it cannot run at all: an architecture or a tensor type that is not known.
 */
export function suitabilityOf(gguf: Gguf, { card, device, kvType }: Target): Suitability {
  const fit = fitContext(gguf, { device, kvType, card });
  const wantedTokens = wantedContext({ contextLength: fit.trainedTokens });
  const programBytes = fit.plan?.programBytes ?? OTHER_BYTES;
  return { fit, wantedTokens, otherBytes: programBytes + wantedTokens * fit.tokenBytes };
}

/** Whether a model of so many bytes may fit, judged by its size. */
export function mayFit(bytes: number, { card }: Target, otherBytes = OTHER_BYTES): boolean {
  return bytes + otherBytes <= card.memoryBytes;
}

/** A target, or why there is none: then what fits is not known, and nothing is refused for it. */
export function targetOrReason(
  ...[device, kvType, here]: Parameters<typeof targetOf>
): Target | string {
  try {
    return targetOf(device, kvType, here);
  } catch (error) {
    if (error instanceof M40Error && error.code === "unsupported" && device === "auto") {
      return error.message;
    }
    throw error;
  }
}
