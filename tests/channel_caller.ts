/**
 * The calling end of a channel, byte by byte, for messages that no caller would send. The layout is that of
 * cuda/runtime/channel.h; a message that is as it should be gets its answer only where it is.
 *
 * @module
 */
import { asBytes } from "../engine/device/bytes.ts";
import { findLibrary } from "../engine/device/library.ts";
import { ABI_VERSION, ERROR, NONE } from "../engine/device/structs.ts";
import { CHANNEL_SYMBOLS } from "../engine/device/symbols.ts";
import { BACKEND } from "./device_harness.ts";

/** Where things stand in a channel's memory, in bytes. */
const AT = { magic: 0, version: 8, headerBytes: 12, serving: 16, toldToEnd: 20, bells: 28 };
const MAILBOXES = 56;
const MAILBOX = { state: 0, request: 8, answer: 208, bytes: 736 };
const ARGUMENT_BYTES = 24;
const ASKED = 1;
const ANSWERED = 2;
const MAGIC = 0x4c454e4e4148434dn;

const MIB = 2 ** 20;
/** The lanes, and where the memory of their messages starts. */
export const LANES = { calls: 0, steps: 1, state: 2, prompts: 3 };
export const ROOMS = [
  2 ** 16 + MIB + 2 ** 32,
  2 ** 16 + MIB,
  2 ** 16,
  2 ** 16 + MIB + 68 * 2 ** 30,
];
/** How long the room of calls is. */
export const CALLS_BYTES = 2 ** 36;
const CHANNEL_BYTES = ROOMS[LANES.prompts] + 2 ** 32;

const LIBC = {
  memfd_create: { parameters: ["buffer", "u32"], result: "i32" },
  ftruncate: { parameters: ["i32", "i64"], result: "i32" },
  fcntl: { parameters: ["i32", "i32", "i32"], result: "i32" },
  mmap: { parameters: ["pointer", "u64", "i32", "i32", "i32", "i64"], result: "pointer" },
  munmap: { parameters: ["pointer", "u64"], result: "i32" },
  socketpair: { parameters: ["i32", "i32", "i32", "buffer"], result: "i32" },
  close: { parameters: ["i32"], result: "i32" },
  syscall: { parameters: ["i64", "pointer", "i32", "i32"], result: "i64" },
} as const satisfies Deno.ForeignLibraryInterface;

const ALLOW_SEALING = 2;
const ADD_SEALS = 1033;
const SEAL_SHRINK_AND_GROW = 2 | 4;
const FUTEX = Deno.build.arch === "aarch64" ? 98n : 202n;
const FUTEX_WAKE = 1;

/** An argument of a message; what is not said is 0, and no memory. */
export interface MessageArgument {
  readonly value?: number | bigint;
  readonly bytes?: number | bigint;
  readonly area?: number;
}

/** What came of a message. */
export interface MessageAnswer {
  readonly status: number;
  readonly value: bigint;
  readonly message: string;
}

/** How a channel's memory may be wrong. */
export interface Damage {
  readonly version?: number;
  readonly bytes?: number;
  readonly unsealed?: boolean;
}

/** Memory that a server in this process serves, on a thread of its own. */
export class ChannelCaller {
  private readonly libc = Deno.dlopen("libc.so.6", LIBC);
  private readonly opened = Deno.dlopen(findLibrary(BACKEND)!, {
    m40_channel_serve: { ...CHANNEL_SYMBOLS.m40_channel_serve, nonblocking: true },
    m40_channel_function: CHANNEL_SYMBOLS.m40_channel_function,
  });
  private readonly memory: Deno.PointerObject;
  private readonly header: DataView;
  private readonly socket: number;
  private readonly error = new Uint8Array(ERROR.bytes);
  private readonly served: Promise<number>;

