import { ALTERNATING, answerBegins, systemApart, type Templates } from "./pieces.ts";

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
{%- endfor %}${answerBegins(`${open}assistant${close}\\n\\n`)}`;
}

/**
 * Plain text: what the system says or a greeting, and a heading for each message.
 *
 * @param behind What comes behind what the system says, and `end` behind an answer's EOS.
 */
function plainText(
  greeting: string,
  behind: string,
  assistant: string,
  end: string,
  user: string,
): string {
  return String.raw`
{%- if messages[0].role == 'system' %}
    {%- set turns = messages[1:] %}
    {{- messages[0].content + '${behind}' }}
{%- else %}
    {%- set turns = messages %}
    {{- '${greeting}${behind}' }}
{%- endif %}
{%- for message in turns %}
    {%- if message.role == 'assistant' %}
        {{- '${assistant}' + message.content + eos_token${end} }}
    {%- else %}
        {{- '${user}' + message.content + '${behind}' }}
    {%- endif %}
{%- endfor %}`;
}

/** Templates of Llama and of its first descendants. */
export const LLAMA: Templates = {
  /** Turns between `[INST]` and `[/INST]`, the system message inside the first one. */
  "llama2": String.raw`${
    systemApart(String.raw`'<<SYS>>\n' + messages[0].content + '\n<</SYS>>\n\n'`)
  }
{%- for message in turns %}${ALTERNATING}
    {%- if message.role == 'user' %}
        {{- bos_token + '[INST] ' + ((system if loop.first else '') + message.content).strip() + ' [/INST]' }}
    {%- else %}
        {{- ' ' + message.content.strip() + ' ' + eos_token }}
    {%- endif %}
{%- endfor %}`,

  "llama3": headers("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),
  "llama4": headers("<|header_start|>", "<|header_end|>", "<|eot|>"),

  "vicuna": plainText(
    "A chat between a curious user and an artificial intelligence assistant. " +
      "The assistant gives helpful, detailed, and polite answers to the user\\'s questions.",
    " ",
    "ASSISTANT: ",
    "",
    "USER: ",
  ) + answerBegins("ASSISTANT:"),

  "alpaca": plainText(
    "Below is an instruction that describes a task. " +
      "Write a response that appropriately completes the request.",
    "\\n\\n",
    "### Response:\\n",
    " + '\\n\\n'",
    "### Instruction:\\n",
  ) + answerBegins("### Response:\\n"),
};
