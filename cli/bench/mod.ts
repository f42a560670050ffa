export { benchmarkPower, powerAsJson, powerAsText } from "./bench_power.ts";
export { fp32Limit, profileAsJson, profileAsText } from "./bench_profile.ts";
export {
  arithmeticNote,
  type BenchResult,
  describeDevice,
  resultsAsJson,
  resultsAsText,
} from "./bench_results.ts";
export { flameGraph } from "./flame_graph.ts";
export { measurePerplexity } from "./perplexity.ts";
export { type Statistics, statistics } from "./statistics.ts";
