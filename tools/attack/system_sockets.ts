/** TCP connections by the system's own calls, for what the runtime's sockets cannot do. Linux. */

const libc = Deno.dlopen("libc.so.6", {
  socket: { parameters: ["i32", "i32", "i32"], result: "i32" },
  connect: { parameters: ["i32", "buffer", "u32"], result: "i32" },
  setsockopt: { parameters: ["i32", "i32", "i32", "buffer", "u32"], result: "i32" },
  close: { parameters: ["i32"], result: "i32" },
});

const AF_INET = 2;
const SOCK_STREAM = 1;
const SOL_SOCKET = 1;
const SO_LINGER = 13;

/**
 * Connects to a port of this machine and resets the connection at once, as port scanners do. All of it happens
 * before this process's event loop goes on: a server of this process meets a connection that is reset.
 */
export function connectAndReset(port: number): void {
  const { socket, connect, setsockopt, close } = libc.symbols;
  const descriptor = socket(AF_INET, SOCK_STREAM, 0);
  const address = new Uint8Array(16);
  new DataView(address.buffer).setUint16(0, AF_INET, true);
  new DataView(address.buffer).setUint16(2, port);
  address.set([127, 0, 0, 1], 4);
  // On, with no time: closing sends a reset.
  const linger = new Uint8Array(new Int32Array([1, 0]).buffer);
  const results = [
    connect(descriptor, address, address.length),
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, linger, linger.length),
    close(descriptor),
  ];
  if (descriptor < 0 || results.some((result) => result !== 0)) {
    throw new Error(`cannot connect and reset: ${[descriptor, ...results]}`);
  }
}
