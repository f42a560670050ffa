import type { Gguf } from "../../gguf/mod.ts";
import type { ProgramBuilder } from "../../program/mod.ts";
import type { Hyperparameters } from "./hyperparameters.ts";

/** The parts of a file that a text model does without, by the prefix of their tensors' names. */
const OTHER_SENSES: readonly { readonly part: string; readonly name: RegExp }[] = [
  { part: "vision", name: /^(v|mm|vision_tower|multi_modal_projector)\./ },
  { part: "audio", name: /^(a|audio_tower)\./ },
];

/** Tensors that say nothing that is needed: scales for inputs of eight bits, tables of old files. */
const NEEDLESS = /\.(input_scale|attn_rot_embd\.weight|attn\.rotary_emb\.inv_freq)$/;

/**
 * Lets a program do without the tensors that a plain forward pass of text has no use for.
 *
 * @param layers Layers of a plain pass; those behind them that the file counts predict further tokens.
 * @returns Sentences for people.
 * @throws {M40Error} "invalid_model" where the file has layers that it does not count.
 */
export function ignoreUnused(
  gguf: Gguf,
  program: ProgramBuilder,
  parameters: Hyperparameters,
  layers: number,
): string[] {
  const notes = [...gguf.notes ?? []];
  program.ignore((name) => NEEDLESS.test(name));
  checkLayers(gguf, parameters);
  const predicting = program.ignore((name) => (layerOf(name) ?? -1) >= layers);
  if (predicting > 0) {
    notes.push(`Its layers that predict further tokens (${predicting} tensors) are not used.`);
  }
  const parts = OTHER_SENSES.filter(({ name }) => program.ignore((n) => name.test(n)) > 0)
    .map(({ part }) => part);
  if (parts.length > 0) {
    notes.push(`Its ${parts.join(" and ")} part is not used: it runs as a model of text.`);
  } else if (takesMore(gguf)) {
    notes.push("The model also takes pictures or sound: here it runs as a model of text.");
  }
  return notes;
}

/** Which layer a tensor is of; undefined: none. */
function layerOf(name: string): number | undefined {
  const layer = /^blk\.(\d+)\./.exec(name);
  return layer === null ? undefined : Number(layer[1]);
}

/** Layers that are not counted may be the model's: without them it would compute something else. */
function checkLayers(gguf: Gguf, parameters: Hyperparameters): void {
  const counted = parameters.count("block_count");
  const behind = new Set<number>();
  for (const name of gguf.tensors.keys()) {
    const layer = layerOf(name);
    if (layer !== undefined && layer >= counted) behind.add(layer);
  }
  if (behind.size === 0) return;
  const key = parameters.key("block_count");
  throw parameters.invalid(
    `${key} is ${counted}, but the file has ${behind.size} layer${behind.size === 1 ? "" : "s"} ` +
      `more (blk.${behind.values().next().value} and so on): it is cut or wrong; take another file, ` +
      `or say what is right with --override ${key}=${counted + behind.size}`,
  );
}

/** Whether a model whose file has only its language part has others: its tags say so, or its architecture's name. */
function takesMore({ metadata }: Gguf): boolean {
  if (/vl(moe)?$/.test(metadata.string("general.architecture"))) return true;
  const tags = metadata.get("general.tags");
  return tags !== null && typeof tags === "object" && "toArray" in tags &&
    tags.toArray().some((tag) => /^(image|video|audio|any)[-a-z]*-to-/.test(tag));
}
