/**
 * What cuda/ repeats of m40.h.
 *
 * @module
 */
import {
  type Declaration,
  type Field,
  type Header,
  OPERATION_PREFIX,
  operationsOf,
  type Parameter,
  type Struct,
  tensorTypesOf,
} from "./header.ts";
import { isBuffer, type Role } from "./roles.ts";

/** The structs for m40_layout, but for the records of operations, which operations.h describes. */
export function structsHeader({ structs }: Header): string {
  const plain = structs.filter(({ name }) =>
    name !== "m40_op" && !name.startsWith(OPERATION_PREFIX)
  );
  return macro(
    "M40_STRUCTS(STRUCT, FIELD)",
    plain.map(({ name, fields }) =>
      `STRUCT(${name}, ${fields.map((field) => `FIELD(${name}, ${field.name})`).join(" ")})`
    ),
  );
}

/** The tensor types and their blocks. */
export function tensorTypesHeader(header: Header): string {
  return macro(
    "M40_TENSOR_TYPES(TYPE)",
    tensorTypesOf(header).map(({ name, weights, bytes }) => `TYPE(${name}, ${weights}, ${bytes})`),
  );
}

/** The operations by kind. */
export function operationsHeader(header: Header): string {
  return macro(
    "M40_OPERATIONS(OPERATION)",
    operationsOf(header).map(({ name }) => `OPERATION(${name.toUpperCase()}, ${name})`),
  );
}

/** The fields of their records; operations.cpp has the words. */
export function operationFieldsHeader(header: Header): string {
  const operations = operationsOf(header);
  return [
    ...operations.map(({ name, struct }) =>
      `constexpr Field ${name}_fields[] = {\n${
        struct.fields.map((field, i) => `    ${fieldText(name, field, struct.fields.slice(0, i))},`)
          .join("\n")
      }\n};\n`
    ),
    "constexpr Operation all[] = {",
    ...operations.map(({ name, struct }) =>
      `    OPERATION(${name.toUpperCase()}, ${name}, ${restOf(name, struct)}),`
    ),
    "};",
  ].join("\n");
}

function fieldText(operation: string, { name, role }: Field, before: readonly Field[]): string {
  const field = `FIELD(${operation}, ${name})`;
  if (role === undefined || role.use === "layer") return field;
  const count = (expression: string) => countText(operation, expression);
  const { dimensions } = role;
  let text: string;
  if (isBuffer(role.use)) {
    const isFirst = !before.some((one) => one.role !== undefined && isBuffer(one.role.use));
    const rows = {
      tokens: "kTokens",
      outputs: "kOutputs",
      rows: isFirst ? "kAny" : "kAsFirst",
    }[dimensions[0]] ??
      "kExperts";
    const element = role.isU32 ? ", M40_ELEMENT_U32" : "";
    text = `${role.use}(${field}, RowKind::${rows}, ${count(dimensions[1])}${element})`;
  } else {
    const word = role.use === "state"
      ? "state"
      : ["vector", "matrix", "experts"][dimensions.length - 1];
    text = `${word}(${[field, ...dimensions.map(count)].join(", ")})`;
  }
  if (role.isOptional) text = `optional(${text})`;
  if (role.where !== undefined) {
    text = `where([](const m40_op& op) { return ${widened(operation, role.where)}; }, ${text})`;
  }
  return text;
}

/** Whether it uses KV blocks, how many weights it has, experts it uses and columns it writes. */
function restOf(operation: string, { fields }: Struct): string {
  const roles = fields.map(({ role }) => role).filter((role): role is Role => role !== undefined);
  const count = (expression: string | undefined) => countText(operation, expression ?? "any");
  const has = (name: string) => fields.some((field) => field.name === name);
  return [
    roles.some(({ use }) => use === "layer"),
    count(has("n_weights") ? "n_weights" : undefined),
    count(
      roles.some(({ dimensions }) => dimensions[0] === "tokens * n_used") ? "n_used" : undefined,
    ),
    count(roles.find(({ written }) => written !== undefined)?.written),
  ].join(", ");
}

function countText(operation: string, expression: string): string {
  if (expression === "any") return "nullptr";
  const array = /^(most|total)\((.*)\)$/.exec(expression);
  return `COUNT(${
    array
      ? `${array[1]}(op.${operation}.n_weights, [&](uint32_t i) { return ${
        widened(operation, array[2])
      }; })`
      : widened(operation, expression)
  })`;
}

/** The expression over the record's fields as 64-bit numbers, so that no sum or product wraps. */
function widened(operation: string, expression: string): string {
  return expression.replace(
    /\b([a-z]\w*)(\[[^\]]*\])?(?!\w|\()/g,
    (all, name, index) =>
      name === "i"
        ? all
        : `wide(op.${operation}.${name}${index === undefined ? "" : indexText(operation, index)})`,
  );
}

function indexText(operation: string, index: string): string {
  return `[${index.slice(1, -1).replace(/\b[a-z]\w+\b/g, (name) => `op.${operation}.${name}`)}]`;
}

/** The functions that a channel serves; channel_functions.cpp has the words. */
export function channelHeader({ functions, handles }: Header): string {
  return macro(
    "M40_CHANNEL_FUNCTIONS(FUNCTION)",
    functions.filter(({ about }) => about !== undefined).map((one) => {
      const parameters = one.parameters.filter(({ type }) => type !== "m40_error");
      const words = parameters.map((parameter) => parameterText(parameter, handles));
      // What the caller alone has cannot be handed to the function over there.
      const invoke = parameters.some(({ type }) => type === "m40_shared")
        ? "nullptr"
        : `&invoke<&${one.name}>`;
      return `FUNCTION(${
        [indexOf(one), one.name, invoke, `"${one.about}"`, `k${capital(one.lane)}`, ...words].join(
          ", ",
        )
      })`;
    }),
  );
}

function indexOf({ name }: Declaration): string {
  return `k${name.slice("m40_".length).split("_").map(capital).join("")}`;
}

function parameterText(
  { type, isConst, depth, count }: Parameter,
  handles: readonly string[],
): string {
  const handle = type.slice("m40_".length);
  if (depth === 0) return type === "uint64_t" ? "number64" : "number32";
  if (depth === 2) return type === "void" ? "made({})" : `made(Handle::k${capital(handle)})`;
  if (type === "m40_shared" || (type === "void" && count === undefined)) return "number64";
  if (handles.includes(type)) return handle;
  if (type === "char" && isConst) return "text";
  return `${isConst ? "in" : "out"}<${type === "void" ? "uint8_t" : type}>(${count ?? ""})`;
}

function capital(word: string): string {
  return word[0].toUpperCase() + word.slice(1);
}

function macro(head: string, lines: readonly string[]): string {
  return [`#define ${head}`, ...lines.map((line) => `  ${line}`)].join(" \\\n");
}
