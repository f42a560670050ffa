import { M40Error } from "../errors.ts";
import { asBytes } from "./bytes.ts";
import type { Records } from "./descriptions.ts";
import type { DeviceQueue } from "./device_queue.ts";
import { ProgramExchanges } from "./program_exchanges.ts";
import { type DeviceRun, ProgramRuns, type RunLimits, type TakeRunStep } from "./program_runs.ts";
import { call, callAsync, check } from "./status.ts";
import { StepBlock, type StepSequence } from "./step_block.ts";
import {
  readSample,
  STATUS_NAMES,
  type StepOutput,
  type StepResult,
  type WantedOutput,
} from "./step_result.ts";
import { ERROR, Executor, OP, OpKind, OPS, RESULT, Status, type StructOf } from "./structs.ts";
import type { Symbols } from "./symbols.ts";

/** What the steps of a program that decode are run by. */
export interface DecodeExecutors {
  /** Of steps of 1, 2, ... rows; "auto" where it is not decided yet. */
  readonly executors: readonly (keyof typeof Executor)[];
  /**
   * Why a persistent kernel runs none of them, or not all that the program has had; empty where nothing rules it out.
   */
  readonly noResident: string;
}

/** The names of the executors by their numbers. */
const EXECUTOR_NAMES = Object.keys(Executor) as (keyof typeof Executor)[];

const decoder = new TextDecoder();

/** Bytes of a buffer's value, whatever it is. */
const VALUE_BYTES = 4;

/** The rows that a part of a program passes to the next part. */
export interface PartRows {
  /** The rows, as bytes, of each of the buffers that the next part continues from. */
  readonly handed: readonly Uint8Array<ArrayBuffer>[];
}

/** A program in device memory, ready to run. One step at a time. */
export class DeviceProgram {
  private readonly block: StepBlock;
  /** The sample operation; a program may have none. */
  private readonly sampleOp?: StructOf<typeof OPS["sample"]>;
  private readonly results: Uint8Array<ArrayBuffer>;
  private readonly resultsView: DataView;
  private readonly error = new Uint8Array(ERROR.bytes);
  private values = new Float32Array(0);
  private runs?: ProgramRuns;
  /** How it exchanges rows with other cards' programs, where it does. */
  readonly exchanges: ProgramExchanges;
  /** Whether to begin a step may be to wait for other cards, which this thread has to give theirs as well. */
  private readonly waitsForOthers: boolean;

  /**
   * @param queue Of its context's calls; of its own for the lane of prompts.
   * @param postsSteps Whether to begin a step is never to wait for the device.
   */
  constructor(
    private readonly symbols: Symbols,
    private readonly queue: DeviceQueue,
    private readonly handle: Deno.PointerValue,
    readonly records: Records,
    postsSteps: boolean,
  ) {
    this.block = new StepBlock(records.limits);
    this.sampleOp = findSample(records.ops);
    this.results = new Uint8Array(this.sampleOp ? records.limits.n_outputs * RESULT.bytes : 0);
    this.resultsView = new DataView(this.results.buffer);
    this.exchanges = new ProgramExchanges(symbols, queue, handle);
    this.waitsForOthers = !postsSteps && findOperation(records.ops, OpKind.exchange) !== undefined;
  }

  /**
   * Runs the program over a ragged batch.
   *
   * @param sequences The tokens of each sequence, and what is wanted of which of them.
   * @param prefillShare The share of the device that rows of prompts may take, above 0 to 1.
   * @returns What each output gave, and how it went; nothing where the program has no sample operation.
   * @throws {M40Error} "device" where the device failed, "internal" where the batch is not one that the
   * program can take.
   */
  step(sequences: readonly StepSequence[], prefillShare?: number): Promise<StepResult> {
    return this.queue.run(() => this.runStep(sequences, prefillShare));
  }

  /**
   * Enables runs.
   *
   * @param memory Of the context's {@link Context.hostMemory}, and `ringBytes` for as many tokens as the device may be
   *   ahead of their reader.
   */
  openRuns(memory: Uint8Array<ArrayBuffer>): void {
    const { symbols, queue, handle, block, waitsForOthers } = this;
    this.runs = new ProgramRuns(symbols, queue, handle, block, memory, waitsForOthers);
  }

  /** Whether it has runs. */
  get hasRuns(): boolean {
    return this.runs !== undefined;
  }

  /**
   * Runs the program over decode rows, one a sequence, then over the tokens that it sampled, again and again. Other
   * calls of the context wait at most for the running step.
   *
   * @param sequences Each of one decode row, with a sample as its output. Their KV blocks are those of all steps.
   * @param steps At most.
   * @param limits When each sequence ends.
   * @param take Called for each step, in their order. It must not fail.
   */
  run(
    sequences: readonly StepSequence[],
    steps: number,
    limits: readonly RunLimits[],
    take: TakeRunStep,
  ): DeviceRun {
    if (this.runs === undefined) {
      throw new M40Error("internal", "a program without runs was to run");
    }
    return this.runs.run(sequences, steps, limits, take);
  }

