import { assertEquals, assertRejects } from "@std/assert";
import { M40Error } from "../../engine/errors.ts";
import { TestDevice } from "../fixtures/device_harness.ts";
import { TemporaryFile } from "../fixtures/temporary.ts";

// Tensors that are larger than what is read at a time: several threads read pieces of them, and a GPU takes them in
// parts, by turns through two buffers.

const COLUMNS = 1024;
const ROWS = 9001;
/** Where the tensor begins in its file: not at a KV block of the file's, nor at a piece. */
const OFFSET = 4321 * 4;

/** The value of a place in the tensor: exact in a float32, and different wherever pieces are mixed up. */
const valueAt = (row: number, column: number) => (row * 7919 + column * 31) % 65_521;

async function writeTensor(path: string): Promise<void> {
  const data = new Float32Array(OFFSET / 4 + ROWS * COLUMNS);
  for (let row = 0; row < ROWS; row++) {
    for (let column = 0; column < COLUMNS; column++) {
      data[OFFSET / 4 + row * COLUMNS + column] = valueAt(row, column);
    }
  }
  await Deno.writeFile(path, new Uint8Array(data.buffer));
}

Deno.test("a tensor larger than what is read at a time arrives whole, and one that is cut off says where", async () => {
  using temporary = new TemporaryFile();
  const path = temporary.path;
  using device = new TestDevice();
  await writeTensor(path);
  const desc = { type: 0, n_experts: 1, rows: ROWS, columns: COLUMNS };
  const tensor = await device.arena.uploadFile(desc, path, OFFSET);
  const experts = { type: 0, n_experts: 9, rows: 1000, columns: COLUMNS };
  const second = await device.arena.uploadFile(experts, path, OFFSET);
  await device.context.finishUploads();
  for (const [index, rows] of [[tensor, ROWS], [second, 9000]]) {
    const values = device.context.readTensor(index, 0, rows, COLUMNS);
    const wrong = values.findIndex((value, i) =>
      value !== valueAt(Math.floor(i / COLUMNS), i % COLUMNS)
    );
    assertEquals(wrong, -1);
  }
  // In the middle of a piece, with whole pieces before and after it.
  const kept = OFFSET + 5 * 2 ** 20 + 12_345;
  await Deno.truncate(path, kept);
  const error = await assertRejects(() => device.arena.uploadFile(desc, path, OFFSET), M40Error);
  assertEquals(error.code, "io");
  const wanted = new RegExp(`ends too early: wanted \\d+ bytes from byte \\d+ on, got (\\d+)$`);
  const [, got] = wanted.exec(error.message) ?? [];
  const part = 16 * 2 ** 20;
  assertEquals(Number(got) % part, (kept - OFFSET) % part, error.message);
  // The earlier tensor is still there.
  const [first, next] = device.context.readTensor(tensor, 0, 1, COLUMNS);
  assertEquals([first, next], [0, 31]);
});

Deno.test("a part of a weight is its rows of each expert, from a file and from memory; rows that the weight has not are refused", async () => {
  using temporary = new TemporaryFile();
  const path = temporary.path;
  using device = new TestDevice();
  await writeTensor(path);
  const part = (n_experts: number, firstRow: number, rows: number, wholeRows: number) => ({
    ...{ type: 0, n_experts, rows, columns: COLUMNS, part: { firstRow, wholeRows } },
  });
  for (
    const [experts, first, rows, whole] of [
      [1, 0, 128, ROWS],
      [1, 1000, ROWS - 1000, ROWS],
      [9, 300, 257, 1000],
      [9, 999, 1, 1000],
      [3, 500, 2500, 3000],
    ]
  ) {
    const tensor = await device.arena.uploadFile(part(experts, first, rows, whole), path, OFFSET);
    await device.context.finishUploads();
    const values = device.context.readTensor(tensor, 0, experts * rows, COLUMNS);
    const wrong = values.findIndex((value, i) => {
      const row = Math.floor(i / COLUMNS);
      const of = Math.floor(row / rows) * whole + first + row % rows;
      return value !== valueAt(of, i % COLUMNS);
    });
    assertEquals(wrong, -1, `${rows} rows from ${first} of ${whole}, ${experts} experts`);
  }
  const small = Float32Array.from({ length: 2 * 6 * 4 }, (_, i) => i);
  const bytes = new Uint8Array(small.buffer);
  const desc = {
    type: 0,
    n_experts: 2,
    rows: 2,
    columns: 4,
    part: { firstRow: 3, wholeRows: 6 },
  };
  const tensor = device.arena.upload(desc, bytes);
  await device.context.finishUploads();
  assertEquals(
    [...device.context.readTensor(tensor, 0, 4, 4)],
    [...small.subarray(12, 20), ...small.subarray(36, 44)],
  );
  for (const [firstRow, wholeRows] of [[5, 6], [2 ** 32 - 1, 6], [1, 0], [0, 1]]) {
    const wrong = { ...desc, part: { firstRow, wholeRows } };
    await assertRejects(
      () => device.arena.uploadFile(wrong, path, OFFSET),
      M40Error,
      "wanted rows of the whole weight",
    );
  }
});
