/** Llama 2: turns between `[INST]` and `[/INST]`, the system message inside the first one. */
export const LLAMA2 = String.raw`
{%- if messages[0].role == 'system' %}
    {%- set system = '<<SYS>>\n' + messages[0].content + '\n<</SYS>>\n\n' %}
    {%- set turns = messages[1:] %}
{%- else %}
    {%- set system = '' %}
    {%- set turns = messages %}
{%- endif %}
{%- for message in turns %}
    {%- if (message.role == 'user') != (loop.index0 % 2 == 0) %}
        {{- raise_exception('user and assistant messages must alternate, beginning with the user') }}
    {%- endif %}
    {%- if message.role == 'user' %}
        {{- bos_token + '[INST] ' + ((system if loop.first else '') + message.content).strip() + ' [/INST]' }}
    {%- else %}
        {{- ' ' + message.content.strip() + ' ' + eos_token }}
    {%- endif %}
{%- endfor %}`;

/** Llama 3: a header with the role, and `<|eot_id|>` at the end of each message. */
export const LLAMA3 = String.raw`
{{- bos_token }}
{%- for message in messages %}
    {{- '<|start_header_id|>' + message.role + '<|end_header_id|>\n\n' }}
    {{- message.content | trim + '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}
{%- endif %}`;

/** Llama 4: as Llama 3, with other tokens. */
export const LLAMA4 = String.raw`
{{- bos_token }}
{%- for message in messages %}
    {{- '<|header_start|>' + message.role + '<|header_end|>\n\n' }}
    {{- message.content | trim + '<|eot|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|header_start|>assistant<|header_end|>\n\n' }}
{%- endif %}`;

/** Vicuna: plain text with USER: and ASSISTANT:. */
export const VICUNA = String.raw`
{%- if messages[0].role == 'system' %}
    {%- set turns = messages[1:] %}
    {{- messages[0].content + ' ' }}
{%- else %}
    {%- set turns = messages %}
    {{- 'A chat between a curious user and an artificial intelligence assistant. The assistant gives helpful, detailed, and polite answers to the user\'s questions. ' }}
{%- endif %}
{%- for message in turns %}
    {%- if message.role == 'assistant' %}
        {{- 'ASSISTANT: ' + message.content + eos_token }}
    {%- else %}
        {{- 'USER: ' + message.content + ' ' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- 'ASSISTANT:' }}
{%- endif %}`;

/** Alpaca: plain text with headings. */
export const ALPACA = String.raw`
{%- if messages[0].role == 'system' %}
    {%- set turns = messages[1:] %}
    {{- messages[0].content + '\n\n' }}
{%- else %}
    {%- set turns = messages %}
    {{- 'Below is an instruction that describes a task. Write a response that appropriately completes the request.\n\n' }}
{%- endif %}
{%- for message in turns %}
    {%- if message.role == 'assistant' %}
        {{- '### Response:\n' + message.content + eos_token + '\n\n' }}
    {%- else %}
        {{- '### Instruction:\n' + message.content + '\n\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '### Response:\n' }}
{%- endif %}`;
