import {
  ALTERNATING,
  answerBegins,
  eachMessage,
  systemApart,
  type Templates,
  TOOL_LINES,
} from "./pieces.ts";

/** Templates in which each message has a heading with its role, and an end. */
export const HEADED: Templates = {
  /** `<|user|>` and `<|end|>` on lines of their own. */
  "phi3": eachMessage(
    String.raw`'<|' + message.role + '|>\n' + message.content + '<|end|>\n'`,
    "<|assistant|>\\n",
  ),

  /** As Phi-3, each message ended by EOS. */
  "zephyr": eachMessage(
    String.raw`'<|' + message.role + '|>\n' + message.content + eos_token + '\n'`,
    "<|assistant|>\\n",
  ),

  /** As Zephyr, with EOS behind answers only. */
  "falcon3": String.raw`
{%- for message in messages %}
    {{- '<|' + message.role + '|>\n' + message.content }}
    {{- (eos_token if message.role == 'assistant' else '') + '\n' }}
{%- endfor %}${answerBegins("<|assistant|>\\n")}`,

  /** A message lasts until the next one's heading. */
  "glm4": "\n{{- '[gMASK]<sop>' }}" +
    eachMessage(String.raw`'<|' + message.role + '|>\n' + message.content`, "<|assistant|>\\n"),

  /** GLM 4.5 and 4.6: thoughts in an answer, tools in a system message, and a tag for each argument of a call. */
  "glm4.5": String.raw`
{{- '[gMASK]<sop>' }}
{%- if tools %}
    {{- '<|system|>\n# Tools\n\nThe functions that you may call:\n<tools>\n' }}${TOOL_LINES}
    {{- '</tools>\n\nTo call one, write its name, and each argument with its value, texts as they are and others as JSON:\n' }}
    {{- '<tool_call>name\n<arg_key>first</arg_key>\n<arg_value>value</arg_value>\n</tool_call>' }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == 'tool' %}
        {{- '<|observation|>' if loop.first or messages[loop.index0 - 1].role != 'tool' else '' }}
        {{- '\n<tool_response>\n' + message.content + '\n</tool_response>' }}
    {%- elif message.role == 'assistant' %}
        {%- set content = message.content.split('</think>')[-1].strip() %}
        {{- '<|assistant|>\n<think></think>' + ('\n' + content if content else '') }}
        {%- for call in message.tool_calls or [] %}
            {{- '\n<tool_call>' + call.function.name + '\n' }}
            {%- for name, value in call.function.arguments | items %}
                {{- '<arg_key>' + name + '</arg_key>\n<arg_value>' }}
                {{- (value if value is string else value | tojson) + '</arg_value>\n' }}
            {%- endfor %}
            {{- '</tool_call>' }}
        {%- endfor %}
    {%- else %}
        {{- '<|' + message.role + '|>\n' + message.content }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|assistant|>' }}
    {{- '\n<think></think>' if enable_thinking is defined and not enable_thinking else '' }}
{%- endif %}`,

  /** Tools have a role of their own. */
  "granite": String.raw`
{%- macro said(role, content) %}
    {{- '<|start_of_role|>' + role + '<|end_of_role|>' + content + '<|end_of_text|>\n' }}
{%- endmacro %}
{%- if messages[0].role == 'system' %}
    {%- set turns = messages[1:] %}
    {{- said('system', messages[0].content) }}
{%- else %}
    {%- set turns = messages %}
{%- endif %}
{%- if tools %}
    {{- said('tools', tools | tojson) }}
{%- endif %}
{%- for message in turns %}
    {%- if message.role == 'tool' %}
        {{- said('tool_response', message.content) }}
    {%- elif message.tool_calls %}
        {{- '<|start_of_role|>assistant<|end_of_role|>' + message.content + '<|tool_call|>[' }}
        {%- for call in message.tool_calls %}
            {{- '{"name": ' + call.function.name | tojson + ', "arguments": ' }}
            {{- call.function.arguments | tojson + '}' + (', ' if not loop.last else '') }}
        {%- endfor %}
        {{- ']<|end_of_text|>\n' }}
    {%- else %}
        {{- said(message.role, message.content) }}
    {%- endif %}
{%- endfor %}${answerBegins("<|start_of_role|>assistant<|end_of_role|>")}`,

  /** The assistant is the model; what the system says stands in front of the first user's text. */
  "gemma": String.raw`
{{- bos_token }}${systemApart(String.raw`messages[0].content.strip() + '\n\n'`)}
{%- for message in turns %}${ALTERNATING}
    {{- '<start_of_turn>' + ('model' if message.role == 'assistant' else message.role) + '\n' }}
    {{- (system if loop.first else '') + message.content | trim + '<end_of_turn>\n' }}
{%- endfor %}${answerBegins("<start_of_turn>model\\n")}`,

  "command-r": String.raw`
{{- bos_token }}
{%- for message in messages %}
    {%- set role = {'system': 'SYSTEM', 'user': 'USER', 'assistant': 'CHATBOT'}[message.role] %}
    {{- '<|START_OF_TURN_TOKEN|><|' + role + '_TOKEN|>' + message.content.strip() + '<|END_OF_TURN_TOKEN|>' }}
{%- endfor %}${answerBegins("<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>")}`,

  "openchat": String.raw`
{{- bos_token }}
{%- for message in messages %}
    {%- if message.role == 'system' %}
        {{- message.content + '<|end_of_turn|>' }}
    {%- else %}
        {{- 'GPT4 Correct ' + message.role.title() + ': ' + message.content + '<|end_of_turn|>' }}
    {%- endif %}
{%- endfor %}${answerBegins("GPT4 Correct Assistant:")}`,

  "exaone": String.raw`
{%- for message in messages %}
    {%- if loop.first and message.role != 'system' %}
        {{- '[|system|][|endofturn|]\n' }}
    {%- endif %}
    {{- '[|' + message.role + '|]' + message.content }}
    {{- '\n' if message.role == 'user' else '[|endofturn|]\n' }}
{%- endfor %}${answerBegins("[|assistant|]")}`,

  /** Roles between start and end tokens; calls of tools have tags as Qwen3-Coder's. */
  "seed-oss": String.raw`
{%- if tools %}
    {{- bos_token + 'system\nThe functions that you may call:\n' }}${TOOL_LINES}
    {{- 'To call one, write a tag for it and one for each parameter:\n<seed:tool_call>\n<function=name>\n' }}
    {{- '<parameter=first>value</parameter>\n</function>\n</seed:tool_call>' + eos_token }}
{%- endif %}
{%- for message in messages %}
    {{- bos_token + message.role + '\n' }}
    {%- if message.role == 'assistant' and message.reasoning_content %}
        {{- '<seed:think>' + message.reasoning_content.strip() + '</seed:think>' }}
    {%- endif %}
    {{- message.content }}
    {%- for call in message.tool_calls or [] %}
        {{- ('\n' if message.content or not loop.first else '') + '<seed:tool_call>\n<function=' + call.function.name + '>\n' }}
        {%- for name, value in call.function.arguments | items %}
            {{- '<parameter=' + name + '>' + (value if value is string else value | tojson) + '</parameter>\n' }}
        {%- endfor %}
        {{- '</function>\n</seed:tool_call>' }}
    {%- endfor %}
    {{- eos_token }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- bos_token + 'assistant\n' }}
{%- endif %}`,
};
