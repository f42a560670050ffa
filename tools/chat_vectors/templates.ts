/**
 * Prints the templates that vectors are made for, as JSON: the built-in ones, and some more that use what
 * those do not.
 *
 * `deno run tools/chat_vectors/templates.ts`
 *
 * @module
 */
import { BUILT_IN_TEMPLATES } from "../../engine/chat/templates/mod.ts";

/** Templates written in the manner of well-known models, for what the built-in ones do not use. */
const MORE: Readonly<Record<string, string>> = {
  // Vision models and the later Llamas take a text or a list of parts.
  "parts-or-text": String.raw`
{{- bos_token }}
{%- for message in messages %}
    {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n' }}
    {%- if message['content'] is string %}
        {{- message['content'] }}
    {%- else %}
        {%- for part in message['content'] %}
            {%- if part['type'] == 'text' %}
                {{- part['text'] }}
            {%- endif %}
        {%- endfor %}
    {%- endif %}
    {{- '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}
{%- endif %}`,
  // SmolVLM's manner: parts alone.
  "parts-only": String.raw`<|im_start|>
{%- for message in messages -%}
{{ message.role | capitalize }}: {% for part in message.content -%}
{{ part.text }}{% if not loop.last %} {% endif %}
{%- endfor %}<end_of_utterance>
{% endfor -%}
{%- if add_generation_prompt %}Assistant:{% endif %}`,
  // Macros, a namespace, filters, indentation and the date, as Llama 3.2's and Hermes' have them.
  "macros-and-dates": String.raw`
{%- macro header(role, name=none) -%}
    {{- '<|' ~ role ~ (':' ~ name if name else '') ~ '|>' }}
{%- endmacro %}
{%- if not date_string is defined %}
    {%- if strftime_now is defined %}
        {%- set date_string = strftime_now("%d %b %Y") %}
    {%- else %}
        {%- set date_string = "26 Jul 2024" %}
    {%- endif %}
{%- endif %}
{%- set ns = namespace(users=0, names=[]) %}
{{- header('system') }}
Today Date: {{ date_string }}
{% for message in messages %}
    {%- if message.name is defined and message.name not in ns.names %}
        {%- set ns.names = ns.names + [message.name] %}
    {%- endif %}
    {%- if message.role == 'user' %}
        {%- set ns.users = ns.users + 1 %}
    {%- endif %}
    {{- header(message.role, message.name) }}{{ '\n' }}
    {{- message.content | trim | indent(2) }}
    {{- '\n' if not loop.last else '' }}
{%- endfor %}
{{- '\n[' ~ ns.users ~ ' of ' ~ messages | length ~ ', ' ~ ns.names | join(' and ') ~ ']\n' }}
{{- {'roles': messages | map(attribute='role') | list, 'first': messages[0].content} | tojson }}
{% if add_generation_prompt %}
{{ header('assistant') }}
{% endif %}`,
  // Loop controls, generation blocks, set blocks, slices and comparisons of texts.
  "controls": String.raw`
{%- for message in messages %}
  {%- if message.role == 'system' %}{% continue %}{% endif %}
  {%- set body %}
{{ message.content }}
  {%- endset %}
  {%- if body.strip() == 'stop' %}(stopped){% break %}{% endif %}
  {%- if message.role == 'assistant' %}
A:{% generation %}{{ body }}{% endgeneration %}
  {%- else %}
U({{ loop.index }}/{{ loop.length }}):{{ body[1:][::-1] }}
  {%- endif %}
{% endfor %}
{%- for message in messages if message.role == 'user' %}{{ loop.first }}{{ loop.last }};{% else %}nobody{% endfor %}
{%- if add_generation_prompt %}
A:
{%- endif %}`,
};

console.log(JSON.stringify({ ...Object.fromEntries(BUILT_IN_TEMPLATES), ...MORE }));
