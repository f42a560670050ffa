// Runs the program with a standard output as other programs leave it behind:
//   stdio_helper.ts nonblocking COMMAND...   writes that do not fit fail instead of waiting
//   stdio_helper.ts full COMMAND...          a pipe that is full already; writes to it wait
// The mode belongs to the open pipe, which this process and the program share.

const F_GETFL = 3;
const F_SETFL = 4;
const O_NONBLOCK = 0o4000;

const libc = Deno.dlopen("libc.so.6", {
  fcntl: { parameters: ["i32", "i32", "i32"], result: "i32" },
});
const [mode, ...command] = Deno.args;
const flags = libc.symbols.fcntl(1, F_GETFL, 0);
libc.symbols.fcntl(1, F_SETFL, flags | O_NONBLOCK);
if (mode === "full") {
  // Line feeds one by one, as Deno would keep what does not fit, and write it in the end.
  for (const bytes of [new Uint8Array(65_536), new Uint8Array([0x0a])]) {
    try {
      for (;;) Deno.stdout.writeSync(bytes);
    } catch (error) {
      if (!(error instanceof Deno.errors.WouldBlock)) throw error;
    }
  }
  libc.symbols.fcntl(1, F_SETFL, flags);
}
const child = new Deno.Command(command[0], { args: command.slice(1), stdin: "null" }).spawn();
Deno.addSignalListener("SIGTERM", () => child.kill("SIGTERM"));
Deno.exit((await child.status).code);
