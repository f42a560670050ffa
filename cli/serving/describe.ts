import { formatBytes, formatCount, formatRowShare, printable, warn } from "../terminal/mod.ts";
import type { CardMemory } from "../../engine/loading/mod.ts";
import type { UnloadReason } from "../../engine/manager/mod.ts";
import { cacheTokens, type MemoryPlan } from "../../engine/memory/mod.ts";
import type { ChosenExchange } from "../../engine/parallel/mod.ts";
import { standardOutput } from "../../server/output/mod.ts";
import type { Engine, EngineCard } from "../../engine/mod.ts";

/** Says what a model is, and what it takes. */
export function describeModel(engine: Engine): void {
  const { model, arithmetic, cards, exchange, plan, contextTokens, chat, maxRunning } = engine;
  const lines = [
    [
      "Model",
      `${model.name} (${model.architecture} ${
        formatCount(model.parameters)
      } ${model.quantisation})`,
    ],
    ...cards.map((card) => ["Device", describeCard(card, plan)]),
    ...(exchange === undefined ? [] : [["Exchange", describeExchange(exchange)]]),
    ["Memory", describeMemory(plan, plan)],
    ...(arithmetic === "exact"
      ? []
      : [["Products", "in packed arithmetic: activations become integers"]]),
    ...model.notes.map((note) => ["Note", note]),
    ["Context", `${contextTokens} tokens of ${model.contextLength} trained`],
    ["Chat", describeTemplate(chat?.source)],
    [
      "At once",
      `${maxRunning} sequences; ${describeCache(plan)}`,
    ],
  ];
  for (const [name, value] of lines) standardOutput.say(`${name.padEnd(8)} ${printable(value)}\n`);
}

/** A device; of several what each has of the model, too. */
function describeCard(card: EngineCard, plan: MemoryPlan): string {
  const { name, device, layers, rowShare, memory, isOneOfSeveral } = card;
  const threads = device.threads ? `, ${device.threads} threads` : "";
  const set = device.instructionSet ? `, ${device.instructionSet}` : "";
  const described = `${device.name} (${device.backend}${set}${threads})`;
  if (!isOneOfSeveral) return described;
  const part = layers !== undefined
    ? `layers ${layers[0]} to ${layers[1]}`
    : rowShare === undefined
    ? "a replica"
    : formatRowShare(rowShare);
  return `${name}, ${described}: ${part}, ${describeMemory(memory, plan)}`;
}

/** How rows get from card to card, and how fast. */
function describeExchange({ path, seconds, noPeers }: ChosenExchange): string {
  const time = seconds === undefined
    ? ""
    : `, ${(seconds * 1e6).toFixed(1)} µs for a row of 4096 values`;
  return path === "peers"
    ? `rows go from card to card${time}`
    : `rows go through the host's memory${time}; not from card to card: ${noPeers}`;
}

function describeMemory(memory: CardMemory, plan: MemoryPlan): string {
  return `${formatBytes(memory.totalBytes)}: weights ${
    formatBytes(memory.weightBytes)
  }, KV cache ` +
    `${formatBytes(memory.cacheBytes)} (${plan.kvType}), ${
      describeStates(memory, plan)
    }activations ${formatBytes(memory.programBytes)}; ${formatBytes(memory.leftBytes)} left`;
}

function describeStates({ stateBytes }: CardMemory, { slots }: MemoryPlan): string {
  return slots === 0 ? "" : `states ${formatBytes(stateBytes)} (${slots} slots), `;
}

function describeCache(plan: MemoryPlan): string {
  if (plan.cache.n_layers === 0) return `${plan.slots} slots of states, and no KV cache`;
  return `${cacheTokens(plan)} tokens of KV cache (${plan.kvBlocks} KV blocks)`;
}

function describeTemplate(source?: string): string {
  if (source === undefined) return "no template; --chat-template NAME|FILE gives one";
  if (source === "model") return "by the model's own template";
  return source === "file" ? "by the template given" : `by the built-in template ${source}`;
}

/** Says in a line that a model is in memory. */
export function sayLoaded(name: string, { model, plan }: Engine, milliseconds: number): void {
  standardOutput.say(
    `Loaded   ${printable(name)} (${model.architecture} ${formatCount(model.parameters)} ` +
      `${model.quantisation}): ${formatBytes(plan.totalBytes)} in ${
        (milliseconds / 1000).toFixed(1)
      } s\n`,
  );
}

/** Reports that a model could not be loaded, as its requests do. */
export function sayLoadFailed(name: string, error: unknown): void {
  const reason = error instanceof Error ? error.message : String(error);
  warn(`${name} cannot be loaded: ${reason}`);
}

const REASONS: Record<Exclude<UnloadReason, "closed">, string> = {
  asked: "as asked",
  idle: "it was unused",
  replaced: "another model needs its place",
  lost: "its device was lost",
};

/** Says in a line that a model is in memory no more; at the server's end nothing. */
export function sayUnloaded(name: string, reason: UnloadReason): void {
  if (reason === "closed") return;
  standardOutput.say(`Unloaded ${printable(name)}: ${REASONS[reason]}\n`);
}
