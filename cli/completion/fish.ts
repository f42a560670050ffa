import { PROGRAM_OPTIONS } from "../arguments/mod.ts";
import {
  type DescribedCommand,
  type DescribedOption,
  type Offer,
  offersSome,
  spellings,
} from "./described.ts";

/** What fish (3.0 or newer) is to read for completing `m40`. */
export function fishCompletion(commands: readonly DescribedCommand[]): string {
  return `# Completion of m40 for fish; made by: m40 completion fish

function __m40_is_first
    test (count (commandline -opc)) -eq 1
end

# Whether the command is this one.
function __m40_is
    set -l words (commandline -opc)
    test (count $words) -ge 2; and test "$words[2]" = $argv[1]
end

# Whether an option of a command takes the word behind it.
function __m40_takes_value
    switch "$argv"
        case ${
    commands.flatMap(({ name, options }) =>
      options.filter(({ value }) => value).flatMap(spellings).map((each) =>
        quote(`${name} ${each}`)
      )
    ).join(" ")
  }
            return 0
    end
    return 1
end

# Whether the word at the cursor is this command's argument of this number, counted from 0; or, with "rest", a later one.
function __m40_place
    __m40_is $argv[1]; or return 1
    set -l words (commandline -opc)
    set -l count 0
    set -l pending
    set -l ended
    for word in $words[3..-1]
        if set -q pending[1]
            set -e pending[1]
        else if not set -q ended[1]; and test "$word" = --
            set ended yes
        else if not set -q ended[1]; and string match -qr -- '^-.' "$word"
            __m40_takes_value $argv[1] $word; and set pending $word
        else
            set count (math $count + 1)
        end
    end
    if test "$argv[3]" = rest
        test $count -ge $argv[2]
    else
        test $count -eq $argv[2]
    end
end

complete -c m40 -f
${
    [
      ...PROGRAM_OPTIONS.map(({ name, short, help }) =>
        `complete -c m40 -n __m40_is_first -l ${name} -s ${short} -d ${quote(help)}`
      ),
      ...commands.map(({ name, summary }) =>
        `complete -c m40 -n __m40_is_first -a ${name} -d ${quote(summary)}`
      ),
      ...commands.flatMap(commandLines),
    ].join("\n")
  }
`;
}

function commandLines({ name, options, arguments: places }: DescribedCommand): string[] {
  return [
    ...options.map((option) => `complete -c m40 -n '__m40_is ${name}' ${optionWords(option)}`),
    ...places.flatMap((place, i) =>
      offersSome(place)
        ? [
          `complete -c m40 -n '__m40_place ${name} ${i}${place.rest ? " rest" : ""}' ${
            offerWords(place, "")
          }`,
        ]
        : []
    ),
  ];
}

function optionWords({ name, short, help, value }: DescribedOption): string {
  return [
    `-l ${name}`,
    ...(short === undefined ? [] : [`-s ${short}`]),
    ...(value === undefined ? [] : [offerWords(value, "-r ")]),
    `-d ${quote(help)}`,
  ].join(" ");
}

/** What is offered, with files where they are wanted. `required` is "-r " of an option that takes a value. */
function offerWords({ words, lookUp }: Offer, required: string): string {
  // A function of fish, so that what the program writes is taken line by line and not expanded.
  const known = lookUp === "models"
    ? quote("(m40 completion models 2>/dev/null)")
    : lookUp === "folders"
    ? quote("(__fish_complete_directories)")
    : words.length > 0
    ? quote(words.map(inList).join(" "))
    : undefined;
  const files = lookUp === "models" || lookUp === "files" ? "-F" : "-f";
  return required + files + (known === undefined ? "" : ` -a ${known}`);
}

/** A word of a list that fish expands once more. */
function inList(word: string): string {
  return /^[\w:.@%+-]+$/.test(word) ? word : quote(word);
}

/** A word as fish reads it. */
function quote(word: string): string {
  return `'${word.replace(/[\\']/g, "\\$&")}'`;
}
