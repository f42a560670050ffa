/**
 * What random templates are made of; see `jinja_templates.ts`.
 *
 * @module
 */

/** What the templates are rendered with. */
export const VARIABLES = {
  s: "héllo wörld",
  t: "  a,b,,c \n",
  e: "",
  h: "<b>&'\"x</b>",
  lines: "one\ntwo\r\n\nthree four-five",
  up: "ABC",
  num: "42.5",
  i: 7,
  z: 0,
  neg: -3,
  f: 2.5,
  half: 0.125,
  yes: true,
  no: false,
  n: null,
  l: [3, 1, 2],
  words: ["b", "A", "a", "c"],
  el: [],
  d: { x: 1, y: "z", items: 3, k: [1, 2] },
  ed: {},
  ms: [
    { role: "user", content: "hi", k: [1] },
    { role: "assistant", content: "Yo", k: [] },
    { role: "User", content: null, x: { y: 1 } },
  ],
  tools: [{
    type: "function",
    function: { name: "f", parameters: { type: "object", properties: {} } },
  }],
};

export const STRINGS = ["s", "t", "e", "h", "lines", "up", "num"];
export const LISTS = ["l", "words", "el", "ms"];
export const MAPPINGS = ["d", "ed", "ms[0]"];
export const NAMES = [
  "i",
  "z",
  "neg",
  "f",
  "half",
  "yes",
  "no",
  "n",
  "zz",
  ...STRINGS,
  ...LISTS,
  "d",
  "ed",
];

// deno-fmt-ignore
export const LITERALS = [
  "'a'", '"b"', "'a b'", "''", "'A-b c'", "'%s|%d'", "'{}'", "'é'", "'\\n'", "'\\d'", "'x,y'",
  "'<'", "0", "1", "2", "-1", "3", "10", "1_000", "0x1f", "0b101", "1.5", "1e3", "2.675", "-0.5",
  "1e16", "12345678901234567890", "9007199254740993", "true", "false", "none", "True", "None",
  "()", "(1,)", "(1, 'a')", "[]", "[1, 2, 3]", "['x', 'y']", "[[1, 2], [3]]", "{}", "{'a': 1}",
  "{1: 'b', 'c': none}", "range(3)", "range(5, 0, -2)", "('<'|safe)", "'a' 'b'", "1.0",
  "[1, 1.0, true]",
];

export const BINARY = ["+", "-", "*", "/", "//", "%", "~"];
export const COMPARE = ["==", "!=", "<", "<=", ">", ">=", "in", "not in"];

/** Calls of filters; `?` stands for an expression, `#` for a number. */
// deno-fmt-ignore
export const ANY_FILTERS = [
  "string", "default('q')", "default('q', true)", "d(?)", "tojson", "tojson(indent=2)",
  "tojson(ensure_ascii=true)", "tojson(separators=(',', ':'))", "tojson(sort_keys=true)", "safe",
  "escape", "forceescape", "upper", "trim", "replace('a', 'b')", "striptags", "wordcount",
  "title", "pprint",
];
// deno-fmt-ignore
export const TEXT_FILTERS = [
  "upper", "lower", "title", "capitalize", "trim", "trim('a ')", "length", "count", "first",
  "last", "list", "int", "int(5)", "int(0, 16)", "int(base=2)", "float", "float(1)", "join(',')",
  "safe", "escape", "e", "forceescape", "replace('a', 'b')", "replace('l', '', 1)",
  "replace('', '-')", "reverse", "sort", "unique|list", "min", "max", "batch(2)|list",
  "slice(3)|list", "map('upper')|list", "indent", "indent(2)", "indent(2, true)",
  "indent('> ', blank=true)", "truncate(5)", "truncate(5, true)", "truncate(4, false, '.', 0)",
  "center(15)", "wordcount", "wordwrap(5)", "wordwrap(4, false)", "wordwrap(6, wrapstring='|')",
  "striptags", "urlencode", "format(1, 2)", "attr('upper')", "urlize", "random", "nofilter",
];
// deno-fmt-ignore
export const LIST_FILTERS = [
  "length", "count", "first", "last", "list", "join", "join(', ')", "sort", "sort(reverse=true)",
  "sort(case_sensitive=true)", "unique|list", "reverse|list", "min", "max", "sum",
  "sum(start=1)", "batch(2)|list", "batch(2, 'f')|list", "slice(2)|list", "slice(2, 'f')|list",
  "map('upper')|list", "map('int')|list", "map('string')|list", "map('default', 'x')|join",
  "map(attribute='0')|list", "select|list", "reject|list", "select('string')|list",
  "select('gt', 1)|list", "reject('in', [1, 'a'])|list", "select('odd')|list", "groupby(0)",
  "urlencode", "tojson", "reverse", "map('upper')",
];
// deno-fmt-ignore
export const MESSAGE_FILTERS = [
  "join(', ', attribute='role')", "sort(attribute='role')|length",
  "sort(attribute='role,zz')|map(attribute='role')|list", "unique(attribute='role')|list",
  "max(attribute='role')", "map(attribute='role')|list", "map(attribute='k.0')|list",
  "map(attribute='content.0')|list", "map(attribute='zz', default='q')|list",
  "selectattr('role')|list", "selectattr('role', 'equalto', 'user')|list",
  "selectattr('k.0', 'defined')|list", "rejectattr('content', 'none')|list|length",
  "groupby('role')", "groupby('role', case_sensitive=true)|length",
  "selectattr('role', 'in', ['user', 'tool'])|map(attribute='content')|list",
  "groupby('zz', default='q')", "last",
];
// deno-fmt-ignore
export const MAPPING_FILTERS = [
  "dictsort", "dictsort(by='value')", "dictsort(reverse=true)", "items|list", "length", "list",
  "first", "last", "tojson", "xmlattr", "urlencode", "map('upper')|join", "sort",
  "attr('items')", "reverse|list", "join('-')",
];
// deno-fmt-ignore
export const NUMBER_FILTERS = [
  "abs", "round", "round(1)", "round(2)", "round(1, 'floor')", "round(method='ceil')",
  "round(-1)", "int", "float", "string", "filesizeformat", "filesizeformat(true)", "round(#)",
  "round(3, 'ceil')", "tojson", "round(none)",
];

