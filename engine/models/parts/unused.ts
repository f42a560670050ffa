import type { Gguf } from "../../gguf/reader.ts";
import type { ProgramBuilder } from "../../program/builder.ts";

/** What of a file a text model knowingly does without, by the beginning of its tensors' names. */
const OTHER_SENSES: readonly { readonly part: string; readonly name: RegExp }[] = [
  { part: "vision", name: /^(v|mm|vision_tower|multi_modal_projector)\./ },
  { part: "audio", name: /^(a|audio_tower)\./ },
];

/** Tensors that say nothing that is needed: scales for inputs of eight bits, tables of old files. */
const NEEDLESS = /\.(input_scale|attn_rot_embd\.weight|attn\.rotary_emb\.inv_freq)$/;

/**
 * Lets a program do without the tensors that a plain forward pass of text has no use for.
 *
 * @param layers Layers of a plain pass; those behind them predict further tokens.
 * @returns Sentences for people.
 */
export function ignoreUnused(gguf: Gguf, program: ProgramBuilder, layers: number): string[] {
  const notes: string[] = [];
  program.ignore((name) => NEEDLESS.test(name));
  const predicting = program.ignore((name) => {
    const layer = /^blk\.(\d+)\./.exec(name);
    return layer !== null && Number(layer[1]) >= layers;
  });
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

/** Whether a model whose file has only its language part has others: its tags say so, or its architecture's name. */
function takesMore({ metadata }: Gguf): boolean {
  if (/vl(moe)?$/.test(metadata.string("general.architecture"))) return true;
  const tags = metadata.get("general.tags");
  return tags !== null && typeof tags === "object" && "toArray" in tags &&
    tags.toArray().some((tag) => /^(image|video|audio|any)[-a-z]*-to-/.test(tag));
}
