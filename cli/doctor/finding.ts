/** How much a finding matters, the least first: fine, worth knowing, something to do, m40 cannot use the card. */
export const LEVELS = ["fine", "note", "to_do", "not_usable"] as const;
export type Level = typeof LEVELS[number];

/** What a finding is about. */
export type Area =
  | "driver"
  | "card"
  | "ecc"
  | "pcie"
  | "clocks"
  | "heat"
  | "memory"
  | "processor"
  | "store"
  | "port"
  | "models"
  | "self_test";

/** One thing that was looked at. */
export interface Finding {
  readonly area: Area;
  /** Which card it is of, where there are several: "cuda:1". */
  readonly card?: string;
  /** What was found, by a name that stays: for scripts. */
  readonly name: string;
  readonly level: Level;
  /** What is the case: a sentence. */
  readonly says: string;
  /** What to do about it: a sentence or two. */
  readonly advice?: string;
  readonly values?: Values;
}

/** The numbers in a finding, with their units in their names. */
type Values = Readonly<Record<string, number | string | boolean | undefined>>;

/** Makes findings of an area, one function for each level; they have these values where they have none of their own. */
export function findingsOf(area: Area, common?: Values) {
  const at =
    (level: Level) => (name: string, says: string, advice?: string, values = common): Finding => ({
      ...{ area, name, level, says, advice, values },
    });
  return { fine: at("fine"), note: at("note"), toDo: at("to_do"), notUsable: at("not_usable") };
}

/** The weightiest level among findings. */
export function worst(findings: readonly Finding[]): Level {
  return LEVELS[Math.max(0, ...findings.map(({ level }) => LEVELS.indexOf(level)))];
}
