import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import fc from "fast-check";
import { COMMANDS } from "../../cli/commands/mod.ts";
import { findCommand } from "../../cli/arguments/find_command.ts";
import type { Command } from "../../cli/arguments/command.ts";
import { UsageError } from "../../cli/errors.ts";
import {
  formatBytes,
  formatCount,
  formatTable,
  shortestFloat32,
} from "../../cli/terminal/format.ts";
import { parseLine } from "../../cli/arguments/parse.ts";
import { statistics } from "../../cli/bench/statistics.ts";
import { printable, visible } from "../../cli/terminal/terminal.ts";
import { commandUsage } from "../../cli/arguments/usage.ts";
import { origin, tokenIds } from "../../cli/arguments/values.ts";

const command = (name: string): Command => findCommand(COMMANDS, name);
const parse = (name: string, ...args: string[]) => parseLine(command(name), args);
const complaint = (name: string, ...args: string[]) =>
  assertThrows(() => parse(name, ...args), UsageError).message;

Deno.test("command line: options may stand before, between and behind the words", () => {
  const { words, options } = parse("run", "--seed", "7", "demo", "--top-k=40", "Once", "upon");
  assertEquals(words, ["demo", "Once", "upon"]);
  assertEquals([options.seed, options["top-k"], options.reasoning], [7n, 40, "separate"]);
});

Deno.test("command line: values that start with a dash, and words behind --, are taken", () => {
  const { words, options } = parse(
    "run",
    "demo",
    "--presence-penalty",
    "-1.5",
    "--",
    "--seed",
    "-x",
  );
  assertEquals(options["presence-penalty"], -1.5);
  assertEquals(words, ["demo", "--seed", "-x"]);
});

Deno.test("command line: --stop is collected, and may hold a line feed or an equals sign", () => {
  const { options } = parse("run", "demo", "--stop", "\n", "--stop=a=b");
  assertEquals(options.stop, ["\n", "a=b"]);
});

Deno.test("command line: a flag takes no word away, whatever the word is", () => {
  assertEquals(parse("tokenize", "demo", "--ids", "true").words, ["demo", "true"]);
});

Deno.test("command line: mistakes are answered with what was got and wanted", () => {
  assertMatch(complaint("run", "demo", "--temprature", "1"), /"--temprature"; did you mean --temp/);
  assertMatch(
    complaint("run", "demo", "--temperature", "300"),
    /got "300", wanted a number from 0 to 100/,
  );
  assertMatch(complaint("run", "demo", "--top-p", "1.1"), /wanted a number from 0 to 1/);
  assertMatch(complaint("run", "demo", "--top-k", "1.5"), /got "1.5", wanted a whole number/);
  assertMatch(complaint("run", "demo", "--ctx", "many"), /--ctx: got "many", wanted a whole/);
  assertMatch(complaint("run", "demo", "--ctx", "0x10"), /got "0x10"/);
  assertMatch(complaint("run", "demo", "--ctx", "--seed"), /--ctx needs a value/);
  assertMatch(complaint("run", "demo", "--ctx"), /--ctx needs a value/);
  assertMatch(complaint("run", "demo", "--stop="), /--stop: got "", wanted a text/);
  assertMatch(complaint("run", "demo", "--seed", "1", "--seed", "2"), /given twice/);
  assertMatch(complaint("run", "demo", "--verbose=yes"), /takes no value, got "yes"/);
  assertMatch(complaint("run", "demo", "-5"), /no option "-5"; put -- in front/);
  assertMatch(complaint("run"), /MODEL is missing/);
  assertMatch(complaint("serve", "demo"), /takes no arguments.*did you mean --model demo/);
  assertMatch(
    complaint("serve", "-m", "demo", "--port", "65536"),
    /wanted a whole number from 0 to 65535/,
  );
  assertMatch(complaint("serve", "-m", "demo", "--device", "gpu"), /got "gpu", wanted auto, cpu/);
  assertMatch(
    complaint("serve", "-m", "demo", "--kv-type", "q8"),
    /got "q8", wanted f16, f32 or q8_0/,
  );
  assertMatch(complaint("tokenize", "demo", "two", "words"), /got "words" as well/);
  assertMatch(complaint("eval", "demo", "--tokens", "1,x"), /got "1,x", wanted token ids/);
});

Deno.test("command line: names that every object has are unknown options, not values", () => {
  for (const name of ["constructor", "__proto__", "toString", "hasOwnProperty"]) {
    assertMatch(complaint("run", "demo", `--${name}`, "1"), /has no option/);
    assertMatch(complaint("run", "demo", `--${name}=1`), /has no option/);
  }
});

Deno.test("command line: whatever is typed is parsed or answered, never crashed on", () => {
  const names = COMMANDS.flatMap(({ options }) => Object.keys(options).map((name) => `--${name}`));
  const word = fc.oneof(fc.constantFrom(...names, "--", "-", "-m", "1", "demo"), fc.string());
  const line = fc.tuple(fc.constantFrom(...COMMANDS), fc.array(word, { maxLength: 8 }));
  fc.assert(
    fc.property(line, ([command, args]) => {
      try {
        parseLine(command, args);
      } catch (error) {
        if (!(error instanceof UsageError)) throw error;
      }
    }),
    { numRuns: 3000 },
  );
});