  constructor({ version = ABI_VERSION, bytes = CHANNEL_BYTES, unsealed = false }: Damage = {}) {
    const { symbols } = this.libc;
    const descriptor = symbols.memfd_create(new Uint8Array(8), ALLOW_SEALING);
    symbols.ftruncate(descriptor, BigInt(bytes));
    if (!unsealed) symbols.fcntl(descriptor, ADD_SEALS, SEAL_SHRINK_AND_GROW);
    this.memory = symbols.mmap(null, BigInt(CHANNEL_BYTES), 3, 0x4001, descriptor, 0n)!;
    this.header = this.at(0, 2 ** 16);
    if (bytes === CHANNEL_BYTES) {
      this.header.setBigUint64(AT.magic, MAGIC, true);
      this.header.setUint32(AT.version, version, true);
      this.header.setUint32(AT.headerBytes, MAILBOXES + 4 * MAILBOX.bytes, true);
    }
    const ends = new Int32Array(2);
    symbols.socketpair(1, 1, 0, asBytes(ends));
    this.socket = ends[0];
    this.served = this.opened.symbols.m40_channel_serve(descriptor, ends[1], this.error);
  }

  /** The number of a function. */
  number(name: string): number {
    return this.opened.symbols.m40_channel_function(new TextEncoder().encode(name + "\0"));
  }

  /** Memory of a lane's messages. */
  room(lane: number, bytes: number): DataView {
    return this.at(ROOMS[lane], bytes);
  }

  /** Sends a message, and waits for what comes of it. */
  async ask(
    lane: number,
    number: number,
    args: readonly MessageArgument[],
    count = args.length,
  ): Promise<MessageAnswer> {
    const mailbox = MAILBOXES + lane * MAILBOX.bytes;
    const request = mailbox + MAILBOX.request;
    const { header } = this;
    header.setUint32(request, number, true);
    header.setUint32(request + 4, count, true);
    args.slice(0, 8).forEach(({ value = 0, bytes = 0, area = NONE }, i) => {
      const at = request + 8 + i * ARGUMENT_BYTES;
      header.setBigUint64(at, BigInt.asUintN(64, BigInt(value)), true);
      header.setBigUint64(at + 8, BigInt.asUintN(64, BigInt(bytes)), true);
      header.setUint32(at + 16, area, true);
    });
    header.setUint32(mailbox + MAILBOX.state, ASKED, true);
    this.ring(lane === LANES.state ? 1 : lane === LANES.prompts ? 2 : 0);
    const start = performance.now();
    while (header.getUint32(mailbox + MAILBOX.state, true) !== ANSWERED) {
      if (performance.now() - start > 20_000) throw new Error("the server does not answer");
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
    const answer = mailbox + MAILBOX.answer;
    return {
      status: header.getInt32(answer, true),
      value: header.getBigUint64(answer + 8, true),
      message: ERROR.read(header, answer + 16).message,
    };
  }

  /** Tells the server to end; what it says at last, "" where all is well. */
  async end(): Promise<string> {
    this.header.setUint32(AT.toldToEnd, 1, true);
    for (const bell of [0, 1, 2]) this.ring(bell);
    return await this.verdict();
  }

  /** Waits for the end of the server, and frees everything. */
  async verdict(): Promise<string> {
    const status = await this.served;
    const { message } = ERROR.read(new DataView(this.error.buffer));
    const { symbols } = this.libc;
    symbols.munmap(this.memory, BigInt(CHANNEL_BYTES));
    symbols.close(this.socket);
    this.libc.close();
    this.opened.close();
    return status === 0 ? "" : message;
  }

  private ring(server: number): void {
    const at = AT.bells + 8 * server;
    this.header.setUint32(at, this.header.getUint32(at, true) + 1, true);
    const bell = Deno.UnsafePointer.offset(this.memory, at);
    this.libc.symbols.syscall(FUTEX, bell, FUTEX_WAKE, 1);
  }

  private at(offset: number, bytes: number): DataView {
    const pointer = Deno.UnsafePointer.offset(this.memory, offset)!;
    return new DataView(Deno.UnsafePointerView.getArrayBuffer(pointer, bytes));
  }
}
