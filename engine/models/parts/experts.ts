import type { ActivationName, Buffer, RouteOptions } from "../../program/mod.ts";
import { feedForward } from "./feed_forward.ts";
import type { Hyperparameters } from "./hyperparameters.ts";
import type { Destination, Layer } from "./transformer.ts";

/** How many experts a layer has, how many of them a token uses, and how they are chosen. */
export interface Routing {
  readonly count: number;
  readonly used: number;
  /** Values between an expert's two products. */
  readonly width: number;
  /** The same of the shared experts, `expert_shared_count` of them in one feed-forward layer. */
  readonly sharedWidth: number;
  readonly score: RouteOptions["score"];
  /** Whether the weights of the chosen are divided by their sum. */
  readonly normalise: boolean;
  /** What the sum counts as at least. */
  readonly leastSum?: number;
  readonly scale: number;
  readonly groups?: number;
  readonly groupsUsed?: number;
  /** The first layers, which have none. */
  readonly denseLayers: number;
}

/** What keeps the weights finite where a router wants none of its experts. */
const LEAST_SUM = 1e-20;

/** Reads what the experts of a model look like; undefined where it has none. */
export function readRouting(
  parameters: Hyperparameters,
  defaults: Pick<Routing, "score" | "normalise">,
): Routing | undefined {
  const count = parameters.countOrNone("expert_count", 0);
  if (count === 0) return undefined;
  const atMost = (key: string, most: number, fallback?: number) => {
    const value = parameters.count(key, fallback);
    if (value > most) throw parameters.invalid(`${key} is ${value}, wanted 1 to ${most}`);
    return value;
  };
  const used = atMost("expert_used_count", count);
  const groups = parameters.countOrNone("expert_group_count", 0) === 0
    ? 1
    : atMost("expert_group_count", count);
  if (count % groups !== 0) {
    throw parameters.invalid(`${count} experts do not divide into ${groups} groups`);
  }
  const groupsUsed = groups === 1 ? 1 : atMost("expert_group_used_count", groups);
  if (used > groupsUsed * (count / groups)) {
    throw parameters.invalid(`${groupsUsed} groups of ${count / groups} experts have no ${used}`);
  }
  const width = parameters.has("expert_feed_forward_length")
    ? parameters.count("expert_feed_forward_length")
    : parameters.count("feed_forward_length");
  return {
    count,
    used,
    width,
    sharedWidth: parameters.countOrNone("expert_shared_count", 0) * width,
    score: readScore(parameters) ?? defaults.score,
    normalise: parameters.flag("expert_weights_norm", defaults.normalise),
    leastSum: LEAST_SUM,
    // Files without a scale of their own have 0 here.
    scale: parameters.number("expert_weights_scale", 1) || 1,
    groups,
    groupsUsed,
    denseLayers: parameters.countOrNone("leading_dense_block_count", 0),
  };
}

/** As {@link readRouting}, of an architecture that always has experts. */
export function requireRouting(
  parameters: Hyperparameters,
  defaults: Pick<Routing, "score" | "normalise">,
): Routing {
  const routing = readRouting(parameters, defaults);
  if (routing === undefined) throw parameters.invalid("expert_count is 0 or missing");
  return routing;
}

/** `expert_gating_func`, as llama.cpp numbers them. */
function readScore(parameters: Hyperparameters): Routing["score"] {
  const number = parameters.countOrNone("expert_gating_func", 0);
  const scores = [undefined, "softmax", "sigmoid", "softmax_chosen"] as const;
  if (number >= scores.length) {
    throw parameters.unsupported(`expert_gating_func ${number} is not known; known: 1, 2, 3`);
  }
  return scores[number];
}

/** What a layer of experts looks like. */
export interface ExpertsOptions extends Destination {
  readonly routing: Routing;
  readonly activation: ActivationName;
  /** "gate": down(f(gate) * up), where absent; "none": down(f(up)). */
  readonly gated?: "gate" | "none";
  /** Of the clamped SwiGLU. */
  readonly alpha?: number;
  readonly limit?: number;
  /** What an expert's share multiplies: what it gives, where absent, or what it is given. */
  readonly shares?: "outputs" | "inputs";
  /** Values between the products of the experts that every token has, `ffn_*_shexp`; 0 or absent: there are none. */
  readonly sharedWidth?: number;
  /** What the router sees, where that is not the input, and what its product is multiplied by. */
  readonly router?: { readonly input: Buffer; readonly scale: number };
}

/** An expert's products, by the names of their weights. */
const EXPERT_PRODUCTS = {
  gate: ["ffn_gate", "ffn_up", "ffn_down"],
  none: ["ffn_up", "ffn_down"],
} as const;

/**
 * A mixture of experts: the router `ffn_gate_inp`, its bias for the choice alone `exp_probs_b`, and the experts
 * `ffn_gate_exps`, `ffn_up_exps` (or both in `ffn_gate_up_exps`), `ffn_down_exps`. The shared experts are one
 * feed-forward layer `ffn_gate_shexp`, `ffn_up_shexp`, `ffn_down_shexp`. That one is computed as one more expert of
 * each token, in the same products, where it looks like one.
 */
