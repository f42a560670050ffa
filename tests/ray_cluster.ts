/**
 * Ray on this machine, and Ray Serve with the application of deploy/ray.
 *
 * @module
 */
import { assert } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { ROOT } from "./cli_program.ts";
import { answers, freePort, sleep } from "./replicas.ts";

const APPLICATION = fromFileUrl(new URL("../deploy/ray", import.meta.url));

/** A process of `m40 serve` that a replica of Ray Serve has begun. */
export interface ServeProcess {
  readonly pid: number;
  readonly url: string;
}

/** A cluster of one machine, which ends with all that it has begun. */
export class RayCluster implements AsyncDisposable {
  private constructor(
    readonly url: string,
    private readonly bin: string,
    private readonly port: number,
    private readonly head: Deno.ChildProcess,
    /** Ray's files; stands in the environment of all that Ray begins, and of nothing else. */
    private readonly folder: string,
  ) {}

  /**
   * Starts Ray, and Serve without an application.
   *
   * @param python A Python that has `ray[serve]` and `httpx`.
   * @param cpus How many replicas there is room for.
   */
  static async start(python: string, cpus: number): Promise<RayCluster> {
    const bin = join(python, "..");
    const folder = await Deno.makeTempDir({ prefix: "m40-ray-" });
    const [port, http] = [freePort(), freePort()];
    // In the foreground it ends with what it has begun, where `ray stop` would end every Ray of this machine.
    const head = new Deno.Command(join(bin, "ray"), {
      args: [
        ..."start --head --block --disable-usage-stats --include-dashboard=false".split(" "),
        `--num-cpus=${cpus}`,
        `--port=${port}`,
        `--temp-dir=${folder}`,
      ],
      env: { ...withPath(bin), [MARK]: folder },
      ...QUIET,
    }).spawn();
    let ended = false;
    head.status.then(() => ended = true);
    const cluster = new RayCluster(`http://127.0.0.1:${http}`, bin, port, head, folder);
    for (const end = Date.now() + 240_000;;) {
      try {
        await cluster.serve("start", "--http-port", `${http}`);
        return cluster;
      } catch (error) {
        // It gives up where Ray is not there yet.
        if (!ended && Date.now() < end) continue;
        await cluster[Symbol.asyncDispose]();
        throw ended
          ? new Error("Ray has ended: it gives its agents fifteen seconds to start")
          : error;
      }
    }
  }

  /** Has the application run, or changes it; resolves when its replicas are there. */
  async run(options: Record<string, string | number>): Promise<void> {
    const all = {
      // Ray's workers stand back behind all else of a machine; where it is busy, `m40` would be too slow. This takes
      // a permission, and does nothing without.
      command: ["nice -n -15", Deno.execPath(), "run", "-A", "--no-check", join(ROOT, "main.ts")]
        .join(" "),
      arguments: "--device cpu --chat-template chatml --threads 1",
      gpus: 0,
      ...options,
    };
    const named = Object.entries(all).map(([name, value]) => `${name}=${value}`);
    await this.serve("run", "--non-blocking", "--app-dir", APPLICATION, "m40_serve:app", ...named);
    await answers(this.url + "/v1/models");
  }

  /** The processes of `m40` that run. */
  async processes(): Promise<ServeProcess[]> {
    const all = await this.begun();
    // Its device has a process of its own, which ends with it and has no port.
    return all.flatMap(({ pid, words }) => {
      const at = words.indexOf("--port");
      return at < 0 ? [] : [{ pid, url: `http://127.0.0.1:${words[at + 1]}` }];
    });
  }

  /** Waits until so many processes of `m40` run and take requests. */
  async hasProcesses(count: number, seconds: number): Promise<ServeProcess[]> {
    for (const end = Date.now() + seconds * 1000; Date.now() < end;) {
      const all = await this.processes();
      const ready = await Promise.all(all.map(({ url }) => isReady(url)));
      if (all.length === count && !ready.includes(false)) return all;
      await sleep(500);
    }
    throw new Error(`${(await this.processes()).length} instead of ${count} processes`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.head.kill("SIGTERM");
    } catch {
      // It has ended.
    }
    await this.head.status;
    for (const { pid } of await this.begun()) Deno.kill(pid, "SIGKILL");
    await Deno.remove(this.folder, { recursive: true });
  }

  /** All processes that Ray has begun, with their command lines. */
  private async begun(): Promise<{ pid: number; words: string[] }[]> {
    const found: { pid: number; words: string[] }[] = [];
    for await (const { name } of Deno.readDir("/proc")) {
      if (!/^\d+$/.test(name) || name === `${Deno.pid}`) continue;
      try {
        // Ray writes the names of its processes over their environments; all of them have logs open there.
        const environment = await Deno.readTextFile(`/proc/${name}/environ`);
        const begun = environment.includes(`${MARK}=${this.folder}\0`) ||
          await hasOpen(name, this.folder);
        if (!begun) continue;
        const words = (await Deno.readTextFile(`/proc/${name}/cmdline`)).split("\0");
        found.push({ pid: Number(name), words });
      } catch {
        // It has ended meanwhile.
      }
    }
    return found;
  }

  private async serve(command: string, ...args: string[]): Promise<void> {
    const { success, stdout, stderr } = await new Deno.Command(join(this.bin, "serve"), {
      args: [command, "--address", `127.0.0.1:${this.port}`, ...args],
      env: withPath(this.bin),
      stdin: "null",
    }).output();
    const said = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
    if (Deno.env.has("M40_RAY_LOG")) console.log(said);
    assert(success, `serve ${command}: ${said.slice(-2000)}`);
  }
}

const MARK = "M40_TEST_RAY_FOLDER";
const QUIET = { stdin: "null", stdout: "null", stderr: "null" } as const;

function withPath(bin: string): Record<string, string> {
  return { PATH: `${bin}:${Deno.env.get("PATH")}`, PYTHONDONTWRITEBYTECODE: "1" };
}

/** Whether a process has a file of a folder open. */
async function hasOpen(pid: string, folder: string): Promise<boolean> {
  for await (const { name } of Deno.readDir(`/proc/${pid}/fd`)) {
    const file = await Deno.readLink(`/proc/${pid}/fd/${name}`).catch(() => "");
    if (file.startsWith(folder + "/")) return true;
  }
  return false;
}

async function isReady(url: string): Promise<boolean> {
  try {
    const { status, body } = await fetch(url + "/ready", { signal: AbortSignal.timeout(5000) });
    await body?.cancel();
    return status === 200;
  } catch {
    return false;
  }
}
