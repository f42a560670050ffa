import { assertAlmostEquals, assertEquals } from "@std/assert";
import { examine } from "../../tools/sass.ts";
import { compareKernels, describeDifference } from "../../tools/sass/compare.ts";
import { clocks, kindOf } from "../../tools/sass/instructions.ts";
import {
  addResources,
  globalBytes,
  hotLoop,
  type Kernel,
  localAccesses,
  multiplyAdds,
  nestedLoop,
  parseName,
  PtxReader,
  residentBlocks,
  SassParser,
} from "../../tools/sass/kernels.ts";

// What deno task sass makes of cuobjdump's output, on made-up listings in its form.

const MANGLED = "_ZN3m404cuda23attention_decode_kernelILj1ELi16ELi4EEEvNS0_19AttentionDecodeArgsE";

/** A listing of one function: a line an instruction, from address 8 on, as cuobjdump prints them. */
function listing(instructions: string[], name = MANGLED): string {
  const lines = instructions.map((text, i) => {
    const address = (8 * (i + 1)).toString(16).padStart(4, "0");
    return `        /*${address}*/                   ${text} ;      /* 0x4c98078000870001 */`;
  });
  return [
    "\tcode for sm_52",
    `\t\tFunction : ${name}`,
    '\t.headerflags    @"EF_CUDA_SM52 EF_CUDA_PTX_SM(EF_CUDA_SM52)"',
    "                                                   /* 0x001c4400fe0007f6 */",
    ...lines,
    "\t\t...........",
  ].join("\n");
}

function kernelOf(instructions: string[], name?: string): Kernel {
  const parser = new SassParser();
  for (const line of listing(instructions, name).split("\n")) parser.push(line);
  assertEquals(parser.kernels.size, 1);
  return [...parser.kernels.values()][0];
}

Deno.test("a mangled name gives the kernel's name and its template arguments", () => {
  assertEquals(parseName(MANGLED), {
    name: "attention_decode_kernel<1, 16, 4>",
    base: "attention_decode_kernel",
    args: [1, 16, 4],
  });
  assertEquals(parseName("_ZN3m404cuda12route_kernelENS0_15RouteKernelArgsE").name, "route_kernel");
});

Deno.test("instructions are read with their modifiers, out of pairs and after predicates too", () => {
  const parser = new SassParser();
  for (
    const line of [
      "\t\tFunction : f",
      "        /*0008*/         {         MOV32I R11, 0xff800000 ;     /* 0x010ff8000007f00b */",
      "        /*0010*/                   LDG.E.128 R4, [R2]         }   /* 0xf0c8000002570017 */",
      "        /*0018*/              @!P0 BRA 0x8 ;                    /* 0xe2400ffffe000000 */",
    ]
  ) parser.push(line);
  const { instructions } = parser.kernels.get("f")!;
  assertEquals(instructions.map(({ address, name }) => [address, name]), [
    [8, "MOV32I"],
    [16, "LDG.E.128"],
    [24, "BRA"],
  ]);
});

Deno.test("registers, shared memory and threads give the blocks that a multiprocessor holds", () => {
  const parser = new SassParser();
  for (const line of listing(["EXIT"]).split("\n")) parser.push(line);
  const kernel = parser.kernels.get(MANGLED)!;
  const usage = (registers: number, shared: number) =>
    `Resource usage:\n Common:\n  GLOBAL:0\n Function ${MANGLED}:\n` +
    `  REG:${registers} STACK:0 SHARED:${shared} LOCAL:0 CONSTANT[0]:536 TEXTURE:0 SURFACE:0\n`;
  addResources(parser.kernels, usage(128, 18692));
  assertEquals([kernel.registers, kernel.shared], [128, 18692]);
  assertEquals(residentBlocks(kernel), undefined);
  const ptx = new PtxReader(parser.kernels);
  ptx.push(`.visible .entry ${MANGLED}(`);
  ptx.push(".maxntid 256, 1, 1");
  assertEquals(residentBlocks(kernel), 2); // registers
  addResources(parser.kernels, usage(32, 41220));
  assertEquals(residentBlocks(kernel), 2); // shared memory
  addResources(parser.kernels, usage(32, 0));
  assertEquals(residentBlocks(kernel), 8); // threads
});

