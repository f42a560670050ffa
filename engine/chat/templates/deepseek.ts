/** DeepSeek V2 and V2.5: plain text with User: and Assistant:. */
export const DEEPSEEK_V2 = String.raw`
{{- bos_token }}
{%- for message in messages %}
    {%- if message.role == 'user' %}
        {{- 'User: ' + message.content + '\n\n' }}
    {%- elif message.role == 'assistant' %}
        {{- 'Assistant: ' + message.content + eos_token }}
    {%- else %}
        {{- message.content + '\n\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- 'Assistant:' }}
{%- endif %}`;

function withTokens(end: string): string {
  return String.raw`
{%- set ns = namespace(system='') %}
{%- for message in messages %}
    {%- if message.role == 'system' %}
        {%- set ns.system = ns.system + ('\n\n' if ns.system else '') + message.content %}
    {%- endif %}
{%- endfor %}
{{- bos_token + ns.system }}
{%- for message in messages %}
    {%- if message.role == 'user' %}
        {{- '<｜User｜>' + message.content }}
    {%- elif message.role == 'assistant' %}
        {{- '<｜Assistant｜>' + message.content.split('</think>')[-1] + '<｜end▁of▁sentence｜>' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<｜Assistant｜>${end}' }}
{%- endif %}`;
}

/** DeepSeek V3: the system messages together in front, then a token for each role. */
export const DEEPSEEK_V3 = withTokens("");

/** DeepSeek R1: as V3; the prompt opens the thinking. */
export const DEEPSEEK_R1 = withTokens("<think>\\n");
