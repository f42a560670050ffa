import { PROGRAM_OPTIONS } from "../arguments/mod.ts";
import {
  type DescribedArgument,
  type DescribedCommand,
  type DescribedOption,
  type Offer,
  spellings,
} from "./described.ts";

/** What zsh is to read for completing `m40`: a file `_m40` in its fpath, or sourced. */
export function zshCompletion(commands: readonly DescribedCommand[]): string {
  return `#compdef m40
# Completion of m40 for zsh; made by: m40 completion zsh

# Names of models, and paths.
_m40_models() {
  local -a names
  names=("\${(@f)$(_call_program models $program completion models 2>/dev/null)}")
  names=(\${names:#})
  compadd -a names
  _files
}

# Words that are known, and paths.
_m40_words_or_files() {
  compadd -- "$@"
  _files
}

_m40() {
  local curcontext=$curcontext program=$words[1] ret=1
  local -a commands options
  typeset -A opt_args
  if (( CURRENT == 2 )); then
    commands=(
${commands.map(({ name, summary }) => `      ${quote(`${name}:${summary}`)}`).join("\n")}
    )
    options=(
${
    PROGRAM_OPTIONS.flatMap((option) =>
      spellings(option).map((each) => `      ${quote(`${each}:${option.help}`)}`)
    ).join("\n")
  }
    )
    _describe -t commands command commands && ret=0
    _describe -o -t options option options && ret=0
    return ret
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
${commands.map(commandCase).join("\n")}
  esac
  return ret
}

if [[ $funcstack[1] == _m40 ]]; then
  _m40 "$@"
else
  compdef _m40 m40
fi
`;
}

function commandCase({ name, options, arguments: places }: DescribedCommand): string {
  const specs = [...options.map(optionSpec), ...places.map(argumentSpec)];
  return `    ${name})
      _arguments -S : \\
${specs.map((spec) => `        ${spec}`).join(" \\\n")} && ret=0
      ;;`;
}

/** `'(-m --model)'{-m,--model=}'[help]:LABEL:action'` */
function optionSpec(option: DescribedOption): string {
  const { name, short, help, repeatable, value } = option;
  const tail = `[${escape(help, /[\\:[\]]/g)}]` +
    (value ? `:${message(value.label)}:${action(value)}` : "");
  const long = `--${name}${value ? "=" : ""}`;
  if (repeatable) return quote(`*${long}${tail}`);
  if (short === undefined) return quote(`${long}${tail}`);
  return `${quote(`(${spellings(option).join(" ")})`)}{-${short},${long}}${quote(tail)}`;
}

function argumentSpec({ name, rest, ...offer }: DescribedArgument): string {
  return quote(`${rest ? "*" : ""}:${message(name)}:${action(offer)}`);
}

/** What is done where a value is typed. */
function action({ words, lookUp }: Offer): string {
  const known = words.map((word) => escape(word, /[\\: ()]/g)).join(" ");
  if (lookUp === "models") return "_m40_models";
  if (lookUp === "folders") return "_files -/";
  if (words.length > 0) return lookUp === "files" ? ` _m40_words_or_files ${known}` : `(${known})`;
  // A space offers nothing.
  return lookUp === "files" ? "_files" : " ";
}

function message(text: string): string {
  return escape(text, /[\\:]/g);
}

function escape(text: string, special: RegExp): string {
  return text.replace(special, "\\$&");
}

/** A word as zsh reads it. */
function quote(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
