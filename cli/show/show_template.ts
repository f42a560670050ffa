import { printable } from "../terminal/mod.ts";
import { type ModelTemplates, modelTemplates } from "../../engine/chat/mod.ts";
import type { Gguf } from "../../engine/gguf/mod.ts";
import { loadTokenizer, type Tokenizer } from "../../engine/tokenizer/mod.ts";
import { M40Error } from "../../engine/errors.ts";

/**
 * The chat template that a file's conversations are rendered with; those that it has by name behind it, each below a
 * comment that names it.
 *
 * @throws {M40Error} "unsupported" for a file that has none.
 */
export function templateText(gguf: Gguf, name: string): string {
  const { template, named } = templatesOf(gguf);
  const others = [...named].filter(([, text]) => text !== template);
  if (template === undefined && others.length === 0) {
    throw new M40Error(
      "unsupported",
      `${name} has no chat template. m40 serve --chat-template NAME|FILE gives it one.`,
    );
  }
  const texts = [
    ...template === undefined ? [] : [template],
    ...others.map(([name, text]) => `{#- ${name} -#}\n${text}`),
  ];
  // What a file says is not to command the terminal.
  return texts.map((text) => text.split("\n").map(shown).join("\n") + "\n").join("\n");
}

function shown(line: string): string {
  return line.split("\t").map((part) => Deno.stdout.isTerminal() ? printable(part) : part).join(
    "\t",
  );
}

function templatesOf({ metadata }: Gguf): ModelTemplates {
  let tokenizer: Tokenizer | undefined;
  try {
    tokenizer = loadTokenizer(metadata);
  } catch (error) {
    // A template of its own needs no vocabulary.
    if (!(error instanceof M40Error)) throw error;
  }
  return modelTemplates(metadata, tokenizer);
}
