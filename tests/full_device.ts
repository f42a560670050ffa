import type { Context } from "../engine/device/context.ts";
import type { KernelLibrary } from "../engine/device/library.ts";
import { M40Error } from "../engine/mod.ts";

/** Takes what is left of a device's memory, of which whoever loads a model there may take some at the same time. */
export function takeTheRest(library: KernelLibrary, context: Context, device: number): void {
  for (;;) {
    try {
      context.createArena(library.device(device).freeBytes - 1000);
      return;
    } catch (error) {
      if (!(error instanceof M40Error && error.code === "out_of_memory")) throw error;
    }
  }
}
