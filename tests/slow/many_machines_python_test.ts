// The configurations of deploy/ for LiteLLM and Ray Serve, in front of replicas. Both bring hundreds of megabytes and
// minutes of installing, so they are tested where a Python that has them is named.
import { assert, assertEquals, assertGreater } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { BalancedLoad } from "../fixtures/balanced_load.ts";
import { withLiteLLM } from "../fixtures/litellm.ts";
import { Namespaces } from "../fixtures/namespaces.ts";
import { withstandTroubles } from "../fixtures/replica_troubles.ts";
import { RayCluster, type ServeProcess } from "../fixtures/ray_cluster.ts";
import { metricOf, startReplicas } from "../fixtures/replicas.ts";
import { sleep } from "../fixtures/waiting.ts";

const DEPLOY = fromFileUrl(new URL("../../deploy", import.meta.url));

/** What a variable of the environment names; where it is not set, says what is skipped. */
function pythonOf(variable: string, packages: string): string | undefined {
  const python = Deno.env.get(variable);
  if (python === undefined) console.log(`skipped: ${variable} names no Python with ${packages}`);
  return python;
}

const litellm = pythonOf("M40_LITELLM_PYTHON", "litellm[proxy]==1.108.7");

Deno.test({
  name:
    "LiteLLM in front of three replicas: no answer is lost that had not started, none is wrong, and all replicas have work",
  ignore: litellm === undefined,
  fn: async (t) => {
    await using namespaces = await Namespaces.make(3);
    await using replicas = new AsyncDisposableStack();
    const three = await startReplicas(namespaces, replicas);
    let config = await Deno.readTextFile(join(DEPLOY, "litellm/config.yaml"));
    for (const [i, { host, port }] of three.entries()) {
      const address = `192.0.2.${i + 1}:11434`;
      assert(config.includes(address), `config.yaml has no ${address}`);
      config = config.replace(address, `${host}:${port}`);
    }
    assert(config.includes("openai/mistral"));
    config = config.replace("openai/mistral", "openai/demo");
    await withLiteLLM(litellm!, config, async (url, key) => {
      const load = new BalancedLoad(true, 0, { model: "m40", key });
      load.begin(url, 6);
      await t.step("balance: each has a fifth of the tokens at least", async () => {
        // Of a few tens it may be less by chance.
        while (load.answers < 150) await sleep(100);
        const each = await Promise.all(
          three.map((replica) => replica.metric("m40_prompt_tokens_total")),
        );
        console.log(`tokens of prompts: ${each.join(", ")}`);
        const sum = each.reduce((a, b) => a + b);
        for (const one of each) assertGreater(one, sum / 5);
      });
      await withstandTroubles(t, three, load);
    });
  },
});

const ray = pythonOf("M40_RAY_PYTHON", "ray[serve]==2.60.0 and httpx==0.28.1");

Deno.test({
  name:
    "Ray Serve: replicas come and go with the load, no answer is lost that had not started, none is wrong",
  ignore: ray === undefined,
  fn: async (t) => {
    await using cluster = await RayCluster.start(ray!, 4);
    const options = {
      parallel: 2,
      max_replicas: 3,
      drain_seconds: 60,
      health_seconds: 4,
      upscale_delay_s: 2,
    };
    await cluster.run(options);
    await cluster.hasProcesses(1, 60);
    const load = new BalancedLoad();
    load.begin(cluster.url, 8);
    const nothingLost = () => assertEquals(load.failures, []);
    /** What a process had started to answer is lost with it, and nothing else. */
    const onlyStartedLost = () => {
      for (const { started, reason } of load.failures.splice(0)) assert(started, reason);
    };

    await t.step("eight clients where two have their turn: replicas are added", async () => {
      await cluster.hasProcesses(3, 120);
      nothingLost();
    });
    await t.step("balance: each has a tenth of the tokens at least", async () => {
      const end = load.answers + 60;
      const before = await tokensOf(await cluster.processes());
      while (load.answers < end) await sleep(100);
      const after = await tokensOf(await cluster.processes());
      const each = after.map((tokens, i) => tokens - before[i]);
      console.log(`tokens of prompts: ${each.join(", ")}`);
      const sum = each.reduce((a, b) => a + b);
      for (const one of each) assertGreater(one, sum / 10);
      nothingLost();
    });
    await t.step(
      "kill -9 of a process: it is started again, and what had not started is sent again",
      async () => {
        const [{ pid, url }] = await cluster.processes();
        Deno.kill(pid, "SIGKILL");
        // Clients that leave while it is started again do not have it taken for ready.
        for (let i = 0; i < 8; i++) {
          const gone = fetch(`${cluster.url}/v1/models`, { signal: AbortSignal.timeout(250) });
          await gone.then((response) => response.body?.cancel()).catch(() => {});
        }
        const all = await cluster.hasProcesses(3, 60);
        assert(all.some((one) => one.url === url && one.pid !== pid));
        await sleep(2000);
        onlyStartedLost();
      },
    );
    await t.step("SIGTERM of a process: nothing is lost", async () => {
      const [, { pid }] = await cluster.processes();
      Deno.kill(pid, "SIGTERM");
      while ((await cluster.processes()).some((one) => one.pid === pid)) await sleep(100);
      await cluster.hasProcesses(3, 60);
      nothingLost();
    });
    await t.step("a slow one: nothing is lost", async () => {
      const before = load.answers;
      const [{ pid }] = await cluster.processes();
      for (let i = 0; i < 10; i++) {
        Deno.kill(pid, "SIGSTOP");
        await sleep(250);
        Deno.kill(pid, "SIGCONT");
        await sleep(50);
      }
      assertGreater(load.answers, before);
      nothingLost();
    });
    await t.step(
      "one that hangs: it is started again, and what had not started is sent again",
      async () => {
        const [{ pid }] = await cluster.processes();
        Deno.kill(pid, "SIGSTOP");
        const end = Date.now() + 60_000;
        while ((await cluster.processes()).some((one) => one.pid === pid)) {
          assert(Date.now() < end, "it hangs for a minute");
          await sleep(200);
        }
        await cluster.hasProcesses(3, 60);
        onlyStartedLost();
      },
    );
    await t.step("a rolling update: all processes are others, nothing is lost", async () => {
      const old = (await cluster.processes()).map(({ pid }) => pid);
      await cluster.run({ ...options, min_replicas: 3, max_queue: 63 });
      const all = await cluster.hasProcesses(3, 60);
      assertEquals(all.filter(({ pid }) => old.includes(pid)), []);
      nothingLost();
    });
    await t.step("calm: replicas are taken away, nothing is lost", async () => {
      await cluster.run({ ...options, max_queue: 63, downscale_delay_s: 5 });
      await load.stop();
      await cluster.hasProcesses(1, 120);
      nothingLost();
    });
    await t.step("every answer is the one that a process gives alone", async () => {
      console.log(`${load.answers} answers`);
      const [{ url }] = await cluster.processes();
      assertEquals(await load.wrongAnswers(url, 30), 0);
    });
  },
});

function tokensOf(processes: readonly ServeProcess[]): Promise<number[]> {
  return Promise.all(processes.map(({ url }) => metricOf(url, "m40_prompt_tokens_total")));
}
