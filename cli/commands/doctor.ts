import { card, type Command, command, flag, integer, option, text } from "../arguments/mod.ts";
import { asJson, asText, CODES, STATUS, worst } from "../doctor/mod.ts";
import { style, write, writeError, writeJson } from "../terminal/mod.ts";

/** `m40 doctor`. */
export const doctor: Command = command({
  name: "doctor",
  summary: "Check the card, its driver and the machine, and say what to do",
  description:
    "Checks the driver, whether the card can be used and why not, error correction, memory errors, the PCI Express " +
    "link and its speed, clocks and what limits them, heat, the processor, the models directory and its disk, " +
    "which models fit, and the port of m40 serve.\n" +
    "The report holds no names, addresses, serial numbers or keys, so that it can be posted.\n" +
    "The exit code is 0 if all is well, 1 if there is something to do, 2 if m40 cannot use a card.",
  arguments: [],
  options: {
    json: flag("Write a JSON object"),
    "self-test": flag("Also have the card compute every operation, and compare with the CPU"),
    load: flag("Also have the card compute, and say how hot it gets"),
    "load-seconds": option(integer(1, 3600), "Seconds of --load", { default: 60 }),
    device: option(card(), "Check this card only, by CUDA's number; default: all"),
    host: option(text("ADDRESS"), "Where m40 serve is to listen", { default: "127.0.0.1" }),
    port: option(integer(1, 65535), "Its port", { default: 11434 }),
  },
  examples: {
    "m40 doctor": "What there is, and what to do",
    "m40 doctor --load": "And how hot the card gets in a minute of work",
    "m40 doctor --self-test": "Whether the card computes right, in a minute",
    "m40 doctor --device cuda:1 --load": "The second of several cards alone",
    "m40 doctor --json > report.json": "For a bug report",
  },
  async run(_words, options) {
    // Here, not above: commands without a model start faster.
    const { examine } = await import("../doctor/examine.ts");
    const { privateFacts, redactAll } = await import("../doctor/redact.ts");
    const watched = Deno.stderr.isTerminal();
    const findings = redactAll(
      await examine({
        root: "/",
        device: options.device,
        host: options.host,
        port: options.port,
        selfTest: options["self-test"],
        loadSeconds: options.load ? options["load-seconds"] : 0,
        progress: watched
          ? (what) => void writeError(`\r\x1b[K${style(Deno.stderr, "dim", what)}`)
          : undefined,
      }),
      privateFacts(),
    );
    if (watched) await writeError("\r\x1b[K");
    await (options.json ? writeJson(asJson(findings)) : write(asText(findings)));
    return CODES[STATUS[worst(findings)]];
  },
});
