/**
 * What there is to say of the program as a whole: its help, its page of the manual and its completions are made of it.
 *
 * @module
 */

/** A row of two columns: what is typed or set, and what it does. */
export type Row = readonly [what: string, about: string];

export const SUMMARY =
  "m40 serves large language models from GGUF files on an NVIDIA Tesla M40, or on the CPU.";

/** An option where a command is expected. */
export interface ProgramOption {
  readonly short: string;
  readonly name: string;
  readonly help: string;
}

export const PROGRAM_OPTIONS: readonly ProgramOption[] = [
  { short: "h", name: "help", help: "Show this, or behind a command what that takes" },
  {
    short: "V",
    name: "version",
    help: "Show the version; with --json behind it, what this was built from and for",
  },
];

export const EXAMPLES: readonly Row[] = [
  ['m40 run demo "Once upon a time"', "Let the built-in model tell a story"],
  ["m40 serve --model demo", "Serve it at http://127.0.0.1:11434/v1"],
  ["m40 pull mistral", "Fetch a model; m40 pull --list shows which there are"],
  ["m40 help serve", "All that serve takes"],
];

export const ENVIRONMENT: readonly Row[] = [
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
];

export const EXIT_CODES: readonly Row[] = [
  ["0", "done"],
  ["1", "failed"],
  ["2", "command line not understood"],
  ["130", "stopped by Ctrl-C"],
];
