import { Arithmetic, NONE, Score } from "../device/mod.ts";
import type { Operation } from "./operation.ts";
import type { Buffer, MatmulWeight, RouteOptions } from "./operands.ts";
import { sideBySide } from "./side_by_side.ts";
import type { WeightTable } from "./weight_table.ts";

/**
 * Appends the operations of mixtures of experts.
 *
 * @throws {M40Error} From every method: "invalid_model" where a tensor is missing or of another shape.
 */
export class ExpertOperations {
  constructor(
    private readonly append: (operation: Operation) => void,
    private readonly weights: WeightTable,
  ) {}

  /** The chosen experts of each token, the one that all have behind them, and their weights; see m40_op_route. */
  route(logits: Buffer, experts: Buffer, weights: Buffer, options: RouteOptions): void {
    this.append({
      kind: "route",
      input: logits.index,
      experts: experts.index,
      weights: weights.index,
      bias: this.weights.optionalVector(options.bias, logits.columns),
      n_experts: logits.columns,
      n_used: experts.columns - (options.shared ? 1 : 0),
      n_shared: options.shared ? 1 : 0,
      score: Score[options.score ?? "softmax"],
      normalise: options.normalise ? 1 : 0,
      n_groups: options.groups ?? 1,
      n_groups_used: options.groupsUsed ?? 1,
      scale: options.scale ?? 1,
      least_sum: options.leastSum ?? 0,
    });
  }

  /**
   * As {@link ProgramBuilder.matmul}, each row with the weights, bias [experts, rows] and factor [experts] of its own
   * expert; with `weights`, the result is multiplied by the expert's share. With `shared` weights, expert number
   * `nExperts` has these.
   */
  matmul(
    input: Buffer,
    experts: Buffer,
    output: Buffer,
    nExperts: number,
    weights: readonly MatmulWeight[],
    options: { weights?: Buffer } = {},
  ): void {
    const columns = input.columns;
    const { rows, outputColumns } = sideBySide(weights, output);
    const hasShared = weights.every(({ shared }) => shared !== undefined);
    this.append({
      kind: "expert_matmul",
      input: input.index,
      experts: experts.index,
      output: output.index,
      weights: options.weights?.index ?? NONE,
      n_weights: weights.length,
      columns,
      n_used: experts.columns,
      n_experts: nExperts,
      n_shared: hasShared ? 1 : 0,
      weight: weights.map((w) => this.weights.experts(w.weight, nExperts, w.rows, columns)),
      shared: weights.map(({ shared, rows }) =>
        shared === undefined ? NONE : this.weights.matrix(shared, rows, columns)
      ),
      bias: weights.map((w) => this.weights.optionalVector(w.bias, nExperts * w.rows)),
      factor: weights.map((w) => this.weights.optionalVector(w.factor, nExperts)),
      rows,
      output_column: outputColumns,
      arithmetic: Arithmetic.exact,
    });
  }

  /** output = residual + scale * the sum of each token's experts' rows, weighted where weights are given. */
  sum(
    input: Buffer,
    weights: Buffer | undefined,
    output: Buffer,
    options: { residual?: Buffer; scale?: number; used: number },
  ): void {
    this.append({
      kind: "expert_sum",
      input: input.index,
      weights: weights?.index ?? NONE,
      residual: options.residual?.index ?? NONE,
      output: output.index,
      columns: output.columns,
      n_used: options.used,
      output_column: 0,
      scale: options.scale ?? 1,
    });
  }
}