  /**
   * Runs a step of a part of a program, from rows of the previous part to rows for the next one. It keeps its place in
   * the order of calls, though its input may come later: until then the device waits.
   *
   * @param sequences They must stay as they are until it is done.
   * @param given Resolves to what the first bytes of each of the buffers `into` are to be. Where it fails, so does the
   * step, without having begun.
   * @param from Buffers whose first rows, as many as there are tokens, are for the next part.
   * @returns The outputs, with values that the caller owns, and the rows.
   * @throws {M40Error} As {@link step} does, and what `given` fails with.
   */
  stepPart(
    sequences: readonly StepSequence[],
    given: Promise<readonly Uint8Array<ArrayBuffer>[]>,
    into: readonly number[],
    from: readonly number[],
  ): Promise<StepResult & PartRows> {
    return this.part(sequences, given, into, from, async () => {
      const { outputs } = await this.runStep(sequences);
      // The next step may begin before the caller reads these.
      const own = outputs.map((one) => one.values ? { ...one, values: one.values.slice() } : one);
      return { outputs: own };
    });
  }

  /**
   * Runs a step as {@link step} does, for the time that each operation takes instead of its outputs.
   *
   * @returns Microseconds of each of the program's operations, with the events between them; -1 of one that the
   *   previous operation computed.
   * @throws {M40Error} As {@link step} does.
   */
  profile(sequences: readonly StepSequence[]): Promise<Float32Array> {
    return this.queue.run(() => this.runProfile(sequences));
  }

  /** {@link profile} of a part of a program, as {@link stepPart} is a step of one. */
  profilePart(
    sequences: readonly StepSequence[],
    given: Promise<readonly Uint8Array<ArrayBuffer>[]>,
    into: readonly number[],
    from: readonly number[],
  ): Promise<PartRows & { readonly times: Float32Array }> {
    return this.part(sequences, given, into, from, async () => ({
      times: await this.runProfile(sequences),
    }));
  }

  /** What steps of 1, 2, ... `rows` decode rows are run by; "auto" where that is not decided yet. */
  async executors(rows: number): Promise<readonly (keyof typeof Executor)[]> {
    return (await this.decodeExecutors(rows)).executors;
  }

  /** The same, and why a persistent kernel does not run them. */
  decodeExecutors(rows: number): Promise<DecodeExecutors> {
    // Between steps, so that no call waits for one.
    return this.queue.run(() => {
      const numbers = new Uint32Array(rows);
      const [into, text] = [asBytes(numbers), new Uint8Array(256)];
      call((error) =>
        this.symbols.m40_program_executors(this.handle, into, rows, text, text.length, error)
      );
      const executors = Array.from(numbers, (executor) => EXECUTOR_NAMES[executor]);
      const noResident = decoder.decode(text.subarray(0, text.indexOf(0)));
      return Promise.resolve({ executors, noResident });
    });
  }

  /** Writes the first bytes of a buffer. */
  writeBuffer(buffer: number, data: ArrayBufferView<ArrayBuffer>): void {
    const bytes = asBytes(data);
    const size = BigInt(bytes.byteLength);
    call((error) => this.symbols.m40_buffer_write(this.handle, buffer, bytes, size, error));
  }

  /** Reads the first bytes of a buffer into `data`, and returns it. */
  readBuffer<T extends ArrayBufferView<ArrayBuffer>>(buffer: number, data: T): T {
    const bytes = asBytes(data);
    const size = BigInt(bytes.byteLength);
    call((error) => this.symbols.m40_buffer_read(this.handle, buffer, bytes, size, error));
    return data;
  }

  /** Does a part's work between its rows and those that it passes on. */
  private part<T>(
    sequences: readonly StepSequence[],
    given: Promise<readonly Uint8Array<ArrayBuffer>[]>,
    into: readonly number[],
    from: readonly number[],
    work: () => Promise<T>,
  ): Promise<T & PartRows> {
    return this.queue.run(async () => {
      const rows = await given;
      for (const [i, buffer] of into.entries()) await this.writeRows(buffer, rows[i]);
      const result = await work();
      const tokens = sequences.reduce((sum, { tokens }) => sum + tokens.length, 0);
      const handed: Uint8Array<ArrayBuffer>[] = [];
      for (const buffer of from) handed.push(await this.readRows(buffer, tokens));
      return { ...result, handed };
    });
  }

  /** {@link writeBuffer} off the event loop. */
  private async writeRows(buffer: number, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    const size = BigInt(bytes.byteLength);
    await callAsync(
      (error) => this.symbols.m40_buffer_write_async(this.handle, buffer, bytes, size, error),
      bytes,
    );
  }

