// The real Prometheus with the configuration of deploy/, at a replica.
import { assert, assertEquals } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { BalancedLoad } from "../fixtures/balanced_load.ts";
import { freePort } from "../fixtures/free_port.ts";
import { answers, Replica } from "../fixtures/replicas.ts";
import { sleep } from "../fixtures/waiting.ts";

const FOLDER = fromFileUrl(new URL("../../deploy/prometheus", import.meta.url));

async function run(program: string, ...args: string[]): Promise<string | undefined> {
  try {
    const command = new Deno.Command(program, { args, cwd: FOLDER });
    const { success, stdout, stderr } = await command.output();
    const text = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
    assert(success, text);
    return text;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    console.log(`skipped: there is no ${program}`);
  }
}

const ignore = await run("promtool", "--version") === undefined ||
  await run("prometheus", "--version") === undefined;

Deno.test({
  name: "promtool takes the configuration and the rules, and they say what their tests want",
  ignore,
  fn: async () => {
    await run("promtool", "check", "config", "prometheus.yml");
    await run("promtool", "test", "rules", "m40.rules.test.yml");
  },
});

Deno.test({
  name:
    "Prometheus reads a replica; its rules have values, and the alert is there when the replica is gone",
  ignore,
  fn: async () => {
    await using replica = await Replica.start();
    const folder = await Deno.makeTempDir({ prefix: "m40-prometheus-" });
    const rules = await Deno.readTextFile(join(FOLDER, "m40.rules.yml"));
    // In seconds what takes minutes.
    const soon = (text: string) =>
      text.replaceAll("[5m]", "[10s]").replaceAll(/for: \d+m/g, "for: 1s");
    await Deno.writeTextFile(join(folder, "m40.rules.yml"), soon(rules));
    const configuration = (await Deno.readTextFile(join(FOLDER, "prometheus.yml")))
      .replaceAll("15s", "1s")
      .replace("192.0.2.1:11434", `127.0.0.1:${replica.port}`)
      .replace(/ +- 192.0.2.[23]:11434\n/g, "");
    await Deno.writeTextFile(join(folder, "prometheus.yml"), configuration);
    const url = `http://127.0.0.1:${freePort()}`;
    const child = new Deno.Command("prometheus", {
      args: [
        `--config.file=${folder}/prometheus.yml`,
        `--storage.tsdb.path=${folder}/data`,
        `--web.listen-address=${new URL(url).host}`,
      ],
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    try {
      await answers(url + "/-/ready");
      const load = new BalancedLoad();
      load.begin(replica.url, 1);
      const value = (query: string) => until(url, query);
      for (
        const name of [
          "generation_tokens:rate5m",
          "time_to_first_token_seconds:p95",
          "prefix_cache_hits:ratio5m",
        ]
      ) {
        assert(await value(`m40:${name} > 0`) > 0);
      }
      assertEquals(await value(`up{job="m40"}`), 1);
      await load.stop();
      assertEquals(load.failures, []);
      await replica.kill();
      assertEquals(await value(`ALERTS{alertname="M40Down", alertstate="firing"}`), 1);
    } finally {
      child.kill("SIGTERM");
      await child.status;
      await Deno.remove(folder, { recursive: true });
    }
  },
});

/** The value of a query, when it has one. */
async function until(url: string, query: string): Promise<number> {
  for (let i = 0; i < 60; i++) {
    const response = await fetch(`${url}/api/v1/query?query=${encodeURIComponent(query)}`);
    const { data, error } = await response.json();
    assert(response.ok, error);
    if (data.result.length > 0) return Number(data.result[0].value[1]);
    await sleep(500);
  }
  throw new Error(`no value: ${query}`);
}
