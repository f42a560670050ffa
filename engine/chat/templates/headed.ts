/**
 * Templates in which each message has a heading with its role, and an end.
 *
 * @module
 */

/** Phi-3: `<|user|>` and `<|end|>` on lines of their own. */
export const PHI3 = String.raw`
{%- for message in messages %}
    {{- '<|' + message.role + '|>\n' + message.content + '<|end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|assistant|>\n' }}
{%- endif %}`;

/** Zephyr: as Phi-3, each message ended by EOS. */
export const ZEPHYR = String.raw`
{%- for message in messages %}
    {{- '<|' + message.role + '|>\n' + message.content + eos_token + '\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|assistant|>\n' }}
{%- endif %}`;

/** Falcon 3: as Zephyr, with EOS behind answers only. */
export const FALCON3 = String.raw`
{%- for message in messages %}
    {{- '<|' + message.role + '|>\n' + message.content }}
    {{- (eos_token if message.role == 'assistant' else '') + '\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|assistant|>\n' }}
{%- endif %}`;

/** GLM-4: a message lasts until the next one's heading. */
export const GLM4 = String.raw`
{{- '[gMASK]<sop>' }}
{%- for message in messages %}
    {{- '<|' + message.role + '|>\n' + message.content }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|assistant|>\n' }}
{%- endif %}`;

/** Granite 3. */
export const GRANITE = String.raw`
{%- for message in messages %}
    {{- '<|start_of_role|>' + message.role + '<|end_of_role|>' + message.content + '<|end_of_text|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_of_role|>assistant<|end_of_role|>' }}
{%- endif %}`;

/** Gemma: the assistant is the model; what the system says stands in front of the first user's text. */
export const GEMMA = String.raw`
{{- bos_token }}
{%- if messages[0].role == 'system' %}
    {%- set system = messages[0].content.strip() + '\n\n' %}
    {%- set turns = messages[1:] %}
{%- else %}
    {%- set system = '' %}
    {%- set turns = messages %}
{%- endif %}
{%- for message in turns %}
    {%- if (message.role == 'user') != (loop.index0 % 2 == 0) %}
        {{- raise_exception('user and assistant messages must alternate, beginning with the user') }}
    {%- endif %}
    {{- '<start_of_turn>' + ('model' if message.role == 'assistant' else message.role) + '\n' }}
    {{- (system if loop.first else '') + message.content | trim + '<end_of_turn>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<start_of_turn>model\n' }}
{%- endif %}`;

/** Command R. */
export const COMMAND_R = String.raw`
{{- bos_token }}
{%- for message in messages %}
    {%- set role = {'system': 'SYSTEM', 'user': 'USER', 'assistant': 'CHATBOT'}[message.role] %}
    {{- '<|START_OF_TURN_TOKEN|><|' + role + '_TOKEN|>' + message.content.strip() + '<|END_OF_TURN_TOKEN|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>' }}
{%- endif %}`;

/** OpenChat 3.5. */
export const OPENCHAT = String.raw`
{{- bos_token }}
{%- for message in messages %}
    {%- if message.role == 'system' %}
        {{- message.content + '<|end_of_turn|>' }}
    {%- else %}
        {{- 'GPT4 Correct ' + message.role.title() + ': ' + message.content + '<|end_of_turn|>' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- 'GPT4 Correct Assistant:' }}
{%- endif %}`;

/** EXAONE 3 and 3.5. */
export const EXAONE = String.raw`
{%- for message in messages %}
    {%- if loop.first and message.role != 'system' %}
        {{- '[|system|][|endofturn|]\n' }}
    {%- endif %}
    {{- '[|' + message.role + '|]' + message.content }}
    {{- '\n' if message.role == 'user' else '[|endofturn|]\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '[|assistant|]' }}
{%- endif %}`;

/** Seed-OSS: roles between the tokens of a beginning and an end. */
export const SEED_OSS = String.raw`
{%- for message in messages %}
    {{- bos_token + message.role + '\n' }}
    {%- if message.role == 'assistant' and message.reasoning_content %}
        {{- '<seed:think>' + message.reasoning_content.strip() + '</seed:think>' }}
    {%- endif %}
    {{- message.content + eos_token }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- bos_token + 'assistant\n' }}
{%- endif %}`;