Deno.test("a kernel's PTX says which CUDA compiled it; what is neither 11 nor 12 stays unknown", () => {
  const cudaOf = (...lines: string[]) => {
    const parser = new SassParser();
    for (const line of listing(["EXIT"]).split("\n")) parser.push(line);
    const ptx = new PtxReader(parser.kernels);
    for (const line of lines) ptx.push(line);
    return parser.kernels.get(MANGLED)!.cuda;
  };
  const entry = `.visible .entry ${MANGLED}(`;
  assertEquals(cudaOf(), 0);
  assertEquals(cudaOf(entry), 0);
  assertEquals(cudaOf(".version 7.8", entry), 11);
  assertEquals(cudaOf(".version 8.4", entry), 12);
  // Of several files in a library, the one that the kernel is in.
  assertEquals(cudaOf(".version 7.8", entry, ".version 8.4"), 11);
  assertEquals(cudaOf(".version 9.0", entry), 0);
});

Deno.test("clocks are those of the pipe that takes longest", () => {
  assertEquals(kindOf("FFMA.FTZ"), "fp32");
  assertEquals(kindOf("LDS.U.128"), "memory");
  assertAlmostEquals(clocks(new Array(8).fill("FFMA")), 2); // four schedulers
  assertAlmostEquals(clocks(new Array(8).fill("SHL")), 4); // half the rate
  assertAlmostEquals(clocks(new Array(8).fill("F2F.F32.F16")), 8); // a quarter
  assertAlmostEquals(clocks(["LDS.U.128", "FFMA"]), 4); // 512 bytes of shared memory
});

/** A decode attention loop: from 0x18 back to itself, with a look-up loop of no arithmetic inside. */
function decodeLoop(multiplies: number): string[] {
  return [
    "MOV R1, c[0x0][0x20]",
    "NOP",
    "LDG.E R0, [R2]", // a table of KV blocks: address 0x18
    "ISETP.NE.AND P1, PT, R0, RZ, PT",
    "@P1 BRA 0x20",
    "LDG.E.128 R4, [R2]",
    "LDG.E.128 R8, [R2]",
    ...new Array(multiplies).fill("FFMA R12, R4, R8, R12"),
    "@P0 BRA 0x18",
    "EXIT",
  ];
}

Deno.test("the hot loop is the smallest with most of the multiply-adds, without loops that have none", () => {
  const loop = hotLoop(kernelOf(decodeLoop(10)))!;
  assertEquals(multiplyAdds(loop), 10);
  assertEquals(loop.length, 14); // 10, two loads, the KV block's load and the jump back
  assertEquals(globalBytes(loop), 2 * 32 * 16);
  assertEquals(hotLoop(kernelOf(["FADD R0, R0, R1", "EXIT"])), undefined);
});

/** The loops of a product of prompts: multiply-adds of the inner, and what either side of its branch takes. */
function promptLoop(multiplies: number, sides: [number, number]): string[] {
  const instructions = ["MOV R1, c[0x0][0x20]", "LDG.E.128 R4, [R2]"];
  const address = () => 8 * (instructions.length + 1);
  const hex = (n: number) => "0x" + n.toString(16);
  const outer = 16;
  const inner = address();
  instructions.push(...new Array(multiplies).fill("FFMA R12, R4, R8, R12"));
  const past = address() + 8 * (sides[0] + sides[1] + 4); // one jump each way, the barrier
  instructions.push(`@P0 BRA ${hex(past)}`);
  instructions.push(`@P1 BRA ${hex(address() + 8 * (sides[0] + 2))}`);
  instructions.push(...new Array(sides[0]).fill("STS [R0], R4"));
  instructions.push(`BRA ${hex(address() + 8 * (sides[1] + 1))}`);
  instructions.push(...new Array(sides[1]).fill("STS.128 [R0], R4"));
  instructions.push("BAR.SYNC 0x0", `@P2 BRA ${hex(inner)}`, `@P3 BRA ${hex(outer)}`, "EXIT");
  return instructions;
}

