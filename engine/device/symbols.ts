/**
 * The functions of cuda/include/m40.h for `Deno.dlopen`.
 *
 * @module
 */
import { OFF_LOOP_SYMBOLS, SYMBOLS } from "./symbols.generated.ts";

export * from "./symbols.generated.ts";

/** What a library is opened with. */
export const ALL_SYMBOLS = { ...SYMBOLS, ...OFF_LOOP_SYMBOLS } as const;

/** The opened functions. */
export type Symbols = Deno.StaticForeignLibraryInterface<typeof ALL_SYMBOLS>;
