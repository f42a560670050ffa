/**
 * gpt-oss: OpenAI's harmony format. Instructions and tools, written as TypeScript, are a developer's message;
 * answers have channels, and thoughts of turns before the last question are left out.
 */
export const HARMONY = String.raw`
{%- macro type(schema) %}
    {%- if schema.enum %}
        {%- for value in schema.enum %}
            {{- value | tojson + (' | ' if not loop.last else '') }}
        {%- endfor %}
    {%- elif schema.type == 'array' %}
        {{- (type(schema['items']) if schema['items'] is mapping else 'any') + '[]' }}
    {%- elif schema.type == 'object' and schema.properties %}
        {{- '{\n' + members(schema) + '}' }}
    {%- elif schema.type is string and schema.type != 'object' %}
        {{- 'number' if schema.type == 'integer' else schema.type }}
    {%- elif schema.type is iterable and schema.type is not string %}
        {{- schema.type | join(' | ') }}
    {%- else %}
        {{- schema.type or 'any' }}
    {%- endif %}
{%- endmacro %}
{%- macro members(schema) %}
    {%- for name, member in schema.properties | items %}
        {{- '// ' + member.description + '\n' if member.description else '' }}
        {{- name + ('' if name in (schema.required or []) else '?') + ': ' + type(member) }}
        {{- (', // default: ' + member.default | tojson if member.default is defined else ',') + '\n' }}
    {%- endfor %}
{%- endmacro %}
{{- '<|start|>system<|message|>' + (model_identity if model_identity is defined else 'You are ChatGPT, a large language model trained by OpenAI.') + '\n' }}
{{- 'Knowledge cutoff: 2024-06\nCurrent date: ' + strftime_now('%Y-%m-%d') + '\n\n' }}
{{- 'Reasoning: ' + (reasoning_effort if reasoning_effort is defined else 'medium') + '\n\n' }}
{{- '# Valid channels: analysis, commentary, final. Channel must be included for every message.' }}
{{- "\nCalls to these tools must go to the commentary channel: 'functions'." if tools else '' }}
{{- '<|end|>' }}
{%- set instructs = messages[0].role in ['system', 'developer'] %}
{%- set turns = messages[1:] if instructs else messages %}
{%- if instructs or tools %}
    {{- '<|start|>developer<|message|>' }}
    {{- '# Instructions\n\n' + messages[0].content if instructs else '' }}
    {%- if tools %}
        {{- ('\n\n' if instructs else '') + '# Tools\n\n## functions\n\nnamespace functions {\n\n' }}
        {%- for tool in tools %}
            {%- set parameters = tool.function.parameters or {} %}
            {{- '// ' + tool.function.description + '\n' if tool.function.description else '' }}
            {{- 'type ' + tool.function.name + ' = (' }}
            {{- '_: {\n' + members(parameters) + '}' if parameters.properties else '' }}
            {{- ') => any;\n\n' }}
        {%- endfor %}
        {{- '} // namespace functions' }}
    {%- endif %}
    {{- '<|end|>' }}
{%- endif %}
{%- set ns = namespace(last_question=-1) %}
{%- for message in turns %}
    {%- if message.role == 'user' %}
        {%- set ns.last_question = loop.index0 %}
    {%- endif %}
{%- endfor %}
{%- for message in turns %}
    {%- if message.role == 'assistant' %}
        {%- if message.reasoning_content and loop.index0 > ns.last_question %}
            {{- '<|start|>assistant<|channel|>analysis<|message|>' + message.reasoning_content + '<|end|>' }}
        {%- endif %}
        {%- if message.tool_calls %}
            {%- if message.content %}
                {{- '<|start|>assistant<|channel|>commentary<|message|>' + message.content + '<|end|>' }}
            {%- endif %}
            {%- for call in message.tool_calls %}
                {{- '<|start|>assistant<|channel|>commentary to=functions.' + call.function.name }}
                {{- ' <|constrain|>json<|message|>' + call.function.arguments | tojson + '<|call|>' }}
            {%- endfor %}
        {%- else %}
            {{- '<|start|>assistant<|channel|>final<|message|>' + message.content }}
            {{- '<|return|>' if loop.last and not add_generation_prompt else '<|end|>' }}
        {%- endif %}
    {%- elif message.role == 'tool' %}
        {{- '<|start|>functions.' + (message.name or 'tool') + ' to=assistant<|channel|>commentary<|message|>' }}
        {{- message.content + '<|end|>' }}
    {%- else %}
        {{- '<|start|>' + message.role + '<|message|>' + message.content + '<|end|>' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start|>assistant' }}
{%- endif %}`;
