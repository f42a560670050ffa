// Types for the parts of the Deno standard library that the project uses. The npm republication of
// the library carries no declarations; with the imports of deno.json switched to JSR this file goes.

declare module "@std/assert" {
  export class AssertionError extends Error {}
  export function assert(expr: unknown, msg?: string): asserts expr;
  export function assertEquals<T>(actual: T, expected: T, msg?: string): void;
  export function assertNotEquals<T>(actual: T, expected: T, msg?: string): void;
  export function assertStrictEquals<T>(actual: unknown, expected: T, msg?: string): void;
  export function assertAlmostEquals(
    actual: number,
    expected: number,
    tolerance?: number,
    msg?: string,
  ): void;
  export function assertGreater<T>(actual: T, expected: T, msg?: string): void;
  export function assertGreaterOrEqual<T>(actual: T, expected: T, msg?: string): void;
  export function assertLess<T>(actual: T, expected: T, msg?: string): void;
  export function assertLessOrEqual<T>(actual: T, expected: T, msg?: string): void;
  export function assertMatch(actual: string, expected: RegExp, msg?: string): void;
  export function assertNotMatch(actual: string, expected: RegExp, msg?: string): void;
  export function assertStringIncludes(actual: string, expected: string, msg?: string): void;
  export function assertArrayIncludes<T>(actual: ArrayLike<T>, expected: ArrayLike<T>): void;
  // deno-lint-ignore no-explicit-any
  export type AnyConstructor<T> = new (...args: any[]) => T;
  export function assertThrows<E extends Error = Error>(
    fn: () => unknown,
    ErrorClass?: AnyConstructor<E>,
    msgIncludes?: string,
    msg?: string,
  ): E;
  export function assertRejects<E extends Error = Error>(
    fn: () => PromiseLike<unknown>,
    ErrorClass?: AnyConstructor<E>,
    msgIncludes?: string,
    msg?: string,
  ): Promise<E>;
  export function assertInstanceOf<T>(
    actual: unknown,
    expected: AnyConstructor<T>,
    msg?: string,
  ): asserts actual is T;
  export function assertExists<T>(actual: T, msg?: string): asserts actual is NonNullable<T>;
  export function fail(msg?: string): never;
}

declare module "@std/expect" {
  // deno-lint-ignore no-explicit-any
  export const expect: any;
}

declare module "@std/http/etag" {
  export function eTag(
    entity: string | Uint8Array,
    options?: { weak?: boolean },
  ): Promise<string | undefined>;
  export function ifNoneMatch(value: string | null, etag: string | undefined): boolean;
}

declare module "@std/path" {
  export function join(...paths: string[]): string;
  export function resolve(...paths: string[]): string;
  export function dirname(path: string): string;
  export function basename(path: string, suffix?: string): string;
  export function extname(path: string): string;
  export function isAbsolute(path: string): boolean;
  export function relative(from: string, to: string): string;
  export function fromFileUrl(url: string | URL): string;
  export function toFileUrl(path: string): URL;
}

declare module "@std/cli/parse-args" {
  export interface ParseOptions {
    boolean?: boolean | readonly string[];
    string?: readonly string[];
    collect?: readonly string[];
    negatable?: readonly string[];
    alias?: Record<string, string | readonly string[]>;
    default?: Record<string, unknown>;
    stopEarly?: boolean;
    "--"?: boolean;
    unknown?: (arg: string, key?: string, value?: unknown) => unknown;
  }
  export function parseArgs(
    args: string[],
    options?: ParseOptions,
    // deno-lint-ignore no-explicit-any -- what an option's value is, its name says
  ): { _: (string | number)[] } & Record<string, any>;
}

declare module "@std/streams" {
  export function toText(stream: ReadableStream<string | Uint8Array>): Promise<string>;
  export function toBytes(stream: ReadableStream<Uint8Array>): Promise<Uint8Array>;
  export class TextLineStream extends TransformStream<string, string> {
    constructor(options?: { allowCR?: boolean });
  }
}

declare module "@std/text/levenshtein-distance" {
  export function levenshteinDistance(a: string, b: string): number;
}

declare module "@std/toml/parse" {
  export function parse(text: string): Record<string, unknown>;
}
