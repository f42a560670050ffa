import { assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  parseContentLength,
  parseContentRange,
  parseRetryAfter,
  parseUnsatisfiedRange,
  strongEtag,
} from "./headers.ts";
import { RangeSet } from "./ranges.ts";
import { FileHash } from "./file_hash.ts";
import { sha256, someBytes } from "../../../tests/fixtures/download_fixture.ts";
import { TemporaryFile } from "../../../tests/fixtures/temporary.ts";

Deno.test("headers: only ranges that can be are ranges", () => {
  assertEquals(parseContentRange("bytes 0-99/1000"), { start: 0, end: 100, total: 1000 });
  assertEquals(parseContentRange(" Bytes 5-5/* "), { start: 5, end: 6, total: undefined });
  const wrong = [
    ...["", "bytes", "bytes */5", "bytes 5-4/10", "bytes 0-10/10", "bytes -1-5/10", "items 0-1/2"],
    ...[
      "bytes 0-1/2, bytes 3-4/5",
      "bytes 0-99999999999999999/*",
      "bytes 0-1/1e3",
      "bytes 0x0-1/2",
    ],
  ];
  for (const text of [...wrong, null]) {
    assertEquals(parseContentRange(text), undefined, String(text));
  }
  assertEquals([parseUnsatisfiedRange("bytes */0"), parseUnsatisfiedRange("bytes 0-1/2")], [
    0,
    undefined,
  ]);
});

Deno.test("headers: lengths, ETags and Retry-After", () => {
  assertEquals(["5", "-5", "5.0", "", "1e3", "9".repeat(17), null].map(parseContentLength), [
    5,
    ...Array(6).fill(undefined),
  ]);
  assertEquals(['"a"', 'W/"a"', "a", '""', '"a"b"', null].map(strongEtag), [
    ...['"a"', undefined, undefined],
    ...['""', undefined, undefined],
  ]);
  const now = Date.parse("Mon, 01 Jun 2026 10:00:00 GMT");
  const read = (text: string | null) => parseRetryAfter(text, now);
  assertEquals(read("120"), 120_000);
  assertEquals(read("Mon, 01 Jun 2026 10:01:00 GMT"), 60_000);
  assertEquals(read("Mon, 01 Jun 2026 09:00:00 GMT"), 0);
  for (const text of [null, "", "-5", "soon", "1.5", "9".repeat(30)]) {
    assertEquals(read(text), undefined);
  }
});

Deno.test("ranges: a set of ranges is the bytes that were added and not removed", () => {
  const range = fc.tuple(fc.nat(40), fc.nat(40));
  fc.assert(fc.property(fc.array(fc.tuple(fc.boolean(), range)), fc.nat(45), (steps, limit) => {
    const set = new RangeSet();
    const bytes = new Array<boolean>(40).fill(false);
    for (const [adds, [a, b]] of steps) {
      const [start, end] = [Math.min(a, b), Math.max(a, b)];
      if (adds) set.add(start, end);
      else set.remove(start, end);
      bytes.fill(adds, start, end);
    }
    const held = [...set];
    for (const [i, { start, end }] of held.entries()) {
      assertEquals(start < end && (i === 0 || held[i - 1].end < start), true, "in order, apart");
    }
    assertEquals(set.bytes, bytes.filter((there) => there).length);
    assertEquals(set.prefix, [...bytes, false].indexOf(false));
    assertEquals(set.end, bytes.lastIndexOf(true) + 1);
    const from = [...bytes, false].indexOf(false);
    const until = bytes.indexOf(true, from);
    const gap = { start: from, end: Math.min(limit, until < 0 ? limit : until) };
    assertEquals(set.firstGap(limit), from < limit ? gap : undefined);
    for (const [start, end] of [[0, 5], [3, 3], [10, 30]]) {
      assertEquals(set.has(start, end), bytes.slice(start, end).every((there) => there));
    }
  }));
});

Deno.test("hash: a file that grows in the meantime is hashed in order, in a thread and without one", async () => {
  using temporary = new TemporaryFile();
  const path = temporary.path;
  for (const length of [0, 1000, 20 * 2 ** 20 + 7]) {
    const bytes = someBytes(length, 3);
    using file = await Deno.open(path, { write: true, truncate: true });
    using hash = new FileHash(path);
    for (let at = 0; at < length; at += 2 ** 20) {
      await file.write(bytes.subarray(at, at + 2 ** 20));
      hash.upTo(Math.min(length, at + 2 ** 20));
    }
    assertEquals(await hash.digest(length), sha256(bytes));
  }
});
