/** The thread that attacks. */
import { attack } from "./attacks.ts";

const thread = self as unknown as {
  onmessage: (event: MessageEvent<{ name: string; port: number; connections: number }>) => void;
  postMessage(message: string): void;
};

thread.onmessage = async ({ data: { name, port, connections } }) => {
  await attack(name, port, connections);
  thread.postMessage("done");
};
