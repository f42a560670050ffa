// m40 whose listening sockets fail when it gets SIGUSR1: what a listener that the system takes away
// looks like to a program. Linux; the arguments are m40's.
import { main } from "../cli/main.ts";

const libc = Deno.dlopen("libc.so.6", {
  shutdown: { parameters: ["i32", "i32"], result: "i32" },
});
const LISTEN = "0A";
const SHUT_RDWR = 2;

/** The inodes of this process's network namespace's listening sockets. */
function listening(): Set<string> {
  const lines = Deno.readTextFileSync("/proc/self/net/tcp").trim().split("\n").slice(1);
  const fields = lines.map((line) => line.trim().split(/\s+/));
  return new Set(fields.filter((field) => field[3] === LISTEN).map((field) => field[9]));
}

Deno.addSignalListener("SIGUSR1", () => {
  const inodes = listening();
  for (const { name } of Deno.readDirSync("/proc/self/fd")) {
    let target = "";
    try {
      target = Deno.readLinkSync(`/proc/self/fd/${name}`);
    } catch {
      // The descriptor with which the folder itself was read.
    }
    const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1];
    if (inode !== undefined && inodes.has(inode)) libc.symbols.shutdown(Number(name), SHUT_RDWR);
  }
});

Deno.exit(await main(Deno.args));
