import { MAX_RUN_END_TOKENS, NONE, RUN_HEADER, RUN_ROW } from "./structs.ts";

/** When a sequence of a run samples no more. */
export interface RunLimits {
  /** Tokens that it samples at most. */
  readonly tokens: number;
  /** It samples none after these. */
  readonly endTokens: ReadonlySet<number>;
  /**
   * A slot that its states are written to from a step of the run on, counted from 0, so that the earlier slot is kept.
   */
  readonly later?: { readonly slot: number; readonly from: number };
}

/** Whether a run can have these end tokens: there is room for so many. */
export function fitsRun(rows: readonly RunLimits[]): boolean {
  const sets = new Set(rows.map(({ endTokens }) => endTokens));
  let count = 0;
  for (const { size } of sets) count += size;
  return count <= MAX_RUN_END_TOKENS;
}

/** The argument of m40_run_begin in addition to the step's block: the most steps, and when each row ends. */
export function encodeRun(steps: number, rows: readonly RunLimits[]): Uint8Array<ArrayBuffer> {
  const places = new Map<ReadonlySet<number>, number>();
  const endTokens: number[] = [];
  for (const row of rows) {
    if (places.has(row.endTokens)) continue;
    places.set(row.endTokens, endTokens.length);
    endTokens.push(...row.endTokens);
  }
  const first = RUN_HEADER.bytes + rows.length * RUN_ROW.bytes;
  const bytes = new Uint8Array(first + 4 * endTokens.length);
  const view = new DataView(bytes.buffer);
  RUN_HEADER.write(view, 0, {
    n_steps: steps,
    rows: RUN_HEADER.bytes,
    end_tokens: first,
    n_end_tokens: endTokens.length,
  });
  rows.forEach(({ tokens, endTokens, later }, i) =>
    RUN_ROW.write(view, RUN_HEADER.bytes + i * RUN_ROW.bytes, {
      n_tokens: tokens,
      first_end_token: places.get(endTokens)!,
      n_end_tokens: endTokens.size,
      later_slot: later?.slot ?? NONE,
      later_from: later?.from ?? 0,
    })
  );
  endTokens.forEach((token, i) => view.setInt32(first + 4 * i, token, true));
  return bytes;
}
