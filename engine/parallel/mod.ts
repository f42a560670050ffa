export type { ChosenExchange } from "./exchange_choice.ts";
export { ExchangeMemory } from "./exchange_memory.ts";
export { closeCards, openCards, type OpenedCard } from "./opened_card.ts";
export { planRows } from "./row_split_choice.ts";
export { RowSplitDevice } from "./row_split_device.ts";
export { type ProfiledDevice, ScheduledDevice } from "./scheduled_device.ts";
export { StagedDevice } from "./staged_device.ts";
export { StepRows } from "./step_rows.ts";
