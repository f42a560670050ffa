import { M40Error } from "../../engine/errors.ts";
import { type Command, command, device, flag } from "../arguments/mod.ts";
import { ConfiguredOverrides } from "../config/mod.ts";
import { DEVICE_OPTIONS, MODEL_ARGUMENT, OVERRIDE_OPTIONS } from "../models/mod.ts";
import {
  type CardEstimate,
  estimateOf,
  estimateRows,
  fileRows,
  flat,
  jsonValue,
  type ModelSummary,
  originRows,
  recordAsJson,
  type Row,
  rowsOf,
  showValue,
  summarize,
  templateOrigin,
  templateText,
} from "../show/mod.ts";
import {
  formatBytes,
  formatCount,
  formatTable,
  printable,
  style,
  write,
  writeJson,
} from "../terminal/mod.ts";
import { type Gguf, type Override, readGguf, unknownKeysWarning } from "../../engine/gguf/mod.ts";
import {
  type AttentionSpan,
  attentionSpans,
  keptStates,
  sharingLayers,
} from "../../engine/loading/mod.ts";
import { type Fit, fitContext } from "../../engine/memory/mod.ts";
import { type Model, readModel } from "../../engine/models/mod.ts";
import { resolveModel, type StoredModel } from "../../engine/store/mod.ts";
import { describeSuppressed, readTokenizer } from "../../engine/tokenizer/mod.ts";

/** `m40 show MODEL`. */
export const show: Command = command({
  name: "show",
  summary: "Show a model's metadata and sizes, and the context that fits",
  description:
    "Works on every GGUF file, whether m40 can run it or not; then it says why it cannot.",
  arguments: [MODEL_ARGUMENT],
  options: {
    tensors: flag("List every tensor"),
    template: flag("Write the chat template, and nothing else"),
    json: flag("Write a JSON object"),
    ...OVERRIDE_OPTIONS,
    ...DEVICE_OPTIONS,
    device: { ...DEVICE_OPTIONS.device, type: device() },
  },
  examples: {
    "m40 show demo": "Metadata, shape, sizes, context",
    "m40 show ./mistral.Q4_K_M.gguf --tensors": "Every tensor of a file",
    "m40 show mistral --template > mine.jinja": "To edit it, for --chat-template",
    "m40 show mistral --kv-type f32 --json | jq .fit": "For a script",
  },
  async run([model], options) {
    const stored = await resolveModel(model);
    const overrides = await overridesOf(stored, options.override);
    const read = { anyType: true, overrides };
    const gguf = await readGguf(stored.path, read);
    if (options.template) return await write(templateText(gguf, stored.name));
    const written = await readGguf(stored.path, { ...read, asWritten: true });
    const unknown: string[] = [];
    const onUnknownKeys = (keys: readonly string[]) => void unknown.push(...keys);
    const facts: Facts = {
      stored,
      gguf,
      written,
      summary: summarize(gguf),
      model: attempt(stored.path, () => readModel(gguf, { onUnknownKeys })),
      tokenizer: attempt(stored.path, () => lookAtTokenizer(gguf, onUnknownKeys)),
      unknown: unknownKeysWarning(unknown),
      fit: attempt(
        stored.path,
        () => fitContext(gguf, { device: options.device, kvType: options["kv-type"] }),
      ),
      estimate: estimateOf(gguf),
    };
    const { tensors } = options;
    await (options.json ? writeJson(asJson(facts, tensors)) : write(asText(facts, tensors)));
  },
});

/** What the command line says, or else what `m40 serve` takes. */
async function overridesOf(
  stored: StoredModel,
  given: readonly Override[],
): Promise<readonly Override[]> {
  return given.length > 0 ? given : (await ConfiguredOverrides.read()).of(stored);
}

/** A value, or why there is none. */
type Attempt<T> = { readonly value: T } | { readonly problem: string };

interface Facts {
  readonly stored: StoredModel;
  readonly gguf: Gguf;
  /** The same in the names that the file has. */
  readonly written: Gguf;
  readonly summary: ModelSummary;
  readonly model: Attempt<Model>;
  /** What is to be said of the vocabulary, or why it cannot be read; nothing where there is none. */
  readonly tokenizer: Attempt<{ readonly warnings: readonly string[]; readonly note?: string }>;
  /** One sentence about metadata of layers and vocabulary that is not known, where there is any. */
  readonly unknown: readonly string[];
  readonly fit: Attempt<Fit>;
  readonly estimate?: CardEstimate;
}

function lookAtTokenizer(
  gguf: Gguf,
  onUnknownKeys: (keys: readonly string[]) => void,
): { warnings: readonly string[]; note?: string } {
  const warnings: string[] = [];
  if (!gguf.metadata.has("tokenizer.ggml.model")) return { warnings };
  const onWarning = (warning: string) => void warnings.push(warning);
  const tokenizer = readTokenizer(gguf, { onWarning, onUnknownKeys });
  return { warnings, note: describeSuppressed(tokenizer) };
}

function vocabularyRows({ tokenizer }: Facts): Row[] {
  if ("problem" in tokenizer) return [["vocabulary", `cannot be read: ${tokenizer.problem}`]];
  const { warnings, note } = tokenizer.value;
  return [["note", note], ...rowsOf("warning", warnings)];
}

