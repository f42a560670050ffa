import { M40Error } from "../../engine/errors.ts";
import { EndSignals } from "../terminal/mod.ts";
import type { KvType } from "../../engine/memory/mod.ts";
import type { Pulled, PullOptions, PullStart } from "../../engine/store/pull/mod.ts";
import { PullReport } from "./pull_report.ts";

/**
 * Fetches a model and says how it goes.
 *
 * @returns Nothing where Ctrl-C or SIGTERM ended it; what is there is kept for the next time.
 */
export async function pullShown(
  name: string,
  { quant, json = false, ...options }:
    & Pick<PullOptions, "name" | "force" | "copy" | "device" | "here">
    & { readonly quant?: string; readonly json?: boolean; readonly "kv-type"?: KvType },
): Promise<{ readonly pulled?: Pulled }> {
  // Here, not above: it needs schemas and much else that other commands start faster without.
  const { pull } = await import("../../engine/store/pull/mod.ts");
  using signals = new EndSignals("SIGINT", "SIGTERM");
  await using report = new PullReport(json, options.here);
  try {
    const pulled = await pull(name, {
      name: options.name,
      force: options.force,
      copy: options.copy,
      device: options.device,
      here: options.here,
      kvType: options["kv-type"],
      quantisation: quant,
      signal: signals.signal,
      onNote: (sentence) => report.note(sentence),
      onStart: (start: PullStart) => report.start(start),
      onProgress: (progress) => report.progress(progress),
    });
    await report.done(pulled);
    return { pulled };
  } catch (error) {
    if (!isAbort(error, signals.signal)) throw error;
    await report.interrupted();
    return {};
  }
}

function isAbort(error: unknown, signal: AbortSignal): boolean {
  return signal.aborted &&
    (error === signal.reason || (error instanceof DOMException && error.name === "AbortError") ||
      (error instanceof M40Error && error.code === "cancelled"));
}