// deno-fmt-ignore
export const TESTS = [
  "defined", "undefined", "none", "string", "number", "integer", "float", "boolean", "mapping",
  "iterable", "sequence", "callable", "true", "false", "odd", "even", "divisibleby 2",
  "divisibleby(3)", "in [1, 'a']", "in ?", "eq 1", "equalto('a')", "ne 2", "gt 1", "lt(2)",
  "ge 1", "le 1", "sameas true", "sameas none", "lower", "upper", "escaped", "filter", "test",
  "notest", "== 1", "greaterthan 2",
];

// deno-fmt-ignore
export const METHODS = [
  "upper()", "lower()", "title()", "capitalize()", "swapcase()", "casefold()", "strip()",
  "strip('a ')", "lstrip()", "rstrip('\\n')", "split()", "split(',')", "split(',', 1)",
  "split(' ', maxsplit=1)", "rsplit(',', 1)", "partition(',')", "rpartition('l')",
  "startswith('a')", "startswith(('h', 'a'))", "startswith('l', 2)", "endswith('d')",
  "endswith('l', 0, 4)", "find('l')", "find('l', 4)", "find('l', -3, -1)", "rfind('l')",
  "index('l')", "rindex('l', 0, 4)", "count('l')", "count('')", "count('l', 3)", "isdigit()",
  "isalpha()", "isalnum()", "isspace()", "isupper()", "islower()", "istitle()", "isnumeric()",
  "isidentifier()", "isascii()", "removeprefix('h')", "removesuffix('d')", "ljust(8, '.')",
  "rjust(8)", "center(9, '*')", "zfill(6)", "replace('l', 'L')", "replace('l', 'L', 1)",
  "replace('', '-')", "splitlines()", "splitlines(true)", "expandtabs(4)", "join(['a', 'b'])",
  "join('xyz')", "format(1, 'b', c=2)", "zz", "append(1)", "__class__",
];

// deno-fmt-ignore
export const FORMATS = [
  "'{} {}'.format(?, ?)", "'{1}{0}'.format(?, ?)", "'{a}'.format(a=?)", "'{:>8}'.format($)",
  "'{:.2f}'.format(#)", "'{:,}'.format(#)", "'{:05d}'.format(#)", "'{:x}'.format(i)",
  "'{!r:^9}'.format(?)", "'{:e}'.format(#)", "'{:g}'.format(#)", "'{:.1%}'.format(#)",
  "'{0[0]}'.format(l)", "'{0.x}'.format(d)", "'%s' % (?,)", "'%r' % (?,)", "'%d' % (#,)",
  "'%5.1f|' % (#,)", "'%-6s|' % $", "'%05d' % #", "'%x' % i", "'%e' % #", "'%g' % #",
  "'%s %s' % (?, ?)", "'%(x)s' % d", "'%%' % ()", "'%c' % 65", "'{:+d}'.format(i)",
  "'{:_}'.format(#)", "'{:<{w}}|'.format($, w=6)", "'{:}'.format(?)", "'{:10.3}|'.format($)",
  "'{:#x}'.format(i)", "'{:.3}'.format(#)", "'%.3g' % #", "'%+.2e' % #", "'{:010.2f}'.format(#)",
  "'{:^12}'.format(#)", "'{:010,}'.format(#)", "'{:#g}'.format(#)", "('<%s>'|safe) % $",
  "('<{}>'|safe).format($)", "'{:b}'.format(i)", "'{:o}'.format(i)", "'{:G}'.format(#)",
];