function attempt<T>(path: string, work: () => T): Attempt<T> {
  try {
    return { value: work() };
  } catch (error) {
    // The path is said already, above.
    if (error instanceof M40Error) return { problem: error.message.replace(`${path}: `, "") };
    throw error;
  }
}

function asText(facts: Facts, tensors: boolean): string {
  const { stored, gguf, written, summary } = facts;
  const sections = [
    section(
      stored.name,
      pairs([
        ["title", summary.title ?? "(none)"],
        ["architecture", summary.architecture ?? "(none)"],
        ["parameters", formatCount(summary.parameters)],
        ["quantisation", summary.quantisation ?? "(no tensors: a vocabulary only)"],
        ["vocabulary", describeVocabulary(gguf)],
        ...vocabularyRows(facts),
        ["chat template", templateOrigin(gguf, stored)],
        ...rowsOf("override", gguf.overrides ?? []),
        ...rowsOf("warning", facts.unknown),
        ...fileRows(gguf),
        ["size", gguf.files.length > 1 ? formatBytes(gguf.fileBytes) : undefined],
        ...originRows(stored),
      ]),
    ),
    section("Shape", describeShape(facts)),
    section("Context that fits", describeFit(facts)),
  ];
  const { estimate } = facts;
  if (estimate) sections.push(section("Estimate", pairs(estimateRows(estimate))));
  if (summary.types.length > 0) sections.push(section("Size by tensor type", typeTable(summary)));
  if (tensors && gguf.tensors.size > 0) sections.push(section("Tensors", tensorTable(written)));
  sections.push(section("Metadata", metadataTable(written)));
  return sections.join("\n");
}

/** The kind of the vocabulary, and how its text is cut into words. */
function describeVocabulary({ metadata }: Gguf): string {
  const kind = metadata.get("tokenizer.ggml.model");
  const cut = metadata.get("tokenizer.ggml.pre");
  if (typeof kind !== "string") return "(none)";
  return typeof cut === "string" ? `${kind}, pre-tokenizer ${cut}` : kind;
}

function section(title: string, text: string): string {
  const heading = style(Deno.stdout, "bold", printable(title));
  return `${heading}\n${text.trimEnd().split("\n").map((line) => `  ${line}`).join("\n")}\n`;
}

function pairs(rows: readonly Row[]): string {
  return formatTable(
    rows.flatMap(([name, value]) => value === undefined ? [] : [[name, flat(String(value))]]),
  );
}

function describeShape({ model }: Facts): string {
  if ("problem" in model) return flat(model.problem);
  const { shape: value, notes, warnings } = model.value;
  const { experts } = value;
  const states = keptStates(model.value.program);
  return pairs([
    ["layers", value.layers],
    ["hidden size", value.hiddenSize],
    ["heads", value.heads > 0 ? `${value.heads} (${value.kvHeads} KV heads)` : undefined],
    ["head dimension", value.heads > 0 ? value.headDim : undefined],
    ["attention", describeAttention(model.value)],
    [
      "states",
      states.layers > 0
        ? `${formatBytes(states.bytes)} a sequence, in ${countLayers(states.layers)}`
        : undefined,
    ],
    ["feed-forward", value.feedForward || undefined],
    ["experts", experts && `${experts.count}, ${experts.used} of them a token`],
    ["vocabulary", `${value.vocabSize} tokens`],
    ["context", `${value.contextLength} tokens trained`],
    ...rowsOf("note", notes),
    ...rowsOf("warning", warnings),
  ]);
}

/** What layers see and share, where that is not everything and nothing. */
function describeAttention({ program }: Model): string | undefined {
  const spans = attentionSpans(program);
  const parts = spans.some(isLimited) || program.states.length > 0
    ? spans.map((span) => `${describeSpan(span)} in ${countLayers(span.layers)}`)
    : [];
  const sharing = sharingLayers(program);
  if (sharing > 0) parts.push(`others' keys and values in ${countLayers(sharing)}`);
  return parts.length > 0 ? parts.join(", ") : undefined;
}

function countLayers(n: number): string {
  return n === 1 ? "1 layer" : `${n} layers`;
}

function isLimited({ window, chunk }: AttentionSpan): boolean {
  return window > 0 || chunk > 0;
}

function describeSpan({ window, chunk }: AttentionSpan): string {
  if (window > 0) return `the last ${window} tokens`;
  return chunk > 0 ? `chunks of ${chunk} tokens` : "everything";
}

function describeFit({ model, fit }: Facts): string {
  if ("problem" in model) return "(not known, because the shape is not)";
  if ("problem" in fit) return flat(fit.problem);
  const { value } = fit;
  const where = `${flat(value.device)} (${value.backend}), ${formatBytes(value.freeBytes)} of ` +
    `${formatBytes(value.memoryBytes)} free`;
  if (!value.plan) return `none: the model does not fit on ${where}`;
  const limit = value.contextTokens === value.trainedTokens ? ", all that it was trained for" : "";
  return pairs([
    ["context", `${value.contextTokens} tokens${limit}`],
    ["device", where],
    ["no GPU", value.fallback],
    ["weights", formatBytes(value.plan.weightBytes)],
    [
      "KV cache",
      `${formatBytes(value.plan.cacheBytes)}, ${describeTokenBytes(value)} (${value.plan.kvType})`,
    ],
    [
      "states",
      value.plan.slots > 0
        ? `${formatBytes(value.plan.stateBytes)} in ${value.plan.slots} slots`
        : undefined,
    ],
    ["activations", formatBytes(value.plan.programBytes)],
  ]);
}

