// What deploy/ has for Prometheus and Grafana is about metrics that there are.
import { assert, assertEquals } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { startServer } from "../fixtures/server_fixture.ts";

const DEPLOY = fromFileUrl(new URL("../../deploy", import.meta.url));
const RULES = `${DEPLOY}/prometheus/m40.rules.yml`;
const DASHBOARD = `${DEPLOY}/grafana/m40.json`;

/** Names of metrics and labels in a text of PromQL. */
function namesIn(promql: string): string[] {
  return [...new Set(promql.match(/\b(m40|vllm|process)[_:][a-zA-Z0-9_:]+/g))];
}

/** The metrics of a server, a histogram by its three names, and the existing labels. */
async function known(): Promise<{ metrics: Set<string>; labels: Set<string> }> {
  await using server = await startServer();
  await (await server.post("/v1/generate", { prompt: "a", max_tokens: 4 })).body?.cancel();
  const text = await (await fetch(server.url + "/metrics")).text();
  const metrics = new Set<string>();
  for (const [, name, type] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
    metrics.add(name);
    if (type === "histogram") {
      for (const end of ["bucket", "sum", "count"]) metrics.add(`${name}_${end}`);
    }
  }
  return { metrics, labels: new Set([...text.matchAll(/[{,](\w+)="/g)].map(([, label]) => label)) };
}

Deno.test("each metric of the rules, the alerts and the dashboard is one that a server has", async () => {
  const { metrics, labels } = await known();
  const rules = await Deno.readTextFile(RULES);
  const recorded = [...rules.matchAll(/record: (\S+)/g)].map(([, name]) => name);
  assert(recorded.length > 0);
  for (const name of recorded) metrics.add(name);
  const dashboard = JSON.parse(await Deno.readTextFile(DASHBOARD));
  const expressions: string[] = dashboard.panels.flatMap((panel: { targets: { expr: string }[] }) =>
    panel.targets.map(({ expr }) => expr)
  );
  const variables: string[] = dashboard.templating.list
    .map(({ query }: { query: unknown }) => JSON.stringify(query));
  const used = namesIn([rules, ...expressions, ...variables].join("\n"));
  assert(used.length > 25, String(used));
  assertEquals(used.filter((name) => !metrics.has(name)), []);
  // Prometheus itself adds the labels of the target.
  for (const label of ["instance", "job"]) labels.add(label);
  const grouped = [rules, ...expressions].join("\n").matchAll(/by \(([^)]*)\)/g);
  for (const [, list] of grouped) {
    for (const label of list.split(/\s*,\s*/)) assert(labels.has(label), label);
  }
});

Deno.test("the endpoint picker of the Gateway API inference extension finds its metrics", async () => {
  const { metrics } = await known();
  const wanted = [
    "vllm:num_requests_waiting",
    "vllm:num_requests_running",
    "vllm:kv_cache_usage_perc",
    "vllm:gpu_cache_usage_perc",
    "vllm:cache_config_info",
  ];
  assertEquals(wanted.filter((name) => !metrics.has(name)), []);
});

Deno.test("each of several cards has a curve of its own, and their pauses are shown", async () => {
  const { panels } = JSON.parse(await Deno.readTextFile(DASHBOARD));
  const targets: { expr: string; legendFormat: string }[] = panels.flatMap((
    { targets }: { targets: [] },
  ) => targets);
  const ofCards = targets.filter(({ expr }) => /m40_device_|m40_memory_bytes/.test(expr));
  assert(ofCards.length >= 5, String(ofCards.length));
  for (const { expr, legendFormat } of ofCards) assert(legendFormat.includes("{{device}}"), expr);
  assert(targets.some(({ expr }) => expr.includes("m40_rested_seconds_total")));
});

Deno.test("panels of the dashboard do not lie on each other", async () => {
  const { panels } = JSON.parse(await Deno.readTextFile(DASHBOARD));
  const places = new Set(
    panels.map(({ gridPos }: { gridPos: { x: number; y: number } }) => `${gridPos.x} ${gridPos.y}`),
  );
  assertEquals(places.size, panels.length);
  assertEquals(new Set(panels.map(({ id }: { id: number }) => id)).size, panels.length);
});
