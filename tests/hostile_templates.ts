/**
 * Templates that want all time and memory that there is, or what is not theirs.
 *
 * @module
 */

/** Evaluates an expression over `ns.a` a hundred times, each time over what came of it. */
function growing(expression: string, start = "'xxxxxxxx'"): string {
  return `{% set ns = namespace(a=${start}) %}{% for i in range(100) %}` +
    `{% set ns.a = ${expression} %}{% endfor %}{{ ns.a | length }}`;
}

/** Lists in lists that share their parts: small in memory, endless as a text. */
const SHARED = growing("[ns.a, ns.a]", "[1]").replace("{{ ns.a | length }}", "");

const nested = (open: string, count: number, close = "", inner = "1") =>
  `{{ ${open.repeat(count)}${inner}${close.repeat(count)} }}`;

/** Ended by counting, in a few milliseconds. */
export const COUNTED: Readonly<Record<string, string>> = {
  "a long range": "{% for i in range(10 ** 9) %}x{% endfor %}",
  "a long range backwards": "{% for i in range(0, -10 ** 9, -1) %}x{% endfor %}",
  "doubling by ~": growing("ns.a ~ ns.a"),
  "doubling by +": growing("ns.a + ns.a"),
  "multiplying by *": growing("ns.a * 1000"),
  "a text times a number": "{{ 'x' * 10 ** 10 }}",
  "a text times more than a number": "{{ 'x' * 2 ** 1000 }}",
  "a list times a number": "{{ [1, 2, 3] * 10 ** 9 }}",
  "doubling a list": growing("ns.a + ns.a", "[1]"),
  "replacing what was replaced": growing("ns.a.replace('x', ns.a)"),
  "replacing nothing": growing("ns.a | replace('', ns.a)"),
  "joining with itself": growing("[ns.a, ns.a, ns.a] | join(ns.a)"),
  "joining characters": growing("ns.a | join(ns.a)"),
  "joining by a method": growing("ns.a.join([ns.a, ns.a])"),
  "joining a range": "{{ range(100000) | join('x' * 1000) }}",
  "an indentation of gigabytes": "{{ 'a\\nb' | indent(10 ** 9) }}",
  "many lines, indented": "{{ ('a\\n' * 100000) | indent(100000) }}",
  "JSON with a wide indentation": "{{ [[1]] | tojson(indent=10 ** 9) }}",
  "a wide center": "{{ 'a' | center(10 ** 9) }}",
  "a wide ljust": "{{ 'a'.ljust(10 ** 9) }}",
  "a wide zfill": "{{ '1'.zfill(10 ** 9) }}",
  "a wide format": "{{ '%999999999d' % 1 }}",
  "many wide formats": "{{ ('%09999999d' * 100) % 3 }}",
  "an exact format": "{{ '%.999999999f' % 1.5 }}",
  "a batch that is filled": "{{ [1] | batch(10 ** 9, 'x') | list }}",
  "a power of a power": "{{ 10 ** (10 ** 9) }}",
  "squaring": growing("ns.a * ns.a", "9 ** 99"),
  "powers of a power": growing("ns.a ** 7", "7"),
  "a number of many digits": "{{ 10 ** 5000 }}",
  "a text of many digits": "{{ ('f' * 1000000) | int(0, 16) }}",
  "a macro within itself": "{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}",
  "a call within itself": "{% macro f() %}{% call f() %}x{% endcall %}{% endmacro %}{{ f() }}",
  "a list of all characters": "{{ ('a' * 8000000) | list | length }}",
  "splitting at every character": "{{ ('ab' * 4000000).split('b') | length }}",
  "a namespace in itself": "{% set ns = namespace() %}{% set ns.a = ns %}{{ ns }}",
  "a namespace in itself, as JSON":
    "{% set ns = namespace() %}{% set ns.a = [ns] %}{{ ns | tojson }}",
  "a list within lists, 100000 deep":
    "{% set ns = namespace(a=[1]) %}{% for i in range(100000) %}{% set ns.a = [ns.a] %}{% endfor %}{{ ns.a }}",
  "parentheses, 20000 deep": nested("(", 20_000, ")"),
  "brackets, 20000 deep": nested("[", 20_000, "]"),
  "not, 20000 times": nested("not ", 20_000),
  "a sum of 20000 terms": nested("1 + ", 20_000),
  "20000 filters": `{{ 'a'${" | trim".repeat(20_000)} }}`,
  "20000 parts of parts": `{{ a${".a".repeat(20_000)} }}`,
  "if within if, 5000 times": "{% if 1 %}".repeat(5000) + "{% endif %}".repeat(5000),
  "a template of megabytes": "x".repeat(3_000_000),
  "a text without an end": `{{ '${"a".repeat(50_000)}`,
  "a block without an end": "{% if 1 %}a",
  "comments without an end": "{#".repeat(100_000),
  "an expression without an end": "{{ [1, {'a': (2",
  "a date of megabytes": "{{ strftime_now('%Y' * 10 ** 7) }}",
};

