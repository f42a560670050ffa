import { assertEquals, assertThrows } from "@std/assert";
import { BuildError } from "../../tools/build/build_error.ts";
import { examine } from "../../tools/sass.ts";
import { clockBudget, judgeClocks } from "../../tools/sass/clock_budgets.ts";
import { ControlError, controlFields, readControl } from "../../tools/sass/control.ts";
import { hotRuns, type Kernel, SassParser } from "../../tools/sass/kernels.ts";
import { refuseUnscheduled } from "../../tools/sass/library.ts";
import { describeClocks, kernelClocks } from "../../tools/sass/loops.ts";
import { type LoopClocks, loopClocks, operandRegisters } from "../../tools/sass/schedule.ts";

// What deno task sass makes of Maxwell's control words, on made-up listings in cuobjdump's form.

const DECODE =
  "_ZN3m404cuda20matmul_decode_kernelILj12ELi8ELi4ELi0ELi2ELj12EEEvNS0_16MatmulDecodeArgsE";

/** One instruction's field of a control word; no barriers, one clock and no pair unless said. */
interface Field {
  stall?: number;
  yields?: boolean;
  write?: number;
  read?: number;
  waits?: number;
  reuse?: number;
}

function field({ stall = 1, yields = false, write = 7, read = 7, waits = 0, reuse = 0 }: Field) {
  return stall | (yields ? 0 : 16) | write << 5 | read << 8 | waits << 11 | reuse << 17;
}

/** A dual issue: no clock until the next instruction. */
const PAIR: Field = { stall: 0 };

const word = (fields: Field[]) =>
  [0, 1, 2].map((i) => BigInt(field(fields[i] ?? {})) << BigInt(21 * i))
    .reduce((sum, part) => sum | part).toString(16).padStart(16, "0");

type Line = readonly [text: string, field?: Field];

/** A listing with a control word ahead of every three instructions, the halves of pairs in braces. */
function listing(lines: readonly Line[], name = DECODE): string {
  const text = [`\t\tFunction : ${name}`];
  const blank = " ".repeat(92);
  lines.forEach(([instruction, control], i) => {
    if (i % 3 === 0) {
      text.push(`${blank}/* 0x${word(lines.slice(i, i + 3).map(([, field]) => field ?? {}))} */`);
    }
    const address = (32 * Math.floor(i / 3) + 8 * (i % 3 + 1)).toString(16).padStart(4, "0");
    const second = lines[i - 1]?.[1]?.stall === 0;
    const code = "/* 0x5980000000070000 */";
    if (second) {
      text.push(
        `        /*${address}*/                   ${instruction}         }`,
        `${blank}${code}`,
      );
    } else {text.push(
        `        /*${address}*/         ${
          control?.stall === 0 ? "{" : " "
        }         ${instruction} ;  ${code}`,
      );}
  });
  return text.join("\n");
}

function kernelOf(lines: readonly Line[], name?: string): Kernel {
  const parser = new SassParser();
  for (const line of listing(lines, name).split("\n")) parser.push(line);
  return [...parser.kernels.values()][0];
}

/** A loop over these, from the kernel's first instruction on: its clocks. */
function loopOf(lines: readonly Line[], warps?: number): LoopClocks {
  return loopClocks(hotRuns(kernelOf([...lines, ["@P0 BRA 0x8"], ["EXIT"]]))!, warps);
}

Deno.test("a control word gives three instructions' stalls, pairs, yields, barriers and kept operands", () => {
  const fields = controlFields(word([
    { stall: 6, yields: true, write: 5, read: 0, waits: 0b100001, reuse: 0b101 },
    PAIR,
    { stall: 15, reuse: 0b010 },
  ]));
  assertEquals(fields.map(readControl), [
    {
      stall: 6,
      paired: false,
      yields: true,
      writeBarrier: 5,
      readBarrier: 0,
      waits: [0, 5],
      reuse: [true, false, true],
    },
    {
      stall: 0,
      paired: true,
      yields: false,
      writeBarrier: undefined,
      readBarrier: undefined,
      waits: [],
      reuse: [false, false, false],
    },
    {
      stall: 15,
      paired: false,
      yields: false,
      writeBarrier: undefined,
      readBarrier: undefined,
      waits: [],
      reuse: [false, true, false],
    },
  ]);
  // As it stands before a shift that is issued together with the next instruction and keeps its operand.
  assertEquals(readControl(controlFields("001fd800e2220ff0")[0]), {
    stall: 0,
    paired: true,
    yields: false,
    writeBarrier: undefined,
    readBarrier: undefined,
    waits: [0],
    reuse: [true, false, false],
  });
  // Padding at a kernel's end has no stall and is no pair.
  assertEquals(readControl(0x7e0).paired, false);
});

