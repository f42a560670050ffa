import { M40Error } from "../../errors.ts";
import type { Gguf } from "../../gguf/mod.ts";

/** The largest count that a file may have: of layers, heads, values, tokens. */
const MOST = 2 ** 24;

/**
 * The metadata of a file's architecture, `<architecture>.*`; keys are given without that prefix.
 *
 * @throws {M40Error} From every method: "invalid_model" where a key is missing and has no fallback, is of
 * another type or out of range.
 */
export class Hyperparameters {
  /** What was found wrong with the file and does not keep it from being used, in sentences. */
  readonly warnings: string[] = [];
  private readonly prefix: string;

  constructor(private readonly gguf: Gguf) {
    this.prefix = gguf.metadata.string("general.architecture");
  }

  /** How many tensors the file has. */
  get tensors(): number {
    return this.gguf.tensors.size;
  }

  has(key: string): boolean {
    return this.gguf.metadata.has(this.key(key));
  }

  /** A whole number from 1 on; or the same for each layer. */
  count(key: string, fallback?: number): number {
    if (this.isArray(key)) {
      const values = new Set(this.gguf.metadata.numbers(this.key(key)));
      if (values.size !== 1) {
        throw this.unsupported(`${this.key(key)} differs by layer; wanted one number for all`);
      }
      return this.checkedCount(key, [...values][0], 1);
    }
    return this.checkedCount(key, this.gguf.metadata.number(this.key(key), fallback), 1);
  }

  /** A whole number from 0 on. */
  countOrNone(key: string, fallback?: number): number {
    return this.checkedCount(key, this.gguf.metadata.number(this.key(key), fallback), 0);
  }

  /** Whole numbers from 1 or 0 on, one a layer; the file may have one number for all of them. */
  countByLayer(key: string, layers: number, least: 0 | 1 = 1): number[] {
    if (this.isArray(key)) {
      const values = Array.from(this.gguf.metadata.numbers(this.key(key)));
      this.checkLength(key, values.length, layers);
      return values.map((value) => this.checkedCount(key, value, least));
    }
    const value = this.gguf.metadata.number(this.key(key));
    return new Array(layers).fill(this.checkedCount(key, value, least));
  }

  /** Whether each layer is something: an array, or every layer but the last of each `period`. */
  pattern(key: string, layers: number, period?: number): boolean[] {
    if (this.isArray(key)) {
      const values = this.gguf.metadata.booleans(this.key(key));
      this.checkLength(key, values.length, layers);
      return values.slice();
    }
    const of = this.count(key, period);
    return Array.from({ length: layers }, (_, layer) => layer % of < of - 1);
  }

  /** A finite number. */
  number(key: string, fallback?: number): number {
    return this.gguf.metadata.number(this.key(key), fallback);
  }

  /** A finite number above 0. */
  positive(key: string, fallback?: number): number {
    const value = this.number(key, fallback);
    if (!(value > 0)) {
      throw this.invalid(`${this.key(key)} is ${value}, wanted a number above 0`);
    }
    return value;
  }

  flag(key: string, fallback?: boolean): boolean {
    return this.gguf.metadata.boolean(this.key(key), fallback);
  }

  string(key: string, fallback?: string): string {
    return this.gguf.metadata.string(this.key(key), fallback);
  }

  /** An error that says what is wrong with the file. */
  invalid(message: string): M40Error {
    return new M40Error("invalid_model", `${this.gguf.path}: ${message}`);
  }

  /** An error that says what the engine lacks. */
  unsupported(message: string): M40Error {
    return new M40Error("unsupported", `${this.gguf.path}: ${message}`);
  }

  /** Adds to the warnings; a sentence begins with the key that it is about. */
  warn(key: string, what: string): void {
    const sentence = `${this.key(key)} ${what}`;
    if (!this.warnings.includes(sentence)) this.warnings.push(sentence);
  }

  /** The full name of a key. */
  key(key: string): string {
    return `${this.prefix}.${key}`;
  }

  private isArray(key: string): boolean {
    const value = this.gguf.metadata.get(this.key(key));
    return typeof value === "object" && value !== null;
  }

  private checkLength(key: string, length: number, layers: number): void {
    if (length !== layers) {
      throw this.invalid(
        `${this.key(key)} has ${length} elements, wanted one for each of ${layers} layers`,
      );
    }
  }

  private checkedCount(key: string, value: number, least: number): number {
    if (!Number.isInteger(value) || value < least || value > MOST) {
      throw this.invalid(
        `${this.key(key)} is ${value}, wanted an integer from ${least} to ${MOST}`,
      );
    }
    return value;
  }
}
