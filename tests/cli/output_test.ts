// What becomes of output that cannot be written: it stops nothing in `serve`, and is not lost elsewhere.
import { assertEquals } from "@std/assert";
import { Home, m40, ROOT, startM40, TINY } from "../fixtures/cli_program.ts";
import { freePort } from "../fixtures/free_port.ts";
import { LINES } from "../fixtures/output_lines.ts";
import { NO_END, readEvents } from "../fixtures/server_fixture.ts";

const RUN = [Deno.execPath(), "run", "-A", "--no-check", "--quiet"];

/** Starts a module with a standard output that {@link stdio_helper.ts} spoils. */
function startWithOutput(home: Home, mode: "nonblocking" | "full", args: string[]) {
  const [deno, ...run] = RUN;
  return new Deno.Command(deno, {
    args: [...run, `${ROOT}/tests/fixtures/stdio_helper.ts`, mode, ...RUN, ...args],
    env: home.env,
    clearEnv: true,
    cwd: home.path,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

/** All that a process writes, read so slowly that its pipe is full most of the time. */
async function readSlowly(child: Deno.ChildProcess): Promise<string> {
  const errors = new Response(child.stderr).text();
  const decoder = new TextDecoder();
  let text = "";
  for await (const part of child.stdout) {
    text += decoder.decode(part, { stream: true });
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  assertEquals([(await child.status).code, await errors], [0, ""]);
  return text;
}

/** Asks for a long answer as a stream. */
function askLong(url: string, tokens: number): Promise<Response> {
  return fetch(`${url}/v1/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ prompt: "hello world", ...NO_END, stream: true, max_tokens: tokens }),
  });
}

Deno.test("m40 serve drains when its output has no reader any more: the answer that runs is whole, the exit code 0", async () => {
  await using home = await Home.make();
  const path = await home.longModel();
  const child = startM40(home, ["serve", "--port", "0", "--model", path, "--ctx", "20000"]);
  await child.stdin.close();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let said = "";
  while (!said.includes("Ctrl-C ends")) said += (await reader.read()).value;
  const url = /Listening on (http:\S+)\/v1/.exec(said)![1];
  // The log collector dies, for both streams.
  await Promise.all([reader.cancel(), child.stderr.cancel()]);
  const response = await askLong(url, 1000);
  child.kill("SIGTERM");
  const events = await readEvents(response);
  assertEquals(events.at(-1).choices[0].finish_reason, "length");
  assertEquals((await child.status).code, 0);
});

Deno.test("m40 serve answers and ends although the pipe of its output is full and has no reader", async () => {
  await using home = await Home.make();
  const port = freePort();
  const child = startWithOutput(home, "full", [
    ...[`${ROOT}/main.ts`, "serve", "--model", TINY, "--device", "cpu", "--port", String(port)],
  ]);
  const url = `http://127.0.0.1:${port}`;
  const errors = new Response(child.stderr).text();
  let ended = false;
  child.status.then(() => ended = true);
  for (let healthy = false; !healthy;) {
    assertEquals(ended, false, ended ? await errors : "");
    healthy = await fetch(`${url}/health`).then(async (response) => {
      await response.body?.cancel();
      return response.ok;
    }, () => new Promise((resolve) => setTimeout(() => resolve(false), 20)));
  }
  const events = await readEvents(await askLong(url, 20));
  assertEquals(events.at(-1).choices[0].finish_reason, "length");
  child.kill("SIGTERM");
  assertEquals([(await child.status).code, await errors], [0, ""]);
  await child.stdout.cancel();
});

Deno.test("m40 eval writes all of its lines to a nonblocking pipe that is read slowly", async () => {
  await using home = await Home.make();
  const tokens = Array.from({ length: 100 }, (_, i) => i % 50 + 5);
  const args = ["eval", TINY, "--device", "cpu", "--tokens", tokens.join()];
  const whole = await m40(home, args);
  assertEquals(whole.stdout.split("\n").length, 101);
  const child = startWithOutput(home, "nonblocking", [`${ROOT}/main.ts`, ...args]);
  assertEquals(await readSlowly(child) === whole.stdout, true, "what came is what was written");
});

Deno.test("lines of all lengths come out of a nonblocking pipe once each and in order", async () => {
  await using home = await Home.make();
  const child = startWithOutput(home, "nonblocking", [`${ROOT}/tests/fixtures/output_lines.ts`]);
  const expected = LINES.join("");
  const got = await readSlowly(child);
  assertEquals(got.length, expected.length);
  assertEquals(got === expected, true, "what came is what was written");
});

Deno.test("output to a full disk ends with 1 and says so in one sentence", async () => {
  await using home = await Home.make();
  for (const args of ["list", "--help", `eval ${TINY} --device cpu --tokens 1,2`]) {
    const line = `exec ${Deno.execPath()} run -A --no-check ${ROOT}/main.ts ${args} >/dev/full`;
    const { code, stderr } = await new Deno.Command("sh", {
      args: ["-c", line],
      env: home.env,
      clearEnv: true,
    }).output();
    const said = new TextDecoder().decode(stderr);
    assertEquals([code, said], [1, "error: standard output cannot be written: the disk is full\n"]);
  }
});
