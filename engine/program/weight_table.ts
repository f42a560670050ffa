import { NONE, type TensorDesc } from "../device/mod.ts";
import { type GgufTensor, unsupportedTensor } from "../gguf/mod.ts";
import { M40Error } from "../errors.ts";

/** A tensor of the file that a program uses. */
export interface Weight {
  readonly tensor: GgufTensor;
  readonly desc: TensorDesc;
}

/**
 * The tensors of a file that a program uses, each once; what a program calls a weight is an index into
 * them.
 *
 * @throws {M40Error} From every method: "invalid_model" where a tensor is missing, empty, of another shape or of a type that
 * m40 does not compute with.
 */
export class WeightTable {
  /** In the order in which they were first asked for. */
  readonly weights: Weight[] = [];
  private readonly indices = new Map<string, number>();
  private readonly used = new Set<string>();

  /** @param tensors The tensors of the file by name. */
  constructor(private readonly tensors: ReadonlyMap<string, GgufTensor>) {}

  /** Whether the file has a tensor of that name. */
  has(name: string): boolean {
    return this.tensors.has(name);
  }

  /** The type of a tensor. */
  type(name: string): string {
    return this.tensor(name).type.name;
  }

  /** The index of a vector [columns]; of a tensor of any shape that has as many values. */
  vector(name: string, columns: number): number {
    const { shape } = this.tensor(name);
    if (shape.reduce((product, n) => product * n, 1) !== columns) {
      throw misshapen(name, shape, [columns]);
    }
    return this.add(name, { n_experts: 1, rows: 1, columns });
  }

  /** As {@link vector}, {@link NONE} where there is no name. */
  optionalVector(name: string | undefined, columns: number): number {
    return name === undefined ? NONE : this.vector(name, columns);
  }

  /** The index of a tensor of that shape, columns first, as one vector of all its values. */
  flat(name: string, shape: readonly number[]): number {
    const got = this.tensor(name).shape;
    // A file may leave out leading columns of 1, and may have any number of further dimensions of 1.
    const sizes = (shape: readonly number[]) => shape.filter((n) => n !== 1).join();
    if (sizes(got) !== sizes(shape)) throw misshapen(name, got, shape);
    return this.vector(name, shape.reduce((product, n) => product * n, 1));
  }

  /** The index of a matrix [rows, columns]; of any number of rows where they are undefined. */
  matrix(name: string, rows: number | undefined, columns: number): number {
    return this.index(name, [columns, rows]);
  }

  /** The index of the experts' matrices [experts, rows, columns]. */
  experts(name: string, nExperts: number, rows: number, columns: number): number {
    return this.index(name, [columns, rows, nExperts]);
  }

  /** Lets tensors whose names match be unused; how many they are. */
  ignore(matches: (name: string) => boolean): number {
    const names = [...this.tensors.keys()].filter(matches);
    for (const name of names) this.used.add(name);
    return names.length;
  }

  /** Fails where the file has tensors that were neither asked for nor ignored. */
  assertAllUsed(): void {
    const unused = [...this.tensors.keys()].filter((name) => !this.used.has(name));
    if (unused.length === 0) return;
    const names = unused.slice(0, 5).join(", ") + (unused.length > 5 ? ", ..." : "");
    throw new M40Error(
      "invalid_model",
      `the file has ${unused.length} tensors that its architecture does not use: ${names}`,
    );
  }

  private index(name: string, shape: readonly (number | undefined)[]): number {
    const got = this.tensor(name).shape;
    const fits =
      shape.every((n, i) => n === undefined ? got[i] !== undefined : n === (got[i] ?? 1)) &&
      got.slice(shape.length).every((n) => n === 1);
    if (!fits) throw misshapen(name, got, shape);
    return this.add(name, { n_experts: got[2] ?? 1, rows: got[1] ?? 1, columns: got[0] });
  }

  private tensor(name: string): GgufTensor {
    const tensor = this.tensors.get(name);
    if (tensor === undefined) {
      throw new M40Error("invalid_model", `the file has no tensor ${name}, which its model needs`);
    }
    if (!tensor.type.supported) {
      throw new M40Error("invalid_model", unsupportedTensor(`tensor ${name}`, tensor.type.id));
    }
    if (tensor.shape.includes(0)) {
      throw new M40Error(
        "invalid_model",
        `tensor ${name} is [${
          tensor.shape.join(", ")
        }], which holds nothing, and its model needs it`,
      );
    }
    return tensor;
  }

  /** The index of a tensor that is used in this shape; the same one where it was used so before. */
  private add(name: string, shape: Omit<TensorDesc, "type">): number {
    const key = `${name} ${shape.n_experts} ${shape.rows} ${shape.columns}`;
    const known = this.indices.get(key);
    if (known !== undefined) return known;
    const tensor = this.tensor(name);
    this.weights.push({ tensor, desc: { type: tensor.type.id, ...shape } });
    this.indices.set(key, this.weights.length - 1);
    this.used.add(name);
    return this.weights.length - 1;
  }
}

function misshapen(
  name: string,
  got: readonly number[],
  wanted: readonly (number | undefined)[],
): M40Error {
  return new M40Error(
    "invalid_model",
    `tensor ${name} is [${got.join(", ")}], wanted ` +
      `[${wanted.map((n) => n ?? "any").join(", ")}] (columns first)`,
  );
}
