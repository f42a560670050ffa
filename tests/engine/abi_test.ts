import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import { abiFiles, readHeader } from "../../tools/abi.ts";
import { channelHeader, operationFieldsHeader, tensorTypesHeader } from "../../tools/abi/cpp.ts";
import { HeaderError } from "../../tools/abi/header.ts";
import { parseHeader } from "../../tools/abi/header_reader.ts";
import { operationsModule, symbolsModule, tensorTypesModule } from "../../tools/abi/typescript.ts";

const ROOT = new URL("../../", import.meta.url);

Deno.test("what is written out of m40.h is what it says", async () => {
  for (const [path, text] of abiFiles(await readHeader())) {
    const written = await Deno.readTextFile(new URL(path, ROOT));
    assertEquals(written, text, `${path} is not what m40.h says: run \`deno task abi\``);
  }
});

/** A header with one of everything. */
const SMALL = `// Comments and frames say nothing.
#ifndef M40_H
#define M40_H
#define M40_NONE 0xFFFFFFFFu
#define M40_MOST 2
typedef int32_t m40_status;
enum {
  M40_OK = 0,  // all is well
  // Of others.
  M40_NOT_READY = 7,
};
typedef uint32_t m40_op_kind;
enum { M40_OP_SCALE = 1, M40_OP_JOIN = 2 };
typedef uint32_t m40_tensor_type;
enum {
  M40_TYPE_F32 = 0,   // 1 in 4
  M40_TYPE_Q4_0 = 2,  // 32 in 18
};
typedef struct m40_context m40_context;
typedef struct m40_error {
  m40_status status;
  char message[12];  // text
} m40_error;
typedef struct m40_op_join {
  uint32_t input;             // reads [rows, columns]
  uint32_t output;            // writes [tokens * n_used, most(at[i] + rows[i])], of which total(rows[i])
  uint32_t weight[M40_MOST];  // weight [rows[i], columns]
  uint32_t at[M40_MOST + 1], rows[3];
  uint32_t columns, n_weights, n_used;
} m40_op_join;
typedef struct m40_op_scale {
  uint32_t input;    // reads u32 [rows, columns]
  uint32_t output;   // writes [rows, column + columns], of which columns
  uint32_t factors;  // weight [gated ? columns : 1], or none, where gated != 0
  uint32_t state;    // state [2 * (columns - 1)]
  uint32_t layer;    // layer
  uint32_t columns, column, gated;
} m40_op_scale;
typedef struct m40_op {
  m40_op_kind kind;
  union {
    m40_op_scale scale;
    uint32_t words[30];
  };
} m40_op;
//@ here
M40_API const char* m40_layout(void);
//@ a copy, lane state, waits
M40_API m40_status m40_copy(m40_context* context, const uint32_t* from, const uint32_t* to, uint32_t n, void* memory, uint64_t n_bytes, m40_error* error);
//@ memory, may wait
M40_API m40_status m40_host_alloc(m40_context* context, const m40_op* ops, uint64_t* n_bytes, void* at, void** memory, m40_error* error);
#endif
`;

Deno.test("a function's parameters follow from their types, and counts from the names behind them", () => {
  const header = parseHeader(SMALL);
  assertEquals(symbolsModule(header).split("\n").filter((line) => /^ {2}m40_/.test(line)), [
    '  m40_layout: { parameters: [], result: "pointer" },',
    '  m40_copy: { parameters: ["pointer", "buffer", "buffer", "u32", "buffer", "u64", "buffer"], result: "i32", nonblocking: true },',
    '  m40_host_alloc: { parameters: ["pointer", "buffer", "buffer", "pointer", "buffer", "buffer"], result: "i32" },',
    '  m40_host_alloc_async: { ...SYMBOLS.m40_host_alloc, name: "m40_host_alloc", nonblocking: true },',
  ]);
  assertEquals(channelHeader(header).split(" \\\n").slice(1), [
    '  FUNCTION(kCopy, m40_copy, &invoke<&m40_copy>, "a copy", kState, context, in<uint32_t>(3), in<uint32_t>(3), number32, out<uint8_t>(5), number64)',
    '  FUNCTION(kHostAlloc, m40_host_alloc, &invoke<&m40_host_alloc>, "memory", kCalls, context, in<m40_op>(), out<uint64_t>(), number64, made({}))',
  ]);
});

