// Runs the real program for tests, in folders of its own.
import { fromFileUrl, join } from "@std/path";

export const ROOT: string = fromFileUrl(new URL("..", import.meta.url));
export const GOLDEN: string = join(ROOT, "tests/data/golden");
export const TINY: string = join(GOLDEN, "llama.gguf");

/** The program's folders in a temporary folder, removed in the end. */
export class Home implements AsyncDisposable {
  private constructor(readonly path: string) {}

  static async make(): Promise<Home> {
    const home = new Home(await Deno.makeTempDir({ prefix: "m40-test-" }));
    await Deno.mkdir(home.models);
    return home;
  }

  get models(): string {
    return join(this.path, "models");
  }

  get history(): string {
    return join(this.path, ".local/state/m40/history");
  }

  get env(): Record<string, string> {
    const kept = ["PATH", "DENO_DIR", "M40_KERNELS", "LD_LIBRARY_PATH", "DENO_TLS_CA_STORE"];
    const env: Record<string, string> = { HOME: this.path, M40_MODELS: this.models };
    // What other programs have fetched on this machine is not looked at.
    env.OLLAMA_MODELS = join(this.path, ".ollama/models");
    // Deno's own cache lies under HOME unless it is told.
    env.DENO_DIR = join(Deno.env.get("HOME") ?? "/root", ".cache/deno");
    for (const name of kept) {
      const value = Deno.env.get(name);
      if (value !== undefined) env[name] = value;
    }
    return env;
  }

  /**
   * The tiny model with room for a long context, so that answers take long enough to be interrupted:
   * a copy of the golden file with another number in `llama.context_length`.
   */
  async longModel(name = "long"): Promise<string> {
    const bytes = await Deno.readFile(TINY);
    const key = new TextEncoder().encode("llama.context_length");
    const at = bytes.findIndex((_, i) => key.every((byte, j) => bytes[i + j] === byte));
    if (at < 0) throw new Error("the golden model has no context length");
    // Behind the key its type, then its value, 4 bytes each.
    new DataView(bytes.buffer).setUint32(at + key.length + 4, 1 << 20, true);
    const path = join(this.models, `${name}.gguf`);
    await Deno.writeFile(path, bytes);
    return path;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.path, { recursive: true });
  }
}

/** How the program ended and what it wrote. */
export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly stdin?: string | Uint8Array;
  readonly env?: Record<string, string>;
}

const COMMAND = ["run", "-A", "--no-check", "--quiet", join(ROOT, "main.ts")];

/** Commands that compute. Tests have them do it on the CPU, whatever is built and whichever machine it is. */
const COMPUTING = ["run", "serve", "bench", "eval"];

/** Starts the program with all three streams piped; on the CPU, where the arguments name no device. */
export function startM40(home: Home, args: string[], env: Record<string, string> = {}) {
  const [command, ...rest] = args;
  const named = !COMPUTING.includes(command) || rest.includes("--device");
  return new Deno.Command(Deno.execPath(), {
    args: [...COMMAND, ...(named ? args : [command, "--device", "cpu", ...rest])],
    env: { ...home.env, ...env },
    clearEnv: true,
    cwd: home.path,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

/** Runs the program to its end. */
export async function m40(home: Home, args: string[], options: RunOptions = {}): Promise<Ended> {
  const child = startM40(home, args, options.env);
  const { stdin = "" } = options;
  const writer = child.stdin.getWriter();
  // The program may end without reading.
  writer.write(typeof stdin === "string" ? new TextEncoder().encode(stdin) : stdin)
    .then(() => writer.close()).catch(() => {});
  const { code, stdout, stderr } = await child.output();
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}

/** Starts `m40 serve` and waits until it listens. */
export async function startServe(home: Home, args: string[], env: Record<string, string> = {}) {
  const child = startM40(home, ["serve", ...args], env);
  await child.stdin.close();
  const output = new Watched(child.stdout);
  const errors = new Response(child.stderr).text();
  const [before, url] = await output.until(/^[\s\S]*Listening on (http:\S+)\/v1.*\n/);
  const post = (path: string, body: unknown): Promise<Response> =>
    fetch(url + path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  return { child, output, errors, before, url, post };
}

/** Reads a stream bit by bit until something has appeared. */
export class Watched {
  text = "";
  readonly #reader: ReadableStreamDefaultReader<string>;

  constructor(stream: ReadableStream<Uint8Array>) {
    this.#reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  }

  /** Waits for a match in what comes from here on, which is then taken off. */
  async until(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this.text);
      if (match) {
        this.text = this.text.slice(match.index + match[0].length);
        return match;
      }
      const { value, done } = await this.#reader.read();
      if (done) throw new Error(`ended without ${pattern}; last: ${this.text.slice(-2000)}`);
      this.text += value;
    }
  }

  /** Reads to the end. */
  async rest(): Promise<string> {
    for (;;) {
      const { value, done } = await this.#reader.read();
      if (done) return this.text;
      this.text += value;
    }
  }
}

/** Whether this machine has what {@link onTerminal} needs. */
export const hasScript: boolean = await new Deno.Command("script", { args: ["--version"] }).output()
  .then(({ success }) => success, () => false);

/** The prompt as readline draws it, empty; an answer may have "> " in it too. */
export const PROMPT: RegExp = /\[0J> .\[3G/s;

/** The program on a terminal of its own, which util-linux's `script` makes. */
export function onTerminal(home: Home, args: string[], env: Record<string, string> = {}) {
  const words = [Deno.execPath(), "run", "-A", "--no-check", `${ROOT}/main.ts`, ...args];
  // Without exec the shell between would get every Ctrl-C too, and end with 130 because of it.
  const line = "exec " + words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
  const child = new Deno.Command("script", {
    args: ["-qefc", line, "/dev/null"],
    env: { ...home.env, TERM: "xterm", ...env },
    clearEnv: true,
    cwd: home.path,
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
    // A test that waits for what does not come fails then.
    signal: AbortSignal.timeout(60_000),
  }).spawn();
  const writer = child.stdin.getWriter();
  const type = (text: string) => writer.write(new TextEncoder().encode(text));
  return { child, writer, type, screen: new Watched(child.stdout) };
}
