import type { DeviceHealth } from "../../engine/device/mod.ts";
import { type Finding, findingsOf } from "./finding.ts";

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
  const { fine, toDo } = findingsOf("heat", {
    celsius: now,
    slowdown_celsius: health.slowdownCelsius,
    power_watts: powerWatts,
  });
  const idle = health.throttle?.includes("idle") ?? (powerWatts ?? 0) < IDLE_WATTS;
  const state = `The card has ${now} °C${idle ? " doing nothing" : ""}`;
  const after = load === undefined ? [] : loadFindings(health, load);
  if (now >= slowdownCelsius - NEAR) {
    const says = `${state}; at ${slowdownCelsius} °C its hardware lowers the clocks.`;
    return [toDo("hot", says, AIRFLOW), ...after];
  }
  if (idle && now > WARM_IDLE) {
    return [toDo("warm_idle", `${state}, which is much: it gets little air.`, AIRFLOW), ...after];
  }
  const advice = load ? undefined : "`m40 doctor --load` shows how hot it gets under load.";
  const says = `${state}; its hardware lowers the clocks at ${slowdownCelsius} °C.`;
  return [fine("temperature", says, advice), ...after];
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
  const rounded = (value: number) => Number.isFinite(value) ? Math.round(value) : undefined;
  const lowest = rounded(Math.min(...clocks) / 1000);
  const highest = rounded(Math.max(...clocks) / 1000);
  const power = rounded(Math.max(...powers));
  const { fine, toDo } = findingsOf("heat", {
    load_seconds: seconds,
    load_celsius: hottest,
    load_power_watts: power,
    lowest_clock_mhz: lowest,
    highest_clock_mhz: highest,
    samples: samples.length,
    samples_held_by_heat: hot,
    samples_held_by_power: limited,
  });
  const after = `After ${seconds} s of load: ${hottest} °C` +
    (power === undefined ? "" : `, ${power} W`) +
    (lowest === undefined ? "" : `, ${lowest} to ${highest} MHz`);
  if (hot > 0) return [toDo("hot_under_load", `${after}; heat lowered its clocks.`, AIRFLOW)];
  if (hottest >= slowdown - NEAR) {
    const says = `${after}; at ${slowdown} °C the hardware lowers the clocks.`;
    return [toDo("hot_under_load", says, AIRFLOW)];
  }
  return [fine("load", `${after}${limited > 0 ? "; its power limit held the clocks back" : ""}.`)];
}
