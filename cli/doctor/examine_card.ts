import { bandwidthOf, KernelLibrary } from "../../engine/device/mod.ts";
import { measureCopies, underLoad } from "../../engine/self_test/mod.ts";
import { bandwidthFindings } from "./bandwidth.ts";
import { cardFindings, healthProblems } from "./card.ts";
import { clockFindings } from "./clocks.ts";
import { driverFindings } from "./driver.ts";
import { eccFindings } from "./ecc.ts";
import { type Facts, findFacts, reasonOf } from "./facts.ts";
import { type Finding, findingsOf } from "./finding.ts";
import { heatFindings, type LoadSeen } from "./heat.ts";
import { memoryErrorFindings } from "./memory_errors.ts";
import { pcieFindings } from "./pcie.ts";
import { selfTestFindings } from "./self_check.ts";

/** What is looked at of the cards. */
export interface CardExamination {
  /** Where /proc, /sys and /dev are. */
  readonly root: string;
  /** The index in CUDA of the one card that is looked at; absent: every one. */
  readonly device?: number;
  /** Seconds of load; 0 for none. */
  readonly loadSeconds: number;
  /** Whether every operation is compared with the processor's. */
  readonly selfTest?: boolean;
  /** Called with the current step, for a waiting user. */
  readonly progress?: (what: string) => void;
  /** Opens the library for GPUs; in a separate process by default. */
  readonly open?: () => KernelLibrary;
}

/** A driver that crashes does so in another process, and the context that is made on the card is gone with it. */
const openInProcess = () => KernelLibrary.startProcess("cuda", true);

/** Looks at the driver and the cards; where there are several, findings say of which they are. */
export async function examineCards(asked: CardExamination): Promise<Finding[]> {
  const { facts, ofDriver, ofCard } = await examineCard(asked, asked.device ?? 0);
  if (asked.device !== undefined) return [...ofDriver, ...ofCard];
  const others = facts.devices.filter(({ index }) => index !== 0);
  if (others.length === 0 && facts.silent.length === 0) return [...ofDriver, ...ofCard];
  const findings = [...ofDriver];
  const add = (card: string, some: readonly Finding[]) =>
    findings.push(...some.map((finding) => ({ ...finding, card })));
  add(facts.device === undefined ? inDriver(facts.health?.index) : "cuda:0", ofCard);
  for (const { index } of others) {
    const card = `cuda:${index}`;
    const progress = asked.progress && ((what: string) => asked.progress!(`${card}: ${what}`));
    add(card, (await examineCard({ ...asked, progress }, index)).ofCard);
  }
  for (const health of facts.silent) {
    add(inDriver(health.index), healthProblems({ health, programs: [] }));
  }
  return findings;
}

/** A card that CUDA has no number for. */
function inDriver(index = 0): string {
  return `card ${index} of nvidia-smi`;
}

/** Looks at the driver and one card. */
async function examineCard(asked: CardExamination, device: number) {
  const { root, progress = () => {}, open = openInProcess } = asked;
  progress("asking the driver");
  await using found = await findFacts(root, device, open);
  const { facts, library } = found;
  const ofCard = [...cardFindings(facts), ...await cardState(facts, library, asked)];
  if (asked.selfTest) {
    if (library === undefined || facts.device === undefined) {
      const says = "The self-test was not run, as the card cannot be used.";
      ofCard.push(findingsOf("self_test").notUsable("no_card", says));
    } else ofCard.push(...await selfTestFindings(library, facts.device.index, progress));
  }
  return { facts, ofDriver: driverFindings(facts), ofCard };
}

/** The card's state, and what it gives where it can be measured. */
async function cardState(
  facts: Facts,
  library: KernelLibrary | undefined,
  { loadSeconds, progress = () => {} }: CardExamination,
): Promise<Finding[]> {
  const { health, device } = facts;
  const findings: Finding[] = [];
  let copies;
  if (library !== undefined && device !== undefined) {
    progress("copying to the card and back");
    try {
      copies = await measureCopies(library, device.index, health?.index);
      findings.push(...bandwidthFindings(copies.onDevice, bandwidthOf(device), health?.ecc));
    } catch (error) {
      findings.push(unmeasured("Copies", error));
    }
  }
  if (health === undefined || health.code !== 0) return findings;
  let load: LoadSeen | undefined;
  if (library !== undefined && device !== undefined && loadSeconds > 0) {
    try {
      const samples = await underLoad(
        library,
        device.index,
        health.index,
        loadSeconds,
        ({ temperatureCelsius }, seconds) =>
          progress(
            `load: ${Math.round(seconds)} of ${loadSeconds} s` +
              (temperatureCelsius === undefined ? "" : `, ${temperatureCelsius} °C`),
          ),
      );
      load = { seconds: loadSeconds, samples };
    } catch (error) {
      findings.push(unmeasured("The load", error));
    }
  }
  return [
    ...eccFindings(health),
    ...memoryErrorFindings(health),
    ...pcieFindings(health, copies),
    ...clockFindings(health),
    ...heatFindings(health, load),
    ...findings,
  ];
}

function unmeasured(what: string, error: unknown): Finding {
  const says = `${what} could not be measured: ${reasonOf(error)}`;
  return findingsOf("card").note("not_measured", says);
}
