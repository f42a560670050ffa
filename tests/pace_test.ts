/** The pace of a device that is to stay below a temperature and a power, with a card of sums in its place. */
import { assert, assertEquals } from "@std/assert";
import { FULL_PACE, MOST_REST, nextPace, type PaceLimits, restBefore } from "../engine/pace.ts";

/** A card: what it draws follows its rest with a mean over a second, what it has of heat follows that slowly. */
class Card {
  celsius = 30;
  watts = 60;
  pace = FULL_PACE;

  constructor(
    readonly limits: PaceLimits,
    private readonly fullWatts = 250,
    /** Degrees a watt, and seconds that it takes to get to two thirds of them. */
    private readonly resistance = 0.28,
    private readonly seconds = 60,
  ) {}

  run(seconds: number, period = 0.5): { celsius: number[]; watts: number[]; rest: number[] } {
    const seen = { celsius: [] as number[], watts: [] as number[], rest: [] as number[] };
    for (let t = 0; t < seconds; t += period) {
      const drawn = 60 + (this.fullWatts - 60) * (1 - this.pace.rest);
      this.watts += (drawn - this.watts) * Math.min(1, period);
      this.celsius += (25 + this.resistance * this.watts - this.celsius) * period / this.seconds;
      // As drivers tell it: whole degrees.
      const reading = { temperatureCelsius: Math.round(this.celsius), powerWatts: this.watts };
      this.pace = nextPace(this.pace, reading, this.limits, period);
      seen.celsius.push(this.celsius);
      seen.watts.push(this.watts);
      seen.rest.push(this.pace.rest);
    }
    return seen;
  }
}

for (const seconds of [20, 60, 180]) {
  for (const limit of [60, 75, 85]) {
    Deno.test(`a card of ${seconds} s is held within 2 degrees of ${limit}`, () => {
      const card = new Card({ maxTemperatureCelsius: limit }, 250, 0.28, seconds);
      const rising = card.run(20 * seconds).celsius;
      assert(Math.max(...rising) < limit + 2, `rose to ${Math.max(...rising)}`);
      const held = card.run(600);
      assert(Math.min(...held.celsius) > limit - 2, `fell to ${Math.min(...held.celsius)}`);
      assert(Math.max(...held.celsius) < limit + 2, `rose to ${Math.max(...held.celsius)}`);
    });
  }
}

for (const limit of [120, 180, 230]) {
  Deno.test(`a card is held within 5% of ${limit} W, without swinging`, () => {
    const card = new Card({ maxPowerWatts: limit });
    card.run(60);
    const { watts, rest } = card.run(120);
    assert(Math.max(...watts) < 1.05 * limit, `${Math.max(...watts)} W`);
    assert(Math.min(...watts) > 0.95 * limit, `${Math.min(...watts)} W`);
    const jumps = rest.slice(1).map((value, i) => Math.abs(value - rest[i]));
    assert(Math.max(...jumps) < 0.02, `the rest jumps by ${Math.max(...jumps)}`);
  });
}

Deno.test("a card below its limits does not rest, nor one of which nothing is known", () => {
  const limits = { maxTemperatureCelsius: 99, maxPowerWatts: 300 };
  assertEquals(new Card(limits).run(300).rest.at(-1), 0);
  assertEquals(nextPace(FULL_PACE, {}, limits, 1).rest, 0);
  assertEquals(nextPace(FULL_PACE, { temperatureCelsius: 99 }, {}, 1).rest, 0);
});

Deno.test("the stricter limit holds, and a cooler card goes on as fast as before", () => {
  const both = new Card({ maxTemperatureCelsius: 85, maxPowerWatts: 150 });
  const { watts, celsius } = both.run(600);
  assert(Math.abs(watts.at(-1)! - 150) < 8 && celsius.at(-1)! < 75);
  const hot = new Card({ maxTemperatureCelsius: 60 });
  assert(hot.run(600).rest.at(-1)! > 0.3);
  const cooled = new Card({ maxTemperatureCelsius: 60 }, 250, 0.1);
  [cooled.pace, cooled.celsius] = [hot.pace, 60];
  assertEquals(cooled.run(300).rest.at(-1), 0);
});

Deno.test("a card that is too hot whatever it does still computes a little, and rests at once", () => {
  let pace = nextPace(FULL_PACE, { temperatureCelsius: 100 }, { maxTemperatureCelsius: 70 }, 1);
  assert(pace.rest > 0.9);
  for (let i = 0; i < 1000; i++) {
    pace = nextPace(pace, { temperatureCelsius: 100 }, { maxTemperatureCelsius: 70 }, 1e6);
  }
  assertEquals(pace.rest, MOST_REST);
});

Deno.test("the rest is before a step, less what has gone already", () => {
  const half = { ...FULL_PACE, rest: 0.5 };
  assertEquals(restBefore(half, 20, 0), 20);
  assertEquals(restBefore(half, 20, 15), 5);
  assertEquals(restBefore(half, 20, 500), 0);
  assertEquals(restBefore(FULL_PACE, 20, 0), 0);
});
