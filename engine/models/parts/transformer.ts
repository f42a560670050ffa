import type { Gguf } from "../../gguf/mod.ts";
import {
  type Buffer,
  type HeadShape,
  type MatmulWeight,
  type NormOptions,
  ProgramBuilder,
} from "../../program/mod.ts";
import type { Model, ModelShape } from "../model.ts";
import { Hyperparameters } from "./hyperparameters.ts";
import { readLayerNumbers } from "./layer_numbers.ts";
import { ignoreUnused } from "./unused.ts";

/** Where a part's result goes: it is added to the stream by default. */
export interface Destination {
  /** A buffer that it goes to instead. */
  readonly into?: Buffer;
  /** What it is multiplied by first. */
  readonly scale?: number;
}

/**
 * A transformer, as an architecture writes it down: the stream of hidden states that every layer adds to,
 * the embeddings before it and the logits after it. What happens within a layer is in the other parts.
 *
 * Conventions of GGUF that hold for all: the weights of layer i are called `blk.i.*`. A product has a bias, and a norm
 * too, where the file has one. The last product is the embeddings' own table where the file has no other.
 *
 * @throws {M40Error} "invalid_model" where metadata or tensors are missing or do not fit together.
 */
export class Transformer {
  readonly parameters: Hyperparameters;
  readonly program: ProgramBuilder;
  readonly layers: readonly Layer[];
  readonly hiddenSize: number;
  readonly vocabSize: number;
  readonly contextLength: number;
  readonly normEpsilon: number;
  /** The hidden states, [tokens, hidden size]. */
  readonly stream: Buffer;
  private readonly notes: readonly string[];
  private cacheLayers = 0;
  private readonly buffers = new Map<string, Buffer>();

  /**
   * @param normKind The kind of the norms; it also says under which key their epsilon is. "plain": LayerNorms
   * without weights.
   * @param options Whether layers may lack their attention or their feed-forward layer.
   */
  constructor(
    readonly gguf: Gguf,
    private readonly normKind: "rms" | "layer" | "plain" = "rms",
    { partialLayers = false }: { partialLayers?: boolean } = {},
  ) {
    const parameters = this.parameters = new Hyperparameters(gguf);
    this.hiddenSize = parameters.count("embedding_length");
    this.contextLength = parameters.count("context_length");
    if (!parameters.flag("attention.causal", true)) {
      throw parameters.unsupported(
        "attention.causal is false: a model whose tokens see those behind them makes embeddings, not text",
      );
    }
    const table = gguf.tensors.get("token_embd.weight");
    if (table === undefined) throw parameters.invalid("there is no tensor token_embd.weight");
    this.vocabSize = table.shape[1] ?? 1;
    const epsilonKeys = ["attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon"];
    if (normKind !== "rms") epsilonKeys.shift();
    // Nemotron-H's files have a LayerNorm's key for their RMS norms.
    const epsilonKey = epsilonKeys.find((key) => parameters.has(key)) ?? epsilonKeys[0];
    this.normEpsilon = parameters.number(epsilonKey);
    if (!(this.normEpsilon >= 0 && this.normEpsilon < 1)) {
      throw parameters.invalid(`${epsilonKey} is ${this.normEpsilon}, wanted a number from 0 to 1`);
    }
    this.program = new ProgramBuilder(gguf.tensors);
    this.layers = readLayerNumbers(parameters, partialLayers).map(({ shape, feedForward }, index) =>
      new Layer(this, index, shape, feedForward)
    );
    this.notes = ignoreUnused(gguf, this.program, parameters, this.layers.length);
    this.stream = this.program.buffer(this.hiddenSize);
  }

  /**
   * A buffer that holds something for a while: each call with this name and width gives the same one, as
   * layers come one after the other.
   */
  scratch(name: string, columns: number): Buffer {
    return this.kept(`${name} ${columns}`, () => this.program.buffer(columns));
  }

  /** As {@link scratch}, with a row for each of the experts that a token uses. */
  expertScratch(name: string, columns: number, used: number): Buffer {
    return this.kept(
      `${name} ${columns} x ${used}`,
      () => this.program.expertBuffer(columns, used),
    );
  }

  /** As {@link scratch}, for indices of experts. */
  indexScratch(name: string, columns: number): Buffer {
    return this.kept(`${name} ${columns}`, () => this.program.indexBuffer(columns));
  }

  /** The number of a new layer of the KV cache; a layer of the model that looks at another's has none. */
  cacheLayer(): number {
    return this.cacheLayers++;
  }

  /** A buffer for what a part gives, where it is not added to the stream at once. */
  aside(name = "aside"): Destination & { into: Buffer } {
    return { into: this.scratch(name, this.hiddenSize) };
  }

