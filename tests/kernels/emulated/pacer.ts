/** A card that is too hot, and one that is not. Run by slow/doctor_emulated_test.ts, in a process of its own. */
import { assertEquals } from "@std/assert";
import { Engine } from "../../../engine/mod.ts";
import { TINY } from "../../fixtures/cli_program.ts";
import { takeEmulatedDriver } from "../../cli/doctor/fixture.ts";
import { TemporaryEnvironment } from "../../fixtures/temporary.ts";

Deno.test(
  "an engine on a card that is too hot rests between its steps, and one that is cool does not",
  { sanitizeOps: false, sanitizeResources: false },
  async () => {
    await takeEmulatedDriver();
    for (const [temperature, rests] of [["83", true], ["50", false]] as const) {
      using _environment = new TemporaryEnvironment({ M40_EMULATION_TEMPERATURE: temperature });
      const messages: string[] = [];
      await using engine = await Engine.load(TINY, {
        device: "cuda",
        deviceProcess: true,
        parallel: 1,
        contextTokens: 64,
        maxTemperatureCelsius: 80,
        onPace: (message) => messages.push(message),
      });
      const generation = engine.generate({
        prompt: [5, 6],
        maxTokens: 8,
        sampling: { ignoreEos: true },
      });
      let tokens = 0;
      for await (const chunk of generation) tokens += chunk.tokens.length;
      assertEquals(tokens, 8);
      const { restShare, restedMs } = engine.status();
      assertEquals([restShare! > 0.05, restedMs > 0, messages.length], [
        rests,
        rests,
        rests ? 1 : 0,
      ]);
    }
  },
);
