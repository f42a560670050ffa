/**
 * The versions of Mistral's format: turns between `[INST]` and `[/INST]`. They differ in the spaces around
 * these, and in where the system message stands.
 *
 * @param open What comes before a user's text, and `close` behind it.
 * @param answer What comes before an assistant's text.
 * @param systemInLast Whether the system message stands in the last user's turn; else in the first.
 */
function instruct(open: string, close: string, answer: string, systemInLast: boolean): string {
  return String.raw`
{%- if messages[0].role == 'system' %}
    {%- set system = messages[0].content + '\n\n' %}
    {%- set turns = messages[1:] %}
{%- else %}
    {%- set system = '' %}
    {%- set turns = messages %}
{%- endif %}
{%- set ns = namespace(place=0) %}
{%- for message in turns %}
    {%- if (message.role == 'user') != (loop.index0 % 2 == 0) %}
        {{- raise_exception('user and assistant messages must alternate, beginning with the user') }}
    {%- endif %}
    {%- if message.role == 'user' and ${systemInLast ? "true" : "loop.first"} %}
        {%- set ns.place = loop.index0 %}
    {%- endif %}
{%- endfor %}
{{- bos_token }}
{%- for message in turns %}
    {%- if message.role == 'user' %}
        {{- '${open}' + (system if loop.index0 == ns.place else '') + message.content + '${close}' }}
    {%- else %}
        {{- '${answer}' + message.content.strip() + eos_token }}
    {%- endif %}
{%- endfor %}`;
}

/** Mistral 7B Instruct 0.1 and 0.2, Mixtral: spaces inside of the brackets. */
export const MISTRAL = instruct("[INST] ", " [/INST]", "", false);

/** Mistral 7B Instruct 0.3 and others with the third SentencePiece vocabulary. */
export const MISTRAL_V3 = instruct("[INST] ", "[/INST]", " ", true);

/** Mistral Nemo and others with the Tekken vocabulary: no spaces. */
export const MISTRAL_TEKKEN = instruct("[INST]", "[/INST]", "", true);

/** Mistral Small 3 and others of 2025: the system message has tokens of its own. */
export const MISTRAL_V7 = String.raw`
{{- bos_token }}
{%- for message in messages %}
    {%- if message.role == 'system' %}
        {{- '[SYSTEM_PROMPT]' + message.content + '[/SYSTEM_PROMPT]' }}
    {%- elif message.role == 'user' %}
        {{- '[INST]' + message.content + '[/INST]' }}
    {%- else %}
        {{- message.content + eos_token }}
    {%- endif %}
{%- endfor %}`;
