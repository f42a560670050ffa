import type { Hono } from "hono";
import type { ServerContext, ServerEnv } from "./context.ts";
import { knownState } from "./device_metrics.ts";
import { route } from "./route.ts";

/** One sequence, as `GET /slots` shows it. */
export interface SlotObject {
  /** In the order of arrival, since the server was started. */
  id: number;
  state: "waiting" | "prefilling" | "decoding" | "preempted";
  prompt_tokens: number;
  /** Tokens of prompt and output whose K and V are in its pages. */
  computed_tokens: number;
  generated_tokens: number;
  pages: number;
  age_seconds: number;
}

/** The device as it is now; what is not known is absent. */
export interface DeviceObject {
  name: string;
  backend: string;
  memory_bytes?: number;
  memory_used_bytes?: number;
  temperature_celsius?: number;
  power_watts?: number;
  power_limit_watts?: number;
  clock_khz?: number;
  memory_clock_khz?: number;
  /** The share of the time in which kernels ran, 0 to 1. */
  utilisation?: number;
}

/** The answer of `GET /slots`. */
export interface SlotsObject {
  model: string;
  draining: boolean;
  running: number;
  waiting: number;
  kv_pages: number;
  kv_pages_used: number;
  /** Pages that nobody holds, kept for prompts that begin alike. */
  kv_pages_idle: number;
  /** Tokens that were looked for in the prefix cache, and found. */
  prefix_tokens_queried: number;
  prefix_tokens_found: number;
  preemptions: number;
  /** Tokens that all sequences together decoded, a second, in the last ten seconds. */
  tokens_per_second: number;
  device: DeviceObject;
  /** Those running first, in the order in which they are served. */
  slots: SlotObject[];
}

/** `GET /slots`: what the engine is doing, for a person to look at; `m40 ps` prints it. */
export function slotsRoute(app: Hono<ServerEnv>, server: ServerContext): void {
  route(app, "/slots", {
    GET: async (c) => {
      const { engine } = server;
      const device = await knownState(engine);
      const status = engine.status();
      const body: SlotsObject = {
        model: server.modelName,
        draining: c.env.drain?.active ?? false,
        running: status.running,
        waiting: status.waiting,
        kv_pages: status.pages,
        kv_pages_used: status.usedPages,
        kv_pages_idle: status.idlePages,
        prefix_tokens_queried: status.queriedTokens,
        prefix_tokens_found: status.cachedTokens,
        preemptions: status.preemptions,
        tokens_per_second: server.rate.tokensPerSecond(),
        device: {
          name: engine.device.name,
          backend: engine.device.backend,
          memory_bytes: device.memoryBytes,
          memory_used_bytes: device.usedBytes,
          temperature_celsius: device.temperatureCelsius,
          power_watts: device.powerWatts,
          power_limit_watts: device.powerLimitWatts,
          clock_khz: device.clockKhz,
          memory_clock_khz: device.memoryClockKhz,
          utilisation: device.utilisation,
        },
        slots: engine.slots().map((slot) => ({
          id: slot.id,
          state: slot.state,
          prompt_tokens: slot.promptTokens,
          computed_tokens: slot.computedTokens,
          generated_tokens: slot.generatedTokens,
          pages: slot.pages,
          age_seconds: slot.ageMs / 1000,
        })),
      };
      return c.json(body);
    },
  });
}
