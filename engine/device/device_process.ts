import { M40Error } from "../errors.ts";
import { asBytes } from "./bytes.ts";
import { call, callAsync } from "./status.ts";
import { CHANNEL_ARGUMENT, DEVICE_INFO, ERROR } from "./structs.ts";
import {
  CHANNEL_SYMBOLS,
  LOCAL_SYMBOLS,
  OFF_LOOP_SYMBOLS,
  SYMBOLS,
  type Symbols,
} from "./symbols.ts";

/** The argument that makes an executable of this program a device's process. */
export const DEVICE_PROCESS = "device-process";

/** How long a process may take to end by itself, in milliseconds. */
const PATIENCE_MS = 3000;

const LIBRARY = {
  ...LOCAL_SYMBOLS,
  ...CHANNEL_SYMBOLS,
  m40_channel_call_async: {
    ...CHANNEL_SYMBOLS.m40_channel_call,
    name: "m40_channel_call",
    nonblocking: true,
  },
  m40_channel_close_now: {
    ...CHANNEL_SYMBOLS.m40_channel_close,
    name: "m40_channel_close",
    nonblocking: false,
  },
} as const satisfies Deno.ForeignLibraryInterface;

/** What a function is handed, as `Deno.dlopen` has it. */
type Given = Deno.PointerValue | Uint8Array<ArrayBuffer> | number | bigint;

/**
 * A kernel library with its functions in a process of their own. A crash there fails its calls with "device" and has no
 * other effect here. The library is opened in this process as well, only for the channel: it never touches the device.
 */
export class DeviceProcess {
  /** The functions, each a message to the process. */
  readonly symbols: Symbols;
  private readonly opened: Deno.DynamicLibrary<typeof LIBRARY>;
  private channel: Deno.PointerValue;
  /** Memory that calls off the event loop read and write, so that it is not collected meanwhile. */
  private readonly inUse = new Set<unknown>();

  /**
   * Starts it. It serves a moment later; earlier calls wait.
   *
   * @param closesNow Whether {@link close} ends it before it returns, for a short query.
   * @throws {M40Error} "internal" where the system starts no process.
   */
  constructor(path: string, private readonly closesNow = false) {
    this.opened = Deno.dlopen(path, LIBRARY);
    const command = new TextEncoder().encode(commandFor(path).map((word) => word + "\0").join(""));
    const out = new BigUint64Array(1);
    const { symbols } = this.opened;
    try {
      call((error) =>
        symbols.m40_channel_open(command, BigInt(command.length), asBytes(out), error)
      );
    } catch (error) {
      this.opened.close();
      throw error;
    }
    this.channel = Deno.UnsafePointer.create(out[0]);
    this.symbols = this.forwardAll();
  }

  /** Its number in the system. */
  get processId(): number {
    return this.opened.symbols.m40_channel_process(this.open());
  }

  /** How the process ended, where it was not asked to. */
  get loss(): M40Error | undefined {
    if (this.channel === null) return undefined;
    try {
      call((error) => this.opened.symbols.m40_channel_check(this.channel, error));
      return undefined;
    } catch (error) {
      return error as M40Error;
    }
  }

  /** Returns when the process serves and its first device has been asked for, off the event loop. */
  async wake(): Promise<void> {
    const name = "m40_get_device_info";
    const ask = this.forward(name, { ...SYMBOLS[name], nonblocking: true }) as (
      ...given: Given[]
    ) => Promise<number>;
    await ask(0, new Uint8Array(DEVICE_INFO.bytes), new Uint8Array(ERROR.bytes));
  }

  /** Ends the process, by force where it does not end by itself, and frees what it shared. */
  async close(): Promise<void> {
    const channel = this.open();
    this.channel = null;
    const { symbols } = this.opened;
    if (this.closesNow) call((error) => symbols.m40_channel_close_now(channel, PATIENCE_MS, error));
    else await callAsync((error) => symbols.m40_channel_close(channel, PATIENCE_MS, error));
    this.opened.close();
  }

  private open(): Deno.PointerValue {
    if (this.channel === null) throw new M40Error("internal", "the device's process is closed");
    return this.channel;
  }

  private forwardAll(): Symbols {
    const { symbols } = this.opened;
    const remote = Object.entries(SYMBOLS)
      .filter(([name]) => !(name in LOCAL_SYMBOLS))
      .map(([name, definition]) => [name, this.forward(name, definition)]);
    const offLoop = Object.entries(OFF_LOOP_SYMBOLS)
      .map(([alias, definition]) => [alias, this.forward(definition.name, definition)]);
    return { ...symbols, ...Object.fromEntries([...remote, ...offLoop]) } as Symbols;
  }

  /** One function, with the parameters that it has where it is called directly. */
  private forward(name: string, definition: Deno.ForeignFunction): unknown {
    const { symbols } = this.opened;
    const index = symbols.m40_channel_function(new TextEncoder().encode(name + "\0"));
    const fails = definition.result === "i32";
    const count = definition.parameters.length - (fails ? 1 : 0);
    const value = new BigUint64Array(1);
    if (definition.nonblocking) {
      return async (...given: Given[]) => {
        const message = encode(given, count);
        const held = [message, given];
        this.inUse.add(held);
        try {
          const error = given[count] as Uint8Array<ArrayBuffer>;
          const channel = this.open();
          return await symbols.m40_channel_call_async(channel, index, message, count, null, error);
        } finally {
          this.inUse.delete(held);
        }
      };
    }
    const spare = new Uint8Array(ERROR.bytes);
    return (...given: Given[]) => {
      const error = fails ? given[count] as Uint8Array<ArrayBuffer> : spare;
      const [channel, message] = [this.open(), encode(given, count)];
      const out = asBytes(value);
      const status = symbols.m40_channel_call(channel, index, message, count, out, error);
      return fails ? status : definition.result === "void" ? undefined : value[0];
    };
  }
}

/** The arguments of a message. */
function encode(given: readonly Given[], count: number): Uint8Array<ArrayBuffer> {
  const words = new BigUint64Array(count * CHANNEL_ARGUMENT.bytes / 8);
  for (let i = 0; i < count; i++) {
    const one = given[i];
    if (one instanceof Uint8Array) {
      // Asking for the buffer keeps a small array's bytes where they are.
      words[2 * i] = one.buffer && Deno.UnsafePointer.value(Deno.UnsafePointer.of(one));
      words[2 * i + 1] = BigInt(one.byteLength);
    } else {
      words[2 * i] = typeof one === "number" || typeof one === "bigint"
        ? BigInt(one)
        : Deno.UnsafePointer.value(one);
    }
  }
  return asBytes(words);
}

/** The command line of a process that serves a library. */
function commandFor(path: string): string[] {
  if (Deno.build.standalone) return [Deno.execPath(), DEVICE_PROCESS, path];
  const module = new URL("serve_channel.ts", import.meta.url).href;
  const flags = ["--quiet", "--no-prompt", "--no-config", "--no-lock", `--allow-ffi=${path}`];
  return [Deno.execPath(), "run", ...flags, module, path];
}
