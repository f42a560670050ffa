/**
 * The record next to a model: where it came from, and what came with it.
 *
 * A model needs none, and one that is damaged takes nothing from its model: what is wrong with it is
 * reported, and the model is used as if there were none.
 *
 * @module
 */
import { join } from "@std/path";
import { M40Error } from "../errors.ts";
import { systemReason } from "../system_error.ts";
import { readText } from "./files.ts";
import { MAX_PARTS, parseFileName, parseNewModelName, recordFileName } from "./names.ts";

/** One of a model's files, as it was when it came. */
export interface RecordedFile {
  /** Its name in the models directory. */
  readonly name: string;
  readonly bytes: number;
  /** In hexadecimal, where the source gave it or it was computed. */
  readonly sha256?: string;
}

/** What a value of {@link ModelRecord.parameters} can be. */
export type ParameterValue = number | string | boolean | readonly string[];

/** A message of a conversation. */
export interface RecordedMessage {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}

/** What is known of a model in addition to its file. */
export interface ModelRecord {
  /** Where it came from, as it can be given to `m40 pull` again. */
  readonly source: string;
  /** When it came. */
  readonly pulledAt: Date;
  /** Its files: one, or its parts in order. */
  readonly files: readonly RecordedFile[];
  /** An Ollama model's template, kept to be looked at: prompts are made by the file's own. */
  readonly template?: string;
  /** The system message of conversations that bring none. */
  readonly system?: string;
  /** What every conversation begins with, behind its system message. */
  readonly messages?: readonly RecordedMessage[];
  /** Defaults of sampling and of the context, by their Ollama names. */
  readonly parameters?: Readonly<Record<string, ParameterValue>>;
}

/** Bytes that a record may have. */
export const MAX_RECORD_BYTES = 4 * 2 ** 20;
/** Characters of a template or of a system message. */
export const MAX_TEXT_LENGTH = 2 ** 20;

const MAX_SOURCE_LENGTH = 4096;
const MAX_PARAMETERS = 100;
const MAX_MESSAGES = 100;
const MAX_STRINGS = 100;
const MAX_STRING_LENGTH = 1000;
const PARAMETER_NAME = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/;

/** A model's record, or why it cannot be used; neither where there is none. */
export interface RecordReading {
  readonly record?: ModelRecord;
  readonly problem?: string;
}

/** Reads the record of a model, whatever there is: what cannot be used is said, never thrown. */
export async function readRecord(directory: string, name: string): Promise<RecordReading> {
  const path = join(directory, recordFileName(name));
  try {
    // Before it is opened: opening a pipe would wait for its other end.
    const info = await Deno.stat(path);
    if (!info.isFile) throw new Error("it is not a file");
    const text = await readText(path, info.size, MAX_RECORD_BYTES);
    return { record: parseRecord(JSON.parse(text), name) };
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return {};
    const reason = error instanceof SyntaxError ? "it is not JSON" : systemReason(error);
    return { problem: `the record ${path} is not used: ${reason}` };
  }
}

/**
 * Writes the record of a model. It appears whole or not at all, and replaces one that is there.
 *
 * @throws {M40Error} `invalid_request` where the name is none or the record one that could not be read
 * again; `io` where it cannot be written.
 */
export async function writeRecord(
  directory: string,
  name: string,
  record: ModelRecord,
): Promise<void> {
  parseNewModelName(name);
  const path = join(directory, recordFileName(name));
  const bytes = encode(name, record);
  let temporary: string | undefined;
  try {
    // A leading dot: never taken for a model or its record, should it be left behind.
    temporary = await Deno.makeTempFile({ dir: directory, prefix: ".record-" });
    {
      using file = await Deno.open(temporary, { write: true });
      for (let at = 0; at < bytes.length;) at += await file.write(bytes.subarray(at));
      // Else the new name could outlive a power failure that its bytes did not.
      await file.sync();
    }
    // Temporary files are made for their owner alone; a record is as public as its model.
    await Deno.chmod(temporary, 0o666 & ~Deno.umask());
    await Deno.rename(temporary, path);
  } catch (error) {
    if (temporary !== undefined) await Deno.remove(temporary).catch(() => {});
    throw new M40Error("io", `${path}: cannot be written: ${systemReason(error)}`);
  }
}

function encode(name: string, record: ModelRecord): Uint8Array {
  const fields = {
    version: 1,
    source: record.source,
    pulled_at: Number.isNaN(record.pulledAt.getTime()) ? "" : record.pulledAt.toISOString(),
    files: record.files.map(({ name, bytes, sha256 }) => ({ name, bytes, sha256 })),
    template: record.template,
    system: record.system,
    messages: record.messages,
    parameters: record.parameters,
  };
  const text = JSON.stringify(fields, null, 2) + "\n";
  const bytes = new TextEncoder().encode(text);
  try {
    if (bytes.length > MAX_RECORD_BYTES) {
      throw new Error(`it would have ${bytes.length} bytes`);
    }
    parseRecord(JSON.parse(text), name);
  } catch (error) {
    throw new M40Error(
      "invalid_request",
      `The record of ${name} is not written: ${systemReason(error)}.`,
    );
  }
  return bytes;
}

/**
 * Checks every field of a record. What it does not know is left out, so that a later version may say
 * more.
 *
 * @throws {Error} with what is wrong.
 */
