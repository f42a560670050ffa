// `m40 run` in tmux: a terminal that draws a screen, as people have it.
import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path";
import { Home, ROOT } from "../fixtures/cli_program.ts";
import { smallModel } from "../fixtures/pull_fixture.ts";
import { PullServer } from "../fixtures/pull_server.ts";

const hasTmux = await new Deno.Command("tmux", { args: ["-V"] }).output()
  .then(({ success }) => success, () => false);
if (!hasTmux) console.log("skipped: m40 run in tmux; tmux is not installed");

/** How long a test waits for something on the screen. */
const WAIT_MS = 60_000;

/** A program in a tmux of its own. */
class Screen implements AsyncDisposable {
  private constructor(private readonly socket: string) {}

  static async start(
    home: Home,
    command: readonly string[],
    env: Record<string, string> = {},
  ): Promise<Screen> {
    const screen = new Screen(join(home.path, "tmux"));
    const quoted = command.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
    // What it ended with is the last line on the screen.
    const line = `${quoted}; echo "exit code $?"; sleep 1000`;
    const session = ["-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "50", line];
    // On a busy machine tmux's own server may end in the moment in which it begins.
    for (let tries = 3;; tries--) {
      try {
        await screen.tmux({ ...home.env, ...env }, ...session);
        break;
      } catch (error) {
        if (tries === 1 || !String(error).includes("server exited unexpectedly")) throw error;
      }
    }
    return screen;
  }

  /** Types text, or a key by tmux's name. */
  async type(...keys: string[]): Promise<void> {
    await this.tmux({}, "send-keys", ...keys);
  }

  /** The screen and what was scrolled out of it. */
  async text(): Promise<string> {
    return await this.tmux({}, "capture-pane", "-p", "-J", "-S", "-1000");
  }

  /** Waits for something to be on the screen; all that is on it then. */
  async until(what: string, holds: (text: string) => boolean): Promise<string> {
    const end = Date.now() + WAIT_MS;
    for (;;) {
      const text = await this.text();
      if (holds(text)) return text;
      assert(Date.now() < end, `waited for ${what}; the screen has:\n${text}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Waits for that many prompts, of which only the last has no input yet. */
  async prompts(count: number): Promise<string> {
    return await this.until(
      `prompt ${count}`,
      (text) => promptsOf(text) === count && /(^|\n)>\s*$/.test(text),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.tmux({}, "kill-server");
  }

  private async tmux(env: Record<string, string>, ...args: string[]): Promise<string> {
    const { success, stdout, stderr } = await new Deno.Command("tmux", {
      args: ["-S", this.socket, ...args],
      env: { ...env, TERM: "xterm-256color", TMUX: "" },
    }).output();
    const decoder = new TextDecoder();
    assert(success, `tmux ${args.join(" ")}: ${decoder.decode(stderr)}`);
    return decoder.decode(stdout);
  }
}

function promptsOf(text: string): number {
  return text.match(/^>( |$)/gm)?.length ?? 0;
}

/** The prompt's tokens of each answer, as `--verbose` reports them. */
function promptTokens(text: string): number[] {
  return [...text.matchAll(/^(\d+) tokens of prompt/gm)].map(([, count]) => Number(count));
}

Deno.test({
  name:
    "m40 run in tmux: three turns with the demo model, Ctrl-C in an answer, /clear, and the end " +
    "(ignored where tmux is not)",
  ignore: !hasTmux,
  async fn() {
    await using home = await Home.make();
    const run = [Deno.execPath(), "run", "-A", "--no-check", join(ROOT, "main.ts"), "run", "demo"];
    await using screen = await Screen.start(home, [
      ...run,
      ...["--device", "cpu", "--threads", "1", "--chat-template", "chatml", "--verbose"],
      ...["--temperature", "0", "--max-tokens", "30", "--ignore-eos"],
    ]);
    assertMatch(await screen.prompts(1), /It answers what you type/);

    await screen.type("Tell me of Lily and her cat.", "Enter");
    await screen.prompts(2);
    await screen.type("And then?", "Enter");
    const two = promptTokens(await screen.prompts(3));
    assert(two.length === 2 && two[1] > two[0] + 30, `prompts of ${two} tokens`);

    // As many as the context has room for: seconds, in which Ctrl-C comes.
    await screen.type("/set max-tokens default", "Enter");
    await screen.prompts(4);
    await screen.type("And in the end?", "Enter");
    await screen.until(
      "some of the third answer",
      (text) => (text.split("And in the end?")[1] ?? "").trim().length > 20,
    );
    await screen.type("C-c");
    const three = await screen.prompts(5);
    assert(!/context is full/.test(three), "the answer had ended before Ctrl-C");
    assertEquals(promptTokens(three).length, 3);

    const path = join(home.path, "talk.json");
    await screen.type(`/save ${path}`, "Enter");
    await screen.prompts(6);
    const { messages } = JSON.parse(await Deno.readTextFile(path));
    assertEquals(
      messages.map(({ role }: { role: string }) => role),
      ["user", "assistant", "user", "assistant", "user", "assistant"],
    );
    assert(messages.at(-1).content.length > 10, "what was said before Ctrl-C is kept");

    await screen.type("/clear", "Enter");
    assertMatch(await screen.prompts(7), /A new conversation begins/);
    await screen.type("/set max-tokens 5", "Enter");
    await screen.prompts(8);
    await screen.type("Tell me of Lily and her cat.", "Enter");
    const last = promptTokens(await screen.prompts(9));
    assertEquals(last.at(-1), two[0]);

    await screen.type("C-d");
    await screen.until("the end", (text) => text.includes("exit code 0"));
  },
});

Deno.test({
  name: "m40 run in tmux: a model that is not there is asked about, fetched with a bar, and run " +
    "(ignored where tmux is not)",
  ignore: !hasTmux,
  async fn() {
    await using home = await Home.make();
    await using server = new PullServer();
    server.repositories.set("a/Tiny-GGUF", { files: { "Tiny-Q8_0.gguf": await smallModel() } });
    server.bytesPerSecond = 200_000;
    const run = [Deno.execPath(), "run", "-A", "--no-check", join(ROOT, "main.ts"), "run"];
    const command = [...run, "hf.co/a/Tiny-GGUF", "--device", "cpu", "--raw", "--max-tokens", "3"];
    const question = /hf\.co\/a\/Tiny-GGUF is not here\. Fetch it\? \[Y\/n\]/;
    {
      await using screen = await Screen.start(home, [...command, "a"], server.env);
      await screen.until("the question", (text) => question.test(text));
      await screen.type("n", "Enter");
      const text = await screen.until("the end", (text) => text.includes("exit code"));
      assertMatch(text, /`m40 pull hf\.co\/a\/Tiny-GGUF` fetches it, and so does --pull/);
      assertMatch(text, /exit code 1/);
      assertEquals(server.asked, []);
    }
    await using screen = await Screen.start(home, [...command, "a"], server.env);
    await screen.until("the question", (text) => question.test(text));
    await screen.type("Enter");
    await screen.until("the bar", (text) => /Tiny:Q8_0 █+░+ +\d+% .* of 547\.\d KiB/.test(text));
    const text = await screen.until("the end", (text) => text.includes("exit code"));
    assertMatch(text, /Tiny:Q8_0 is there \(547\.\d KiB\)\./);
    assertMatch(text, /exit code 0/);
  },
});