  /** The product of a weight, by its name without `.weight`, with its bias and scale where the file has them. */
  weight(name: string, rows: number): MatmulWeight {
    const { program } = this;
    return {
      weight: `${name}.weight`,
      rows,
      bias: program.has(`${name}.bias`) ? `${name}.bias` : undefined,
      factor: program.has(`${name}.scale`) ? `${name}.scale` : undefined,
    };
  }

  /** The stream begins with the tokens' embeddings. */
  embed(options: { scale?: number; positions?: string } = {}): void {
    this.program.embed(this.stream, "token_embd.weight", options);
  }

  /**
   * output = norm(input), with the bias where the file has one.
   *
   * @param name The weight's, without `.weight`.
   * @param options What is different: a residual, groups of values and the like.
   */
  norm(name: string, input: Buffer, output: Buffer, options: Partial<NormOptions> = {}): void {
    this.program.norm(input, output, {
      weight: this.normKind === "plain" ? undefined : `${name}.weight`,
      bias: this.program.has(`${name}.bias`) ? `${name}.bias` : undefined,
      kind: this.normKind === "rms" ? "rms" : "layer",
      epsilon: this.normEpsilon,
      ...options,
    });
  }

  /** A product that goes where a part's result goes. */
  project(input: Buffer, weight: MatmulWeight, { into, scale }: Destination): Buffer {
    const output = into ?? this.stream;
    this.program.matmul(input, output, [weight], {
      residual: into === undefined ? this.stream : undefined,
      scale,
    });
    return output;
  }

  /**
   * The stream ends: the last norm, the logits of the rows that are wanted.
   *
   * @param options.norm The last norm's name, where it is another.
   */
  finish(options: { scale?: number; softcap?: number; norm?: string } = {}): Model {
    const { parameters, program, hiddenSize, vocabSize } = this;
    const { scale, softcap, norm = "output_norm" } = options;
    if (this.cacheLayers === 0 && program.recurrent.states.length === 0) {
      throw parameters.invalid("no layer has attention, nor a state");
    }
    const hidden = program.outputBuffer(hiddenSize);
    const logits = program.outputBuffer(vocabSize);
    program.select(this.stream, hidden);
    this.norm(norm, hidden, hidden);
    const table = program.has("output.weight") ? "output" : "token_embd";
    program.matmul(hidden, logits, [this.weight(table, vocabSize)], { scale });
    if (softcap !== undefined) program.softcap(logits, logits, { softcap });
    program.sample(logits, hidden);
    return {
      shape: this.shape(),
      program: program.build(),
      notes: this.notes,
      warnings: parameters.warnings,
    };
  }

  private shape(): ModelShape {
    const { parameters, layers, hiddenSize, vocabSize, contextLength } = this;
    const largest = (of: (layer: Layer) => number) => Math.max(...layers.map(of));
    const experts = parameters.countOrNone("expert_count", 0);
    const width = "expert_feed_forward_length";
    return {
      layers: layers.length,
      hiddenSize,
      heads: largest(({ shape }) => shape.heads),
      kvHeads: largest(({ shape }) => shape.kvHeads),
      headDim: largest(({ shape }) => shape.headDim),
      feedForward: experts > 0 && parameters.has(width)
        ? parameters.count(width)
        : largest(({ feedForward }) => feedForward),
      vocabSize,
      contextLength,
      experts: experts > 0
        ? { count: experts, used: parameters.count("expert_used_count") }
        : undefined,
    };
  }

  private kept(key: string, create: () => Buffer): Buffer {
    const known = this.buffers.get(key);
    if (known !== undefined) return known;
    const buffer = create();
    this.buffers.set(key, buffer);
    return buffer;
  }
}

/** One layer of a transformer: its numbers, and the names of its weights. */
export class Layer {
  constructor(
    readonly model: Transformer,
    readonly index: number,
    readonly shape: HeadShape,
    /** Width of the feed-forward layer. */
    readonly feedForward: number,
  ) {}

  /** The full name of one of its tensors. */
  name(tensor: string): string {
    return `blk.${this.index}.${tensor}`;
  }

  /** Whether the file has one of its tensors. */
  has(tensor: string): boolean {
    return this.model.program.has(this.name(tensor));
  }

  /** One of its products; see {@link Transformer.weight}. */
  weight(name: string, rows: number): MatmulWeight {
    return this.model.weight(this.name(name), rows);
  }

  /**
   * A buffer with norm(input), of the stream where no other input is given.
   *
   * @param scratch The buffer's name, where it is needed in addition to another norm's.
   */
  norm(name: string, input: Buffer = this.model.stream, scratch = "normed"): Buffer {
    const normed = this.model.scratch(scratch, input.columns);
    this.model.norm(this.name(name), input, normed);
    return normed;
  }

  /**
   * stream = factor * (stream + norm(input))
   *
   * @param factor The full name of a tensor [1]; absent: 1.
   */
  addNormed(name: string, input: Buffer, factor?: string): void {
    const { stream } = this.model;
    this.model.norm(this.name(name), input, stream, { residual: stream, factor });
  }
}