Deno.test("an inner loop counts as often as it runs, what it passes over once, sides of a branch in turn", () => {
  const loop = nestedLoop(kernelOf(promptLoop(10, [3, 5])), 4)!;
  const count = (name: string) => loop.filter((one) => one === name).length;
  assertEquals(multiplyAdds(loop), 8 * 4 * 10);
  assertEquals([count("LDG.E.128"), count("BAR.SYNC")], [8, 8]);
  assertEquals([count("STS"), count("STS.128")], [4 * 3, 4 * 5]);
  assertEquals(nestedLoop(kernelOf(decodeLoop(10)), 4), undefined);
});

/** A product's loops with a branch of three sides, which end with `leave`, a jump to the place that `name` names. */
function threeSides(name: string, leave: string): string[] {
  return [
    "NOP",
    "LDG.E.128 R4, [R2]", // address 0x10, the outer loop
    ...new Array(10).fill("FFMA R12, R4, R8, R12"), // 0x18, the inner loop
    "@P0 BRA 0xb8", // 0x68
    `${name} 0xb8`,
    "@!P1 BRA 0xa8",
    "@!P2 BRA 0x98",
    "STS [R0], R4", // 0x88
    leave,
    "STS.64 [R0], R4", // 0x98
    leave,
    "STS.128 [R0], R4", // 0xa8
    leave,
    "@P3 BRA 0x18", // 0xb8
    "@P4 BRA 0x10",
    "EXIT",
  ];
}

Deno.test("sides of a branch within a side count half as often, also where SYNC and BRK end them", () => {
  for (const [name, leave] of [["SSY", "SYNC"], ["PBK", "BRK"]]) {
    const loop = nestedLoop(kernelOf(threeSides(name, leave)), 4)!;
    const count = (one: string) => loop.filter((other) => one === other).length;
    assertEquals(multiplyAdds(loop), 8 * 4 * 10);
    assertEquals([count("STS"), count("STS.64"), count("STS.128")], [2, 2, 4], name);
  }
});

Deno.test("a product of prompts is held to a share of multiply-adds, by the tokens of its tile", () => {
  const plain = (tokens: number) =>
    `_ZN3m404cuda21matmul_prefill_kernelILj12ELi${tokens}ELb1EEEvNS0_17MatmulPrefillArgsE`;
  const experts = (tokens: number) =>
    `_ZN3m404cuda29matmul_prefill_experts_kernelILj12ELi${tokens}ELb1EEEvNS0_23MatmulPrefillExpertArgsE`;
  const broken = (multiplies: number, tokens: number, name = plain) =>
    examine(kernelOf(promptLoop(multiplies, [3, 5]), name(tokens))).broken;
  assertEquals(broken(100, 128), []);
  assertEquals(broken(10, 128), ["wanted 85%"]);
  assertEquals(broken(10, 64), ["wanted 78%"]);
  assertEquals(broken(100, 64, experts), []);
  assertEquals(broken(10, 64, experts), ["wanted 78%"]);
});

Deno.test("a product of decoded tokens through shared memory is held to a share of multiply-adds", () => {
  const name = "_ZN3m404cuda26matmul_decode_tiled_kernelILj1EEEvNS0_16MatmulDecodeArgsE";
  const broken = (multiplies: number) =>
    examine(kernelOf(promptLoop(multiplies, [3, 5]), name)).broken;
  assertEquals(broken(100), []);
  assertEquals(broken(10), ["wanted 77%"]);
});

