import type { Hono } from "hono";
import { z } from "zod";
import type { ServerContext, ServerEnv } from "./context.ts";
import { knownState } from "./device_metrics.ts";
import { route } from "./route.ts";

const count = () => z.int().min(0);

/** One sequence, as `GET /slots` shows it. */
export const SlotObject = z.strictObject({
  id: count().meta({ description: "In the order of arrival, since the server was started." }),
  state: z.enum(["waiting", "prefilling", "decoding", "preempted"]),
  prompt_tokens: count(),
  computed_tokens: count().meta({
    description: "Tokens of prompt and output whose K and V are in its pages.",
  }),
  generated_tokens: count(),
  pages: count(),
  age_seconds: z.number(),
}).meta({ id: "Slot" });
export type SlotObject = z.output<typeof SlotObject>;

/** The device as it is now; what is not known is absent. */
export const DeviceObject = z.strictObject({
  name: z.string(),
  backend: z.string(),
  memory_bytes: z.number().optional(),
  memory_used_bytes: z.number().optional(),
  temperature_celsius: z.number().optional(),
  power_watts: z.number().optional(),
  power_limit_watts: z.number().optional(),
  clock_khz: z.number().optional(),
  memory_clock_khz: z.number().optional(),
  utilisation: z.number().optional().meta({
    description: "The share of the time in which kernels ran, 0 to 1.",
  }),
}).meta({ id: "Device", description: "The device as it is now; what is not known is absent." });
export type DeviceObject = z.output<typeof DeviceObject>;

/** The answer of `GET /slots`. */
export const SlotsObject = z.strictObject({
  model: z.string(),
  draining: z.boolean(),
  running: count(),
  waiting: count(),
  kv_pages: count(),
  kv_pages_used: count(),
  kv_pages_idle: count().meta({
    description: "Pages that nobody holds, kept for prompts that begin alike.",
  }),
  prefix_tokens_queried: count().meta({
    description: "Tokens that were looked for in the prefix cache.",
  }),
  prefix_tokens_found: count().meta({ description: "Those of them that were found." }),
  preemptions: count(),
  tokens_per_second: z.number().meta({
    description: "Tokens that all sequences together decoded, a second, in the last ten seconds.",
  }),
  device: DeviceObject,
  slots: z.array(SlotObject).meta({
    description: "Those running first, in the order in which they are served.",
  }),
}).meta({ id: "Slots" });
export type SlotsObject = z.output<typeof SlotsObject>;

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
