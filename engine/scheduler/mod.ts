/**
 * The door of this room: what the rest of the house may use of it.
 *
 * @module
 */
export { DiskPages, type DiskPagesStatus } from "./disk/disk_pages.ts";
export { HostPages } from "./pages/host_pages.ts";
export { OwnPages } from "./pages/own_pages.ts";
export { OwnSlot } from "./pages/own_slot.ts";
export { type PageGroup, PageLayout, pagesIn } from "./pages/page_layout.ts";
export { type Match, PageManager } from "./pages/page_manager.ts";
export { SlotManager } from "./pages/slot_manager.ts";
export { noCounts, type SchedulerCounts, type SchedulerStatus, type StepReport } from "./report.ts";
export { Scheduler } from "./scheduler.ts";
export {
  DEFAULT_PREFILL_SHARE,
  type SchedulerDevice,
  type SchedulerLoss,
  type SchedulerOptions,
} from "./scheduler_options.ts";
export type { Lane } from "./sequences/lane.ts";
export type { SchedulerOffer } from "./sequences/room.ts";
export { Sequence, type SequenceListener } from "./sequences/sequence.ts";
export { assertQueueRoom, type SequenceQueue } from "./sequences/sequence_queue.ts";
export type { SequenceState } from "./sequences/sequence_state.ts";
export { RowTimes } from "./steps/row_times.ts";
export { outputError } from "./steps/turn.ts";