Deno.test("help: every command has examples that its own parser accepts", () => {
  for (const command of COMMANDS) {
    assertEquals(Object.keys(command.examples).length > 0, true, command.name);
    for (const line of Object.keys(command.examples)) {
      const call = /\bm40 (.*)$/.exec(line)![1].replace(/ ([<>|].*)$/, "");
      const words = call.replace(/"\$\(.*\)"/, "1,2").match(/"[^"]*"|\S+/g)!;
      const [name, ...args] = words.map((word) => word.replaceAll('"', ""));
      parseLine(findCommand(COMMANDS, name), args);
    }
  }
});

Deno.test("help: every option is in it, and no line is wider than 100 characters", () => {
  for (const command of COMMANDS) {
    const usage = commandUsage(command);
    for (const name of Object.keys(command.options)) assertMatch(usage, new RegExp(`--${name}\\b`));
    const options = usage.slice(0, usage.indexOf("Examples:"));
    for (const line of options.split("\n")) assertEquals(line.length <= 102, true, line);
  }
});

Deno.test("token ids: commas, spaces and both separate; anything else is refused", () => {
  const { parse } = tokenIds();
  assertEquals(parse("1,2, 3 4\n"), [1, 2, 3, 4]);
  for (const text of ["", ",", "1,-2", "1.5", "1e3", "99999999999", "a"]) {
    assertEquals(parse(text), undefined, text);
  }
});

Deno.test("origins: are brought into the form that browsers send; what is none is refused", () => {
  const { parse } = origin();
  const wanted: [string, string | undefined][] = [
    ["*", "*"],
    ["https://example.com", "https://example.com"],
    ["HTTPS://Example.COM:443/", "https://example.com"],
    ["http://localhost:3000", "http://localhost:3000"],
    ["http://[::1]:80", "http://[::1]"],
    ["https://bücher.example", "https://xn--bcher-kva.example"],
    ["tauri://localhost", "tauri://localhost"],
    ["", undefined],
    ["null", undefined],
    ["example.com", undefined],
    ["localhost:3000", undefined],
    ["https://", undefined],
    ["https://example.com/page", undefined],
    ["https://example.com?a", undefined],
    ["https://me@example.com", undefined],
    ["https://a b", undefined],
    ["https://example.com:99999", undefined],
    ["*.example.com", undefined],
  ];
  for (const [text, value] of wanted) assertEquals(parse(text), value, text);
});

Deno.test("shortestFloat32: reads back as the same float32, in no more digits than needed", () => {
  assertEquals(shortestFloat32(Math.fround(0.1)), "0.1");
  assertEquals(shortestFloat32(-0.5), "-0.5");
  assertEquals(shortestFloat32(16777216), "16777216");
  assertEquals(shortestFloat32(Math.fround(3.4028234663852886e38)), "3.4028235e+38");
  assertEquals(shortestFloat32(NaN), "null");
  fc.assert(
    fc.property(fc.float({ noNaN: true, noDefaultInfinity: true }), (value) => {
      const text = shortestFloat32(value);
      assertEquals(Math.fround(JSON.parse(text)), value === 0 ? 0 : value);
      let digits = 1;
      while (Math.fround(Number(value.toPrecision(digits))) !== value) digits++;
      assertEquals(text, String(Number(value.toPrecision(digits))));
    }),
    { numRuns: 2000 },
  );
});

Deno.test("format: bytes, counts, tables, and text that cannot steer a terminal", () => {
  assertEquals([0, 1023, 1024, 1048575, 2 ** 40].map(formatBytes), [
    "0 B",
    "1023 B",
    "1.0 KiB",
    "1.0 MiB",
    "1.0 TiB",
  ]);
  assertEquals([951, 999_999, 1_235_814_432].map(formatCount), ["951", "1.00M", "1.24B"]);
  assertEquals(formatTable([["a", "1"], ["bb", "22"]], [1]), "a    1\nbb  22\n");
  assertEquals(printable("a\x1b[2J\tb\n\x9b"), "a\\x1b[2J\tb\n\\x9b");
  const hidden = "\u202a\u202e\u2066\u2069\u200b\u2060\ufeff\u00ad\u2028\u{e0041}\u061c";
  assertEquals(
    printable(hidden),
    "\\u{202a}\\u{202e}\\u{2066}\\u{2069}\\u{200b}\\u{2060}\\u{feff}\\xad\\u{2028}\\u{e0041}\\u{61c}",
  );
  // Persian, Hebrew with a mark, a family, a number sign: what people write is left.
  const written = "می\u200cخواهم שלום\u200f! 👩\u200d👧 \u0600١";
  assertEquals(printable(written), written);
  assertEquals(visible("a\u200db\u202e"), "a\\u{200d}b\\u{202e}");
});

Deno.test("statistics: mean and sample deviation", () => {
  assertEquals(statistics([2, 4, 4, 4, 5, 5, 7, 9]).mean, 5);
  assertEquals(statistics([1, 3]).deviation, Math.SQRT2);
  assertEquals(statistics([3]), { mean: 3, deviation: 0 });
});
