/** Mean and spread of a sample. */
export interface Statistics {
  readonly mean: number;
  /** Standard deviation of the sample (n - 1 in the denominator); 0 for a single value. */
  readonly deviation: number;
}

/** Mean and standard deviation of at least one value. */
export function statistics(values: readonly number[]): Statistics {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, deviation: Math.sqrt(squares / Math.max(1, values.length - 1)) };
}