function describeTokenBytes({ tokenBytes, farTokenBytes }: Fit): string {
  const each = `${formatBytes(tokenBytes)} a token`;
  return farTokenBytes === tokenBytes
    ? each
    : `${each}, ${formatBytes(farTokenBytes)} once it is behind the windows`;
}

function typeTable({ types }: ModelSummary): string {
  const total = types.reduce((sum, { bytes }) => sum + bytes, 0);
  const rows = types.map(({ type, tensors, weights, bytes }) => [
    type,
    String(tensors),
    formatCount(weights),
    formatBytes(bytes),
    total === 0 ? "-" : `${(bytes / total * 100).toFixed(1)}%`,
    weights === 0 ? "-" : (bytes * 8 / weights).toFixed(2),
  ]);
  const heading = ["TYPE", "TENSORS", "WEIGHTS", "SIZE", "SHARE", "BITS/WEIGHT"];
  return formatTable([heading, ...rows], [1, 2, 3, 4, 5]);
}

function tensorTable(gguf: Gguf): string {
  const rows = [...gguf.tensors.values()].map(({ name, type, shape, bytes }) => [
    flat(name),
    type.name,
    shape.join(" x "),
    formatBytes(bytes),
  ]);
  return formatTable([["NAME", "TYPE", "SHAPE (COLUMNS FIRST)", "SIZE"], ...rows], [3]);
}

function metadataTable({ metadata }: Gguf): string {
  const rows = [...metadata.entries()].map(([key, entry]) => [
    flat(key),
    metadata.type(key) ?? "",
    showValue(entry),
  ]);
  return rows.length === 0 ? "(none)" : formatTable(rows);
}

function shapeAsJson({ shape, program }: Model): unknown {
  return {
    layers: shape.layers,
    hidden_size: shape.hiddenSize,
    heads: shape.heads,
    kv_heads: shape.kvHeads,
    head_dimension: shape.headDim,
    attention: attentionSpans(program),
    sharing_layers: sharingLayers(program),
    state_layers: keptStates(program).layers,
    state_bytes: keptStates(program).bytes,
    feed_forward: shape.feedForward,
    experts: shape.experts?.count,
    experts_used: shape.experts?.used,
    vocabulary: shape.vocabSize,
    context_tokens: shape.contextLength,
  };
}

function asJson(
  { stored, gguf, written, summary, model, tokenizer, unknown, fit, estimate }: Facts,
  tensors: boolean,
): unknown {
  return {
    name: stored.name,
    path: stored.path,
    files: gguf.files,
    size_bytes: gguf.fileBytes,
    origin: stored.origin,
    record: recordAsJson(stored),
    template_origin: templateOrigin(gguf, stored),
    gguf_version: gguf.version,
    title: summary.title,
    architecture: summary.architecture,
    parameters: summary.parameters,
    quantisation: summary.quantisation,
    shape: "problem" in model ? { error: model.problem } : shapeAsJson(model.value),
    notes: "problem" in model ? [] : model.value.notes,
    overrides: gguf.overrides ?? [],
    warnings: [
      ..."problem" in model ? [] : model.value.warnings,
      ..."problem" in tokenizer ? [] : tokenizer.value.warnings,
      ...unknown,
    ],
    fit: "problem" in fit ? { error: fit.problem } : {
      context_tokens: fit.value.contextTokens,
      backend: fit.value.backend,
      device: fit.value.device,
      fallback: fit.value.fallback,
      memory_bytes: fit.value.memoryBytes,
      free_bytes: fit.value.freeBytes,
      token_bytes: fit.value.tokenBytes,
      far_token_bytes: fit.value.farTokenBytes,
      weight_bytes: fit.value.plan?.weightBytes,
      cache_bytes: fit.value.plan?.cacheBytes,
      state_bytes: fit.value.plan?.stateBytes,
      program_bytes: fit.value.plan?.programBytes,
    },
    estimate: estimate && {
      card: estimate.card.name,
      card_is_here: !estimate.card.assumed,
      fits: estimate.fits,
      context_tokens: estimate.contextTokens,
      tokens_per_second: estimate.tokensPerSecond,
    },
    types: summary.types,
    tensors: tensors
      ? [...written.tensors.values()].map(({ name, type, shape, file, offset, bytes }) => ({
        name,
        type: type.name,
        shape,
        file: gguf.files.length > 1 ? file : undefined,
        offset,
        bytes,
      }))
      : undefined,
    metadata: Object.fromEntries(
      [...written.metadata.entries()].map(([key, entry]) => [key, jsonValue(entry)]),
    ),
  };
}
