/** The pace of a device that must stay below a temperature and a power, with a simulated card. */
import { assert, assertEquals } from "@std/assert";
import { FULL_PACE, MOST_REST, nextPace, type PaceLimits, restBefore } from "./pace.ts";

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

  run(seconds: number, period = 0.25): { celsius: number[]; watts: number[]; rest: number[] } {
    const seen = { celsius: [] as number[], watts: [] as number[], rest: [] as number[] };
    for (let t = 0; t < seconds; t += period) {
      const drawn = 60 + (this.fullWatts - 60) * (1 - this.pace.rest);
      this.watts += (drawn - this.watts) * Math.min(1, period);
      this.celsius += (25 + this.resistance * this.watts - this.celsius) * period / this.seconds;
      // As drivers report it: whole degrees.
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

/**
 * A chip that follows its work within a second, and its cooler by a minute: 12 and 15 degrees by full work.
 *
 * @param load The share of the time in which there is work, at a second.
 * @param late Seconds by which its sensor is late.
 * @returns Degrees above or below the limit once it has been held for a while.
 */
function chip(
  limit: number,
  load: (second: number) => number,
  late = 0,
): { above: number; below: number } {
  const period = 0.05, steps = 5;
  const reported: number[] = [];
  let [quick, slow, pace, busy] = [0, 0, FULL_PACE, 0];
  let [above, below] = [-Infinity, Infinity];
  for (let i = 1; i * period < 900; i++) {
    const work = Math.min(1 - pace.rest, load(i * period));
    busy += work / steps;
    quick += (12 * work - quick) * period;
    slow += (15 * work - slow) * period / 60;
    reported.push(Math.round(30 + quick + slow));
    const temperatureCelsius =
      reported[Math.max(0, reported.length - 1 - Math.round(late / period))];
    if (i * period > 300) {
      above = Math.max(above, 30 + quick + slow - limit);
      below = Math.min(below, 30 + quick + slow - limit);
    }
    if (i % steps !== 0) continue;
    const limits = { maxTemperatureCelsius: limit };
    pace = nextPace(pace, { temperatureCelsius }, limits, steps * period, busy);
    busy = 0;
  }
  return { above, below };
}

Deno.test("a chip that follows its work within a second is held within 2 degrees", () => {
  const steady = chip(45, () => 1);
  assert(steady.above < 2 && steady.below > -2, JSON.stringify(steady));
  const waves = chip(45, (second) => second % 3 < 2 ? 1 : 0.6);
  assert(waves.above < 2 && waves.below > -2, JSON.stringify(waves));
});

for (const late of [0.25, 0.5, 1]) {
  Deno.test(`a chip whose sensor is ${late} s late does not swing`, () => {
    const steady = chip(45, () => 1, late);
    assert(steady.above < 1 && steady.below > -2, JSON.stringify(steady));
  });
}

Deno.test("a chip that had little to do is not too hot as soon as there is work again", () => {
  const bursts = chip(45, (second) => second % 40 < 30 ? 1 : 0.3);
  assert(bursts.above < 2, JSON.stringify(bursts));
});

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
