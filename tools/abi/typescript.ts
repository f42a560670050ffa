/**
 * What engine/ repeats of m40.h.
 *
 * @module
 */
import {
  type Declaration,
  type Field,
  type Header,
  HeaderError,
  OPERATION_PREFIX,
  operationsOf,
  type Parameter,
  type Struct,
  tensorTypesOf,
} from "./header.ts";
import { isBuffer, namesIn, type Role } from "./roles.ts";

/** Constants, numbers by name, and structs. */
export function structsModule(header: Header): string {
  const { constants, enumerations, structs } = header;
  const others = structs.filter(({ name }) => !name.startsWith(OPERATION_PREFIX));
  return [
    `import { Struct } from "./struct.ts";`,
    [...constants].map(([name, value]) =>
      `export const ${name} = ${value > 9999 ? hex(value) : value};`
    ).join("\n"),
    ...enumerations.map(({ name, members }) =>
      `export const ${pascal(name)} = ${
        braces([...members].map(([key, value]) => `${key}: ${value}`))
      } as const;`
    ),
    "/** The payload of each kind of operation record. */",
    `export const OPS = {\n${
      operationsOf(header).map(({ name, struct }) => `  ${name}: ${structText(struct, "  ")},`)
        .join("\n")
    }\n};`,
    ...others.map((one) => `export const ${constant(one.name)} = ${structText(one)};`),
    "/** Every struct that crosses. */",
    `export const STRUCTS = [${
      wrapped([...others.map(({ name }) => constant(name)), "...Object.values(OPS)"], "  ")
    }];`,
  ].join("\n");
}

function structText({ name, fields }: Struct, indent = ""): string {
  return `new Struct("${name}", ${
    braces(fields.map((field) => `${field.name}: ${fieldType(field)}`), indent)
  })`;
}

function fieldType({ element, count }: Field): string {
  if (typeof element !== "string") return `["u32", ${constant(element.struct)}.bytes / 4]`;
  return count === undefined ? `"${element}"` : `["${element}", ${count}]`;
}

/** The tensor types that there are kernels for. */
export function tensorTypesModule(header: Header): string {
  return `/** Name, weights in a block, bytes in a block; the number of the type is the key. */
export const SUPPORTED = {
${
    tensorTypesOf(header).map(({ name, id, weights, bytes }) =>
      `  ${id}: ["${name}", ${weights}, ${bytes}],`
    ).join("\n")
  }
} as const;`;
}

/** The functions as `Deno.dlopen` wants them. */
export function symbolsModule({ functions, handles }: Header): string {
  const ofChannel = ({ name }: Declaration) => name.startsWith("m40_channel_");
  const symbol = (declaration: Declaration) => {
    const { name, parameters, waits } = declaration;
    const types = parameters.map((parameter) => `"${ffiType(parameter, handles)}"`);
    const nonblocking = waits === "always" ? ", nonblocking: true" : "";
    return `  ${name}: { parameters: [${types.join(", ")}], result: "${
      resultType(declaration)
    }"${nonblocking} },`;
  };
  const table = (name: string, text: string) =>
    `export const ${name} = {\n${text}\n} as const satisfies Deno.ForeignLibraryInterface;`;
  return [
    "/** The functions of a kernel library. */",
    table("SYMBOLS", functions.filter((one) => !ofChannel(one)).map(symbol).join("\n")),
    "/** Those that can take long, by what they are handed or wait for: the same off the event loop. */",
    table(
      "OFF_LOOP_SYMBOLS",
      functions.filter(({ waits }) => waits === "maybe").map(({ name }) =>
        `  ${name}_async: { ...SYMBOLS.${name}, name: "${name}", nonblocking: true },`
      ).join("\n"),
    ),
    "/** The functions that reach a device in a process of its own. */",
    table("CHANNEL_SYMBOLS", functions.filter(ofChannel).map(symbol).join("\n")),
    "/** Functions of {@link SYMBOLS} that are no device's: called in this process wherever the device is. */",
    `export const LOCAL_SYMBOLS = ${
      braces(
        functions.filter((one) => one.about === undefined && !ofChannel(one)).map(({ name }) =>
          `${name}: SYMBOLS.${name}`
        ),
      )
    } as const;`,
  ].join("\n");
}

function ffiType({ type, depth, count }: Parameter, handles: readonly string[]): string {
  if (depth === 0) return ELEMENTS[type];
  return depth === 1 && (handles.includes(type) || (type === "void" && count === undefined))
    ? "pointer"
    : "buffer";
}