Deno.test("what is no control word is refused, and says what was wanted", () => {
  assertThrows(() => controlFields("1fd800e2220ff0"), ControlError, "wanted 16 hexadecimal digits");
  assertThrows(() => controlFields("001fd800e2220fg0"), ControlError, "16 hexadecimal digits");
  assertThrows(() => controlFields("801fd800e2220ff0"), ControlError, "highest bit");
  assertThrows(() => readControl(field({ write: 6 })), ControlError, "write barrier 6");
  assertThrows(() => readControl(field({ read: 6 })), ControlError, "read barrier 6");
  assertThrows(() => readControl(field({ reuse: 8 })), ControlError, "fourth operand");
  assertThrows(() => readControl(1 << 21), ControlError, "21 bits");
  assertThrows(() => readControl(NaN), ControlError, "21 bits");
  const parser = new SassParser();
  parser.push("\t\tFunction : f");
  parser.push("          /* 0xe01c4400fe0007f6 */");
  assertThrows(
    () => parser.push("        /*0008*/    NOP ;  /* 0x50b0000000070f00 */"),
    ControlError,
  );
});

Deno.test("the machine code of a pair's second half is not taken for the next control word", () => {
  const { instructions } = kernelOf([
    ["FFMA R0, R1, R2, R0", { stall: 2 }],
    ["FFMA R0, R1, R2, R0", PAIR],
    ["LDS.U.128 R4, [R8]", { stall: 3 }], // its code stands in a line of its own, before a control word
    ["FFMA R0, R1, R2, R0", PAIR],
    ["LDS.U.128 R4, [R8]", { stall: 5 }], // and here inside a group
    ["FFMA R0, R1, R2, R0", { stall: 6 }],
    ["NOP", { stall: 7 }],
  ]);
  assertEquals(instructions.map(({ control }) => readControl(control!).stall), [
    2,
    0,
    3,
    0,
    5,
    6,
    7,
  ]);
});

Deno.test("a listing without control words has no clocks, and is refused where only some lack", () => {
  const unscheduled = (lines: Line[], from: number) => {
    const parser = new SassParser();
    listing(lines).split("\n")
      .forEach((line, i) => i >= from && /^\s*\/\* 0x/.test(line) || parser.push(line));
    return [...parser.kernels.values()][0];
  };
  const some = unscheduled(new Array<Line>(5).fill(["FFMA R0, R1, R2, R0"]), 2);
  assertEquals(some.instructions.map(({ control }) => control !== undefined), [
    true,
    true,
    true,
    false,
    false,
  ]);
  assertThrows(() => refuseUnscheduled([some]), BuildError, "0x28 has no control word");
  refuseUnscheduled([kernelOf(new Array<Line>(5).fill(["FFMA R0, R1, R2, R0"]))]);
  const kernel = unscheduled([["FFMA R0, R1, R2, R0"], ["@P0 BRA 0x8"]], 0);
  assertEquals(kernel.instructions.map(({ control }) => control), [undefined, undefined]);
  assertEquals(kernelClocks(kernel), undefined);
  assertEquals(examine(kernel).clocks, "");
  assertThrows(() => loopClocks(hotRuns(kernel)!), ControlError);
});

Deno.test("sources are distinguished from results: a register, a predicate, two predicates, both", () => {
  const sources = (text: string) => operandRegisters(kernelOf([[text]]).instructions[0]);
  assertEquals(sources("FFMA.FTZ R0, -R5.reuse, c[0x2][0xc], R7"), [5, undefined, 7]);
  assertEquals(sources("IADD3 R4.CC, |R9|, 0x1, RZ"), [9, undefined, undefined]);
  assertEquals(sources("ISETP.GE.U32.AND P1, PT, R11, R0.reuse, PT").slice(0, 2), [11, 0]);
  assertEquals(sources("LOP.AND.NZ P0, RZ, R25, R3"), [25, 3]);
  assertEquals(sources("XMAD.PSL.CBCC R5, R3.H1.reuse, R6.H1, R8"), [3, 6, 8]);
});