  /** The first rows of a buffer, read off the event loop. */
  private async readRows(buffer: number, rows: number): Promise<Uint8Array<ArrayBuffer>> {
    const bytes = new Uint8Array(rows * this.records.buffers[buffer].columns * VALUE_BYTES);
    const size = BigInt(bytes.byteLength);
    await callAsync(
      (error) => this.symbols.m40_buffer_read_async(this.handle, buffer, bytes, size, error),
      bytes,
    );
    return bytes;
  }

  private async runProfile(sequences: readonly StepSequence[]): Promise<Float32Array> {
    this.block.write(sequences);
    const { symbols, handle, block: { bytes, length } } = this;
    const times = new Float32Array(this.records.ops.length / OP.bytes);
    const [size, into] = [BigInt(length), asBytes(times)];
    await callAsync(
      (error) => symbols.m40_step_profile(handle, bytes, size, into, times.length, error),
      ...[bytes, into],
    );
    return times;
  }

  private async runStep(
    sequences: readonly StepSequence[],
    prefillShare?: number,
  ): Promise<StepResult> {
    const wanted = this.block.write(sequences, prefillShare);
    if (this.waitsForOthers || !this.block.hasSamplesAlone) await this.runWhole(wanted);
    else await this.runSampled(wanted.length);
    return { outputs: this.sampleOp ? this.readOutputs(wanted) : [] };
  }

  /** Runs the block's step; all its outputs are samples. */
  private async runSampled(nOutputs: number): Promise<void> {
    const { symbols, handle, block: { bytes, length }, error } = this;
    // A trip to another thread and back takes 100 microseconds or more, in which the device would idle. So this thread
    // gives it the work, and is woken shortly before the end that the last step's time predicts.
    check(symbols.m40_step_begin(handle, bytes, BigInt(length), error), error);
    const [results, count] = this.sampleOp ? [this.results, nOutputs] : [null, 0];
    let status: number;
    do {
      check(await symbols.m40_step_wait(handle, error), error);
      status = symbols.m40_step_finish(handle, results, count, error);
    } while (status === Status.not_ready);
    check(status, error);
  }

  /** Runs the block's step, whatever its outputs are. */
  private async runWhole(wanted: readonly WantedOutput[]): Promise<void> {
    const { symbols, handle, block: { bytes, length } } = this;
    const nValues = wanted.reduce((sum, output) => sum + this.valuesOf(output), 0);
    if (nValues > this.values.length) this.values = new Float32Array(nValues);
    const [results, count] = this.sampleOp ? [this.results, wanted.length] : [null, 0];
    const [size, valuesSize] = [BigInt(length), BigInt(nValues)];
    const memory = asBytes(this.values);
    const values = nValues > 0 ? memory : null;
    await callAsync(
      (error) => symbols.m40_step(handle, bytes, size, results, count, values, valuesSize, error),
      ...[bytes, memory],
    );
  }

  /** Floats that an output gives. */
  private valuesOf({ kind }: WantedOutput): number {
    if (kind === "logits") return this.sampleOp?.columns ?? 0;
    return kind === "hidden" ? this.sampleOp?.hidden_columns ?? 0 : 0;
  }

  private readOutputs(wanted: readonly WantedOutput[]): StepOutput[] {
    const { resultsView: view, values } = this;
    const outputs: StepOutput[] = [];
    let at = 0;
    let firstValue = 0;
    for (const output of wanted) {
      const status = view.getUint32(at + RESULT.fields.status.offset, true);
      if (output.kind === "sample") {
        outputs.push(readSample(view, status, at + RESULT.fields.sample.offset, output));
      } else {
        const end = firstValue + this.valuesOf(output);
        outputs.push({ status: STATUS_NAMES[status], values: values.subarray(firstValue, end) });
        firstValue = end;
      }
      at += RESULT.bytes;
    }
    return outputs;
  }
}

function findSample(ops: Uint8Array<ArrayBuffer>): StructOf<typeof OPS["sample"]> | undefined {
  const at = findOperation(ops, OpKind.sample);
  if (at === undefined) return undefined;
  const view = new DataView(ops.buffer, ops.byteOffset, ops.byteLength);
  return OPS.sample.read(view, at + OP.fields.payload.offset);
}

/** Where the first record of a kind starts. */
function findOperation(ops: Uint8Array<ArrayBuffer>, kind: number): number | undefined {
  const view = new DataView(ops.buffer, ops.byteOffset, ops.byteLength);
  for (let at = 0; at < ops.length; at += OP.bytes) {
    if (view.getUint32(at + OP.fields.kind.offset, true) === kind) return at;
  }
  return undefined;
}
