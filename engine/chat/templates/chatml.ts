import { answerBegins, eachMessage, LAST_QUESTION, type Templates, TOOL_LINES } from "./pieces.ts";

/**
 * A system message with the tools in front, one a line, where there are any; the messages that are left are
 * `turns`.
 *
 * @param instructions How calls are written.
 */
function systemWithTools(instructions: string): string {
  return String.raw`
{%- set system = messages[0].content if messages[0].role == 'system' else '' %}
{%- set turns = messages[1:] if messages[0].role == 'system' else messages %}
{%- if tools %}
    {{- '<|im_start|>system\n' + (system + '\n\n' if system else '') }}
    {{- '# Tools\n\nThe functions that you may call, each with the JSON Schema of its parameters:\n<tools>\n' }}${TOOL_LINES}
    {{- '</tools>\n\n${instructions}<|im_end|>\n' }}
{%- elif messages[0].role == 'system' %}
    {{- '<|im_start|>system\n' + system + '<|im_end|>\n' }}
{%- endif %}`;
}

/** Results of tools, those of one turn together in a user's message. */
const RESULTS = String.raw`
    {%- if message.role == 'tool' %}
        {{- '<|im_start|>user' if loop.first or turns[loop.index0 - 1].role != 'tool' else '' }}
        {{- '\n<tool_response>\n' + message.content + '\n</tool_response>' }}
        {{- '<|im_end|>\n' if loop.last or turns[loop.index0 + 1].role != 'tool' else '' }}`;

/** ChatML: every message between `<|im_start|>` with its role, and `<|im_end|>`. */
export const CHATML: Templates = {
  "chatml": eachMessage(
    String.raw`'<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n'`,
    "<|im_start|>assistant\\n",
  ),

  /** `<|im_sep|>` behind the role and no line breaks. */
  "phi4": eachMessage(
    "'<|im_start|>' + message.role + '<|im_sep|>' + message.content + '<|im_end|>'",
    "<|im_start|>assistant<|im_sep|>",
  ),

  /**
   * With thinking. Thoughts of turns before the last question are left out; without
   * `enable_thinking` the answer begins with an empty one. Calls of tools are JSON between tags.
   */
  "qwen3": systemWithTools(
    "To call a function, write its name and its arguments as JSON between tags:\\n<tool_call>\\n" +
      '{"name": <name>, "arguments": <arguments>}\\n</tool_call>',
  ) + LAST_QUESTION + String.raw`
{%- for message in turns %}${RESULTS}
    {%- else %}
        {%- set content = message.content %}
        {%- set thought = message.reasoning_content if message.reasoning_content is string else '' %}
        {%- if message.role == 'assistant' and not thought and '</think>' in content %}
            {%- set thought = content.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\n') %}
        {%- endif %}
        {{- '<|im_start|>' + message.role + '\n' }}
        {%- if message.role == 'assistant' and loop.index0 > ns.last_question and (loop.last or thought) %}
            {{- '<think>\n' + thought.strip('\n') + '\n</think>\n\n' + content.lstrip('\n') }}
        {%- else %}
            {{- content }}
        {%- endif %}
        {%- for call in message.tool_calls or [] %}
            {{- '' if loop.first and not content else '\n' }}
            {{- '<tool_call>\n{"name": ' + call.function.name | tojson + ', "arguments": ' }}
            {{- call.function.arguments | tojson + '}\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\n\n</think>\n\n' }}
    {%- endif %}
{%- endif %}`,

  /** With tags for functions and parameters. */
  "qwen3-coder": systemWithTools(
    "To call a function, write a tag for it and one for each parameter, texts as they are and other values as " +
      "JSON:\\n<tool_call>\\n<function=name>\\n<parameter=first>\\nvalue\\n</parameter>\\n<parameter=second>\\n" +
      "value of\\nseveral lines\\n</parameter>\\n</function>\\n</tool_call>",
  ) + String.raw`
{%- for message in turns %}${RESULTS}
    {%- else %}
        {{- '<|im_start|>' + message.role + '\n' + message.content }}
        {%- for call in message.tool_calls or [] %}
            {{- '' if loop.first and not message.content else '\n' }}
            {{- '<tool_call>\n<function=' + call.function.name + '>\n' }}
            {%- for name, value in call.function.arguments | items %}
                {{- '<parameter=' + name + '>\n' + (value if value is string else value | tojson) + '\n</parameter>\n' }}
            {%- endfor %}
            {{- '</function>\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\n' }}
    {%- endif %}
{%- endfor %}${answerBegins("<|im_start|>assistant\\n")}`,

  /** With a list of tools behind the system message, and calls as Python has them. */
  "lfm2": String.raw`
{%- macro python(value) %}
    {%- if value is none or value is boolean %}
        {{- value | string }}
    {%- elif value is mapping %}
        {{- '{' }}
        {%- for key, item in value | items %}
            {{- key | tojson + ': ' + python(item) + (', ' if not loop.last else '') }}
        {%- endfor %}
        {{- '}' }}
    {%- elif value is iterable and value is not string %}
        {{- '[' }}
        {%- for item in value %}
            {{- python(item) + (', ' if not loop.last else '') }}
        {%- endfor %}
        {{- ']' }}
    {%- else %}
        {{- value | tojson }}
    {%- endif %}
{%- endmacro %}
{{- bos_token }}
{%- set system = messages[0].content if messages[0].role == 'system' else '' %}
{%- set turns = messages[1:] if messages[0].role == 'system' else messages %}
{%- if tools or messages[0].role == 'system' %}
    {{- '<|im_start|>system\n' + system }}
    {%- if tools %}
        {{- ('\n' if system else '') + 'List of tools: <|tool_list_start|>[' }}
        {%- for tool in tools %}
            {{- tool.function | tojson + (', ' if not loop.last else '') }}
        {%- endfor %}
        {{- ']<|tool_list_end|>' }}
    {%- endif %}
    {{- '<|im_end|>\n' }}
{%- endif %}
{%- for message in turns %}
    {{- '<|im_start|>' + message.role + '\n' }}
    {%- if message.role == 'tool' %}
        {{- '<|tool_response_start|>' + message.content + '<|tool_response_end|>' }}
    {%- else %}
        {{- message.content }}
        {%- if message.tool_calls %}
            {{- '<|tool_call_start|>[' }}
            {%- for call in message.tool_calls %}
                {{- call.function.name + '(' }}
                {%- for name, value in call.function.arguments | items %}
                    {{- name + '=' + python(value) + (', ' if not loop.last else '') }}
                {%- endfor %}
                {{- ')' + (', ' if not loop.last else '') }}
            {%- endfor %}
            {{- ']<|tool_call_end|>' }}
        {%- endif %}
    {%- endif %}
    {{- '<|im_end|>\n' }}
{%- endfor %}${answerBegins("<|im_start|>assistant\\n")}`,
};
