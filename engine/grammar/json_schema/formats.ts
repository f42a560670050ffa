import type { NumberShape } from "./shapes.ts";

const year = "\\d{4}";
const leap = "(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)";
const day = "(?:0[1-9]|1\\d|2[0-8])";
const date = `(?:${year}-(?:(?:0[1-9]|1[0-2])-${day}|(?:0[13-9]|1[0-2])-(?:29|30)|` +
  `(?:0[13578]|1[02])-31)|${leap}-02-29)`;
const clock = "(?:[01]\\d|2[0-3]):[0-5]\\d";
const time = `${clock}:[0-5]\\d(?:\\.\\d{1,9})?(?:Z|[+-]${clock})`;
const span = "(?:\\d{1,9}H(?:\\d{1,9}M(?:\\d{1,9}S)?)?|\\d{1,9}M(?:\\d{1,9}S)?|\\d{1,9}S)";
const days = "(?:\\d{1,9}Y(?:\\d{1,9}M(?:\\d{1,9}D)?)?|\\d{1,9}M(?:\\d{1,9}D)?|\\d{1,9}D)";
const duration = `P(?:\\d{1,9}W|${days}(?:T${span})?|T${span})`;

const byte = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
const ipv4 = `${byte}(?:\\.${byte}){3}`;
const group = "[0-9A-Fa-f]{1,4}";
const end = `(?:${group}:${group}|${ipv4})`;
const ipv6 = [
  `(?:${group}:){6}${end}`,
  `::(?:${group}:){5}${end}`,
  ...[4, 3, 2, 1, 0].map((after, i) =>
    `(?:(?:${group}:){0,${i}}${group})?::(?:${group}:){${after}}${end}`
  ),
  `(?:(?:${group}:){0,5}${group})?::${group}`,
  `(?:(?:${group}:){0,6}${group})?::`,
].join("|");

const label = "[A-Za-z0-9](?:[A-Za-z0-9]|-[A-Za-z0-9]){0,14}";
const hostname = `${label}(?:\\.${label}){0,7}`;
const word = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+";
const email = `${word}(?:\\.${word}){0,3}@${label}(?:\\.${label}){1,6}`;

const hex = "[0-9A-Fa-f]";
const character = `(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%${hex}${hex})`;
/** Without a colon, which would end a scheme. */
const plain = `(?:[A-Za-z0-9._~!$&'()*+,;=@-]|%${hex}${hex})`;
const tail = `(?:\\?(?:${character}|[/?])*)?(?:#(?:${character}|[/?])*)?`;
const authority = `(?:[A-Za-z0-9._~-]+@)?[A-Za-z0-9._~-]+(?::\\d{1,4})?`;
const rooted = `//${authority}(?:/${character}*)*|/(?:${character}+(?:/${character}*)*)?`;
const uri = `[A-Za-z][A-Za-z0-9+.-]*:(?:${rooted}|${character}+(?:/${character}*)*)${tail}`;
const relative = `(?:(?:${rooted}|${plain}+(?:/${character}*)*)?${tail})`;
const reference = `${uri}|${relative}`;

const uuid = `${hex}{8}-${hex}{4}-${hex}{4}-${hex}{4}-${hex}{12}`;
const versioned = (version: number) =>
  `${hex}{8}-${hex}{4}-${version}${hex}{3}-[89ABab]${hex}{3}-${hex}{12}`;
const base64 = "(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?";
/** Templates have no apostrophe outside of their names. */
const template = `(?:[A-Za-z0-9._~!$&()*+,;=:@/?#-]|%${hex}${hex}|\\{[A-Za-z0-9_]+\\})*`;
const pointer = "(?:/(?:[^~/]|~0|~1)*)*";
const relativePointer = `(?:0|[1-9]\\d{0,8})(?:#|${pointer})`;

/**
 * What `format` names, as patterns of whole strings by their names: never more than the format allows, sometimes less
 * (no leap seconds, hosts of up to eight labels of 30 characters).
 */
export const FORMATS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    date,
    time,
    "date-time": `${date}T${time}`,
    duration,
    email,
    "idn-email": email,
    hostname,
    "idn-hostname": hostname,
    ipv4,
    ipv6,
    uri,
    "uri-reference": reference,
    iri: uri,
    "iri-reference": reference,
    "uri-template": template,
    uuid,
    uuid4: versioned(4),
    uuid7: versioned(7),
    byte: base64,
    base64,
    // OpenAPI's, which say nothing of the text.
    binary: "[^]*",
    password: "[^]*",
    "json-pointer": pointer,
    "relative-json-pointer": relativePointer,
  }).map(([name, pattern]) => [name, `^(?:${pattern})$`]),
);

const integers = (least: bigint, most: bigint): Partial<NumberShape> => ({
  kind: "integer",
  least: { at: { units: least, places: 0 }, excluded: false },
  most: { at: { units: most, places: 0 }, excluded: false },
});

/** OpenAPI's formats of numbers, and those of its registry that Rust's `schemars` writes. */
export const NUMBER_FORMATS: ReadonlyMap<string, Partial<NumberShape>> = new Map([
  ...[8n, 16n, 32n, 64n].flatMap((bits): [string, Partial<NumberShape>][] => [
    [`int${bits}`, integers(-(2n ** (bits - 1n)), 2n ** (bits - 1n) - 1n)],
    [`uint${bits}`, integers(0n, 2n ** bits - 1n)],
  ]),
  ["float", {}],
  ["double", {}],
]);