/** Ended by the clock, or by the thread's end. */
export const TIMED: Readonly<Record<string, string>> = {
  "loops in loops":
    "{% for i in range(99999) %}{% for j in range(99999) %}{% for k in range(99999) %}{% endfor %}{% endfor %}{% endfor %}",
  "loops that write":
    "{% for i in range(99999) %}{% for j in range(99999) %}xxxxxxxxxxxxxxxx{% endfor %}{% endfor %}",
  "a macro that calls itself twice":
    "{% macro f(x) %}{% if x < 99 %}{{ f(x + 1) }}{{ f(x + 1) }}{% endif %}{% endmacro %}{{ f(1) }}",
  "shared lists as JSON": `${SHARED}{{ ns.a | tojson }}`,
  "shared lists as a text": `${SHARED}{{ ns.a }}`,
  "shared lists compared":
    "{% set ns = namespace(a=[1], b=[1]) %}{% for i in range(60) %}{% set ns.a = [ns.a, ns.a] %}" +
    "{% set ns.b = [ns.b, ns.b] %}{% endfor %}{{ ns.a == ns.b }}{{ ns.a in [ns.b] }}",
  "shared mappings as a text":
    "{% set ns = namespace(a={}) %}{% for i in range(60) %}{% set ns.a = {'a': ns.a, 'b': ns.a} %}{% endfor %}{{ ns.a ~ 'x' }}",
  "many short texts kept":
    "{% set ns = namespace(l='') %}{% for i in range(200000) %}{% set ns.l = [ns.l, i ~ 'x', [i], {'a': i}] %}{% endfor %}{{ 'é' * 99999999 }}",
  "long texts kept":
    "{% set ns = namespace(l=[]) %}{% set b = 'é' * 4000000 %}{% for i in range(1000) %}{% set ns.l = ns.l + [b.replace('é', 'è', i + 1)] %}{% endfor %}",
  "long texts kept in one piece":
    "{% set ns = namespace(l=[], b='é' * 4000000) %}{% for i in range(1000) %}{% set ns.b = ns.b ~ 'x' %}{% set q = ns.b.endswith('y') %}{% set ns.l = ns.l + [ns.b] %}{% endfor %}",
  "lists of parts kept":
    "{% set ns = namespace(l=[]) %}{% for i in range(10000) %}{% set ns.l = ns.l + [('ab' * 100000).split('b')] %}{% endfor %}",
  "a mapping that grows":
    "{% set ns = namespace(d={}) %}{% for i in range(99999) %}{% set ns.d = dict(ns.d, **{('k' ~ i): i}) %}{% endfor %}{{ 'é' * 99999999 }}",
  "slices of long texts":
    "{% for i in range(99999) %}{% set x = ('é' * 1000000)[1:] %}{% endfor %}",
  "searching long texts":
    "{% for i in range(9999) %}{{ ('a' * 1000000).count('aaaaaaaaab') }}{% endfor %}",
  "asking long texts":
    "{% for i in range(9999) %}{{ ('1' * 1000000 ~ 'a').isdigit() }}{{ ('a' * 1000000 ~ '1').isupper() }}{% endfor %}",
  "sorting long texts":
    "{% set a = 'a' * 100000 %}{% set ns = namespace(l=[]) %}{% for i in range(999) %}{% set ns.l = ns.l + [a ~ i] %}{% endfor %}{% for i in range(999) %}{{ ns.l | sort | length }}{% endfor %}",
  "what is unique of many": "{{ range(200000) | unique | list | length }}",
  "stripping long texts":
    "{% for i in range(99999) %}{% set x = ('a' ~ ' ' * 1000000 ~ 'b').rstrip('q').strip() %}{% endfor %}",
  "tabs in a block": `{%-${"\t".repeat(250_000)}`,
  "brackets that are never closed": "{{ a[".repeat(40_000),
  "blocks that are never closed": "{% if 1 %}a".repeat(20_000),
};

/** Names that lead to what JavaScript and Python have inside. None leaves more than spaces, if it renders at all. */
export const PROTOTYPES: readonly string[] = [
  "{{ messages.__proto__ }}{{ messages.constructor }}",
  "{{ ''.constructor.constructor('return process')() }}",
  "{{ {}.__proto__.x }}",
  "{{ 'a'['constructor']('x') }}",
  "{{ messages['__proto__']['push'] }}",
  "{% set ns = namespace() %}{% set ns.__proto__ = {'x': 1} %}{{ ns.x }}{{ ns.constructor }}",
  "{{ range.constructor('return 1')() }}",
  "{{ cycler.__init__.__globals__ }}",
  "{{ ''.__class__.__mro__[1].__subclasses__() }}",
  "{{ self.__init__ }}{{ lipsum.__globals__ }}",
  "{{ messages | map('constructor') | list }}",
  "{{ messages | attr('__proto__') }}{{ 'a' | attr('constructor') }}",
  "{{ 'a' is constructor }}",
  "{{ 'a' | constructor }}",
  "{{ 'a' | toString }}",
  "{{ 'a'.valueOf() }}",
  "{{ messages[0].hasOwnProperty('role') }}",
  "{{ strftime_now.call() }}{{ strftime_now.name }}",
  "{{ messages[0]['__proto__'] }}{{ __proto__ }}{{ constructor }}{{ toString }}",
];
