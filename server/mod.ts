/** The HTTP server: OpenAI's API in front of an engine. */
export { type AgentCheck, agentLine, serveAgentCheck } from "./agent_check.ts";
export { type AppOptions, createApp } from "./app.ts";
export { busy } from "./models/busy.ts";
export { ManagedModels } from "./models/managed_models.ts";
export type { Models } from "./models/models.ts";
export { assertListenable, type Listening, serve, type ServeOptions } from "./serve.ts";
export type { CardObject, DeviceObject, SlotObject, SlotsObject } from "./slots.ts";
export { VERSION } from "./version.ts";
