import type { DeviceInfo, OperationProfile, StepProfile } from "../../engine/mod.ts";
import { formatTable } from "../terminal/mod.ts";

/** What a device can do a second; what is not known is absent. */
export interface DeviceLimits {
  /** Bytes that it copies. */
  readonly bandwidth?: number;
  /** Multiplications and additions of FP32. */
  readonly flop?: number;
}

/** What operations take together. */
interface Sum {
  readonly name: string;
  readonly microseconds: number;
  readonly bytes: number;
  readonly flop: number;
}

/** Compute capabilities whose multiprocessors have 64 lanes of FP32; others that m40 runs on have 128. */
const FEW_LANES = [60, 70, 72, 75, 80];

/** The FP32 operations a second of a GPU at its highest clock; undefined of the CPU. */
export function fp32Limit(
  { kind, computeCapability, multiprocessors, clockKhz }: Pick<
    DeviceInfo,
    "kind" | "computeCapability" | "multiprocessors" | "clockKhz"
  >,
): number | undefined {
  if (kind !== "gpu" || !multiprocessors || !clockKhz) return undefined;
  return 2 * (FEW_LANES.includes(computeCapability) ? 64 : 128) * multiprocessors * clockKhz * 1000;
}

/** Sums of operations that `key` calls alike, the longest first. */
function sumsOf(
  operations: readonly OperationProfile[],
  key: (operation: OperationProfile) => string,
): Sum[] {
  const sums = Map.groupBy(operations, key).entries().map(([name, group]) => total(name, group));
  return [...sums].sort((a, b) => b.microseconds - a.microseconds);
}

function total(name: string, operations: readonly OperationProfile[]): Sum {
  const sum = (of: "microseconds" | "bytes" | "flop") =>
    operations.reduce((sum, operation) => sum + operation[of], 0);
  return { name, microseconds: sum("microseconds"), bytes: sum("bytes"), flop: sum("flop") };
}

const kindOf = ({ kind, fusedKind }: OperationProfile) =>
  fusedKind ? `${kind} + ${fusedKind}` : kind;
const layerOf = ({ layer }: OperationProfile) =>
  layer === undefined ? "outside layers" : `layer ${layer}`;

/** Tables of each profile: by kind, by layer, record by record. */
export function profileAsText(profiles: readonly StepProfile[], limits: DeviceLimits): string {
  const parts = profiles.map(({ measured: { kind, size, depth }, operations }) => {
    const all = total("all", operations);
    const table = (name: string, sums: readonly Sum[]) =>
      formatTable([
        [name, "us", "of step", "MB", "GB/s", "of copy", "MFLOP", "TFLOP/s", "of FP32"],
        ...sums.map((sum) => cells(sum, all.microseconds, limits)),
      ], [1, 2, 3, 4, 5, 6, 7, 8]);
    const records = operations.map((operation) => ({
      ...operation,
      name: `${operation.index} ${layerOf(operation)}: ${operation.name}`,
    }));
    const title = kind === "decode"
      ? `a step of ${size} that decode at depth ${depth}`
      : `a step of a prompt of ${size}`;
    return `\n${title}: ${all.microseconds.toFixed(0)} us, operation by operation\n\n` +
      table("kind", [...sumsOf(operations, kindOf), all]) + "\n" +
      table("layer", sumsOf(operations, layerOf)) + "\n" + table("record", records);
  });
  return parts.join("") +
    "\nOn a GPU, what marks the time between operations takes a microsecond or two of each.\n";
}

function cells({ name, microseconds: us, bytes, flop }: Sum, all: number, limits: DeviceLimits) {
  const percent = (share: number) => `${(100 * share).toFixed(0)}%`;
  const { bandwidthShare, flopShare } = shares({ microseconds: us, bytes, flop }, limits);
  return [
    name,
    us.toFixed(1),
    percent(all > 0 ? us / all : 0),
    (bytes / 1e6).toFixed(2),
    us > 0 ? (bytes / us / 1e3).toFixed(1) : "",
    bandwidthShare === undefined ? "" : percent(bandwidthShare),
    (flop / 1e6).toFixed(1),
    us > 0 ? (flop / us / 1e6).toFixed(2) : "",
    flopShare === undefined ? "" : percent(flopShare),
  ];
}

function shares(
  { microseconds, bytes, flop }: Omit<Sum, "name">,
  limits: DeviceLimits,
) {
  const share = (amount: number, limit?: number) =>
    limit && microseconds > 0 ? amount / (microseconds / 1e6) / limit : undefined;
  return {
    bandwidthShare: share(bytes, limits.bandwidth),
    flopShare: share(flop, limits.flop),
  };
}

/** The same for a script. */
export function profileAsJson(profiles: readonly StepProfile[], limits: DeviceLimits) {
  const fields = (sum: Omit<Sum, "name">) => {
    const { bandwidthShare, flopShare } = shares(sum, limits);
    return {
      microseconds: sum.microseconds,
      bytes: sum.bytes,
      flop: sum.flop,
      bandwidth_share: bandwidthShare,
      fp32_share: flopShare,
    };
  };
  const named = (sums: readonly Sum[]) => sums.map((sum) => ({ name: sum.name, ...fields(sum) }));
  return {
    copy_bytes_per_second: limits.bandwidth,
    fp32_flop_per_second: limits.flop,
    profiles: profiles.map(({ measured, operations }) => ({
      kind: measured.kind,
      size: measured.size,
      depth: measured.depth,
      steps: measured.steps,
      repetitions: measured.milliseconds.length,
      ...fields(total("all", operations)),
      kinds: named(sumsOf(operations, kindOf)),
      layers: named(sumsOf(operations, layerOf)),
      operations: operations.map((operation) => ({
        index: operation.index,
        kind: operation.kind,
        fused_kind: operation.fusedKind,
        name: operation.name,
        layer: operation.layer,
        ...fields(operation),
      })),
    })),
  };
}
