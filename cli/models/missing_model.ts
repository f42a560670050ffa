import { M40Error } from "../../engine/errors.ts";
import { flag } from "../arguments/mod.ts";
import { askLine, formatBytes } from "../terminal/mod.ts";
import { type Reference, resolveModel, type StoredModel } from "../../engine/store/mod.ts";
import { pullShown } from "./pull_shown.ts";

/** For commands that can fetch a model which is not there. */
export const PULL_OPTION = { pull: flag("Fetch the model, where it is not there, without asking") };

/** What fetching a missing model depends on. */
export interface MissingModelOptions {
  readonly pull: boolean;
  /** The device that it shall fit on. */
  readonly device?: string;
}

/**
 * The model of a name, fetched where it is not there and its name says from where: with `--pull`, or where the user on
 * the terminal agrees.
 *
 * @throws {M40Error} As {@link resolveModel} does; then the message says how to fetch it.
 */
export async function storedOrPulled(
  name: string,
  { pull, device }: MissingModelOptions,
): Promise<StoredModel> {
  try {
    return await resolveModel(name);
  } catch (error) {
    if (!(error instanceof M40Error) || error.code !== "model_not_found") throw error;
    const reference = await referenceOf(name);
    if (reference === undefined) throw error;
    const { findPulled } = await import("../../engine/store/pull/mod.ts");
    const here = await findPulled(reference);
    if (here !== undefined) return await resolveModel(here);
    if (!pull && !await agreed(name, reference)) {
      throw new M40Error(
        error.code,
        `There is no model ${JSON.stringify(name)} here. ` +
          `\`m40 pull ${name}\` fetches it${sizeOf(reference)}, and so does --pull.`,
      );
    }
    const { pulled } = await pullShown(name, { device, here: true });
    if (pulled === undefined) {
      throw new M40Error("cancelled", `Without the model ${name} there is nothing to run.`);
    }
    return await resolveModel(pulled.name);
  }
}

/** What a name means to `m40 pull`; undefined where that is nothing, or a path, which would be there. */
async function referenceOf(name: string): Promise<Reference | undefined> {
  // Here, not above: a model that is present needs no table of aliases.
  const { parseReference } = await import("../../engine/store/sources/mod.ts");
  try {
    const reference = parseReference(name);
    return reference.kind === "path" ? undefined : reference;
  } catch (error) {
    if (error instanceof M40Error) return undefined;
    throw error;
  }
}

async function agreed(name: string, reference: Reference): Promise<boolean> {
  if (!Deno.stdin.isTerminal() || !Deno.stdout.isTerminal()) return false;
  const answer = await askLine(`${name} is not here. Fetch it${sizeOf(reference)}? [Y/n] `, []);
  return answer !== undefined && ["", "y", "yes"].includes(answer.trim().toLowerCase());
}

function sizeOf(reference: Reference): string {
  const alias = reference.kind === "hub" ? reference.alias : undefined;
  return alias === undefined ? "" : ` (about ${formatBytes(alias.bytes)})`;
}
