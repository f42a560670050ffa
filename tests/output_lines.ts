// Writes texts of all lengths to standard output, as commands do.
import { standardOutput } from "../server/output_stream.ts";

/** Empty lines, short and long ones, some ended and some not, around the sizes that buffers have. */
export const LINES: string[] = [
  0,
  1,
  7,
  999,
  1000,
  1001,
  1023,
  1024,
  1025,
  4095,
  4096,
  4097,
  70_000,
]
  .flatMap((length, i) =>
    Array.from(
      { length: 12 },
      (_, k) =>
        String.fromCharCode(97 + (5 * i + k) % 26).repeat(length) +
        (k % 3 === 0 ? "" : "\n\n".slice(k % 2)),
    )
  );

if (import.meta.main) { for (const line of LINES) await standardOutput.write(line); }
