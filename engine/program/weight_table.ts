import type { TensorDesc } from "../device/descriptions.ts";
import { M40Error } from "../errors.ts";
import type { GgufTensor } from "../gguf/reader.ts";

/** A tensor of the file that a program uses. */
export interface Weight {
  readonly tensor: GgufTensor;
  readonly desc: TensorDesc;
}

/**
 * The tensors of a file that a program uses, each once; what a program calls a weight is an index into
 * them.
 *
 * @throws {M40Error} From every method: "invalid_model" where a tensor is missing or of another shape.
 */
export class WeightTable {
  /** In the order in which they were first asked for. */
  readonly weights: Weight[] = [];
  private readonly indices = new Map<string, number>();

  /** @param tensors The tensors of the file by name. */
  constructor(private readonly tensors: ReadonlyMap<string, GgufTensor>) {}

  /** Whether the file has a tensor of that name. */
  has(name: string): boolean {
    return this.tensors.has(name);
  }

  /** The index of a vector [columns]. */
  vector(name: string, columns: number): number {
    return this.index(name, [columns]);
  }

  /** The index of a matrix [rows, columns]; of any number of rows where they are undefined. */
  matrix(name: string, rows: number | undefined, columns: number): number {
    return this.index(name, [columns, rows]);
  }

  /** The index of the experts' matrices [experts, rows, columns]. */
  experts(name: string, nExperts: number, rows: number, columns: number): number {
    return this.index(name, [columns, rows, nExperts]);
  }

  /** Fails where the file has tensors that were not asked for. */
  assertAllUsed(): void {
    const unused = [...this.tensors.keys()].filter((name) => !this.indices.has(name));
    if (unused.length === 0) return;
    const names = unused.slice(0, 5).join(", ") + (unused.length > 5 ? ", ..." : "");
    throw new M40Error(
      "invalid_model",
      `the file has ${unused.length} tensors that its architecture does not use: ${names}`,
    );
  }

  private index(name: string, shape: readonly (number | undefined)[]): number {
    const known = this.indices.get(name);
    const tensor = known === undefined ? this.tensors.get(name) : this.weights[known].tensor;
    if (tensor === undefined) {
      throw new M40Error("invalid_model", `the file has no tensor ${name}, which its model needs`);
    }
    const got = tensor.shape;
    const fits =
      shape.every((n, i) => n === undefined ? got[i] !== undefined : n === (got[i] ?? 1)) &&
      got.slice(shape.length).every((n) => n === 1);
    if (!fits) {
      throw new M40Error(
        "invalid_model",
        `tensor ${name} is [${got.join(", ")}], wanted ` +
          `[${shape.map((n) => n ?? "any").join(", ")}] (columns first)`,
      );
    }
    if (known !== undefined) return known;
    this.weights.push({
      tensor,
      desc: {
        type: tensor.type.id,
        n_experts: got[2] ?? 1,
        rows: got[1] ?? 1,
        columns: got[0],
      },
    });
    this.indices.set(name, this.weights.length - 1);
    return this.weights.length - 1;
  }
}
