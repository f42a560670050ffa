export { DiskKvBlocks, type DiskKvBlocksStatus } from "./disk/disk_kv_blocks.ts";
export { HostKvBlocks } from "./kv_blocks/host_kv_blocks.ts";
export { OwnKvBlocks, OwnSlot } from "./kv_blocks/own_kv_blocks.ts";
export { type KvBlockGroup, KvBlockLayout, kvBlocksIn } from "./kv_blocks/kv_block_layout.ts";
export type { Kept } from "./kv_blocks/kv_block_moves.ts";
export { KvBlockManager, type Match } from "./kv_blocks/kv_block_manager.ts";
export { SlotManager } from "./kv_blocks/slot_manager.ts";
export { noCounts, type SchedulerCounts, type SchedulerStatus, type StepReport } from "./report.ts";
export { Scheduler } from "./scheduler.ts";
export {
  DEFAULT_PREFILL_SHARE,
  type Lane,
  type SchedulerDevice,
  type SchedulerLoss,
  type SchedulerOptions,
  type StepPlace,
} from "./scheduler_options.ts";
export { assertQueueRoom, type SchedulerOffer, type SequenceQueue } from "./sequences/room.ts";
export { Sequence, type SequenceListener, type SequenceState } from "./sequences/sequence.ts";
export { RowTimes } from "./steps/row_times.ts";
export { outputError } from "./steps/outcomes.ts";
export type { SequenceOptions } from "./sequences/sequence.ts";
