import { LIMITS } from "../../../engine/chat/jinja/budget.ts";
import { JinjaTemplate } from "../../../engine/chat/jinja/template.ts";
import type { FuzzTarget } from "../target.ts";

const SEEDS = [
  "{% for m in messages %}{{ m.role }}: {{ m.content | trim }}{% endfor %}{% if add_generation_prompt %}x{% endif %}",
  "{%- set ns = namespace(n=0) -%}{% macro f(a, b='x') %}{{ a ~ b }}{% endmacro %}{{ f(1, b=[1, 2.5, none][0:2]) }}",
  "{{ messages | map(attribute='role') | join(', ') | upper }}{{ {'a': 1}.items() | list | tojson }}",
  "{% for k, v in {'a': 1}.items() if v > 0 and not v is none %}{{ loop.index }}{% else %}-{% endfor %}",
  "{# note #}{{ 'a' if x is defined else '%05.2f' | format(1) }}{% raw %}{{{% endraw %}{{ 7 // 2 * -3 % 5 ** 2 }}",
];

const VARIABLES = {
  messages: [
    { role: "user", content: "<b>hi</b> " },
    {
      role: "assistant",
      content: null,
      tool_calls: [{ function: { name: "f", arguments: { a: 1 } } }],
    },
  ],
  tools: [],
  add_generation_prompt: true,
  bos_token: "<s>",
};

/** Chat templates, parsed and rendered. */
export const TEMPLATE: FuzzTarget = {
  name: "template",
  within: ["/engine/chat/jinja/"],
  dictionary: [
    ...[
      "{{",
      "}}",
      "{%",
      "%}",
      "{#",
      "#}",
      "-%}",
      "{%-",
      "|",
      "~",
      "(",
      ")",
      "[",
      "]",
      "{",
      "}",
      ":",
      ",",
      ".",
    ],
    ...[
      "for",
      "endfor",
      "in",
      "if",
      "elif",
      "else",
      "endif",
      "set",
      "endset",
      "macro",
      "endmacro",
      "call",
    ],
    ...[
      "endcall",
      "filter",
      "endfilter",
      "raw",
      "endraw",
      "break",
      "continue",
      "is",
      "not",
      "and",
      "or",
    ],
    ...[
      "loop.index",
      "loop.first",
      "namespace(",
      "range(",
      "messages",
      "none",
      "true",
      "1e3",
      "**",
      "//",
    ],
    ...[
      "tojson",
      "join",
      "map",
      "select",
      "reject",
      "sort",
      "groupby",
      "batch",
      "slice",
      "replace",
      "split(",
    ],
    ...[
      "strftime_now(",
      "raise_exception(",
      "'%s' % ",
      ".format(",
      ".items()",
      "attribute=",
      "default",
    ],
  ],
  maxBytes: 4 * 1024,
  seeds: () => SEEDS.map((text) => new TextEncoder().encode(text)),
  run(input) {
    const source = new TextDecoder().decode(input);
    try {
      const limits = { ...LIMITS, steps: 20_000, memory: 2 ** 20, stringLength: 2 ** 18 };
      new JinjaTemplate(source).render(VARIABLES, { mark: "\ue000", limits, now: new Date(0) });
    } catch (error) {
      // A template's own faults are errors in words, also one that is nested too deeply (`render_template.ts`); a
      // TypeError is the interpreter's fault.
      if (error instanceof TypeError || !(error instanceof Error)) throw error;
    }
  },
};
