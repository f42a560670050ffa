/**
 * Shells on terminals of their own, to try completions in. Each lies in a folder with `script.SHELL` and `names`, what
 * `m40 completion models` writes, so that the program need not start for each line.
 *
 * @module
 */
import { join } from "@std/path";
import { Watched } from "./cli_program.ts";

/** Whether there is such a program. */
export async function has(program: string): Promise<boolean> {
  try {
    const command = new Deno.Command(program, {
      args: ["--version"],
      stdout: "null",
      stderr: "null",
    });
    return (await command.output()).success;
  } catch {
    // Starting it fails at once where there is none.
    return false;
  }
}

/** A function m40 that shows how its line was understood. */
const M40 = `m40() { if [ "$1" = completion ] && [ "$2" = models ]; then cat "$PWD/names"; ` +
  `else printf '<<<'; printf '[%s]' "$@"; printf '>>>\\n'; fi; }`;

/** What the words of each line are once all that is offered stands in the place of its last word; or, of one with a tab, what that makes of it. */
export function linesInBash(folder: string, lines: readonly string[]): Promise<string[][]> {
  const setup = `${M40}; source ./script.bash; bind 'set bell-style none'`;
  return onTerminal(folder, ["bash", "--norc", "--noprofile", "-i"], setup, lines, "\x1b*");
}

/** The same in zsh. */
export function linesInZsh(folder: string, lines: readonly string[]): Promise<string[][]> {
  const setup = [
    "autoload -Uz compinit; compinit -u -D",
    M40,
    "source ./script.zsh",
    "zle -C all-matches complete-word _generic; bindkey '^X*' all-matches",
    "zstyle ':completion:all-matches:*' insert yes",
    "zstyle ':completion:all-matches::::' completer _all_matches _complete",
    "unsetopt beep",
  ].join("; ");
  return onTerminal(folder, ["zsh", "-f", "-i"], setup, lines, "\x18*");
}

async function onTerminal(
  folder: string,
  shell: readonly string[],
  setup: string,
  lines: readonly string[],
  insertAll: string,
): Promise<string[][]> {
  const file = join(folder, "setup");
  await Deno.writeTextFile(file, setup + "\n");
  const child = new Deno.Command("script", {
    args: ["-qefc", shell.join(" "), "/dev/null"],
    cwd: folder,
    clearEnv: true,
    env: {
      PATH: Deno.env.get("PATH") ?? "/usr/bin:/bin",
      HOME: folder,
      TERM: "dumb",
      LC_ALL: "C.UTF-8",
    },
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
    // What does not come fails then.
    signal: AbortSignal.timeout(30_000),
  }).spawn();
  const writer = child.stdin.getWriter();
  const screen = new Watched(child.stdout);
  const type = (text: string) => writer.write(new TextEncoder().encode(text));
  await type(`. ./setup; echo rea''dy\r`);
  await screen.until(/ready\r?\n/);
  const found: string[][] = [];
  for (const line of lines) {
    await type(`${line}${line.endsWith("\t") ? "" : insertAll}\r`);
    const [, words] = await screen.until(/<<<(.*?)>>>/s);
    found.push([...words.matchAll(/\[([^\]]*)\]/g)].map(([, word]) => plain(word)));
  }
  await type("exit\r");
  await writer.close();
  await screen.rest();
  await child.status;
  return found;
}

/** The same in fish, which says itself what it offers. */
export async function linesInFish(folder: string, lines: readonly string[]): Promise<string[][]> {
  const m40 = join(folder, "m40");
  await Deno.writeTextFile(m40, `#!/bin/sh\nexec cat "${folder}/names"\n`);
  await Deno.chmod(m40, 0o755);
  const asked = lines.map((line) => `complete -C '${line.replaceAll("'", "\\'")}'; echo ---`).join(
    "\n",
  );
  const { stdout } = await new Deno.Command("fish", {
    args: ["-N", "-c", `source script.fish\n${asked}`],
    cwd: folder,
    env: { PATH: `${folder}:${Deno.env.get("PATH")}`, HOME: folder },
  }).output();
  const answers = new TextDecoder().decode(stdout).split("---\n");
  return lines.map((line, i) => {
    const before = line.split(" ").slice(1, -1);
    const offered = answers[i].split("\n").filter((row) => row !== "").map((row) =>
      plain(row.split("\t")[0])
    );
    return [...before, ...offered];
  });
}

/** Some shells put a slash behind a folder at once, some with the next key. */
function plain(word: string): string {
  return word.replace(/\/$/, "");
}
