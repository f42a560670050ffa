import type { Buffer, ProgramBuilder } from "../../program/builder.ts";
import type { ActivationName } from "./feed_forward.ts";
import type { Hyperparameters } from "./hyperparameters.ts";
import type { Destination, Layer } from "./transformer.ts";

type RouteOptions = Parameters<ProgramBuilder["route"]>[3];

/** How many experts a layer has, how many of them a token uses, and how they are chosen. */
export interface Routing {
  readonly count: number;
  readonly used: number;
  /** Values between an expert's two products. */
  readonly width: number;
  readonly score: RouteOptions["score"];
  /** Whether the weights of the chosen are divided by their sum. */
  readonly normalise: boolean;
  /** What the sum counts as at least. */
  readonly leastSum?: number;
  readonly scale: number;
  readonly groups?: number;
  readonly groupsUsed?: number;
}

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
  const groups = atMost("expert_group_count", count, 1);
  if (count % groups !== 0) {
    throw parameters.invalid(`${count} experts do not divide into ${groups} groups`);
  }
  const groupsUsed = atMost("expert_group_used_count", groups, groups);
  if (used > groupsUsed * (count / groups)) {
    throw parameters.invalid(`${groupsUsed} groups of ${count / groups} experts have no ${used}`);
  }
  return {
    count,
    used,
    width: parameters.has("expert_feed_forward_length")
      ? parameters.count("expert_feed_forward_length")
      : parameters.count("feed_forward_length"),
    score: readScore(parameters) ?? defaults.score,
    normalise: parameters.flag("expert_weights_norm", defaults.normalise),
    scale: parameters.positive("expert_weights_scale", 1),
    groups,
    groupsUsed,
  };
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
  /** Of the clamped SwiGLU. */
  readonly alpha?: number;
  readonly limit?: number;
  /** What the router sees, where that is not the input. */
  readonly routerInput?: Buffer;
}

/**
 * A mixture of experts: the router `ffn_gate_inp`, its bias for the choice alone `exp_probs_b`, and the experts
 * `ffn_gate_exps`, `ffn_up_exps` (or both in `ffn_gate_up_exps`), `ffn_down_exps`.
 */
export function experts(layer: Layer, input: Buffer, options: ExpertsOptions): Buffer {
  const { model } = layer;
  const { program, stream, hiddenSize } = model;
  const { routing, activation, alpha, limit, into, scale } = options;
  const { count, used, width } = routing;

  const logits = model.scratch("router", count);
  const chosen = model.indexScratch("chosen", used);
  const shares = model.scratch("shares", used);
  program.matmul(options.routerInput ?? input, logits, [routerWeight(layer, count)]);
  program.route(logits, chosen, shares, {
    ...routing,
    bias: layer.has("exp_probs_b.bias") ? layer.name("exp_probs_b.bias") : undefined,
  });

  const gateUp = model.expertScratch("expert up", 2 * width, used);
  const active = model.expertScratch("expert active", width, used);
  const down = model.expertScratch("expert down", hiddenSize, used);
  program.expertMatmul(
    input,
    chosen,
    gateUp,
    count,
    layer.has("ffn_gate_up_exps.weight") ? [layer.weight("ffn_gate_up_exps", 2 * width)] : [
      layer.weight("ffn_gate_exps", width),
      layer.weight("ffn_up_exps", width),
    ],
  );
  program.activation(gateUp, active, activation, { gated: true, alpha, limit });
  program.expertMatmul(active, chosen, down, count, [layer.weight("ffn_down_exps", hiddenSize)]);
  const output = into ?? stream;
  program.expertSum(down, shares, output, {
    residual: into === undefined ? stream : undefined,
    used,
    scale,
  });
  return output;
}

/** The router's product; a `scale` beside it is none of the product's, but its input's (Gemma 4). */
function routerWeight(layer: Layer, count: number) {
  return { ...layer.weight("ffn_gate_inp", count), factor: undefined };
}
