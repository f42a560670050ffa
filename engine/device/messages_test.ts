import { assert, assertEquals, assertMatch } from "@std/assert";
import {
  CALLS_BYTES,
  ChannelCaller,
  LANES,
  type MessageAnswer,
  type MessageArgument,
} from "../../tests/fixtures/channel_caller.ts";
import { CONTEXT_OPTIONS, LIMITS, NONE, Status, TENSOR_DESC } from "./structs.ts";
import { SYMBOLS } from "./symbols.ts";
import { Random } from "../../tests/fixtures/device_harness.ts";

// Messages to the device's process that say what is not so: each is answered with an error, none makes it read or write
// what is not the message's, and the one after it is served. slow/emulated_test.ts has the sanitizers look.

// More cases: M40_FUZZ_CASES=20000. Others: M40_FUZZ_SEED=2.
const CASES = Number(Deno.env.get("M40_FUZZ_CASES") ?? 500);
const SEED = Number(Deno.env.get("M40_FUZZ_SEED") ?? 1);

/** A server with a context and an arena, and what asks it. */
async function withServer(
  test: (caller: ChannelCaller, context: bigint, arena: bigint) => Promise<void>,
): Promise<void> {
  const caller = new ChannelCaller();
  const room = caller.room(LANES.calls, 4096);
  CONTEXT_OPTIONS.write(room, 0, { n_threads: 1 });
  const made = { value: 1024, bytes: 8, area: 0 };
  const options = { value: 0, bytes: CONTEXT_OPTIONS.bytes, area: 0 };
  const make = async (name: string, ...args: MessageArgument[]) => {
    const { status, message } = await caller.ask(LANES.calls, caller.number(name), [...args, made]);
    assertEquals([status, message], [Status.ok, ""]);
    return room.getBigUint64(1024, true);
  };
  const context = await make("m40_context_create", options);
  const arena = await make("m40_arena_create", { value: context }, { value: 1 << 20 });
  try {
    await test(caller, context, arena);
  } finally {
    assertEquals(await caller.end(), "");
  }
}

/** A message that is as it should be has its answer. */
async function assertServes(caller: ChannelCaller, context: bigint): Promise<void> {
  const room = caller.room(LANES.calls, 4096);
  const desc = { type: 0, n_experts: 1, rows: 2, columns: 64, first_row: 0, whole_rows: 0 };
  TENSOR_DESC.write(room, 0, desc);
  const { status, message } = await caller.ask(LANES.calls, caller.number("m40_tensor_bytes"), [
    { value: context },
    { value: 0, bytes: TENSOR_DESC.bytes, area: 0 },
    { value: 512, bytes: 8, area: 0 },
  ]);
  assertEquals([status, message], [Status.ok, ""]);
  assert(room.getBigUint64(512, true) >= 512n);
}

function assertRefused({ status, message }: MessageAnswer, reason: RegExp): void {
  assertEquals(status, Status.invalid_argument, message);
  assertMatch(message, reason);
}

Deno.test("what a message says wrongly is refused by name, and the next one is served", async () => {
  await withServer(async (caller, context, arena) => {
    const { calls, steps, state } = LANES;
    const number = (name: string) => caller.number(name);
    const desc = { value: 0, bytes: TENSOR_DESC.bytes, area: 0 };
    const out = { value: 512, bytes: 8, area: 0 };
    const bytesOf = (...args: MessageArgument[]) =>
      caller.ask(calls, number("m40_tensor_bytes"), args);
    const refused = async (answer: Promise<MessageAnswer>, reason: RegExp) => {
      assertRefused(await answer, reason);
      await assertServes(caller, context);
    };

    await refused(caller.ask(calls, 1000, []), /^function 1000 of a channel: there are \d+$/);
    await refused(
      caller.ask(steps, number("m40_tensor_bytes"), [{}, {}, {}]),
      /lane 1 .*wanted lane 0/,
    );
    await refused(caller.ask(state, number("m40_step"), new Array(7).fill({})), /wanted lane 0/);
    await refused(
      caller.ask(LANES.prompts, number("m40_tensor_bytes"), [{}, {}, {}]),
      /lane 3 .*wanted lane 0/,
    );
    await refused(
      caller.ask(LANES.prompts, number("m40_step_wait"), [{ value: context }]),
      /^m40_step_wait: handle \d+ in the lane of prompts: wanted a program of that lane$/,
    );
    await refused(caller.ask(calls, number("m40_tensor_bytes"), [{}, {}]), /2 arguments: .*and 3$/);
    await refused(
      caller.ask(calls, number("m40_tensor_bytes"), [{}, {}, {}], NONE),
      /4294967295 arguments/,
    );
    await refused(bytesOf({ value: 99 }, desc, out), /^handle 99 is not a context$/);
    await refused(bytesOf({ value: arena }, desc, out), /^handle \d+ is not a context$/);
    await refused(bytesOf({}, desc, out), /^context is NULL$/);
    await refused(bytesOf({ value: context }, {}, out), /^desc is NULL$/);
    for (
      const [value, bytes] of [
        [CALLS_BYTES, 24],
        [CALLS_BYTES - 8, 24],
        [-24n, 24],
        [0, -1n],
        [-8n, -8n],
        [4, 24],
        [1, 24],
      ]
    ) {
      await refused(
        bytesOf({ value: context }, { value, bytes, area: 0 }, out),
        /parameter 1 is \d+ bytes from byte \d+ on: its memory has \d+$/,
      );
    }
    for (const bytes of [0, 8, 16, 2 ** 30]) {
      await refused(
        bytesOf({ value: context }, { ...desc, bytes }, out),
        /parameter 1 has \d+ bytes, wanted 24$/,
      );
    }
    for (const area of [1, 2, 77, NONE - 1]) {
      await refused(bytesOf({ value: context }, { ...desc, area }, out), /there is no memory \d+$/);
    }
    await refused(
      caller.ask(calls, number("m40_get_device_info"), [{ value: 2 ** 32 }, {}]),
      /parameter 0 has 32 bits$/,
    );
    const kvBlocks = { value: 0, bytes: 4, area: 0 };
    await refused(
      caller.ask(calls, number("m40_tensor_read"), [
        ...[{ value: context }, {}, {}, {}],
        ...[kvBlocks, { value: 2n ** 62n + 1n }],
      ]),
      /parameter 4 has 4611686018427387905 elements: more than/,
    );
    caller.room(calls, 4096).setUint32(256, 0x41414141, true);
    await refused(
      caller.ask(calls, number("m40_tensor_from_file"), [
        ...[{ value: arena }, desc],
        ...[{ value: 256, bytes: 4, area: 0 }, {}, { value: 512, bytes: 4, area: 0 }],
      ]),
      /a text without an end$/,
    );
    await refused(
      caller.ask(calls, number("m40_host_alloc"), [{ value: context }, { value: 4096 }, {}]),
      /^no descriptor has come with the message$/,
    );
    await refused(
      caller.ask(calls, number("m40_host_free"), [{ value: context }, { value: 1 }]),
      /^there is no memory 1$/,
    );
    await refused(
      caller.ask(steps, number("m40_step_wait"), [{ value: context }]),
      /is not a program$/,
    );
  });
});

