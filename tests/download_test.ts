import { assertEquals, assertRejects } from "@std/assert";
import { createHash } from "node:crypto";
import { join } from "@std/path";
import { download } from "../engine/store/download/mod.ts";
import { M40Error } from "../engine/errors.ts";

Deno.test("download: a file arrives whole, its head looked at before; one of another hash does not", async () => {
  const folder = await Deno.makeTempDir({ prefix: "m40-download-" });
  const bytes = crypto.getRandomValues(new Uint8Array(60_000));
  const server = Deno.serve({ port: 0, onListen() {} }, () => new Response(bytes));
  try {
    const url = `http://127.0.0.1:${(server.addr as Deno.NetAddr).port}/file`;
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    const target = join(folder, "a.gguf");
    const head = new Uint8Array(100);
    const got = await download({ url, sha256 }, target, {
      checkHead: async (source) => void await source.read(10, head),
    });
    assertEquals(got, { bytes: bytes.length, sha256 });
    assertEquals(head, bytes.slice(10, 110));
    assertEquals(await Deno.readFile(target), bytes);
    await assertRejects(
      () => download({ url, sha256: "0".repeat(64) }, target),
      M40Error,
      "SHA-256",
    );
    assertEquals(await Deno.readFile(target), bytes);
  } finally {
    await server.shutdown();
    await Deno.remove(folder, { recursive: true });
  }
});
