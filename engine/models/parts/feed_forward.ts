import type { ActivationName, Buffer } from "../../program/mod.ts";
import type { Destination, Layer } from "./transformer.ts";

/** What a feed-forward layer looks like. */
export interface FeedForwardOptions extends Destination {
  readonly activation: ActivationName;
  /**
   * "gate": down(f(gate) * up), with a weight `ffn_gate` for the gate; "up": the same with the gate's rows before those
   * of up in `ffn_up`; "none": down(f(up)).
   */
  readonly gated?: "gate" | "up" | "none";
  /** Values between the two products; the layer's where absent. */
  readonly width?: number;
  /** What the weights' names end with: `_shexp` for experts that every token has. */
  readonly suffix?: string;
}

/** A feed-forward layer: `ffn_gate`, `ffn_up`, `ffn_down`. */
export function feedForward(layer: Layer, input: Buffer, options: FeedForwardOptions): Buffer {
  const { model } = layer;
  const { activation, gated = "gate", width = layer.feedForward, suffix = "" } = options;
  const weight = (name: string, rows: number) => layer.weight(`${name}${suffix}`, rows);
  const up = model.scratch("up", gated === "none" ? width : 2 * width);
  model.program.matmul(
    input,
    up,
    gated === "gate"
      ? [weight("ffn_gate", width), weight("ffn_up", width)]
      : [weight("ffn_up", up.columns)],
  );
  const active = model.scratch("active", width);
  model.program.activation(up, active, activation, { gated: gated !== "none" });
  return model.project(active, weight("ffn_down", model.hiddenSize), options);
}