const ELEMENTS: Record<string, string> = {
  uint32_t: "u32",
  int32_t: "i32",
  uint64_t: "u64",
  m40_status: "i32",
  "const char*": "pointer",
  void: "void",
};

function resultType({ result }: Declaration): string {
  return ELEMENTS[result];
}

/** What the fields of operations are, and how much of a buffer each operation writes. */
export function operationsModule(header: Header): string {
  const table = (one: (roles: { name: string; role: Role }[]) => string | undefined) =>
    operationsOf(header).flatMap(({ name, struct: { fields } }) => {
      const text = one(
        fields.flatMap(({ name, role }) => role === undefined ? [] : [{ name, role }]),
      );
      return text === undefined ? [] : [`  ${name}: ${text},`];
    }).join("\n");
  const list = (names: readonly string[]) =>
    names.length === 0 ? undefined : `[${names.map((name) => `"${name}"`).join(", ")}]`;
  return `import type { OPS, StructOf } from "../device/mod.ts";
import { most, total, unlessGap } from "./counts.ts";

type Kind = keyof typeof OPS;

/** What an operation does to a buffer: reads it, writes to it (which may leave some of it as it was), or both. */
export type Access = "reads" | "writes" | "updates";

/** Which fields of an operation are buffers. */
export const BUFFER_FIELDS: { readonly [K in Kind]: Readonly<Record<string, Access>> } = {
${
    table((roles) =>
      `{ ${
        roles.filter(({ role }) => isBuffer(role.use))
          .map(({ name, role }) => `${name}: "${role.use === "lends" ? "reads" : role.use}"`).join(
            ", ",
          )
      } }`
    )
  }
};

/** Which are weights. */
export const WEIGHT_FIELDS: { readonly [K in Kind]?: readonly string[] } = {
${table((roles) => list(roles.filter(({ role }) => role.use === "weight").map(({ name }) => name)))}
};

/** Which may be NONE. */
export const OPTIONAL_FIELDS: { readonly [K in Kind]?: readonly string[] } = {
${table((roles) => list(roles.filter(({ role }) => role.isOptional).map(({ name }) => name)))}
};

/** Columns that an operation writes of its output from the first one on; 0 where there is a gap. */
export const WRITTEN_COLUMNS: {
  readonly [K in Kind]: (operation: Readonly<StructOf<typeof OPS[K]>>) => number;
} = {
${table((roles) => writtenText(roles.map(({ role }) => role)))}
};`;
}

function writtenText(roles: readonly Role[]): string {
  const outputs = roles.filter(({ use }) => use === "writes" || use === "updates");
  const texts = new Set(
    outputs.map(({ dimensions, written }) =>
      written === undefined
        ? withArrays(dimensions[1])
        : `unlessGap(${withArrays(dimensions[1])}, ${withArrays(written)})`
    ),
  );
  if (texts.size === 0) return "() => 0";
  if (texts.size > 1) {
    throw new HeaderError(
      "an operation of m40.h writes buffers of different columns: writesAll knows of one number",
    );
  }
  const [text] = texts;
  const names = new Set(namesIn(text).filter((name) => name !== "i"));
  return `({ ${[...names].join(", ")} }) => ${text}`;
}

/** Counts over an array's elements as calls. */
function withArrays(count: string): string {
  return count.replace(/^(most|total)\((.*)\)$/, "$1(n_weights, (i) => $2)");
}

/** "m40_head_norm" as "HeadNorm". */
function pascal(name: string): string {
  return name.slice("m40".length).replace(/_(.)/g, (_, letter) => letter.toUpperCase());
}

/** "m40_cache_desc" as "CACHE_DESC". */
function constant(name: string): string {
  return name.slice("m40_".length).toUpperCase();
}

function hex(value: number): string {
  return `0x${value.toString(16).toUpperCase()}`;
}

function braces(items: readonly string[], indent = ""): string {
  return `{${wrapped(items, indent + "  ")}}`;
}

/** What stands between braces: on one line where that is short, else on lines of up to 100 characters. */
function wrapped(items: readonly string[], indent: string): string {
  const line = items.join(", ");
  if (line.length < 60) return ` ${line} `;
  const lines = [""];
  for (const item of items) {
    const last = lines.length - 1;
    if (`${indent}${lines[last]} ${item},`.length <= 100 && lines[last] !== "") {
      lines[last] += ` ${item},`;
    } else if (lines[last] === "") lines[last] = `${item},`;
    else lines.push(`${item},`);
  }
  return `\n${lines.map((one) => indent + one).join("\n")}\n${indent.slice(2)}`;
}
