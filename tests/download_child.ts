// Fetches a file in a process of its own, which can be killed: URL TARGET [SHA256].
import { download } from "../engine/store/download/mod.ts";
import { QUICK } from "./download_fixture.ts";

const [url, target, sha256] = Deno.args;
await Deno.stdout.write(new TextEncoder().encode("begun\n"));
await download({ url, sha256: sha256 || undefined }, target, {
  tuning: { ...QUICK, pieceBytes: 2 ** 20, stallMs: 5000 },
  checkHead: async (head) => void await head.read(0, new Uint8Array(300_000)),
});
