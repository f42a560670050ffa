import type { DecodeExecutors, DeviceQueue, DeviceState, Executor } from "../device/mod.ts";
import type { ServingOptions } from "../engine_options.ts";
import { M40Error } from "../errors.ts";
import { KnownExecutors } from "./known_executors.ts";
import type { CardMemory, ModelDevice, PlacedCard } from "./placed_model.ts";
import { StateReader } from "./state_reader.ts";

/** A device that an engine's model is on, with all of it or with some of its layers. */
export class EngineCard {
  /** As it was asked for: "cuda:1". */
  readonly name: string;
  /** Whether the engine is on others as well. */
  readonly isOneOfSeveral: boolean;
  readonly device: ModelDevice;
  /** What the model takes of its memory. */
  readonly memory: CardMemory;
  /** The model's layers that it has, first and last; absent where it has some of each, or the whole model. */
  readonly layers?: readonly [first: number, last: number];
  /** Its part of the rows of the model's large products, where they are split. */
  readonly rowShare?: number;
  private readonly reader: StateReader;
  private readonly known: KnownExecutors;
  /** Whether a persistent kernel may run steps there. */
  private readonly wantsResident: boolean;
  private readonly askExecutors: () => Promise<DecodeExecutors>;
  private closed = false;

  /**
   * @param queue Orders the users of the devices.
   * @param sequences Those that decode in one step at most.
   * @param called Its name, and whether there are others.
   * @param wanted The wanted executor of decode steps, and the callback for why a persistent kernel does not run them
   * all.
   */
  constructor(
    private readonly placed: PlacedCard,
    queue: DeviceQueue,
    sequences: number,
    { name, isOneOfSeveral }: Pick<EngineCard, "name" | "isOneOfSeveral">,
    { executor, onExecutor }: Pick<ServingOptions, "executor" | "onExecutor">,
  ) {
    const { device, memory, layers, rowShare, kernels, program, decodeProgram = program } = placed;
    this.name = name;
    this.isOneOfSeveral = isOneOfSeveral;
    this.device = device;
    this.memory = memory;
    this.layers = layers;
    this.rowShare = rowShare;
    this.reader = new StateReader(() => kernels.deviceState(device.index));
    this.wantsResident = executor === "auto" || executor === "resident";
    this.askExecutors = () =>
      queue.share(async () => {
        if (this.closed) throw new M40Error("internal", "the engine is closed");
        const found = await decodeProgram.decodeExecutors(sequences);
        return this.wantsResident ? found : { ...found, noResident: "" };
      });
    this.known = new KnownExecutors(this.askExecutors, (why) =>
      onExecutor?.(
        `${isOneOfSeveral ? `${name}: ` : ""}--executor ${executor}: ` +
          `not all steps that decode are run by a persistent kernel: ${why}`,
      ));
  }

  /** How its process ended, where it ended unexpectedly; of several devices with its name. */
  get loss(): string | undefined {
    const message = this.placed.kernels.loss?.message;
    const isPart = this.layers !== undefined || this.rowShare !== undefined;
    return message === undefined || !isPart ? message : `${this.name}: ${message}`;
  }

  /**
   * Its memory, temperature, power and clocks, as they are now. It asks the driver, not the device: steps go on meanwhile.
   *
   * @throws {M40Error} "device" where the driver does not answer.
   */
  async state(): Promise<DeviceState> {
    if (this.closed) throw new M40Error("internal", "the engine is closed");
    const state = await this.reader.read();
    return { ...state, memoryBytes: state.memoryBytes ?? this.device.memoryBytes };
  }

  /**
   * What steps of 1, 2, ... sequences that decode are run by there, as far as it is known: "auto" where it is not decided
   * yet. Empty on the CPU, which has one way alone.
   */
  async executors(): Promise<readonly Executor[]> {
    return (await this.decodeExecutors())?.executors ?? [];
  }

  /** The same, and why no persistent kernel runs them, or not all, where one may; undefined on the CPU. */
  async decodeExecutors(): Promise<DecodeExecutors | undefined> {
    if (this.closed || this.device.backend === "cpu") return undefined;
    return await this.known.read();
  }

  /**
   * Why no persistent kernel runs decode steps there, or not all of them; empty where nothing stands against it, or others
   * were asked for. However long the device takes to answer.
   */
  async noResident(): Promise<string> {
    if (this.closed) throw new M40Error("internal", "the engine is closed");
    return (await this.askExecutors()).noResident;
  }

  /** A step of sequences that decode was done there, by itself or in a run. */
  noteDecodeStep(inRun: boolean): void {
    if (this.closed || !this.wantsResident) return;
    this.known.noteStep(inRun);
  }

  /** Nothing is asked of it any more. */
  stop(): void {
    this.closed = true;
  }

  /** Frees it. No step may be under way. */
  async close(): Promise<void> {
    this.closed = true;
    const { context, kernels } = this.placed;
    const unused = await this.reader.settle();
    if (kernels.processId === undefined) {
      context.close();
      // A call that never returns needs the library.
      if (!unused) return;
    }
    // The end of a process frees what it has, also where its device hangs.
    await kernels.close();
  }
}
