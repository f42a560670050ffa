import { asBytes, type Context, type ProgramDesc } from "./context.ts";
import { call, callAsync, callUntilReady } from "./status.ts";
import { MAX_TOP_LOGPROBS, SAMPLE } from "./structs.ts";
import { StepBlock, type StepSequence } from "./step_block.ts";

/** A token that the device drew. */
export interface Sample {
  readonly token: number;
  /** Natural logarithm of its probability by the model. */
  readonly logprob: number;
  /** The likeliest tokens, likeliest first; as many as were asked for. */
  readonly top: readonly { readonly token: number; readonly logprob: number }[];
}

/** What a step gives back. */
export interface StepResult {
  /** One an output, in the order of the sequences and of their outputs. */
  readonly samples: readonly Sample[];
  /** [outputs, vocabulary], where they were asked for; overwritten by the next step. */
  readonly logits?: Float32Array;
}

/** A program in device memory, ready to run. One step at a time. */
export class Program {
  private readonly block: StepBlock;
  private readonly samples: Uint8Array<ArrayBuffer>;
  private logits?: Float32Array<ArrayBuffer>;

  constructor(
    private readonly context: Context,
    private readonly handle: Deno.PointerValue,
    readonly desc: ProgramDesc,
  ) {
    this.block = new StepBlock(desc.limits);
    this.samples = new Uint8Array(desc.limits.n_outputs * SAMPLE.bytes);
  }

  /**
   * Runs the program over a ragged batch.
   *
   * @param sequences The tokens of each sequence, and which of them want a token drawn.
   * @param options.sample Whether the program has a sample operation; default true.
   * @param options.logits Whether the logits of the outputs are copied back; default false.
   * @throws {M40Error} "device" where the device failed.
   */
  async step(
    sequences: readonly StepSequence[],
    options: { sample?: boolean; logits?: boolean } = {},
  ): Promise<StepResult> {
    const outputs = this.block.write(sequences);
    const sampled = options.sample === false ? 0 : outputs.length;
    const wanted = options.logits ? outputs.length * this.desc.limits.n_vocab : 0;
    if (wanted > (this.logits?.length ?? 0)) this.logits = new Float32Array(wanted);
    const logits = wanted > 0 ? this.logits!.subarray(0, wanted) : undefined;
    const { symbols } = this.context;
    const { bytes, length } = this.block;
    const samples = sampled > 0 ? this.samples : null;
    if (logits) {
      const room = asBytes(logits);
      await callAsync((error) =>
        symbols.m40_step(
          this.handle,
          bytes,
          BigInt(length),
          samples,
          sampled,
          room,
          BigInt(wanted),
          error,
        )
      );
    } else {
      // To another thread and back takes 100 microseconds and more, in which the device would idle: it is
      // given its work here, and this thread is woken shortly before the end, or what was the end the last time.
      call((error) => symbols.m40_step_begin(this.handle, bytes, BigInt(length), error));
      const finish = () =>
        callUntilReady((error) => symbols.m40_step_finish(this.handle, samples, sampled, error));
      do await callAsync((error) => symbols.m40_step_wait(this.handle, error)); while (!finish());
    }
    return {
      samples: sampled > 0 ? outputs.map((top, i) => this.readSample(i, top)) : [],
      logits,
    };
  }

  /** Writes the first bytes of a buffer. */
  writeBuffer(buffer: number, data: ArrayBufferView<ArrayBuffer>): void {
    const bytes = asBytes(data);
    call((error) =>
      this.context.symbols.m40_buffer_write(
        this.handle,
        buffer,
        bytes,
        BigInt(bytes.byteLength),
        error,
      )
    );
  }

  /** Reads the first bytes of a buffer into `data`, and returns it. */
  readBuffer<T extends ArrayBufferView<ArrayBuffer>>(buffer: number, data: T): T {
    const bytes = asBytes(data);
    call((error) =>
      this.context.symbols.m40_buffer_read(
        this.handle,
        buffer,
        bytes,
        BigInt(bytes.byteLength),
        error,
      )
    );
    return data;
  }

  private readSample(index: number, topCount: number): Sample {
    const view = new DataView(this.samples.buffer, index * SAMPLE.bytes, SAMPLE.bytes);
    const { token, logprob, top_tokens, top_logprobs } = SAMPLE.fields;
    return {
      token: view.getInt32(token.offset, true),
      logprob: view.getFloat32(logprob.offset, true),
      top: Array.from({ length: Math.min(topCount, MAX_TOP_LOGPROBS) }, (_, i) => ({
        token: view.getInt32(top_tokens.offset + 4 * i, true),
        logprob: view.getFloat32(top_logprobs.offset + 4 * i, true),
      })),
    };
  }
}
