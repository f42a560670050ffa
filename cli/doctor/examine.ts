import { lookAt } from "../show/mod.ts";
import { listModels, type StoredModel } from "../../engine/store/mod.ts";
import { type CardExamination, examineCards } from "./examine_card.ts";
import { reasonOf } from "./facts.ts";
import { type Finding, findingsOf } from "./finding.ts";
import { modelFindings } from "./models.ts";
import { portFindings } from "./port.ts";
import { processorFindings } from "./processor.ts";
import { storeFindings } from "./store.ts";

/** What is looked at. */
export interface Examination extends CardExamination {
  /** Where `m40 serve` is to listen. */
  readonly host: string;
  readonly port: number;
}

/** Looks at everything; what cannot be looked at is a finding itself. */
export async function examine(asked: Examination): Promise<Finding[]> {
  const { root, progress = () => {} } = asked;
  const findings = await examineCards(asked);
  findings.push(...await processorFindings());
  progress("looking at the models");
  let models: StoredModel[] = [];
  try {
    models = await listModels();
    findings.push(...await storeFindings(root, models));
    findings.push(...modelFindings(await lookAt(models)));
  } catch (error) {
    const says = `The models cannot be listed: ${reasonOf(error)}`;
    findings.push(findingsOf("store").toDo("unreadable", says));
  }
  findings.push(...await portFindings(asked.host, asked.port));
  return findings;
}