export function experts(layer: Layer, input: Buffer, options: ExpertsOptions): Buffer {
  const { model } = layer;
  const { program, stream, hiddenSize } = model;
  const { routing, activation, alpha, limit, into, scale, sharedWidth = 0 } = options;
  const { gated = "gate" } = options;
  const sharesOfInputs = options.shares === "inputs";
  const { router = { input, scale: 1 } } = options;
  const { count, width } = routing;
  const isExpert = sharedWidth === width && sharedLooksLikeExpert(layer, gated);
  const slots = routing.used + (isExpert ? 1 : 0);

  const logits = model.scratch("router", count);
  const chosen = model.indexScratch("chosen", slots);
  const shares = model.scratch("shares", slots);
  // A scale next to this weight is its input's (Gemma 4), and none of the product's.
  const weight = { ...layer.weight("ffn_gate_inp", count), factor: undefined };
  program.matmul(router.input, logits, [weight], { scale: router.scale });
  program.experts.route(logits, chosen, shares, {
    ...routing,
    shared: isExpert,
    bias: layer.has("exp_probs_b.bias") ? layer.name("exp_probs_b.bias") : undefined,
  });

  const expertWeight = (name: string, rows: number) => ({
    ...layer.weight(`${name}_exps`, rows),
    shared: isExpert ? layer.name(`${name}_shexp.weight`) : undefined,
  });
  const upWidth = gated === "gate" ? 2 * width : width;
  const up = model.expertScratch("expert up", upWidth, slots);
  const active = model.expertScratch("expert active", width, slots);
  const down = model.expertScratch("expert down", hiddenSize, slots);
  program.experts.matmul(
    input,
    chosen,
    up,
    count,
    layer.has("ffn_gate_up_exps.weight")
      ? [expertWeight("ffn_gate_up", upWidth)]
      : EXPERT_PRODUCTS[gated].slice(0, -1).map((name) => expertWeight(name, width)),
    // Products of what is multiplied are products that are multiplied.
    { weights: sharesOfInputs ? shares : undefined },
  );
  program.activation(up, active, activation, { gated: gated === "gate", alpha, limit });
  program.experts.matmul(active, chosen, down, count, [expertWeight("ffn_down", hiddenSize)]);
  const output = into ?? stream;
  program.experts.sum(down, sharesOfInputs ? undefined : shares, output, {
    residual: into === undefined ? stream : undefined,
    used: slots,
    scale,
  });
  if (sharedWidth > 0 && !isExpert) addSharedExperts(layer, input, options, sharedWidth);
  return output;
}

/** Whether the products of the experts that every token has differ from an expert's in nothing but their weights. */
function sharedLooksLikeExpert(layer: Layer, gated: "gate" | "none"): boolean {
  const { program } = layer.model;
  return EXPERT_PRODUCTS[gated].every((name) => {
    const [routed, shared] = [`${name}_exps`, `${name}_shexp`];
    const apart = [routed, shared].some((name) =>
      layer.has(`${name}.bias`) || layer.has(`${name}.scale`)
    );
    return !apart && layer.has(`${routed}.weight`) && layer.has(`${shared}.weight`) &&
      program.type(layer.name(`${routed}.weight`)) === program.type(layer.name(`${shared}.weight`));
  });
}

/** Adds what the experts that every token has make of the input to where the others' sum went. */
function addSharedExperts(
  layer: Layer,
  input: Buffer,
  { activation, gated, scale, into }: ExpertsOptions,
  width: number,
): void {
  const { model } = layer;
  const aside = into === undefined ? undefined : model.aside("shared").into;
  feedForward(layer, input, { activation, gated, scale, into: aside, suffix: "_shexp", width });
  if (into !== undefined && aside !== undefined) model.program.add(into, aside, into);
}

/**
 * A layer of a model whose first layers are feed-forward layers without experts, and of the later ones all but each
 * `every`th. The others have routed and shared experts, whose sum `scale` multiplies.
 */
export function denseOrExperts(
  layer: Layer,
  input: Buffer,
  { every = 1, ...options }:
    & Pick<ExpertsOptions, "routing" | "activation" | "into" | "scale">
    & { readonly every?: number },
): void {
  const { routing, activation, into } = options;
  if (layer.index < routing.denseLayers || layer.index % every !== every - 1) {
    feedForward(layer, input, { activation, into });
  } else {
    experts(layer, input, { ...options, sharedWidth: routing.sharedWidth });
  }
}

/**
 * Experts, and a shared one, `ffn_*_shexp`, multiplied by a gate: the sigmoid of the
 * product `ffn_gate_inp_shexp`.
 */
export function gatedSharedExperts(
  layer: Layer,
  input: Buffer,
  { routing, activation, sharedWidth: width = 0 }: Pick<
    ExpertsOptions,
    "routing" | "activation" | "sharedWidth"
  >,
): void {
  const { model } = layer;
  const { program, stream } = model;
  experts(layer, input, { routing, activation });
  if (width === 0) return;
  const gate = model.scratch("shared gate", 1);
  program.matmul(input, gate, [layer.weight("ffn_gate_inp_shexp", 1)]);
  const { into: shared } = model.aside();
  feedForward(layer, input, { activation, suffix: "_shexp", width, into: shared });
  program.add(stream, shared, stream, { gate });
}
