import { assert, assertEquals } from "@std/assert";
import { answerOf, NO_END, startServer } from "../fixtures/server_fixture.ts";
import { TemporaryFolder } from "../fixtures/temporary.ts";

Deno.test("a prompt that the server before has seen counts as cached in usage, and in the metrics", async () => {
  using temporary = new TemporaryFolder();
  const folder = temporary.path;
  const prompt = Array.from({ length: 700 }, (_, i) => 30 + i * 7 % 300);
  const ask = async () => {
    const engine = { diskCache: { folder, bytes: 2 ** 30 } };
    await using server = await startServer({ engine, contextLength: 1024 });
    const body = { prompt, max_tokens: 10, ...NO_END };
    const answer = await answerOf(server, "/v1/completions", body);
    const metrics = await (await fetch(server.url + "/metrics")).text();
    const value = (name: string) => {
      const sample = new RegExp(`^m40_disk_cache_${name}\\{[^}]*\\} (\\d+)$`, "m").exec(metrics);
      assert(sample !== null, name);
      return Number(sample[1]);
    };
    const { disk_cache: disk } = await (await fetch(server.url + "/slots")).json();
    assertEquals([disk.writable, disk.pages_damaged, disk.failures], [true, 0, 0]);
    assertEquals(disk.pages_read, value("read_pages_total"));
    const cached = answer.usage.prompt_tokens_details.cached_tokens;
    const counts = ["read_pages_total", "read_failures_total", "writable"].map(value);
    return { text: answer.choices[0].text, cached, counts };
  };
  const first = await ask();
  assertEquals([first.cached, first.counts], [0, [0, 0, 1]]);
  assertEquals(await ask(), { text: first.text, cached: 672, counts: [21, 0, 1] });
});
