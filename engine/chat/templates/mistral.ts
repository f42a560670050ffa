/**
 * The versions of Mistral's format, as `mistral-common` writes them. A vocabulary of SentencePiece's puts a blank
 * behind each control token by itself, so that none stands here.
 *
 * @module
 */

import { systemApart, type Templates } from "./pieces.ts";

/** The tools, in front of one user's text; as in `mistral-common`, each has a description. */
const TOOLS = String.raw`
    {%- if tools and message.role == 'user' and loop.index0 == ns.tools %}
        {{- '[AVAILABLE_TOOLS][' }}
        {%- for tool in tools %}
            {{- '{"type": "function", "function": {"name": ' + tool.function.name | tojson }}
            {{- ', "description": ' + (tool.function.description or '') | tojson }}
            {{- ', "parameters": ' + (tool.function.parameters or {}) | tojson + '}}' }}
            {{- ', ' if not loop.last else '' }}
        {%- endfor %}
        {{- '][/AVAILABLE_TOOLS]' }}
    {%- endif %}`;

/** Refuses an id that the format cannot write. */
const CHECKED_ID = String.raw`
            {%- if call.id | length != 9 %}
                {{- raise_exception('an id of a call has to have 9 letters and digits') }}
            {%- endif %}`;

/** Calls as a list of JSON; ids of calls have 9 letters and digits. */
const LISTED_CALLS = String.raw`
        {{- '[TOOL_CALLS][' }}
        {%- for call in message.tool_calls %}${CHECKED_ID}
            {{- '{"name": ' + call.function.name | tojson + ', "arguments": ' + call.function.arguments | tojson }}
            {{- ', "id": ' + call.id | tojson + '}' + (', ' if not loop.last else '') }}
        {%- endfor %}
        {{- ']' + eos_token }}`;

/** Calls as names and arguments, with the ids of calls between them if there are any. */
const namedCalls = (id: string) =>
  String.raw`
        {%- for call in message.tool_calls %}${id === "" ? "" : CHECKED_ID}
            {{- '[TOOL_CALLS]' + call.function.name + ${id}'[ARGS]' + call.function.arguments | tojson }}
        {%- endfor %}
        {{- eos_token }}`;

/** A result behind its call's id. */
const RESULT_OF_CALL =
  `'[TOOL_RESULTS]' + message.tool_call_id + '[TOOL_CONTENT]' + message.content + '[/TOOL_RESULTS]'`;

/**
 * Mistral before 2025: the system message stands in a user's turn.
 *
 * @param open What comes before a user's text, and `close` behind it.
 * @param answer What an assistant's text is.
 * @param systemInLast Whether the system message stands in the last user's turn; else in the first.
 * @param others Calls and results; absent: it knows no tools.
 */
function instruct(
  open: string,
  close: string,
  answer: string,
  systemInLast: boolean,
  others = "",
): string {
  return String.raw`${systemApart(String.raw`messages[0].content + '\n\n'`)}
{%- set ns = namespace(place=0, said=0, tools=0) %}
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
        {%- set ns.tools = loop.index0 %}
    {%- endif %}
{%- endfor %}
{{- bos_token }}
{%- for message in turns %}${others ? TOOLS : ""}
    {%- if message.role == 'user' %}
        {{- '${open}' + (system if loop.index0 == ns.place else '') + message.content + '${close}' }}${others}
    {%- else %}
        {{- ${answer} + eos_token }}
    {%- endif %}
{%- endfor %}`;
}

/**
 * Mistral of 2025: the system message has tokens of its own.
 *
 * @param calls What calls are, behind the text of their message.
 * @param result What a result is.
 * @param toolsFirst Whether the tools stand in front of the first user's text; else of the last one's.
 */
function withSystem(calls: string, result: string, toolsFirst: boolean): string {
  const isPlace = "message.role == 'user'" + (toolsFirst ? " and ns.tools < 0" : "");
  return String.raw`
{{- bos_token }}
{%- set ns = namespace(tools=-1) %}
{%- for message in messages %}
    {%- if ${isPlace} %}
        {%- set ns.tools = loop.index0 %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}${TOOLS}
    {%- if message.role == 'system' %}
        {{- '[SYSTEM_PROMPT]' + message.content + '[/SYSTEM_PROMPT]' }}
    {%- elif message.role == 'user' %}
        {{- '[INST]' + message.content + '[/INST]' }}
    {%- elif message.tool_calls %}
        {{- message.content.rstrip(' ') if message.content else '' }}${calls}
    {%- elif message.role == 'tool' %}
        {{- ${result} }}
    {%- else %}
        {{- message.content.rstrip(' ') + eos_token }}
    {%- endif %}
{%- endfor %}`;
}

/** Mistral 7B Instruct 0.3, Nemo and others: the brackets are tokens. */
const V3 = instruct(
  "[INST]",
  "[/INST]",
  "message.content.rstrip(' ')",
  true,
  String.raw`
    {%- elif message.tool_calls %}${LISTED_CALLS}
    {%- elif message.role == 'tool' %}
        {{- '[TOOL_RESULTS]{"content": ' }}
        {{- (message.content_json if message.content_json is defined else message.content) | tojson }}
        {{- ', "call_id": ' + message.tool_call_id | tojson + '}[/TOOL_RESULTS]' }}`,
);

/** Templates of Mistral's models. */
export const MISTRAL: Templates = {
  /** Mistral 7B Instruct 0.1 and 0.2, Mixtral: the brackets are text, with blanks inside of them. */
  "mistral": instruct("[INST] ", " [/INST]", "' ' + message.content", false),

  "mistral-v3": V3,

  /** The same: a Tekken vocabulary puts no blanks behind the tokens. */
  "mistral-tekken": V3,

  /** Mistral Small 3 and 3.1. */
  "mistral-v7": withSystem(LISTED_CALLS, RESULT_OF_CALL, false),

  /**
   * Mistral Small 3.2, Devstral, Magistral of 2025: a call is a name, its id and arguments behind tokens of their own.
   */
  "mistral-v11": withSystem(namedCalls("'[CALL_ID]' + call.id + "), RESULT_OF_CALL, false),

  /** Mistral from the end of 2025 on (Ministral 3, Devstral 2): calls have no ids, and tools stand first. */
  "mistral-v13": withSystem(
    namedCalls(""),
    `'[TOOL_RESULTS]' + message.content + '[/TOOL_RESULTS]'`,
    true,
  ),
};
