import { assert, assertEquals, assertMatch } from "@std/assert";
import { Home, m40 } from "../fixtures/cli_program.ts";
import { BACKEND } from "../fixtures/device_harness.ts";
import { childrenOf, endOf } from "../fixtures/process_table.ts";
import { MODEL, NO_END, startServer, type TestServer } from "../fixtures/server_fixture.ts";
import { devicesOf } from "../fixtures/staged_engines.ts";

// A server whose model is on two devices: its answers, what it reports of each device, and what happens when one is
// lost.

const REQUEST = { prompt: "Hello", max_tokens: 12, seed: 7, n: 2, ...NO_END, temperature: 0.8 };

const OPTIONS = { contextTokens: 128, parallel: 4 };

async function textsOf(response: Response): Promise<string[]> {
  const body = await response.json();
  assertEquals(response.status, 200, JSON.stringify(body));
  return body.choices.map(({ text }: { text: string }) => text);
}

Deno.test("a server over two devices answers as one over one, and reports each", async () => {
  let expected: string[];
  {
    await using one = await startServer({ engine: { device: devicesOf(1), ...OPTIONS } });
    expected = await textsOf(await one.post("/v1/completions", REQUEST));
    const { device, devices } = await (await fetch(`${one.url}/slots`)).json();
    assertEquals([typeof device.name, devices], ["string", undefined]);
  }
  await using server = await startServer({ engine: { device: devicesOf(2), ...OPTIONS } });
  const crowd = Array.from({ length: 3 }, () => server.post("/v1/completions", REQUEST));
  for (const answer of await Promise.all(crowd)) assertEquals(await textsOf(answer), expected);

  const { cards, plan } = server.engine;
  const names = devicesOf(2).split(",");
  const slots = await (await fetch(`${server.url}/slots`)).json();
  assertEquals(
    slots.devices.map((one: Record<string, unknown>) => [
      one.id,
      one.first_layer,
      one.last_layer,
      one.model_bytes,
    ]),
    names.map((id, i) => [id, ...[[0, 1], [2, 2]][i], cards[i].memory.totalBytes]),
  );
  assertMatch(slots.device.name, /^2 /);
  assertEquals(slots.models[0].memory_bytes, plan.totalBytes);
  assertEquals(plan.totalBytes, cards[0].memory.totalBytes + cards[1].memory.totalBytes);

  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  const valueOf = (name: string) => Number(metrics.split(`${name} `)[1]?.split("\n")[0]);
  const label = names.map((name) => `device="${name}"`);
  if (names[0] !== names[1]) {
    for (const [i, { memory }] of cards.entries()) {
      const labels = `part="weights",${label[i]},model_name="${MODEL}"`;
      assertEquals(valueOf(`m40_memory_bytes{${labels}}`), memory.weightBytes);
      assert(valueOf(`m40_device_memory_total_bytes{${label[i]},model_name="${MODEL}"}`) > 0);
    }
  }

  await using home = await Home.make();
  const { code, stdout, stderr } = await m40(home, ["ps", "--port", String(server.port)]);
  assertEquals([code, stderr], [0, ""]);
  const lines = stdout.trimEnd().split("\n").slice(-2);
  for (const [i, line] of lines.entries()) {
    assertMatch(
      line,
      new RegExp(
        `^${names[i]}, layers ${["0 to 1", "2 to 2"][i]}, [\\d.]+ .iB: .+ \\(${BACKEND}\\)`,
      ),
    );
  }
});

/** The processes of a server's devices. */
function processesOf({ engine }: TestServer): number[] {
  return engine["idlest"].placed.cards.map(({ kernels }) => kernels.processId!);
}

/** Fails where one of them still exists, even as a zombie. */
function assertGone(processes: readonly number[]): void {
  const children = childrenOf();
  assertEquals(processes.filter((process) => children.includes(process)), []);
}

Deno.test("two devices have a process each; both are gone when the model is unloaded, and again", async () => {
  const engine = { device: devicesOf(2), deviceProcess: true, ...OPTIONS };
  for (let i = 0; i < 2; i++) {
    let processes: number[];
    {
      await using server = await startServer({ engine });
      processes = processesOf(server);
      assertEquals(new Set(processes).size, 2);
      await textsOf(await server.post("/v1/completions", REQUEST));
    }
    assertGone(processes);
  }
});

for (const killed of [0, 1]) {
  Deno.test(`the process of device ${killed} is killed: its requests get an error, nothing is left`, async () => {
    const engine = { device: devicesOf(2), deviceProcess: true, ...OPTIONS };
    let processes: number[];
    {
      await using server = await startServer({ engine });
      processes = processesOf(server);
      const process = processes[killed];
      const long = { ...REQUEST, n: 1, max_tokens: 100 };
      const answers = [0, 1, 2].map((seed) => server.post("/v1/completions", { ...long, seed }));
      Deno.kill(process, "SIGSTOP");
      await new Promise((resolve) => setTimeout(resolve, 50));
      Deno.kill(process, "SIGKILL");
      for (const response of await Promise.all(answers)) {
        const { error } = await response.json();
        assertEquals([response.status, error.code], [503, "device"]);
        assertMatch(error.message, new RegExp(`^${devicesOf(2).split(",")[killed]}: .*SIGKILL`));
      }
      await endOf(process);
      const health = await fetch(`${server.url}/health`);
      assertEquals([health.status, (await health.json()).status], [503, "failed"]);
      await server.engine.idle();
      assertEquals(server.engine.status().usedKvBlocks, 0);
    }
    assertGone(processes);
  });
}