function parseRecord(value: unknown, name: string): ModelRecord {
  const fields = objectOf(value, "the record");
  if (fields.version !== 1) {
    throw new Error(`"version" is ${shown(fields.version)}, wanted 1`);
  }
  const source = textOf(fields.source, '"source"', MAX_SOURCE_LENGTH);
  const pulledAt = new Date(textOf(fields.pulled_at, '"pulled_at"', 40));
  if (Number.isNaN(pulledAt.getTime())) throw new Error('"pulled_at" is not a date');
  return {
    source,
    pulledAt,
    files: filesOf(fields.files, name),
    template: optionalText(fields.template, '"template"'),
    system: optionalText(fields.system, '"system"'),
    ...fields.messages === undefined ? {} : { messages: parseMessages(fields.messages) },
    parameters: fields.parameters === undefined ? undefined : parseParameters(fields.parameters),
  };
}

function filesOf(value: unknown, model: string): RecordedFile[] {
  if (!Array.isArray(value) || value.length < 1 || value.length > MAX_PARTS) {
    throw new Error(`"files" is not a list of 1 to ${MAX_PARTS} files`);
  }
  return value.map((each, i) => {
    const what = `file ${i + 1} of "files"`;
    const fields = objectOf(each, what);
    const name = textOf(fields.name, `the name of ${what}`, 255);
    const parsed = parseFileName(name);
    const rightPart = value.length === 1
      ? parsed?.part === undefined || parsed.part.count === 1
      : parsed?.part?.count === value.length && parsed.part.number === i + 1;
    if (parsed?.name !== model || !rightPart) {
      throw new Error(`${what} is ${shown(name)}, which is no file of this model`);
    }
    const { bytes, sha256 } = fields;
    if (!Number.isSafeInteger(bytes) || (bytes as number) < 0) {
      throw new Error(`the size of ${what} is ${shown(bytes)}, wanted a number of bytes`);
    }
    if (sha256 !== undefined && !(typeof sha256 === "string" && /^[0-9a-f]{64}$/.test(sha256))) {
      throw new Error(`"sha256" of ${what} is ${shown(sha256)}, wanted 64 hex digits`);
    }
    return { name, bytes: bytes as number, sha256 };
  });
}

/**
 * Checks what a model brings as defaults: names with numbers, texts, booleans or lists of texts.
 *
 * @throws {Error} with what is wrong.
 */
export function parseParameters(value: unknown): Record<string, ParameterValue> {
  const entries = Object.entries(objectOf(value, '"parameters"'));
  if (entries.length > MAX_PARAMETERS) {
    throw new Error(
      `there are ${entries.length} parameters, wanted ${MAX_PARAMETERS} at most`,
    );
  }
  const parameters: Record<string, ParameterValue> = {};
  for (const [name, each] of entries) {
    if (!PARAMETER_NAME.test(name)) {
      throw new Error(`${shown(name)} cannot be a parameter's name`);
    }
    if (!isParameterValue(each)) {
      throw new Error(
        `parameter "${name}" is ${shown(each)}, wanted a number, a text, true, false or texts`,
      );
    }
    parameters[name] = each;
  }
  return parameters;
}

/**
 * Checks the messages that a model puts before conversations.
 *
 * @throws {Error} with what is wrong.
 */
export function parseMessages(value: unknown): RecordedMessage[] {
  if (!Array.isArray(value) || value.length > MAX_MESSAGES) {
    throw new Error(`"messages" is not a list of ${MAX_MESSAGES} messages at most`);
  }
  return value.map((each, i) => {
    const what = `message ${i + 1}`;
    const { role, content, images } = objectOf(each, what);
    if (role !== "system" && role !== "user" && role !== "assistant") {
      throw new Error(
        `${what} has the role ${shown(role)}, wanted system, user or assistant`,
      );
    }
    if (Array.isArray(images) && images.length > 0) {
      throw new Error(`${what} has pictures, which m40 does not take`);
    }
    return { role, content: textOf(content, `the content of ${what}`, MAX_TEXT_LENGTH) };
  });
}

function isParameterValue(value: unknown): value is ParameterValue {
  if (Array.isArray(value)) return value.length <= MAX_STRINGS && value.every(isShortText);
  return Number.isFinite(value) || typeof value === "boolean" || isShortText(value);
}

function isShortText(value: unknown): value is string {
  return typeof value === "string" && value.length <= MAX_STRING_LENGTH;
}

function objectOf(value: unknown, what: string): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Error(`${what} is ${shown(value)}, wanted an object`);
  }
  return value as Record<string, unknown>;
}

function textOf(value: unknown, what: string, maxLength: number): string {
  if (typeof value === "string" && value.length <= maxLength) return value;
  throw new Error(
    typeof value === "string"
      ? `${what} has ${value.length} characters, and ${maxLength} are the most`
      : `${what} is ${shown(value)}, wanted a text`,
  );
}

function optionalText(value: unknown, what: string): string | undefined {
  return value === undefined ? undefined : textOf(value, what, MAX_TEXT_LENGTH);
}

/** A value for a message, however long it is. */
function shown(value: unknown): string {
  if (typeof value === "object" && value !== null) {
    return Array.isArray(value) ? "a list" : "an object";
  }
  const text = JSON.stringify(value) ?? "missing";
  return text.length > 80 ? text.slice(0, 77) + "..." : text;
}
