/**
 * Reads cuda/include/m40.h line by line. The header keeps to few forms; what has another one is refused, with its line.
 *
 * @module
 */
import {
  type Declaration,
  type Element,
  type Enumeration,
  type Field,
  type Header,
  HeaderError,
  OPERATION_PREFIX,
  type Parameter,
  type Struct,
} from "./header.ts";
import { checkCounts, parseRole } from "./roles.ts";

const SCALARS: Record<string, Element> = {
  uint32_t: "u32",
  int32_t: "i32",
  uint64_t: "u64",
  float: "f32",
};

/** What is around the declarations. */
const FRAME =
  /^(#ifndef M40_H|#define M40_H|#define M40_API .*|#include <\w+\.h>|#ifdef __cplusplus|extern "C" \{|\}|#endif)$/;

/**
 * Reads a header.
 *
 * @throws {HeaderError} With the line that is of no known form, or says what cannot be.
 */
export function parseHeader(text: string): Header {
  return new HeaderReader(text).read();
}

class HeaderReader {
  private readonly lines: readonly string[];
  private at = 0;
  private readonly constants = new Map<string, number>();
  private readonly enumerations: Enumeration[] = [];
  private readonly structs: Struct[] = [];
  private readonly handles: string[] = [];
  private readonly functions: Declaration[] = [];
  /** Types of fields and parameters. */
  private readonly types = new Map(Object.entries(SCALARS));

  constructor(text: string) {
    this.lines = text.trimEnd().split("\n");
  }

  read(): Header {
    while (this.at < this.lines.length) {
      const line = this.lines[this.at++];
      try {
        this.declaration(line);
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error;
        throw new HeaderError(
          `line ${this.at} of m40.h: ${error.message}: ${this.lines[this.at - 1]}`,
        );
      }
    }
    const { constants, enumerations, structs, handles, functions } = this;
    return { constants, enumerations, structs, handles, functions };
  }

  private declaration(line: string): void {
    if (line === "" || /^\/\/(?!@)/.test(line) || FRAME.test(line)) return;
    let match = /^#define M40_([A-Z_]+) (\d+|0x[0-9A-F]+)u?$/.exec(line);
    if (match) return void this.constants.set(match[1], Number(match[2]));
    match = /^typedef (u?int32_t) (m40_\w+);$/.exec(line);
    if (match) return this.enumeration(match[2], match[1]);
    match = /^typedef struct (m40_\w+) \1;$/.exec(line);
    if (match) return void this.handles.push(match[1]);
    match = /^typedef struct (m40_\w+) \{$/.exec(line);
    if (match) return this.struct(match[1]);
    match = /^\/\/@ (.+)$/.exec(line);
    if (match) return this.function(match[1], this.lines[this.at++] ?? "");
    throw new SyntaxError(
      line.startsWith("M40_API")
        ? "a function without //@ before it"
        : "no form of declaration that is known",
    );
  }

  private enumeration(name: string, type: string): void {
    const first = this.lines[this.at++] ?? "";
    if (!first.startsWith("enum {")) throw new SyntaxError("wanted `enum {` after its type");
    const lines = [first.slice("enum {".length)];
    while (!lines.at(-1)!.trimEnd().endsWith("};")) {
      const line = this.lines[this.at++];
      if (line === undefined) throw new SyntaxError(`${name} has no end`);
      lines.push(line);
    }
    const members: [member: string, value: number, comment?: string][] = [];
    for (const line of lines) {
      const [text, comment] = line.split("//").map((part) => part.trim());
      for (const one of text.replace(/};$/, "").split(",").map((part) => part.trim())) {
        if (one === "") continue;
        const match = /^([A-Z]\w*) = (\d+|0x[0-9a-fA-F]+)$/.exec(one);
        if (!match) throw new SyntaxError(`wanted NAME = NUMBER, got ${one}`);
        members.push([match[1], Number(match[2]), comment]);
      }
    }
    const prefix = commonWords(members.map(([member]) => member));
    this.types.set(name, SCALARS[type]);
    const key = (member: string) => member.slice(prefix.length).toLowerCase();
    this.enumerations.push({
      name,
      members: new Map(members.map(([member, value]) => [key(member), value])),
      comments: new Map(members.map(([member, , comment = ""]) => [key(member), comment])),
    });
  }

  private struct(name: string): void {
    const fields: Field[] = [];
    let inUnion = false;
    for (;;) {
      const line = this.lines[this.at++];
      if (line === undefined) throw new SyntaxError(`${name} has no end`);
      if (line === `} ${name};`) break;
      if (line === "  union {" || line === "  };") inUnion = line !== "  };";
      else if (inUnion) fields.push(...this.unionMember(line));
      else if (!/^\s*\/\//.test(line)) {
        fields.push(...this.fields(line, name.startsWith(OPERATION_PREFIX)));
      }
    }
    const struct = { name, fields };
    for (const { role } of fields) if (role !== undefined) checkCounts(role, this.namesFor(struct));
    this.types.set(name, { struct: name });
    this.structs.push(struct);
  }

  /** What counts of a record are made of. */
  private namesFor({ fields }: Struct): Set<string> {
    const members = this.enumerations.flatMap(({ name, members }) =>
      [...members.keys()].map((key) => `${name}_${key}`.toUpperCase())
    );
    return new Set([
      ...fields.filter(({ element }) => element === "u32").map(({ name }) => name),
      ...[...this.constants.keys()].map((name) => `M40_${name}`),
      ...members,
    ]);
  }

  /** The records of operations are those of their names; what they have in common is `words`. */
  private unionMember(line: string): Field[] {
    const record = /^ {4}m40_op_(\w+) \1;$/.exec(line);
    if (record && this.types.has(OPERATION_PREFIX + record[1])) return [];
    const words = /^ {4}uint32_t words\[(\d+)\];$/.exec(line);
    if (!words) throw new SyntaxError("wanted `m40_op_NAME NAME;` or words");
    return [{ name: "payload", element: "u32", count: Number(words[1]) }];
  }

  private fields(line: string, ofOperation: boolean): Field[] {
    const match = /^ {2}(\w+) ([^;]+);(?: *\/\/ (.+))?$/.exec(line);
    if (!match) throw new SyntaxError("wanted `TYPE FIELD, ...;`");
    const [, type, names, comment] = match;
    const role = ofOperation && comment !== undefined ? parseRole(comment) : undefined;
    return names.split(", ").map((text) => {
      const field = /^([a-z]\w*)(?:\[(.+)\])?$/.exec(text);
      if (!field) throw new SyntaxError(`wanted NAME or NAME[COUNT], got ${text}`);
      const count = field[2] === undefined ? undefined : this.number(field[2]);
      const element = type === "char" && count !== undefined ? "text" : this.types.get(type);
      if (element === undefined) throw new SyntaxError(`${type} is no type of a field`);
      return { name: field[1], element, count, role };
    });
  }

  /** A number, a constant, or a constant and a number more. */
  private number(text: string): number {
    return text.split(" + ").map((one) => {
      const value = /^\d+$/.test(one) ? Number(one) : this.constants.get(one.replace(/^M40_/, ""));
      if (value === undefined) throw new SyntaxError(`${one} is no constant`);
      return value;
    }).reduce((sum, one) => sum + one);
  }

  private function(directive: string, line: string): void {
    const match = /^M40_API (const char\*|\w+) (m40_\w+)\((.+)\);$/.exec(line);
    if (!match) throw new SyntaxError("wanted a function on one line behind //@");
    const [, result, name, list] = match;
    const parameters = list === "void" ? [] : list.split(", ").map((text): Parameter => {
      const parameter = /^(const )?(\w+)(\**) (\w+)$/.exec(text);
      if (!parameter) throw new SyntaxError(`wanted a parameter, got ${text}`);
      const [, isConst, type, stars, ownName] = parameter;
      if (
        !this.types.has(type) && !this.handles.includes(type) && type !== "char" && type !== "void"
      ) {
        throw new SyntaxError(`${type} is not declared`);
      }
      return { name: ownName, type, isConst: isConst !== undefined, depth: stars.length };
    });
    const [about, ...options] = directive.split(", ");
    const lane = options[0]?.startsWith("lane ") ? options.shift()!.slice(5) : "calls";
    if (lane !== "calls" && lane !== "steps" && lane !== "state") {
      throw new SyntaxError(`no lane ${lane}`);
    }
    const waits = options.shift();
    if (![undefined, "waits", "may wait"].includes(waits) || options.length > 0) {
      throw new SyntaxError("behind //@: wanted `WHAT[, lane steps|state][, waits|may wait]`");
    }
    this.functions.push({
      name,
      result,
      parameters: parameters.map((one, i) => ({ ...one, count: countOf(parameters, i) })),
      about: about === "here" ? undefined : about,
      lane,
      waits: waits === undefined ? "never" : waits === "waits" ? "always" : "maybe",
    });
  }
}

/** The number of the parameter that says how many elements a pointer points to. */
function countOf(parameters: readonly Parameter[], i: number): number | undefined {
  const { type, isConst, depth } = parameters[i];
  if (depth !== 1) return undefined;
  const next = parameters[i + 1];
  if (next === undefined) return undefined;
  if (next.depth === 0) return /^n$|^n_|_bytes$/.test(next.name) ? i + 1 : undefined;
  return next.type === type && next.isConst === isConst ? countOf(parameters, i + 1) : undefined;
}

/** The words that all names begin with, an underscore behind each; the last word of a name is its own. */
function commonWords(names: readonly string[]): string {
  const [first, ...others] = names.map((name) => name.split("_"));
  const n = first.findIndex((word, i) =>
    i === first.length - 1 || others.some((words) => words[i] !== word || i === words.length - 1)
  );
  return first.slice(0, n).map((word) => word + "_").join("");
}
