/**
 * The jobs off the event loop, and how they go to the thread and back: work in one piece that a stranger's request
 * can make long.
 *
 * @module
 */
import type { ToolUse } from "../chat/mod.ts";
import type { MetadataEntry } from "../gguf/mod.ts";
import type { BuiltNetworks, Constraint } from "../grammar/mod.ts";
import type { M40ErrorCode } from "../errors.ts";

/** A job as it is posted. */
export type Job = Readonly<
  /** Values of JSON go as their text: copies lose numbers' digits and the order of keys. */
  | { kind: "constraint"; constraint: string; spaced: boolean }
  | { kind: "tools"; use: string; spaced: boolean }
  /** See `EncodeOptions` for the mark. */
  | { kind: "encode"; text: string; addSpecial: boolean; parseSpecial: boolean; mark?: string }
  | { kind: "decode"; tokens: Int32Array<ArrayBuffer> }
>;

/** What {@link Job} "tools" has as its text. */
export interface PostedTools extends Omit<ToolUse, "format"> {
  /** The format's name. */
  readonly format: string;
  readonly content?: Constraint;
}

/** What a job gives. */
export interface Results {
  readonly constraint: BuiltNetworks;
  readonly tools: BuiltNetworks;
  readonly encode: Int32Array<ArrayBuffer>;
  readonly decode: string;
}

/** What comes back: the result, or what is wrong with the request. */
export type Reply =
  | { readonly result: Results[keyof Results] }
  | { readonly code: M40ErrorCode; readonly message: string; readonly param?: string };

/** The metadata that a vocabulary is made of; lists of texts as their bytes and where each ends. */
export type PostedMetadata = readonly (readonly [
  key: string,
  entry: Omit<MetadataEntry, "value"> & {
    readonly value: MetadataEntry["value"] | {
      readonly data: Uint8Array;
      readonly ends: Uint32Array;
    };
  },
])[];

/** What the thread begins with. */
export interface ThreadData {
  readonly metadata: PostedMetadata;
  readonly preTokenizer?: string;
}