Deno.test("two instructions that are issued together take one slot", () => {
  const alone = loopOf([["FFMA R0, R1, R2, R3"], ["LDS.U.64 R4, [R8]"]]);
  const together = loopOf([["FFMA R0, R1, R2, R3", PAIR], ["LDS.U.64 R4, [R8]"]]);
  assertEquals([alone.instructions, alone.slots, alone.stalls], [3, 3, 3]);
  assertEquals([together.instructions, together.slots, together.stalls], [3, 2, 2]);
});

Deno.test("each register beyond the first of a bank costs a clock, unless it is the same or was kept", () => {
  const lost = (...lines: Line[]) => loopOf(lines).banks;
  assertEquals(lost(["FFMA R0, R1, R2, R3"]), 0);
  assertEquals(lost(["FFMA R0, R1, R5, R3"]), 1); // 1 and 5
  assertEquals(lost(["FFMA R0, R1, R5, R9"]), 2); // 1, 5 and 9
  assertEquals(lost(["FFMA R0, R1, R1, R3"]), 0); // read once
  assertEquals(lost(["FFMA R0, R1, c[0x2][0x4], R5"]), 1); // a constant has no bank
  assertEquals(lost(["FFMA R0, RZ, R4, RZ"]), 0);
  const kept: Line = ["FFMA R0, R1, R2, R3", { reuse: 0b001 }];
  assertEquals(lost(kept, ["FFMA R4, R1, R5, R7"]), 0); // R1 was kept
  assertEquals(lost(kept, ["FFMA R4, R5, R1, R7"]), 1); // not at this place
  assertEquals(lost(kept, ["FFMA R4, R1, R2, R7"], ["FFMA R4, R1, R5, R7"]), 1); // not any more
  assertEquals(lost(kept, ["LDS.U.128 R8, [R1]"], ["FFMA R4, R1, R5, R7"]), 1);
});

Deno.test("a turn takes what its slowest pipe takes, or the stalls of too few warps", () => {
  const adds: Line[] = new Array(8).fill(["FFMA R0, R1, R2, R3"]);
  const bound = (lines: Line[], warps?: number) => {
    const { clocks, bound } = loopOf([...adds, ...lines], warps);
    return [clocks, bound];
  };
  const many = (n: number, text: string): Line[] => new Array(n).fill([text]);
  assertEquals(bound([]), [9, "issue and banks"]);
  assertEquals(bound(many(12, "SHL R0, R1, 0x2")), [24, "the half-rate pipe"]);
  assertEquals(bound(many(4, "F2F.F32.F16 R0, R1")), [16, "the quarter-rate pipe"]);
  assertEquals(bound(many(2, "LDS.U.128 R4, [R8]")), [32, "shared memory"]);
  const slow: Line[] = new Array(8).fill(["FFMA R0, R1, R2, R3", { stall: 6 }]);
  assertEquals(bound(slow, 8), [17, "issue and banks"]);
  assertEquals(bound(slow, 2), [28.5, "stalls of 2 warps"]);
});

Deno.test("what waits for barriers and what yields is counted", () => {
  const { waits, yields } = loopOf([
    ["FFMA R0, R1, R2, R3", { waits: 0b000110 }],
    ["FFMA R0, R1, R2, R3", { waits: 0b000001, yields: true }],
    ["LDS.U.128 R4, [R8]", { write: 0, yields: true }],
  ]);
  assertEquals([waits, yields], [2, 2]);
});

/** A decode loop of which so many multiply-adds of a hundred lose a clock to banks. */
function decodeLoop(lost: number, others: number, name?: string): Kernel {
  return kernelOf([
    ...new Array<Line>(lost).fill(["FFMA R0, R1, R5, R3"]),
    ...new Array<Line>(100 - lost).fill(["FFMA R0, R1, R2, R3"]),
    ...new Array<Line>(others).fill(["IADD R4, R4, R5"]),
    ["@P0 BRA 0x8"],
    ["EXIT"],
  ], name);
}

