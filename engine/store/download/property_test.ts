// Random schedules of faults. Whatever happens, the target is a whole version of the file or what it was.
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { M40Error } from "../../errors.ts";
import { Folder, QUICK, sha256, someBytes } from "../../../tests/fixtures/download_fixture.ts";
import {
  FaultServer,
  type Misdeed,
  served,
  type ServedFile,
} from "../../../tests/fixtures/fault_server.ts";

// More cases: M40_FUZZ_CASES=1000. Others: M40_FUZZ_SEED=2.
const CASES = Number(Deno.env.get("M40_FUZZ_CASES") ?? 30);
const SEED = Number(Deno.env.get("M40_FUZZ_SEED") ?? 1);

const size = fc.oneof(fc.integer({ min: 0, max: 5000 }), fc.integer({ min: 5000, max: 400_000 }));
const count = fc.oneof(fc.nat(50), fc.nat(100_000));

/** Faults of a server that no hash is needed to see. */
const misdeed: fc.Arbitrary<Misdeed> = fc.oneof(
  { weight: 4, arbitrary: fc.constant({}) },
  { weight: 3, arbitrary: count.map((cutAfter) => ({ cutAfter: cutAfter - 1 })) },
  count.map((stallAfter) => ({ stallAfter })),
  fc.record({
    status: fc.constantFrom(204, 408, 429, 500, 502, 503, 504),
    headers: fc.constantFrom("0", "999999").map((seconds) => ({ "Retry-After": seconds })),
  }),
  fc.record({ bytes: fc.integer({ min: 100, max: 60_000 }), everyMs: fc.nat(2) })
    .map((trickle) => ({ trickle })),
  fc.constantFrom<Record<string, string | null>>(
    { "Content-Range": null },
    { "Content-Range": "bytes 1-1/2" },
    { "Content-Range": "nonsense" },
    { ETag: null },
    { "Last-Modified": null },
    { ETag: '"another"' },
  ).map((headers) => ({ headers })),
);

/** What only a hash can detect. */
const lie: fc.Arbitrary<Misdeed> = fc.oneof(
  count.map((spoilFrom) => ({ spoilFrom })),
  fc.record({ cutAfter: count, headers: fc.constant({ "Content-Length": null }) }),
  fc.constant({ endless: true }),
  fc.record({ body: fc.uint8Array({ maxLength: 1000 }) }),
);

const life = fc.record({
  sizes: fc.array(size, { minLength: 1, maxLength: 3 }),
  /** From which request on the file is the next version. */
  changes: fc.array(fc.nat(12), { maxLength: 2 }),
  etag: fc.constantFrom("strong", "weak", "none"),
  dated: fc.boolean(),
  ranges: fc.boolean(),
  hashed: fc.boolean(),
  sized: fc.boolean(),
  misdeeds: fc.array(misdeed, { maxLength: 12 }),
  lies: fc.array(lie, { maxLength: 3 }),
  /** After how many bytes a try is stopped. */
  stops: fc.array(fc.nat(400_000), { maxLength: 2 }),
  connections: fc.integer({ min: 1, max: 4 }),
  pieceBytes: fc.constantFrom(1000, 20_000, 64 * 1024),
  before: fc.option(fc.constant("what was there")),
});

const NAME = "download: whatever a server does, the target is a whole file or what it was";
// The runtime leaves the body of an answer open that comes in the very moment in which it is aborted.
Deno.test({ name: NAME, sanitizeResources: false }, async () => {
  await fc.assert(
    fc.asyncProperty(life, async (given) => {
      const versions = given.sizes.map((length, i) => someBytes(length, i + 1));
      const files = versions.map((bytes, i): ServedFile => ({
        ...served(bytes, {}),
        etag: given.etag === "none" ? undefined : `${given.etag === "weak" ? "W/" : ""}"v${i}"`,
        lastModified: given.dated ? new Date(1.7e12 + i * 1000).toUTCString() : undefined,
        ranges: given.ranges,
      }));
      // Only modes with a hash get lies.
      const lies = given.lies.filter(({ endless }) => !endless || given.sized);
      const misdeeds = given.hashed ? [...given.misdeeds, ...lies] : given.misdeeds;
      let [requests, good] = [0, false];
      await using server = new FaultServer(() => {
        const number = requests++;
        const version = given.changes.filter((change) => number >= change).length;
        const file = files[good ? files.length - 1 : Math.min(version, files.length - 1)];
        return good ? file : { ...misdeeds[number], file };
      });
      await using folder = await Folder.make();
      if (given.before !== null) await Deno.writeTextFile(folder.target, given.before);
      const last = versions.at(-1)!;
      const remote = {
        url: server.url("/f"),
        sha256: given.hashed ? sha256(last) : undefined,
        bytes: given.sized ? last.length : undefined,
      };
      const tuning = { ...QUICK, pieceBytes: given.pieceBytes, longestRetryAfterMs: 5 };
      const whole = given.hashed || given.sized ? [last].map(sha256) : versions.map(sha256);
      for (const stop of [...given.stops, Infinity, "good"]) {
        // In the end the server does all right, and so must we.
        good = stop === "good";
        const controller = new AbortController();
        try {
          const got = await folder.get(remote, {
            connections: given.connections,
            signal: controller.signal,
            onProgress: ({ doneBytes }) => doneBytes > Number(stop) && controller.abort(),
            // A good server is not given up, however busy the machine is.
            tuning: { ...tuning, stallMs: good ? 60_000 : 40 },
          });
          assert(
            whole.includes(got.sha256) || versions.some((bytes) => sha256(bytes) === got.sha256),
          );
          assert(!given.hashed || got.sha256 === sha256(last));
          assertEquals(sha256(await folder.content()), got.sha256);
          assertEquals(folder.partialFiles(), []);
          if (good) assertEquals(got.sha256, sha256(last));
          if (!good) return;
        } catch (error) {
          if (!(error instanceof M40Error) || error.code === "internal") throw error;
          assert(!good, `a good server was not enough: ${error.message}`);
          const there = await Deno.readTextFile(folder.target).catch(() => null);
          assertEquals(there, given.before);
        }
      }
    }),
    { numRuns: CASES, seed: SEED },
  );
});