Deno.test("a decode attention loop is held to a share of the bandwidth, in bytes of the cache", () => {
  // 1024 bytes an iteration; n instructions take n / 4 clocks; 10.77 bytes a clock are 288 GB/s.
  const within = examine(kernelOf(decodeLoop(280)));
  assertEquals([within.broken, within.budgeted], [[], true]);
  const beyond = examine(kernelOf(decodeLoop(300)));
  assertEquals(beyond.broken, ["wanted 130% of 288 GB/s"]);
});

Deno.test("a recurrence is held to a share of multiplications and additions, where it has the keys of large models", () => {
  // Of 100 instructions that a token takes, 60 are multiply-adds.
  const token = (multiplications: number) => [
    ...new Array(60).fill("FFMA R1, R0, R2, R1"),
    ...new Array(multiplications).fill("FMUL R3, R0, R2"),
    ...new Array(39 - multiplications).fill("IADD R4, R4, R5"),
    "@P0 BRA 0x8",
    "EXIT",
  ];
  const finding = (multiplications: number, shape: string) =>
    examine(
      kernelOf(
        token(multiplications),
        `_ZN3m404cuda17delta_rule_kernelI${shape}EEvNS0_13DeltaRuleArgsE`,
      ),
    );
  assertEquals(finding(20, "Li8ELi4ELb0E").broken, []);
  assertEquals(finding(17, "Li8ELi4ELb0E").broken, ["wanted 78%"]);
  const small = finding(0, "Li4ELi4ELb0E");
  assertEquals([small.broken, small.budgeted], [[], false]);
});

Deno.test("local memory in a hot kernel is a broken budget", () => {
  const kernel = kernelOf([...decodeLoop(10).slice(0, -1), "STL [R1], R0", "EXIT"]);
  assertEquals(localAccesses(kernel), 1);
  assertEquals(examine(kernel).broken, ["1 accesses of local memory"]);
});

Deno.test("two builds differ in the kernels whose instructions differ, whatever registers those use", () => {
  const loop = ["LDG.E.128 R0, [R4]", "FFMA R1, R0, R2, R1", "@P0 BRA 0x8", "EXIT"];
  const renumbered = ["LDG.E.128 R8, [R4]", "FFMA R9, R8, R2, R9", "@P0 BRA 0x8", "EXIT"];
  const longer = [...loop.slice(0, 2), "MOV R5, R6", ...loop.slice(2)];
  assertEquals(compareKernels([kernelOf(loop)], [kernelOf(renumbered)]), {
    different: [],
    gone: [],
    added: [],
    same: 1,
  });
  const { different } = compareKernels([kernelOf(loop)], [kernelOf(longer)]);
  assertEquals(different.map(describeDifference), [
    "attention_decode_kernel<1, 16, 4>: 0 registers, 0 bytes shared, 4 -> 5 instructions, " +
    "3 -> 4 in the loop",
  ]);
  // Kernels that differ in types alone have one name: each has its like, in any order.
  const pair = [kernelOf(loop), kernelOf(longer)];
  assertEquals(compareKernels(pair, pair.toReversed()).same, 2);
  assertEquals(compareKernels(pair, [kernelOf(longer), kernelOf(longer)]).different.length, 1);
  // A kernel is the same by the name of its body; one that only one build has is reported.
  const other = "_ZN3m404cuda5otherENS0_9OtherArgsE";
  const { gone, added } = compareKernels([kernelOf(loop)], [kernelOf(loop, other)]);
  assertEquals([gone, added], [["attention_decode<1,16,4>"], ["other<>"]]);
  const launch = "_ZN3m404cuda12other_kernelENS0_9OtherArgsE";
  assertEquals(compareKernels([kernelOf(loop, other)], [kernelOf(loop, launch)]).same, 1);
});
