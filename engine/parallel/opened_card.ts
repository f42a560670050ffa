import {
  type Context,
  type DeviceInfo,
  type KernelLibrary,
  openDevice,
  openDeviceProcess,
} from "../device/mod.ts";
import { type EngineOptions, integerOption } from "../engine_options.ts";

/** A device that is open, and nothing on it yet. */
export interface OpenedCard {
  /** As it was asked for. */
  readonly name: string;
  readonly library: KernelLibrary;
  readonly info: DeviceInfo;
  readonly context: Context;
  /** CPU only: threads that were asked for. */
  readonly threads?: number;
}

/**
 * Opens devices, each with a context, and where the options say so a process, of its own.
 *
 * @throws {M40Error} As `openDevice` does; then none is open.
 */
export async function openCards(
  devices: readonly string[],
  options: EngineOptions,
): Promise<OpenedCard[]> {
  const results = await Promise.allSettled(devices.map((device) => openCard(device, options)));
  const opened = results.flatMap((one) => one.status === "fulfilled" ? [one.value] : []);
  const failed = results.find((one) => one.status === "rejected");
  if (failed === undefined) return opened;
  await closeCards(opened);
  throw failed.reason;
}

async function openCard(name: string, options: EngineOptions): Promise<OpenedCard> {
  const threads = options.threads && integerOption("threads", options.threads, 1, 1024);
  const { library, index, fallback } = options.deviceProcess
    ? await openDeviceProcess(name)
    : openDevice(name);
  if (fallback !== undefined) options.onFallback?.(fallback);
  if (name === "auto" && library.backend !== "cpu") options.onChosen?.(`cuda:${index}`);
  try {
    const info = library.device(index);
    const context = library.createContext({ device: index, threads, executor: options.executor });
    return { name, library, info, context, threads: threads || undefined };
  } catch (error) {
    await library.close();
    throw error;
  }
}

/** Whether times that are measured on the cards say something: what an emulated device takes does not, and a CPU's memory is the host's. */
export function canBeTimed(cards: readonly OpenedCard[]): boolean {
  return cards.every(({ library }) => library.backend === "cuda");
}

/** Frees devices, with all that is on them. */
export async function closeCards(cards: readonly OpenedCard[]): Promise<void> {
  for (const { context } of cards) context.close();
  await Promise.all(cards.map(({ library }) => library.close()));
}
