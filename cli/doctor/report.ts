import { VERSION } from "../../server/version.ts";
import { printable, style } from "../terminal/mod.ts";
import { type Area, type Finding, type Level, worst } from "./finding.ts";

/** What areas are called, in the order of the report. */
const TITLES: Readonly<Record<Area, string>> = {
  driver: "Driver",
  card: "Card",
  ecc: "Error correction",
  memory: "Memory errors",
  pcie: "PCI Express",
  clocks: "Clocks and power",
  heat: "Heat",
  processor: "Processor",
  store: "Store",
  models: "Models",
  port: "Port",
  self_test: "Self-test",
};

const MARKS: Readonly<
  Record<Level, readonly [text: string, colour: "green" | "cyan" | "yellow" | "red"]>
> = {
  fine: ["ok", "green"],
  note: ["note", "cyan"],
  to_do: ["to do", "yellow"],
  not_usable: ["broken", "red"],
};

/** What the whole comes to, in a word for scripts. */
export const STATUS = {
  fine: "fine",
  note: "fine",
  to_do: "to_do",
  not_usable: "not_usable",
} as const;

/** The exit code of a report. */
export const CODES = { fine: 0, to_do: 1, not_usable: 2 } as const;

/** The report for a person. */
export function asText(findings: readonly Finding[]): string {
  const lines: string[] = [];
  for (const [area, title] of Object.entries(TITLES)) {
    const own = findings.filter((finding) => finding.area === area);
    if (own.length === 0) continue;
    lines.push(style(Deno.stdout, "bold", title));
    for (const { card, level, says, advice } of own) {
      const [mark, colour] = MARKS[level];
      const which = card === undefined ? "" : `${card}: `;
      lines.push(`  ${style(Deno.stdout, colour, mark.padEnd(6))}  ${which}${oneLine(says)}`);
      if (advice !== undefined) lines.push(`          ${oneLine(advice)}`);
    }
  }
  const count = (level: Level) => findings.filter((finding) => finding.level === level).length;
  const status = STATUS[worst(findings)];
  const todo = count("to_do") + count("not_usable");
  const summary = {
    fine: "All is well.",
    to_do: `m40 works; ${todo === 1 ? "one thing" : `${todo} things`} to do.`,
    not_usable: `m40 cannot use ${unusable(findings)} as it is.`,
  }[status];
  return `${lines.join("\n")}\n\n${summary}\n`;
}

/** What of the machine cannot be used: a card by its name where there are several. */
function unusable(findings: readonly Finding[]): string {
  const cards = findings.flatMap(({ level, card }) => level === "not_usable" ? [card] : []);
  return [...new Set(cards.map((card) => card ?? "the card"))].join(" and ");
}

/** The report for programs. */
export function asJson(findings: readonly Finding[]): Record<string, unknown> {
  const status = STATUS[worst(findings)];
  return {
    version: VERSION,
    status,
    exit_code: CODES[status],
    findings: findings.map(({ area, card, name, level, says, advice, values }) => ({
      area,
      card,
      name,
      level,
      says,
      advice,
      values: values ?? {},
    })),
  };
}

function oneLine(text: string): string {
  return printable(text).replace(/\s+/g, " ");
}
