import { assert, assertEquals, assertMatch } from "@std/assert";
import { Engine } from "../../engine/mod.ts";
import { Home, startServe, TINY } from "../fixtures/cli_program.ts";
import { BACKEND } from "../fixtures/device_harness.ts";
import { asking, cardOf, collect, promptOf } from "../fixtures/engine_fixture.ts";
import { GOLDEN } from "../fixtures/goldens.ts";
import { childrenOf, endOf } from "../fixtures/process_table.ts";
import { sleep, until } from "../fixtures/waiting.ts";

// A device's process that is stopped, as SIGSTOP or a frozen group of processes do it, lives and does nothing: it
// is given up after some seconds without a sign of life. A stop of everything at once is none of its own.

const STOPPED = /the device's process gave no sign of life for \d+ s, as one does that is stopped/;

Deno.test("a process that is stopped is given up: what runs and what comes after fails, and it is gone", async () => {
  const options = { device: BACKEND, threads: 1, deviceProcess: true };
  const engine = await Engine.load(GOLDEN, options);
  const process = cardOf(engine).kernels.processId!;
  Deno.kill(process, "SIGSTOP");
  const running = [0, 1].map((i) => collect(engine.generate(asking(promptOf(9, i), 20))));
  for (const { error } of await Promise.all(running)) {
    assertMatch((error as Error).message, STOPPED);
    assertEquals((error as { code?: string }).code, "device");
  }
  assertMatch(engine.status().failed!, STOPPED);
  await engine.close();
  await endOf(process);
  assertEquals(childrenOf().includes(process), false, "a zombie is left");
});

Deno.test("a server whose device's process is stopped answers 503 in words, loads it again, and ends by SIGTERM", async () => {
  await using home = await Home.make();
  await Deno.copyFile(TINY, `${home.models}/tiny.gguf`);
  const { child, url, post, output, errors } = await startServe(home, [
    "--model",
    "tiny",
    "--port",
    "0",
  ]);
  const deviceProcess = () => childrenOf(child.pid)[0];
  const ask = () => post("/v1/completions", { prompt: "a", max_tokens: 4, temperature: 0 });
  const first = await (await ask()).json();
  const stopped = deviceProcess();
  Deno.kill(stopped, "SIGSTOP");
  // Nothing is asked of it, and the server knows all the same.
  let lost: string | undefined;
  await until("its loss is noticed", async () => {
    ({ lost } = await (await fetch(`${url}/ready`)).json());
    return lost;
  });
  assertMatch(lost!, STOPPED);
  const again = await (await ask()).json();
  assertEquals(again.choices?.[0].text, first.choices[0].text, JSON.stringify(again));
  const second = deviceProcess();
  assert(second !== stopped);
  Deno.kill(second, "SIGSTOP");
  const waiting = ask();
  await until("it is asked", () => isAsked(url));
  child.kill("SIGTERM");
  const response = await waiting;
  assertEquals(response.status, 503);
  assertMatch((await response.json()).error.message, STOPPED);
  assertMatch((await errors) + (await output.rest()), /Closed\./);
  assertEquals((await child.status).signal, null);
  await endOf(second);
});

Deno.test("a stop of the program and its device's process together loses nothing", async () => {
  await using home = await Home.make();
  const path = await home.longModel();
  const args = ["--model", path, "--port", "0", "--ctx", "4096"];
  const { child, url, post, output, errors } = await startServe(home, args);
  const [process] = childrenOf(child.pid);
  const body = { prompt: "a", max_tokens: 3000, logit_bias: { 2: -100 } };
  const running = post("/v1/completions", body);
  await until("it is asked", () => isAsked(url));
  for (const pid of [child.pid, process]) Deno.kill(pid, "SIGSTOP");
  // Longer than a process may be silent.
  await sleep(13_000);
  for (const pid of [child.pid, process]) Deno.kill(pid, "SIGCONT");
  const { usage } = await (await running).json();
  assertEquals(usage?.completion_tokens, 3000);
  assertEquals(childrenOf(child.pid), [process], "the same process as before");
  child.kill("SIGTERM");
  await Promise.all([child.status, output.rest(), errors]);
});

/** Whether a server has a request, which runs or waits. */
async function isAsked(url: string): Promise<boolean> {
  const { running, waiting } = await (await fetch(`${url}/health`)).json();
  return running + waiting > 0;
}