Deno.test("what an operation's fields are follows from what stands behind them", () => {
  const header = parseHeader(SMALL);
  const [scale, join, all] = operationFieldsHeader(header).split(/^constexpr /m).slice(1)
    .map((text) => text.match(/^ {4}.+$/gm));
  assertEquals(scale, [
    "    reads(FIELD(scale, input), RowKind::kAny, COUNT(wide(op.scale.columns)), M40_ELEMENT_U32),",
    "    writes(FIELD(scale, output), RowKind::kAsFirst, COUNT(wide(op.scale.column) + wide(op.scale.columns))),",
    "    where([](const m40_op& op) { return wide(op.scale.gated) != 0; }, optional(vector(FIELD(scale, factors), COUNT(wide(op.scale.gated) ? wide(op.scale.columns) : 1)))),",
    "    state(FIELD(scale, state), COUNT(2 * (wide(op.scale.columns) - 1))),",
    "    FIELD(scale, layer),",
    "    FIELD(scale, columns),",
    "    FIELD(scale, column),",
    "    FIELD(scale, gated),",
  ]);
  assertEquals(join!.slice(0, 3), [
    "    reads(FIELD(join, input), RowKind::kAny, COUNT(wide(op.join.columns))),",
    "    writes(FIELD(join, output), RowKind::kExperts, COUNT(most(op.join.n_weights, [&](uint32_t i) { return wide(op.join.at[i]) + wide(op.join.rows[i]); }))),",
    "    matrix(FIELD(join, weight), COUNT(wide(op.join.rows[i])), COUNT(wide(op.join.columns))),",
  ]);
  assertEquals(all, [
    "    OPERATION(SCALE, scale, true, nullptr, nullptr, COUNT(wide(op.scale.columns))),",
    "    OPERATION(JOIN, join, false, COUNT(wide(op.join.n_weights)), COUNT(wide(op.join.n_used)), COUNT(total(op.join.n_weights, [&](uint32_t i) { return wide(op.join.rows[i]); }))),",
  ]);
  const module = operationsModule(header);
  for (
    const line of [
      '  scale: { input: "reads", output: "writes" },',
      '  join: ["weight"],',
      '  scale: ["factors"],',
      "  scale: ({ column, columns }) => unlessGap(column + columns, columns),",
    ]
  ) assertEquals(module.split("\n").includes(line), true, line);
});

Deno.test("tensor types have their blocks", () => {
  const header = parseHeader(SMALL);
  assertEquals(tensorTypesHeader(header).split(" \\\n").slice(1), [
    "  TYPE(F32, 1, 4)",
    "  TYPE(Q4_0, 32, 18)",
  ]);
  assertEquals(tensorTypesModule(header).split("\n").slice(2, -1), [
    '  0: ["F32", 1, 4],',
    '  2: ["Q4_0", 32, 18],',
  ]);
});

/** What is changed in the small header, and what is said of it. */
const WRONG: [from: string, to: string, message: RegExp][] = [
  ["#define M40_MOST 2", "#define M40_MOST two", /line 5 .*no form of declaration/],
  ["M40_OK = 0,", "M40_OK,", /NAME = NUMBER, got M40_OK/],
  ["enum { M40_OP_SCALE", "enum kinds { M40_OP_SCALE", /line 13 .*wanted `enum \{`/],
  ["char message[12];", "char message;", /char is no type of a field/],
  ["uint32_t columns, column,", "size_t columns, column,", /line 37 .*size_t is no type/],
  [
    "uint32_t columns, column,",
    "uint32_t *columns, column,",
    /NAME or NAME\[COUNT\], got \*columns/,
  ],
  ["uint32_t at[M40_MOST + 1]", "uint32_t at[M40_MANY + 1]", /M40_MANY is no constant/],
  ["// state [2", "// keeps [2", /wanted `USE \[SHAPE\]/],
  ["// state [2 * (columns - 1)]", "// state", /wanted `USE \[SHAPE\]/],
  ["// reads u32 [rows,", "// reads u32 [lines,", /is no shape for reads/],
  ["// weight [rows[i], columns]", "// weight [1, 2, 3, 4]", /is no shape for weight/],
  ["column + columns], of", "offset + columns], of", /offset is no field of the record/],
  ["2 * (columns - 1)", "2 * (columns; 1)", /is no count/],
  ["or none, where", "or nothing, where", /wanted `USE \[SHAPE\]/],
  ["//@ here\n", "", /line 46 .*without \/\/@/],
  ["lane state", "lane copies", /no lane copies/],
  ["may wait", "might wait", /behind \/\/@/],
  ["uint64_t n_bytes, m40_error", "size_t n_bytes, m40_error", /size_t is not declared/],
  ["const m40_op* ops,", "const m40_op ops[],", /wanted a parameter, got const m40_op ops\[\]/],
  ["// 32 in 18", "// 18 bytes", /M40_TYPE_Q4_0/],
  ["M40_OP_JOIN = 2", "M40_OP_LINK = 2", /no m40_op_link/],
  [", M40_OP_JOIN = 2", "", /without a kind/],
];

for (const [from, to, message] of WRONG) {
  Deno.test(`a header with ${JSON.stringify(to)} for ${JSON.stringify(from)} is refused`, () => {
    assertEquals(SMALL.split(from).length, 2, "it occurs once");
    const error = assertThrows(() => abiFiles(SMALL.replace(from, to)), HeaderError);
    assertMatch(error.message, message);
  });
}
