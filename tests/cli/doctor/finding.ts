/**
 * What `m40 doctor` finds on a machine that is made for it, and how tests look at a finding.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path";
import { examine } from "../../../cli/doctor/examine.ts";
import { examineCards } from "../../../cli/doctor/examine_card.ts";
import type { Finding, Level } from "../../../cli/doctor/finding.ts";
import { KernelLibrary } from "../../../engine/device/library.ts";
import { TemporaryEnvironment } from "../../fixtures/temporary.ts";
import { type Machine, makeRoot } from "./fixture.ts";

/** Libraries stay loaded to the end of the process. */
export const options = { sanitizeOps: false, sanitizeResources: false };

/** What doctor finds on a machine, whose driver says what the settings say. */
export async function findOn(
  machine: Machine,
  nvml = "",
  variables: Record<string, string> = {},
  loadSeconds = 0,
): Promise<Finding[]> {
  const root = await makeRoot(machine);
  const models = join(root, "models");
  await Deno.mkdir(models);
  // A port that is free, unless another program takes it now.
  const probe = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = probe.addr;
  probe.close();
  let found: Finding[] = [];
  try {
    const all = {
      M40_MODELS: models,
      XDG_CACHE_HOME: join(root, "cache"),
      OLLAMA_MODELS: join(root, "none"),
      HF_HUB_CACHE: join(root, "none"),
      M40_EMULATION_NVML: nvml,
      ...variables,
    };
    using _environment = new TemporaryEnvironment(all);
    found = await examine({ root, host: "127.0.0.1", port, loadSeconds });
  } finally {
    await Deno.remove(root, { recursive: true });
  }
  return found;
}

/** What doctor finds of the card, asked in this process, which is faster. */
export async function findOnCard(
  machine: Machine,
  nvml = "",
  variables: Record<string, string> = {},
  loadSeconds = 0,
  device?: number,
): Promise<Finding[]> {
  const root = await makeRoot(machine);
  let found: Finding[] = [];
  try {
    using _environment = new TemporaryEnvironment({ M40_EMULATION_NVML: nvml, ...variables });
    const open = () => KernelLibrary.find("cuda");
    found = await examineCards({ root, device, loadSeconds, open });
  } finally {
    await Deno.remove(root, { recursive: true });
  }
  return found;
}

/** The finding of a name, as one says what it should be like. */
export function check(
  found: readonly Finding[],
  name: string,
  level: Level,
  says: RegExp,
): Finding {
  const all = found.map((one) => `${one.level} ${one.area}.${one.name}: ${one.says}`).join("\n");
  const finding = found.find((one) => one.name === name);
  assert(finding !== undefined, `no ${name} among:\n${all}`);
  assertEquals(finding.level, level, all);
  assertMatch(finding.says, says);
  if (level === "to_do" || level === "not_usable") {
    const advised = found.some((one) => one.area === finding.area && one.advice !== undefined);
    assert(advised, `nothing to do about ${name}`);
  }
  return finding;
}
