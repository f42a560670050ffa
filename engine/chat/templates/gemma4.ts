/**
 * Gemma 4: the assistant is the model. Tools, their calls and their results are in a notation of the model's own,
 * in which texts stand between tokens; results go on with the turn of the call.
 */
export const GEMMA4 = String.raw`
{%- macro text(value) %}
    {{- '<|"|>' + value + '<|"|>' }}
{%- endmacro %}
{%- macro written(value) %}
    {%- if value is string %}
        {{- text(value) }}
    {%- elif value is mapping %}
        {{- '{' }}
        {%- for key, item in value | items %}
            {{- key + ':' + written(item) + (',' if not loop.last else '') }}
        {%- endfor %}
        {{- '}' }}
    {%- elif value is iterable %}
        {{- '[' }}
        {%- for item in value %}
            {{- written(item) + (',' if not loop.last else '') }}
        {%- endfor %}
        {{- ']' }}
    {%- else %}
        {{- value | tojson }}
    {%- endif %}
{%- endmacro %}
{{- bos_token }}
{%- set instructs = messages[0].role in ['system', 'developer'] %}
{%- set turns = messages[1:] if instructs else messages %}
{%- set thinks = enable_thinking is defined and enable_thinking %}
{%- if instructs or tools or thinks %}
    {{- '<|turn>system\n' + ('<|think|>\n' if thinks else '') }}
    {{- messages[0].content | trim if instructs else '' }}
    {%- for tool in tools or [] %}
        {{- '<|tool>declaration:' + tool.function.name + '{description:' + text(tool.function.description or '') }}
        {{- ',parameters:' + written(tool.function.parameters or {}) + '}<tool|>' }}
    {%- endfor %}
    {{- '<turn|>\n' }}
{%- endif %}
{%- for message in turns %}
    {%- set before = turns[loop.index0 - 1].role if not loop.first else '' %}
    {%- if message.role == 'tool' %}
        {{- '<|tool_response>response:' + (message.name or 'tool') + '{value:' + text(message.content) + '}<tool_response|>' }}
    {%- else %}
        {%- if before != 'tool' or message.role != 'assistant' %}
            {{- '<turn|>\n' if before == 'tool' else '' }}
            {{- '<|turn>' + ('model' if message.role == 'assistant' else message.role) + '\n' }}
        {%- endif %}
        {{- message.content | trim }}
        {%- for call in message.tool_calls or [] %}
            {{- '<|tool_call>call:' + call.function.name + written(call.function.arguments) + '<tool_call|>' }}
        {%- endfor %}
        {{- '<turn|>\n' if not message.tool_calls else '' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt and turns and turns[-1].role != 'tool' %}
    {{- '<|turn>model\n' }}
{%- endif %}`;
