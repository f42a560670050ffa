/**
 * Random templates over the whole of Jinja's language, for comparisons with Jinja itself.
 *
 * @module
 */

import {
  ANY_FILTERS,
  BINARY,
  COMPARE,
  FORMATS,
  LIST_FILTERS,
  LISTS,
  LITERALS,
  MAPPING_FILTERS,
  MAPPINGS,
  MESSAGE_FILTERS,
  METHODS,
  NAMES,
  NUMBER_FILTERS,
  STRINGS,
  TESTS,
  TEXT_FILTERS,
} from "./jinja_template_words.ts";

export { VARIABLES } from "./jinja_template_words.ts";

/** Numbers from a seed, the same for the same seed (mulberry32). */
export class Dice {
  constructor(private state: number) {}

  /** A number from 0 up to 1. */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }

  /** Whether something of a probability happens. */
  roll(probability: number): boolean {
    return this.next() < probability;
  }

  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)];
  }
}

/** Makes templates from a seed. */
export class TemplateMaker {
  private readonly dice: Dice;
  /** Loops around what is made. */
  private loops = 0;

  constructor(seed: number) {
    this.dice = new Dice(seed);
  }

  template(): string {
    const { dice } = this;
    let source = "";
    for (let i = 1 + dice.below(3); i > 0; i--) source += this.statement(2);
    if (dice.roll(0.1)) source = source.replaceAll("\n", "\r\n");
    return source;
  }

