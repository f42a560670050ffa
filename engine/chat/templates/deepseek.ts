import { answerBegins, type Templates } from "./pieces.ts";

/**
 * A token for each role, the system messages together in front, and the tools behind them.
 *
 * @param end What the prompt ends with, behind the token of the assistant.
 * @param call A call of a tool, as a macro's body has it.
 * @param between What stands between two calls.
 * @param form How calls are written, as the model sees it.
 */
function withTokens(end: string, call: string, between: string, form: string): string {
  return String.raw`
{%- macro written(call) %}
    {{- '<｜tool▁call▁begin｜>' + ${call} + '<｜tool▁call▁end｜>' }}
{%- endmacro %}
{%- set ns = namespace(system='') %}
{%- for message in messages %}
    {%- if message.role == 'system' %}
        {%- set ns.system = ns.system + ('\n\n' if ns.system else '') + message.content %}
    {%- endif %}
{%- endfor %}
{{- bos_token + ns.system }}
{%- if tools %}
    {{- ('\n\n' if ns.system else '') + '## Tools\n\nThe functions that you may call:\n' }}
    {%- for tool in tools %}
        {{- '\n' + tool.function | tojson }}
    {%- endfor %}
    {{- '\n\nA call is written like this, and several stand one behind the other:\n' }}
    {{- '${form}' }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == 'user' %}
        {{- '<｜User｜>' + message.content }}
    {%- elif message.role == 'assistant' %}
        {{- '' if loop.index0 > 0 and messages[loop.index0 - 1].role == 'tool' else '<｜Assistant｜>' }}
        {{- message.content.split('</think>')[-1] }}
        {%- if message.tool_calls %}
            {{- '<｜tool▁calls▁begin｜>' }}
            {%- for call in message.tool_calls %}
                {{- written(call) + ('' if loop.last else '${between}') }}
            {%- endfor %}
            {{- '<｜tool▁calls▁end｜>' }}
        {%- endif %}
        {{- '<｜end▁of▁sentence｜>' }}
    {%- elif message.role == 'tool' %}
        {{- '<｜tool▁outputs▁begin｜>' if messages[loop.index0 - 1].role != 'tool' else '\n' }}
        {{- '<｜tool▁output▁begin｜>' + message.content + '<｜tool▁output▁end｜>' }}
        {{- '<｜tool▁outputs▁end｜>' if loop.last or messages[loop.index0 + 1].role != 'tool' else '' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt and messages[-1].role != 'tool' %}
    {{- '<｜Assistant｜>${end}' }}
{%- endif %}`;
}

const OPEN = "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>";
const CLOSE = "<｜tool▁call▁end｜><｜tool▁calls▁end｜>";

const FENCED = [
  "'function<｜tool▁sep｜>' + call.function.name + '\\n```json\\n' + call.function.arguments | tojson + '\\n```'",
  "\\n",
  OPEN + 'function<｜tool▁sep｜>name\\n```json\\n{"parameter": "value"}\\n```' + CLOSE,
] as const;

/** Templates of DeepSeek's models. */
export const DEEPSEEK: Templates = {
  /** DeepSeek V2 and V2.5: plain text with User: and Assistant:. */
  "deepseek-v2": String.raw`
{{- bos_token }}
{%- for message in messages %}
    {%- if message.role == 'user' %}
        {{- 'User: ' + message.content + '\n\n' }}
    {%- elif message.role == 'assistant' %}
        {{- 'Assistant: ' + message.content + eos_token }}
    {%- else %}
        {{- message.content + '\n\n' }}
    {%- endif %}
{%- endfor %}${answerBegins("Assistant:")}`,

  /** DeepSeek V3: the system messages together in front, then a token for each role. */
  "deepseek": withTokens("", ...FENCED),

  /** DeepSeek R1: as V3; the prompt opens the thinking. */
  "deepseek-r1": withTokens("<think>\\n", ...FENCED),

  /** DeepSeek V3.1: as V3, with shorter calls; the prompt says whether there is thinking. */
  "deepseek-v3.1": withTokens(
    "' + ('<think>' if thinking is defined and thinking else '</think>') + '",
    "call.function.name + '<｜tool▁sep｜>' + call.function.arguments | tojson",
    "",
    OPEN + 'name<｜tool▁sep｜>{"parameter": "value"}' + CLOSE,
  ),
};
