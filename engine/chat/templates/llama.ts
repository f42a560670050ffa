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

/**
 * A header with the role, and a token at the end of each message. Tools are listed in front of the first user's text; a
 * message calls one of them.
 *
 * @param open What comes before a role, `close` behind it, and `end` behind a message.
 */
function headers(open: string, close: string, end: string): string {
  return String.raw`
{{- bos_token }}
{%- set ns = namespace(told=false) %}
{%- for message in messages %}
    {%- set role = 'ipython' if message.role == 'tool' else message.role %}
    {{- '${open}' + role + '${close}\n\n' }}
    {%- if tools and role == 'user' and not ns.told %}
        {%- set ns.told = true %}
        {{- 'Where one of the functions below is of use, answer with a call of it, and with nothing else, in this form:\n' }}
        {{- '{"name": <name of the function>, "parameters": <object of its arguments>}\n\n' }}
        {%- for tool in tools %}
            {{- tool | tojson(indent=4) + '\n\n' }}
        {%- endfor %}
    {%- endif %}
    {%- if message.tool_calls %}
        {%- if message.tool_calls | length > 1 %}
            {{- raise_exception('a message calls one tool') }}
        {%- endif %}
        {%- set call = message.tool_calls[0].function %}
        {{- '{"name": ' + call.name | tojson + ', "parameters": ' + call.arguments | tojson + '}' }}
    {%- else %}
        {{- message.content | trim }}
    {%- endif %}
    {{- '${end}' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '${open}assistant${close}\n\n' }}
{%- endif %}`;
}

/** Llama 3. */
export const LLAMA3 = headers("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>");

/** Llama 4: as Llama 3, with other tokens. */
export const LLAMA4 = headers("<|header_start|>", "<|header_end|>", "<|eot|>");

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