Deno.test(`a server answers ${CASES} messages of random bytes, and serves after each hundred`, async () => {
  const random = new Random(SEED);
  const pick = <T>(values: readonly T[]): T => values[random.below(values.length)];
  const count = 32;
  await withServer(async (caller, context, arena) => {
    const room = caller.room(LANES.calls, 4096);
    const destroys = new Set(
      ["m40_context_destroy", "m40_arena_destroy"].map((name) => caller.number(name)),
    );
    const sizes = [4, 8, 12, 16, 24, 64, CONTEXT_OPTIONS.bytes, LIMITS.bytes, 512, 4096];
    const numbers = [
      0,
      1,
      2,
      3,
      context,
      arena,
      7,
      64,
      4095,
      2 ** 32 - 1,
      2 ** 32,
      2n ** 48n,
      -1n,
      -8n,
    ];
    const argument = (): MessageArgument =>
      random.below(3) > 0
        ? { value: pick([0, 0, 8, 64, 1024, ...numbers]), bytes: pick(sizes), area: 0 }
        : {
          value: pick(numbers),
          bytes: pick([0, 1, ...sizes, 2n ** 40n, -1n]),
          area: pick([NONE, NONE, 1, 9]),
        };
    let served = 0;
    for (let i = 0; i < CASES; i++) {
      const number = random.below(40) === 0 ? random.word() : random.below(count);
      if (destroys.has(number)) continue;
      for (let at = 0; at < 2048; at += 4) {
        room.setUint32(at, random.below(8) > 0 ? 0 : random.below(9), true);
      }
      const args = Array.from({ length: random.below(9) }, argument);
      const lane = random.below(10) === 0 ? random.below(3) : laneOf(caller, number);
      const wanted = random.below(10) > 0 ? parametersOf(caller, number) : args.length;
      while (args.length < Math.min(wanted, 8)) args.push(argument());
      const { status } = await caller.ask(lane, number, args.slice(0, 8), wanted);
      if (status === Status.ok) served++;
      if (i % 100 === 0) await assertServes(caller, context);
    }
    assert(served > 0 && served < CASES / 2, `${served} were served`);
  });
});

Deno.test("memory that is no channel, or another version's, is refused", async () => {
  const sealed = /wanted sealed shared memory of \d+ bytes$/;
  assertMatch(await new ChannelCaller({ bytes: 2 ** 20 }).verdict(), sealed);
  assertMatch(await new ChannelCaller({ unsealed: true }).verdict(), sealed);
  assertMatch(
    await new ChannelCaller({ version: 6 }).verdict(),
    /^the channel is another version's: the program was replaced while it ran; start it again$/,
  );
});

/** Of the functions that have them; those that have none are served among the calls. */
const STEPS = ["m40_step_begin", "m40_step_wait", "m40_step_finish"];

const STATE = [
  "m40_get_device_state",
  "m40_get_management",
  "m40_get_device_health",
  "m40_set_power_limit",
];

function laneOf(caller: ChannelCaller, number: number): number {
  if (STEPS.some((name) => caller.number(name) === number)) return LANES.steps;
  return STATE.some((name) => caller.number(name) === number) ? LANES.state : LANES.calls;
}

function parametersOf(caller: ChannelCaller, number: number): number {
  const found = Object.entries(SYMBOLS).find(([name]) => caller.number(name) === number);
  if (found === undefined) return 0;
  const { parameters, result } = found[1];
  return parameters.length - (result === "i32" ? 1 : 0);
}
