/** The HTTP server: OpenAI's API in front of an engine. */
export { type AgentCheck, agentLine, serveAgentCheck } from "./access/mod.ts";
export { type AppOptions, createApp } from "./app.ts";
export { busy, ManagedModels, type Models } from "./models/mod.ts";
export { assertListenable, type Listening, serve, type ServeOptions } from "./serve.ts";
export type { CardObject, DeviceObject, SlotObject, SlotsObject } from "./monitoring/mod.ts";
export { VERSION } from "./version.ts";
