import { PROGRAM_OPTIONS } from "../arguments/mod.ts";
import { type DescribedCommand, type Offer, offersSome, spellings } from "./described.ts";

/**
 * What bash (4.0 or newer) is to read for completing `m40`.
 *
 * Names of models come from files that anybody may have named: they are compared and quoted, never expanded, as
 * `compgen -W` would.
 */
export function bashCompletion(commands: readonly DescribedCommand[]): string {
  const first = [
    ...commands.map(({ name }) => name),
    ...PROGRAM_OPTIONS.flatMap(spellings),
  ];
  return `# Completion of m40 for bash; made by: m40 completion bash

# The words of the line up to the cursor, those joined again that bash takes apart at : and =.
_m40_split() {
  local rest=\${COMP_LINE:0:COMP_POINT} gap word i
  line=()
  for ((i = 0; i <= COMP_CWORD; i++)); do
    gap=\${rest%%[![:space:]]*}
    rest=\${rest#"$gap"}
    word=\${COMP_WORDS[i]}
    ((i < COMP_CWORD)) || word=$rest
    if [[ -n $gap || $i -eq 0 ]]; then line+=("$word"); else line[\${#line[@]} - 1]+=$word; fi
    rest=\${rest#"$word"}
  done
}

# The options of a command.
_m40_options() {
  case $1 in
${
    commands.map((command) => `    ${command.name}) words=(${list(optionsOf(command))}) ;;`).join(
      "\n",
    )
  }
  esac
}

# Whether an option of a command takes the word behind it.
_m40_takes_value() {
  case "$1 $2" in
    ${
    commands.flatMap(({ name, options }) =>
      options.filter(({ value }) => value).flatMap(spellings).map((option) =>
        quote(`${name} ${option}`)
      )
    ).join(" | ")
  }) return 0 ;;
  esac
  return 1
}

# What an option of a command, or its word of a number, may be.
_m40_values() {
  case $1 in
${commands.flatMap(valueCases).join("\n")}
  esac
}

# Offers what begins as the word $1 does, behind the part $2 of the line's last word.
_m40_offer() {
  local typed=$1 before=$2 word shown breaks='' head
  if [[ $look_up == models ]]; then
    while IFS= read -r word; do words+=("$word"); done < <("\${line[0]}" completion models 2>/dev/null)
  fi
  for word in \${words[@]+"\${words[@]}"}; do
    case $typed in
      [\\"\\']*) shown=$word; [[ $word == "\${typed:1}"* ]] || continue ;;
      *) printf -v shown %q "$word"; [[ $shown == "$typed"* ]] || continue ;;
    esac
    COMPREPLY+=("$before$shown")
  done
  # What is replaced begins behind the last of the characters at which bash takes words apart.
  [[ $COMP_WORDBREAKS != *:* ]] || breaks+=:
  [[ $COMP_WORDBREAKS != *=* ]] || breaks+==
  if [[ -n $breaks && \${#COMPREPLY[@]} -gt 0 ]]; then
    word=$before$typed
    head=\${word%"\${word##*[$breaks]}"}
    COMPREPLY=("\${COMPREPLY[@]#"$head"}")
  fi
  if [[ \${#COMPREPLY[@]} -eq 0 ]]; then
    case $look_up in
      models | files) compopt -o default 2>/dev/null ;;
      folders) compopt -o dirnames 2>/dev/null ;;
    esac
  fi
}

_m40() {
  local line words=() look_up='' command word i pending='' ended='' count=0 last typed
  COMPREPLY=()
  _m40_split
  last=$((\${#line[@]} - 1))
  typed=\${line[last]}
  if ((last <= 1)); then
    words=(${list(first)})
    _m40_offer "$typed" ''
    return
  fi
  command=\${line[1]}
  for ((i = 2; i < last; i++)); do
    word=\${line[i]}
    if [[ -n $pending ]]; then
      pending=''
    elif [[ -z $ended && $word == -- ]]; then
      ended=1
    elif [[ -z $ended && $word == -?* ]]; then
      if _m40_takes_value "$command" "$word"; then pending=$word; fi
    else
      count=$((count + 1))
    fi
  done
  if [[ -n $pending ]]; then
    _m40_values "$command $pending"
    _m40_offer "$typed" ''
  elif [[ -z $ended && $typed == --*=* ]]; then
    _m40_values "$command \${typed%%=*}"
    _m40_offer "\${typed#*=}" "\${typed%%=*}="
  elif [[ -z $ended && $typed == -* ]]; then
    _m40_options "$command"
    _m40_offer "$typed" ''
  else
    _m40_values "$command $count"
    _m40_offer "$typed" ''
  fi
}

complete -F _m40 m40
`;
}

function optionsOf({ options }: DescribedCommand): string[] {
  return options.flatMap(spellings);
}

/** What may stand for an option's value, or in an argument's place, counted from 0. */
function valueCases({ name, options, arguments: places }: DescribedCommand): string[] {
  const ofOptions = options.flatMap((option) =>
    option.value && offersSome(option.value)
      ? [valueCase(spellings(option).map((each) => quote(`${name} ${each}`)), option.value)]
      : []
  );
  const ofPlaces = places.flatMap((place, i) => {
    const pattern = place.rest ? `${quote(name)}' '*` : quote(`${name} ${i}`);
    return offersSome(place) ? [valueCase([pattern], place)] : [];
  });
  return [...ofOptions, ...ofPlaces];
}

function valueCase(patterns: readonly string[], { words, lookUp }: Offer): string {
  const does = [
    ...(words.length > 0 ? [`words=(${list(words)})`] : []),
    ...(lookUp === undefined ? [] : [`look_up=${lookUp}`]),
  ];
  return `    ${patterns.join(" | ")}) ${does.join("; ")} ;;`;
}

function list(words: readonly string[]): string {
  return words.map(quote).join(" ");
}

/** A word as bash reads it. */
function quote(word: string): string {
  return /^[\w:.@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
