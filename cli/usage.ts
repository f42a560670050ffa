import type { Command, Option } from "./command.ts";
import { style } from "./terminal.ts";

const WIDTH = 100;

/** The program's own help. */
export function programUsage(commands: readonly Command[]): string {
  return [
    "m40 serves large language models from GGUF files on an NVIDIA Tesla M40, or on the CPU.",
    section("Usage", ["m40 COMMAND [ARGUMENTS] [OPTIONS]"]),
    section("Commands", table(commands.map(({ name, summary }) => [name, summary]))),
    section(
      "Options",
      table([
        ["-h, --help", "Show this, or behind a command what that takes"],
        ["-V, --version", "Show the version"],
      ]),
    ),
    section(
      "Examples",
      table([
        ['m40 run demo "Once upon a time"', "Let the built-in model tell a story"],
        ["m40 serve --model demo", "Serve it at http://127.0.0.1:11434/v1"],
        ["m40 pull mistral", "Fetch a model; m40 pull --list shows which there are"],
        ["m40 help serve", "All that serve takes"],
      ]),
    ),
    section(
      "Environment",
      table([
        ["M40_MODELS", "The folder of the models (default ~/.local/share/m40/models)"],
        [
          "M40_KERNELS",
          "The folder of the kernel libraries, or one of them (default: next to the program)",
        ],
        ["HF_TOKEN", "A token for gated repositories of Hugging Face"],
        ["HF_ENDPOINT", "A mirror of Hugging Face; M40_OLLAMA_REGISTRY: one of Ollama's library"],
        ["HTTPS_PROXY", "The proxy to fetch models by"],
        ["M40_API_KEY", "The key that clients of m40 serve must send"],
        ["M40_DEBUG", "1: errors show where in the program they come from"],
        ["NO_COLOR", "Set: no colours"],
        ["TERM", "dumb: no colours, and nothing that moves the cursor"],
      ]),
    ),
    section("Exit codes", [
      "0 done, 1 failed, 2 command line not understood, 130 stopped by Ctrl-C",
    ]),
  ].join("\n\n") + "\n";
}

/** The help of a command. */
export function commandUsage(command: Command): string {
  const words = command.arguments.map(({ name, required, rest }) => {
    const word = rest ? `${name}...` : name;
    return required ? ` ${word}` : ` [${word}]`;
  });
  const required = Object.entries(command.options).filter(([, option]) => option.required)
    .map(([name, option]) => ` --${name} ${option.type?.label}`);
  const parts = [
    `${command.summary}.`,
    section("Usage", [`m40 ${command.name}${words.join("")}${required.join("")} [OPTIONS]`]),
  ];
  if (command.description) parts.push(wrap(command.description, WIDTH).join("\n"));
  if (command.arguments.length > 0) {
    parts.push(
      section("Arguments", table(command.arguments.map(({ name, help }) => [name, help]))),
    );
  }
  const options = Object.entries(command.options).map(([name, option]) => [
    `${option.short ? `-${option.short}, ` : ""}--${name}${
      option.type ? ` ${option.type.label}` : ""
    }`,
    optionHelp(option),
  ]);
  parts.push(section("Options", table([...options, ["-h, --help", "Show this"]])));
  const examples = command.examples.flatMap(({ line, about }) => [`# ${about}`, line]);
  parts.push(section("Examples", examples));
  return parts.join("\n\n") + "\n";
}

function optionHelp({ help, default: value, repeatable, required }: Option<unknown>): string {
  if (required) return `${help} (required)`;
  if (repeatable) return `${help} (may be repeated)`;
  return value === undefined || value === false ? help : `${help} (default ${value})`;
}

function section(title: string, lines: readonly string[]): string {
  const heading = style(Deno.stdout, "bold", `${title}:`);
  return [heading, ...lines.map((line) => `  ${line}`)].join("\n");
}

/** Lines of two columns, the second one wrapped. */
function table(rows: readonly (readonly string[])[]): string[] {
  const width = Math.min(Math.max(...rows.map(([left]) => left.length)), 34);
  return rows.flatMap(([left, right]) => {
    const lines = wrap(right, WIDTH - width - 4);
    const indent = " ".repeat(width + 2);
    if (left.length > width) return [left, ...lines.map((line) => indent + line)];
    return lines.map((line, i) => (i === 0 ? left.padEnd(width + 2) : indent) + line);
  });
}

/** Lines of at most `width` characters, broken between words; paragraphs stay apart. */
function wrap(text: string, width: number): string[] {
  return text.split("\n").flatMap((paragraph) => {
    const lines = [""];
    for (const word of paragraph.split(" ")) {
      const line = lines[lines.length - 1];
      if (line !== "" && line.length + 1 + word.length > width) lines.push(word);
      else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
    }
    return lines;
  });
}
