import { answerBegins, LAST_QUESTION } from "./pieces.ts";

/**
 * gpt-oss: OpenAI's harmony format. Instructions and tools, written as TypeScript, are a developer's message;
 * answers have channels, and thoughts of turns before the last question are left out.
 */
export const HARMONY = String.raw`
{%- macro default(schema) %}
    {%- if schema.default is not string %}
        {{- schema.default | tojson(separators=(',', ':')) }}
    {%- else %}
        {{- schema.default if schema.enum else '"' + schema.default + '"' }}
    {%- endif %}
{%- endmacro %}
{%- macro variant(schema, indent, without) %}
    {%- set ns = namespace(comments=[]) %}
    {%- if schema.description is string and schema.description != without %}
        {%- set ns.comments = [schema.description] %}
    {%- endif %}
    {%- if schema.default is defined %}
        {%- set ns.comments = ns.comments + ['default: ' + default(schema)] %}
    {%- endif %}
    {{- indent + ' | ' + or_null(schema, indent + '   ') }}
    {{- ' // ' + ns.comments | join(' ') if ns.comments else '' }}
{%- endmacro %}
{%- macro or_null(schema, indent) %}
    {%- set text = type(schema, indent) %}
    {{- text + (' | null' if schema.nullable is true and 'null' not in text else '') }}
{%- endmacro %}
{%- macro type(schema, indent) %}
    {%- if schema.oneOf %}
        {%- for one in schema.oneOf %}
            {{- '\n' + variant(one, indent) }}
        {%- endfor %}
    {%- elif schema.type == 'object' %}
        {{- indent + '// ' + schema.description + '\n' if schema.description is string else '' }}
        {{- '{\n' + members(schema, indent) + indent + '}' }}
    {%- elif schema.type == 'string' %}
        {%- set words = (schema.enum or []) | select('string') | list %}
        {{- '"' + words | join('" | "') + '"' if words else 'string' }}
    {%- elif schema.type in ['integer', 'number'] %}
        {{- 'number' }}
    {%- elif schema.type == 'boolean' %}
        {{- 'boolean' }}
    {%- elif schema.type == 'array' %}
        {{- type(schema['items'], indent) + '[]' if 'items' in schema else 'Array<any>' }}
    {%- elif schema.type is iterable and schema.type is not string and schema.type %}
        {%- for one in schema.type %}
            {{- ('number' if one == 'integer' else one) + (' | ' if not loop.last else '') }}
        {%- endfor %}
    {%- else %}
        {{- 'any' }}
    {%- endif %}
{%- endmacro %}
{%- macro members(schema, indent) %}
    {%- for name, member in (schema.properties or {}) | items %}
        {%- set label = indent + name + ('' if name in (schema.required or []) else '?') + ':' %}
        {{- indent + '// ' + member.title + '\n' + indent + '//\n' if member.title is string else '' }}
        {{- indent + '// ' + member.description + '\n' if member.description is string else '' }}
        {%- if member.examples %}
            {{- indent + '// Examples:\n' }}
            {%- for example in member.examples if example is string %}
                {{- indent + '// - "' + example + '"\n' }}
            {%- endfor %}
        {%- endif %}
        {%- if member.oneOf %}
            {{- indent + '// default: ' + default(member) + '\n' if member.default is defined else '' }}
            {{- label + '\n' }}
            {%- for one in member.oneOf %}
                {%- set told = one.description if loop.first and member.description is string else member.description %}
                {{- variant(one, indent, told) + '\n' }}
            {%- endfor %}
            {{- indent + ',\n' }}
        {%- else %}
            {{- label + ' ' + or_null(member, indent + '    ') + ',' }}
            {{- (' // default: ' + default(member) if member.default is defined else '') + '\n' }}
        {%- endif %}
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
            {%- for line in (tool.function.description or '').splitlines() %}
                {{- '// ' + line + '\n' }}
            {%- endfor %}
            {{- 'type ' + tool.function.name + ' = (' }}
            {{- '_: ' + type(tool.function.parameters, '') if tool.function.parameters is defined else '' }}
            {{- ') => any;\n\n' }}
        {%- endfor %}
        {{- '} // namespace functions' }}
    {%- endif %}
    {{- '<|end|>' }}
{%- endif %}${LAST_QUESTION}
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
                {{- '<|start|>assistant to=functions.' + call.function.name + '<|channel|>commentary' }}
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
{%- endfor %}${answerBegins("<|start|>assistant")}`;
