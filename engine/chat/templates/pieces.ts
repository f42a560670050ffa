/**
 * Pieces that templates share.
 *
 * @module
 */

/** Templates by the names that `--chat-template` takes. */
export type Templates = Readonly<Record<string, string>>;

/**
 * Begins an answer where one is wanted.
 *
 * @param text What the prompt ends with then, as it stands between Jinja's quotes.
 */
export function answerBegins(text: string): string {
  return `
{%- if add_generation_prompt %}
    {{- '${text}' }}
{%- endif %}`;
}

/**
 * A template that writes all messages alike.
 *
 * @param message The expression of one, and `answer` what an answer begins with.
 */
export function eachMessage(message: string, answer: string): string {
  return `
{%- for message in messages %}
    {{- ${message} }}
{%- endfor %}` + answerBegins(answer);
}

/** Sets `system` to what a first system message says, by an expression, or to nothing, and `turns` to the other messages. */
export function systemApart(system: string): string {
  return `
{%- if messages[0].role == 'system' %}
    {%- set system = ${system} %}
    {%- set turns = messages[1:] %}
{%- else %}
    {%- set system = '' %}
    {%- set turns = messages %}
{%- endif %}`;
}

/** Within a loop: refuses a message out of turn. */
export const ALTERNATING = `
    {%- if (message.role == 'user') != (loop.index0 % 2 == 0) %}
        {{- raise_exception('user and assistant messages must alternate, beginning with the user') }}
    {%- endif %}`;

/** Within a condition: the tools as JSON, one a line. */
export const TOOL_LINES = String.raw`
    {%- for tool in tools %}
        {{- tool | tojson + '\n' }}
    {%- endfor %}`;

/** Finds `ns.last_question`, the place of the user's last message in `turns`. */
export const LAST_QUESTION = `
{%- set ns = namespace(last_question=-1) %}
{%- for message in turns %}
    {%- if message.role == 'user' %}
        {%- set ns.last_question = loop.index0 %}
    {%- endif %}
{%- endfor %}`;
