/** The tools, before the last user's text. */
const TOOLS = (space: string) =>
  String.raw`
    {%- if tools and message.role == 'user' and loop.index0 == ns.last %}
        {{- '[AVAILABLE_TOOLS]${space}' + tools | tojson + '[/AVAILABLE_TOOLS]' }}
    {%- endif %}`;

/** Calls and results; ids of calls have 9 letters and digits. */
const toolTurns = (space: string) =>
  String.raw`
    {%- elif message.tool_calls %}
        {{- '[TOOL_CALLS]${space}[' }}
        {%- for call in message.tool_calls %}
            {%- if call.id | length != 9 %}
                {{- raise_exception('an id of a call has to have 9 letters and digits') }}
            {%- endif %}
            {{- '{"name": ' + call.function.name | tojson + ', "arguments": ' + call.function.arguments | tojson }}
            {{- ', "id": ' + call.id | tojson + '}' + (', ' if not loop.last else '') }}
        {%- endfor %}
        {{- ']' + eos_token }}
    {%- elif message.role == 'tool' %}
        {{- '[TOOL_RESULTS]${space}{"content": ' + message.content | tojson }}
        {{- ', "call_id": ' + message.tool_call_id | tojson + '}[/TOOL_RESULTS]' }}`;

/**
 * The versions of Mistral's format: turns between `[INST]` and `[/INST]`. They differ in the spaces around
 * these, and in where the system message stands.
 *
 * @param open What comes before a user's text, and `close` behind it.
 * @param answer What comes before an assistant's text.
 * @param systemInLast Whether the system message stands in the last user's turn; else in the first.
 * @param space What stands between the tokens of tools and what they enclose; absent: it knows no tools.
 */
function instruct(
  open: string,
  close: string,
  answer: string,
  systemInLast: boolean,
  space?: string,
): string {
  const others = space === undefined ? "" : toolTurns(space);
  return String.raw`
{%- if messages[0].role == 'system' %}
    {%- set system = messages[0].content + '\n\n' %}
    {%- set turns = messages[1:] %}
{%- else %}
    {%- set system = '' %}
    {%- set turns = messages %}
{%- endif %}
{%- set ns = namespace(place=0, said=0, last=0) %}
{%- for message in turns %}
    {%- if ${others ? "message.role != 'tool' and not message.tool_calls" : "true"} %}
        {%- if (message.role == 'user') != (ns.said % 2 == 0) %}
            {{- raise_exception('user and assistant messages must alternate, beginning with the user') }}
        {%- endif %}
        {%- set ns.said = ns.said + 1 %}
    {%- endif %}
    {%- if message.role == 'user' and ${systemInLast ? "true" : "loop.first"} %}
        {%- set ns.place = loop.index0 %}
    {%- endif %}
    {%- if message.role == 'user' %}
        {%- set ns.last = loop.index0 %}
    {%- endif %}
{%- endfor %}
{{- bos_token }}
{%- for message in turns %}${others ? TOOLS(space!) : ""}
    {%- if message.role == 'user' %}
        {{- '${open}' + (system if loop.index0 == ns.place else '') + message.content + '${close}' }}${others}
    {%- else %}
        {{- '${answer}' + message.content.strip() + eos_token }}
    {%- endif %}
{%- endfor %}`;
}

/** Mistral 7B Instruct 0.1 and 0.2, Mixtral: spaces inside of the brackets. */
export const MISTRAL = instruct("[INST] ", " [/INST]", "", false);

/** Mistral 7B Instruct 0.3 and others with the third SentencePiece vocabulary. */
export const MISTRAL_V3 = instruct("[INST] ", "[/INST]", " ", true, " ");

/** Mistral Nemo and others with the Tekken vocabulary: no spaces. */
export const MISTRAL_TEKKEN = instruct("[INST]", "[/INST]", "", true, "");

/**
 * Mistral of 2025: the system message has tokens of its own.
 *
 * @param others Calls and results.
 */
function withSystem(others: string): string {
  return String.raw`
{{- bos_token }}
{%- set ns = namespace(last=0) %}
{%- for message in messages %}
    {%- if message.role == 'user' %}
        {%- set ns.last = loop.index0 %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}${TOOLS("")}
    {%- if message.role == 'system' %}
        {{- '[SYSTEM_PROMPT]' + message.content + '[/SYSTEM_PROMPT]' }}
    {%- elif message.role == 'user' %}
        {{- '[INST]' + message.content + '[/INST]' }}${others}
    {%- else %}
        {{- message.content + eos_token }}
    {%- endif %}
{%- endfor %}`;
}

/** Mistral Small 3 and 3.1. */
export const MISTRAL_V7 = withSystem(toolTurns(""));

/** Mistral Small 3.2, Devstral, Magistral: a call is a name and arguments behind tokens of their own. */
export const MISTRAL_V11 = withSystem(String.raw`
    {%- elif message.tool_calls %}
        {{- message.content }}
        {%- for call in message.tool_calls %}
            {{- '[TOOL_CALLS]' + call.function.name + '[ARGS]' + call.function.arguments | tojson }}
        {%- endfor %}
        {{- eos_token }}
    {%- elif message.role == 'tool' %}
        {{- '[TOOL_RESULTS]' + message.content + '[/TOOL_RESULTS]' }}`);