Deno.test("a loop that loses more clocks to banks than it did, or has fewer multiply-adds a clock, is broken", () => {
  const judge = (kernel: Kernel) => judgeClocks(kernelClocks(kernel)!, clockBudget(kernel)!);
  const fine = judge(decodeLoop(0, 10));
  assertEquals(fine, { broken: [], missed: [] });
  const short = judge({ ...decodeLoop(5, 10), cuda: 12 });
  assertEquals(short.broken, []);
  assertEquals(short.missed, ["aimed at 3% of the clocks lost to banks"]);
  const banks = judge(decodeLoop(20, 1));
  assertEquals(banks.broken.length, 1);
  assertEquals(banks.broken[0].endsWith("of the clocks lost to banks"), true);
  const slow = judge(decodeLoop(0, 100));
  assertEquals(slow.broken.length, 1);
  assertEquals(slow.broken[0].endsWith("FFMA a clock"), true);
  assertEquals(examine(decodeLoop(0, 100)).broken, slow.broken);
});

Deno.test("each CUDA's code is held to its own figures, and unknown code to those of CUDA 11", () => {
  // Q8_0 with 8 tokens may lose 3% of its clocks to banks, 12% with CUDA 12; this loop loses 11%.
  const kernel = decodeLoop(
    15,
    20,
    DECODE.replace("ILj12E", "ILj8E").replace("2ELj12EE", "2ELj8EE"),
  );
  const brokenOf = (cuda: number) =>
    judgeClocks(kernelClocks(kernel)!, clockBudget({ ...kernel, cuda })!).broken;
  assertEquals(brokenOf(12), []);
  assertEquals(brokenOf(11).length > 0, true);
  assertEquals(brokenOf(0), brokenOf(11));
  // Where CUDA 12 has no figures of its own, CUDA 11's hold: Q6_K.
  const alike = decodeLoop(
    20,
    1,
    DECODE.replace("ILj12E", "ILj14E").replace("2ELj12EE", "2ELj14EE"),
  );
  const budgetOf = (cuda: number) => clockBudget({ ...alike, cuda });
  assertEquals(budgetOf(12), budgetOf(11));
});

Deno.test("a prefill product without an outer loop is broken, not unjudged", () => {
  const name = "_ZN3m404cuda21matmul_prefill_kernelILj12ELi128ELb1EEEvNS0_17MatmulPrefillArgsE";
  const kernel = kernelOf([["FFMA R0, R1, R2, R3"], ["@P0 BRA 0x8"], ["EXIT"]], name);
  const { turn, whole } = kernelClocks(kernel)!;
  assertEquals([turn.multiplyAdds, whole], [1, undefined]);
  const { broken } = judgeClocks({ turn, whole }, clockBudget(kernel)!);
  assertEquals(broken.some((reason) => reason.endsWith("as often as all of it runs")), true);
});

Deno.test("an inner loop's clocks count as often as it runs, in the line on them too", () => {
  const name = "_ZN3m404cuda26matmul_decode_tiled_kernelILj1EEEvNS0_16MatmulDecodeArgsE";
  const kernel = kernelOf([
    ["NOP"],
    ["IADD R4, R4, R5"], // 0x10, the outer loop
    ["NOP"],
    ["FFMA R0, R1, R2, R3"], // 0x28, the inner loop
    ["FFMA R0, R1, R5, R3"],
    ["@P0 BRA 0x28"],
    ["@P1 BRA 0x10"],
    ["EXIT"],
  ], name);
  const { turn, whole } = kernelClocks(kernel)!;
  assertEquals([turn.clocks, turn.multiplyAdds, turn.banks], [4, 2, 1]);
  // Eight outer turns: two inner ones of four clocks each, and three instructions.
  assertEquals([whole!.clocks, whole!.multiplyAdds, whole!.banks], [8 * 11, 8 * 4, 16]);
  assertEquals(
    describeClocks({ turn, whole }),
    "4 clocks a turn by issue and banks, 50% FFMA a clock, 25.0% lost to banks; 3 instructions in " +
      "3 slots, banks 1, shared memory 0, stalls 3, 0 wait, 0 yield; as often as all of it runs: " +
      "36% FFMA a clock, 18.2% lost to banks",
  );
});