  private fill(text: string, depth: number): string {
    return text
      .replace(/\?/g, () => this.primary(depth - 1))
      .replace(/#/g, () => `(${this.number()})`)
      .replace(/\$/g, () => this.text(depth - 1));
  }

  /** A string, most of the time. */
  private text(depth: number): string {
    const { dice } = this;
    if (depth <= 0 || dice.roll(0.4)) {
      return dice.roll(0.7)
        ? dice.pick(STRINGS)
        : dice.pick(["'a'", "'A-b c'", "'é'", "'x,y'", "('<'|safe)", "(h|safe)"]);
    }
    switch (dice.below(4)) {
      case 0:
        return `(${this.text(depth - 1)} ${dice.pick(["+", "~"])} ${this.text(depth - 1)})`;
      case 1:
        return `(${this.text(depth - 1)}).${dice.pick(METHODS)}`;
      case 2:
        return `${this.text(depth - 1)}[${dice.below(5) - 2}:${
          dice.pick(["", "3", "-1", ":2", ":-1"])
        }]`;
    }
    return `(${this.text(depth - 1)}|${this.fill(dice.pick(TEXT_FILTERS), depth)})`;
  }

  /** A value that filters of a kind fit, and one of those. */
  private filtered(depth: number): string {
    const { dice } = this;
    if (dice.roll(0.1)) {
      return `${this.primary(depth - 1)}|${this.fill(dice.pick(ANY_FILTERS), depth)}`;
    }
    switch (dice.below(6)) {
      case 0:
        return `${
          dice.pick([
            "l",
            "words",
            "el",
            "(1, 2)",
            "range(4)",
            "[2, 1.0, true]",
            "'abc'|list",
            "zz",
          ])
        }|${this.fill(dice.pick(LIST_FILTERS), depth)}`;
      case 1:
        return `ms|${this.fill(dice.pick(MESSAGE_FILTERS), depth)}`;
      case 2:
        return `${dice.pick(["d", "ed", "{'b': 1, 'A': 2}", "{1: 'x'}", "ms[0]"])}|${
          this.fill(dice.pick(MAPPING_FILTERS), depth)
        }`;
      case 3:
        return `(${this.number()})|${this.fill(dice.pick(NUMBER_FILTERS), depth)}`;
      case 4:
        return `${this.primary(depth - 1)}|${this.fill(dice.pick(ANY_FILTERS), depth)}`;
    }
    return `${this.text(depth - 1)}|${this.fill(dice.pick(TEXT_FILTERS), depth)}`;
  }

  /** Two values that can be compared. */
  private compared(depth: number): string {
    const { dice } = this;
    if (dice.roll(0.3)) {
      return `${this.number()} ${dice.pick(COMPARE.slice(0, 6))} ${this.number()}`;
    }
    if (dice.roll(0.3)) return `${this.text(depth)} ${dice.pick(COMPARE)} ${this.text(depth)}`;
    if (dice.roll(0.5)) {
      return `${this.primary(depth)} ${dice.pick(["in", "not in"])} ${
        dice.pick(["l", "words", "d", "zz", "(1, 'a')"])
      }`;
    }
    return `${this.primary(depth)} ${dice.pick(["==", "!="])} ${this.primary(depth)}`;
  }

  expression(depth: number): string {
    const { dice } = this;
    if (depth <= 0) return this.primary(0);
    switch (dice.below(18)) {
      case 0:
        if (dice.roll(0.15)) {
          return `${this.primary(depth - 1)} ${dice.pick(BINARY)} ${this.primary(depth - 1)}`;
        }
        return dice.pick([
          `${this.text(depth)} + ${this.text(depth)}`,
          `${this.text(depth)} * ${dice.below(4)}`,
          `${dice.pick(LISTS)} + ${dice.pick(LISTS)}`,
          `${this.primary(depth - 1)} ~ ${this.primary(depth - 1)}`,
          `l * ${dice.below(3)}`,
        ]);
      case 1:
        return this.compared(depth - 1);
      case 2: {
        const operators = COMPARE.slice(0, 6);
        if (dice.roll(0.2)) {
          return `${this.compared(depth - 1)} ${dice.pick(COMPARE)} ${this.primary(depth - 1)}`;
        }
        return `${this.number()} ${dice.pick(operators)} ${this.number()} ${
          dice.pick(operators)
        } ${this.number()}`;
      }
      case 3:
        return `${this.expression(depth - 1)} ${dice.pick(["and", "or"])} ${
          this.expression(depth - 1)
        }`;
      case 4:
        return `not ${this.primary(depth - 1)}`;
      case 5:
        return `${this.primary(depth - 1)} if ${this.expression(depth - 1)}` +
          (dice.roll(0.7) ? ` else ${this.primary(depth - 1)}` : "");
      case 6:
      case 7: {
        const numeric = [
          "odd",
          "even",
          "divisibleby 2",
          "divisibleby(3)",
          "gt 1",
          "lt(2)",
          "ge 1",
          "le 1",
          "greaterthan 2",
        ];
        const not = dice.roll(0.3) ? "not " : "";
        if (dice.roll(0.3)) return `(${this.number()}) is ${not}${dice.pick(numeric)}`;
        const test = dice.pick(TESTS.filter((one) => !numeric.includes(one) && one !== "in ?"));
        return `${this.primary(depth - 1)} is ${not}${test}`;
      }
      case 8:
      case 9:
        return this.fill(dice.pick(FORMATS), depth);
      case 10:
        return `${dice.pick(STRINGS)}.${dice.pick(METHODS)}`;
      case 11:
        // Python computes large powers for minutes.
        if (dice.roll(0.2)) {
          return `${this.number()} ** ${dice.pick(["2", "3", "0", "0.5", "-1", "7"])}`;
        }
        return `${this.number()} ${dice.pick(BINARY)} ${this.number()}`;
      case 12:
      case 13:
      case 14:
      case 15:
        return this.filtered(depth);
      case 16:
        return this.text(depth);
    }
    return this.primary(depth);
  }

  private number(): string {
    const { dice } = this;
    if (dice.roll(0.3)) return dice.pick(["i", "z", "neg", "f", "half"]);
    if (dice.roll(0.5)) return String(dice.below(2000) - 1000);
    if (dice.roll(0.5)) return String((dice.below(2000000) - 1000000) / 1000);
    return dice.pick([
      "2",
      "3",
      "1e10",
      "99999999999999999999",
      "0.1",
      "2.5",
      "1e-7",
      "-7",
      "9007199254740991",
    ]);
  }

  primary(depth: number): string {
    const { dice } = this;
    if (depth <= 0) return dice.roll(0.5) ? dice.pick(NAMES) : dice.pick(LITERALS);
    switch (dice.below(14)) {
      case 0:
      case 1:
        return `(${this.expression(depth - 1)})`;
      case 2:
        return `(${this.filtered(depth - 1)})`;
      case 3:
        return `[${this.expression(depth - 1)}, ${this.expression(depth - 1)}]`;
      case 4:
        return `{'a': ${this.expression(depth - 1)}, ${
          dice.pick(["1", "'b'", "none", "true", "1.0", "(1,)", "i", "s"])
        }: 2}`;
      case 5: {
        const [start, stop, step] = [0, 1, 2].map(() =>
          dice.roll(0.5) ? String(dice.below(7) - 3) : ""
        );
        return `${dice.pick([...STRINGS, ...LISTS, "(1, 2)", "range(4)"])}[${start}:${stop}${
          dice.roll(0.4) ? ":" + step : ""
        }]`;
      }
      case 6:
        return `${dice.pick([...LISTS, ...STRINGS, "d", "ed", "(1, 2)", "range(3)"])}[${
          this.primary(0)
        }]`;
      case 7:
        if (dice.roll(0.3)) {
          return `l.${dice.pick(["count(1)", "index(1)", "copy()", "0", "zz", "index(2, 1)"])}`;
        }
        return `${dice.pick(MAPPINGS)}.${
          dice.pick([
            "x",
            "items()",
            "keys()",
            "values()",
            "get('x')",
            "get('q', 5)",
            "get(n)",
            "copy()",
            "zz",
            "y",
            "items",
            "k.0",
          ])
        }`;
      case 8:
        return `${dice.pick(["-", "+"])}${dice.pick(["i", "f", "1", "2.5", "yes", "neg", "half"])}`;
      case 9:
        return `(${this.text(0)}).${dice.pick(METHODS)}`;
      case 10:
        if (this.loops === 0) break;
        return `loop.${
          dice.pick([
            "index",
            "index0",
            "first",
            "last",
            "length",
            "revindex",
            "revindex0",
            "previtem",
            "nextitem",
            "depth",
            "cycle(1, 'b')",
            "changed(i)",
          ])
        }`;
      case 11:
        return `ms[${dice.below(3)}]${
          dice.pick([".role", "['content']", ".k", ".zz", ".k[0]", "['zz']"])
        }`;
    }
    return dice.roll(0.5) ? dice.pick(NAMES) : dice.pick(LITERALS);
  }

  private open(): string {
    return this.dice.pick(["{%", "{%", "{%", "{%-", "{%+"]);
  }

  private close(): string {
    return this.dice.pick(["%}", "%}", "%}", "-%}", "+%}"]);
  }

  private tag(text: string): string {
    return `${this.open()} ${text} ${this.close()}`;
  }

  private gap(): string {
    return this.dice.pick(["", "", " ", "\n", "  \n ", "\n\n", "x", "x \n", "\t"]);
  }

  private body(depth: number): string {
    let text = this.gap();
    for (let i = this.dice.below(3); i >= 0; i--) text += this.statement(depth - 1) + this.gap();
    return text;
  }

  private statement(depth: number): string {
    const { dice } = this;
    const output = () => {
      const sign = dice.pick(["", "", "", "-"]);
      return `{{${sign} ${this.expression(3)} ${dice.pick(["", "", "", "-"])}}}`;
    };
    if (depth <= 0 || dice.roll(0.35)) return output() + this.gap();
    switch (dice.below(18)) {
      case 0:
      case 1:
        return this.tag(`if ${this.expression(2)}`) + this.body(depth) +
          (dice.roll(0.3) ? this.tag(`elif ${this.expression(2)}`) + this.body(depth) : "") +
          (dice.roll(0.5) ? this.tag("else") + this.body(depth) : "") + this.tag("endif");
      case 2:
      case 3:
      case 4: {
        const target = dice.pick(["q", "q", "i", "a, b", "k, v"]);
        const items = target.includes(",")
          ? dice.pick([
            "d.items()",
            "d|items",
            "d|dictsort",
            "[(1, 2), (3, 4)]",
            "ms|groupby('role')",
          ])
          : dice.pick([
            ...LISTS,
            "d",
            "s",
            "range(3)",
            "zz",
            "l|map('string')",
            "words|batch(2)",
            "l|reverse",
            "(1, 2)",
            "d.keys()",
          ]);
        const test = dice.roll(0.2) ? ` if ${this.compared(1)}` : "";
        const recursive = dice.roll(0.08) ? " recursive" : "";
        const inner = dice.roll(0.4)
          ? this.gap() +
            `{{ loop.${
              dice.pick([
                "index",
                "last",
                "first",
                "length",
                "revindex",
                "nextitem",
                "previtem",
                "depth",
              ])
            } }}{{ ${target.split(",")[0]} }}`
          : "";
        const control = dice.roll(0.15)
          ? this.tag(`if loop.index ${dice.pick([">", "=="])} 1`) +
            this.tag(dice.pick(["break", "continue"])) + this.tag("endif")
          : "";
        const head = this.tag(`for ${target} in ${items}${test}${recursive}`);
        this.loops++;
        const body = this.body(depth);
        this.loops--;
        return head + inner + control + body +
          (dice.roll(0.3) ? this.tag("else") + this.body(depth) : "") + this.tag("endfor");
      }
      case 5:
        return this.tag(`set ${dice.pick(["q", "q", "i", "s"])} = ${this.expression(2)}`) +
          this.gap();
      case 6:
        return this.tag(
          `set q${
            dice.roll(0.4) ? "|" + dice.pick(["upper", "trim", "length", "replace('x', 'y')"]) : ""
          }`,
        ) +
          this.body(depth) + this.tag("endset") + "{{ q }}";
      case 7:
        return this.tag("set ns = namespace(a=1, b=s)") +
          this.tag(`set ns.a = ${this.expression(1)}`) +
          this.body(depth) + "{{ ns.a }}{{ ns.c }}";
      case 8: {
        const call = dice.pick([
          "m(1)",
          "m()",
          "m(1, 2)",
          "m(b=3, a=4)",
          "m(*l)",
          "m(1, z=2)",
          "m(**{'a': 5})",
        ]);
        const extra = dice.pick([
          "",
          "",
          "{{ varargs }}",
          "{{ kwargs }}",
          "{{ caller is defined }}",
        ]);
        return this.tag(`macro m(a, b=${this.primary(1)})`) + "{{ a }}|{{ b }}" + extra +
          this.body(depth) +
          this.tag("endmacro") + `{{ ${call} }}`;
      }
      case 9:
        return this.tag("macro c(a)") + "[{{ caller(a) }}]" + this.tag("endmacro") +
          this.tag(`call${dice.pick(["(q)", "", "(q, w=1)"])} c(${this.primary(1)})`) +
          this.body(depth) + "{{ q }}" +
          this.tag("endcall");
      case 10:
        return this.tag(
          `filter ${dice.pick(["upper", "trim", "replace('x', 'y')", "indent(2)", "trim|upper"])}`,
        ) +
          this.body(depth) + this.tag("endfilter");
      case 11:
        return this.tag(`with ${dice.pick(["q = 1", `q = ${this.primary(1)}, i = q`, ""])}`) +
          this.body(depth) +
          "{{ q }}" + this.tag("endwith");
      case 12:
        return this.tag("raw") + dice.pick(["{{ x }}", "{% if %}", " \n {# a #} \n"]) +
          this.tag("endraw");
      case 13:
        return `{#${dice.pick(["", "-", "+"])} note ${dice.pick(["", "-", "+"])}#}` + this.gap();
      case 14:
        return this.tag(`block b${dice.below(1000)}`) + this.body(depth) + this.tag("endblock");
      case 15:
        return this.tag("generation") + this.body(depth) + this.tag("endgeneration");
      case 16:
        return dice.roll(0.5)
          ? this.tag("set cy = cycler('a', 'b')") + "{{ cy.next() }}{{ cy.current }}{{ cy.next() }}"
          : this.tag("set jo = joiner('; ')") + "{{ jo() }}{{ jo() }}";
      case 17:
        return this.tag(`for q in [${dice.pick(["1, [2, [3]]", "[[1], 2], 3"])}] recursive`) +
          "{{ loop.depth }}{% if q is number %}{{ q }}{% else %}({{ loop(q) }}){% endif %}" +
          this.tag("endfor");
    }
    return output();
  }
}
