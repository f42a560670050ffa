// The configurations of deploy/ with the real HAProxy and nginx in front of three replicas.
import { assert, assertEquals, assertGreater } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { BalancedLoad } from "../fixtures/balanced_load.ts";
import { Namespaces } from "../fixtures/namespaces.ts";
import { freePort } from "../fixtures/free_port.ts";
import { answers, type Replica, startReplicas } from "../fixtures/replicas.ts";
import { withstandTroubles } from "../fixtures/replica_troubles.ts";
import { sleep } from "../fixtures/waiting.ts";

const DEPLOY = fromFileUrl(new URL("../../deploy", import.meta.url));

/** Puts the addresses of replicas into a configuration of deploy/. */
async function configured(
  file: string,
  replicas: readonly Replica[],
  listen: number,
): Promise<string> {
  let text = await Deno.readTextFile(join(DEPLOY, file));
  for (const [i, { host, port, agentPort }] of replicas.entries()) {
    const address = `192.0.2.${i + 1}:11434`;
    assert(text.includes(address), `${file} has no ${address}`);
    text = text.replaceAll(address, `${host}:${port}`)
      // The checks of replicas that have an address each go to the same port of all.
      .replace(
        `server m40-${i + 1} ${host}:${port}\n`,
        `server m40-${i + 1} ${host}:${port} agent-port ${agentPort}\n`,
      );
  }
  assert(text.includes(":8000") || text.includes(" 8000;"));
  return text.replace("bind :8000", `bind 127.0.0.1:${listen}`).replace(
    "listen 8000;",
    `listen 127.0.0.1:${listen};`,
  )
    .replace("bind 127.0.0.1:8404", `bind 127.0.0.1:${freePort()}`);
}

/** A program that balances. */
class Balancer implements AsyncDisposable {
  private constructor(
    readonly url: string,
    private readonly child: Deno.ChildProcess,
    private readonly folder: string,
  ) {}

  static async start(
    program: string,
    file: string,
    replicas: readonly Replica[],
    change = (text: string) => text,
  ) {
    const port = freePort();
    const folder = await Deno.makeTempDir({ prefix: "m40-balancer-" });
    const path = join(folder, "configuration");
    await Deno.writeTextFile(path, change(await configured(file, replicas, port)));
    const args = program === "nginx"
      ? ["-p", folder, "-c", path, "-g", "daemon off; pid nginx.pid;"]
      : ["-f", path];
    const command = new Deno.Command(program, {
      args,
      stdin: "null",
      stdout: "null",
      stderr: "null",
    });
    const balancer = new Balancer(`http://127.0.0.1:${port}`, command.spawn(), folder);
    await answers(balancer.url + "/v1/models");
    return balancer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill("SIGTERM");
    await this.child.status;
    await Deno.remove(this.folder, { recursive: true });
  }
}

async function missing(program: string): Promise<boolean> {
  try {
    await new Deno.Command(program, { args: ["-v"], stdout: "null", stderr: "null" }).output();
    return false;
  } catch {
    console.log(`skipped: there is no ${program}`);
    return true;
  }
}

const ignore = [await missing("haproxy"), await missing("nginx")].includes(true);

Deno.test({
  name:
    "HAProxy and nginx in front of three replicas: no answer is lost that had not started, none is wrong, and conversations find their prefixes",
  ignore,
  fn: async (t) => {
    await using namespaces = await Namespaces.make(3);
    await using replicas = new AsyncDisposableStack();
    const three = await startReplicas(namespaces, replicas);

    await t.step("affinity: more of the prompts is found", async () => {
      const without = await foundShare(
        three,
        "haproxy",
        "haproxy/haproxy.cfg",
        (text) =>
          text.replace(/balance hash.*\n.*hash-type.*\n.*hash-balance.*\n/, "balance roundrobin\n"),
      );
      const haproxy = await foundShare(three, "haproxy", "haproxy/haproxy.cfg");
      const nginx = await foundShare(three, "nginx", "nginx/nginx.conf");
      const percent = (share: number) => `${(share * 100).toFixed(0)}%`;
      console.log(
        `tokens of prompts found: ${percent(without)} round robin, ${percent(haproxy)} HAProxy, ${
          percent(nginx)
        } nginx`,
      );
      assertGreater(haproxy, without + 0.1);
      assertGreater(nginx, without + 0.1);
    });

    await using haproxy = await Balancer.start("haproxy", "haproxy/haproxy.cfg", three);
    await using nginx = await Balancer.start("nginx", "nginx/nginx.conf", three);
    const load = new BalancedLoad();
    load.begin(haproxy.url, 6);
    load.begin(nginx.url, 6);
    await sleep(500);

    await withstandTroubles(t, three, load);
  },
});

let before = 0;

/**
 * Holds conversations through a balancer, named by the client where the balancer cannot; gives the share of their prompts that was found in prefix
 * caches.
 */
async function foundShare(
  replicas: readonly Replica[],
  program: string,
  file: string,
  change?: (text: string) => string,
): Promise<number> {
  const sum = async (name: string) => {
    const each = await Promise.all(replicas.map((replica) => replica.metric(name)));
    return each.reduce((a, b) => a + b);
  };
  await using balancer = await Balancer.start(program, file, replicas, change);
  const load = new BalancedLoad(false, before += 1000);
  const queries = await sum("m40_prefix_cache_queries_total");
  const hits = await sum("m40_prefix_cache_hits_total");
  await Promise.all(
    Array.from({ length: 8 }, () => load.converse(balancer.url, 3, program === "nginx")),
  );
  assertEquals(load.failures, []);
  return (await sum("m40_prefix_cache_hits_total") - hits) /
    (await sum("m40_prefix_cache_queries_total") - queries);
}
