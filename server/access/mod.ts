export { type AgentCheck, agentLine, serveAgentCheck } from "./agent_check.ts";
export { AllowedHosts, isLoopback } from "./allowed_hosts.ts";
export { requireKey, withoutSpaces } from "./auth.ts";
export { readAnyType } from "./body_of_any_type.ts";
export { refuseWhileDraining } from "./refuse_while_draining.ts";
export { isOriginOf, isWebPage, refuseWebPages } from "./web_pages.ts";
