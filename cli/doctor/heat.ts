import type { DeviceHealth } from "../../engine/device/mod.ts";
import type { Finding } from "./finding.ts";

/** Above this a card that does nothing has no air, in degrees Celsius. */
const WARM_IDLE = 60;
/** So near the temperature at which the hardware lowers the clocks it is too hot, in degrees. */
const NEAR = 5;
/** Where the driver does not say at which temperature that is. */
const USUAL_SLOWDOWN = 88;
/** A share of the time in which kernels run that is as good as none. */
const IDLE_WATTS = 80;

const AIRFLOW =
  "A Tesla M40 is cooled by the server's air alone: elsewhere it wants a blower or a strong fan with a duct at its end, " +
  "and no other way for the air than through the card.";

/** The card under load, as it was seen while that ran. */
export interface LoadSeen {
  readonly seconds: number;
  readonly samples: readonly DeviceHealth[];
}

/** How hot the card is now, and after a load where there was one. */
export function heatFindings(health: DeviceHealth, load?: LoadSeen): Finding[] {
  const { temperatureCelsius: now, powerWatts, slowdownCelsius = USUAL_SLOWDOWN } = health;
  if (now === undefined) return [];
  const found: Finding[] = [];
  const values = {
    celsius: now,
    slowdown_celsius: health.slowdownCelsius,
    power_watts: powerWatts,
  };
  const idle = health.throttle?.includes("idle") ?? (powerWatts ?? 0) < IDLE_WATTS;
  const state = `${now} °C${idle ? " doing nothing" : ""}`;
  if (now >= slowdownCelsius - NEAR) {
    found.push({
      area: "heat",
      name: "hot",
      level: "to_do",
      says: `The card has ${state}; at ${slowdownCelsius} °C its hardware lowers the clocks.`,
      advice: AIRFLOW,
      values,
    });
  } else if (idle && now > WARM_IDLE) {
    found.push({
      area: "heat",
      name: "warm_idle",
      level: "to_do",
      says: `The card has ${state}, which is much: it gets little air.`,
      advice: AIRFLOW,
      values,
    });
  } else {
    found.push({
      area: "heat",
      name: "temperature",
      level: "fine",
      says: `The card has ${state}; its hardware lowers the clocks at ${slowdownCelsius} °C.`,
      advice: load === undefined
        ? "`m40 doctor --load` shows how hot it gets under load."
        : undefined,
      values,
    });
  }
  if (load !== undefined) found.push(...loadFindings(health, load));
  return found;
}

function loadFindings(before: DeviceHealth, { seconds, samples }: LoadSeen): Finding[] {
  const temperatures = samples.flatMap(({ temperatureCelsius }) => temperatureCelsius ?? []);
  if (temperatures.length === 0) return [];
  const hottest = Math.max(...temperatures);
  const slowdown = before.slowdownCelsius ?? USUAL_SLOWDOWN;
  const count = (...reasons: string[]) =>
    samples.filter(({ throttle }) => throttle?.some((one) => reasons.includes(one))).length;
  const hot = count("hardware_heat", "driver_heat", "hardware");
  const limited = count("power_limit", "power_brake");
  const clocks = samples.flatMap(({ clockKhz }) => clockKhz ?? []);
  const powers = samples.flatMap(({ powerWatts }) => powerWatts ?? []);
  const lowest = clocks.length === 0 ? undefined : Math.round(Math.min(...clocks) / 1000);
  const highest = clocks.length === 0 ? undefined : Math.round(Math.max(...clocks) / 1000);
  const power = powers.length === 0 ? undefined : Math.round(Math.max(...powers));
  const values = {
    load_seconds: seconds,
    load_celsius: hottest,
    load_power_watts: power,
    lowest_clock_mhz: lowest,
    highest_clock_mhz: highest,
    samples: samples.length,
    samples_held_by_heat: hot,
    samples_held_by_power: limited,
  };
  const figures = `${hottest} °C` + (power === undefined ? "" : `, ${power} W`) +
    (lowest === undefined ? "" : `, ${lowest} to ${highest} MHz`);
  const after = `After ${seconds} s of load: ${figures}`;
  if (hot > 0 || hottest >= slowdown - NEAR) {
    return [{
      area: "heat",
      name: "hot_under_load",
      level: "to_do",
      says: `${after}${
        hot > 0 ? "; heat lowered its clocks" : `; at ${slowdown} °C the hardware lowers the clocks`
      }.`,
      advice: AIRFLOW,
      values,
    }];
  }
  return [{
    area: "heat",
    name: "load",
    level: "fine",
    says: `${after}${limited > 0 ? "; its power limit held the clocks back" : ""}.`,
    values,
  }];
}
