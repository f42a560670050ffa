import type { DeviceHealth, ThrottleReason } from "../../engine/device/mod.ts";
import { type Finding, findingsOf } from "./finding.ts";

/** What holds the clocks back, and what to do about it. */
const REASONS: Partial<Record<ThrottleReason, readonly [says: string, advice: string]>> = {
  power_limit: [
    "The clocks are held back by the power limit.",
    "Raise it (`sudo nvidia-smi -pl WATTS`) where the power supply and the cooling allow it.",
  ],
  hardware_heat: [
    "The card is too hot: its hardware has lowered the clocks.",
    "See to its airflow: a Tesla M40 has no fan of its own and wants one that blows through it.",
  ],
  driver_heat: [
    "The card is hot: the driver has lowered the clocks.",
    "See to its airflow: a Tesla M40 has no fan of its own and wants one that blows through it.",
  ],
  power_brake: [
    "The power supply asks the card to slow down (power brake).",
    "Look at the power supply and its plugs: it is overloaded, or the adapter is not meant for this card.",
  ],
  sync_boost: [
    "The clocks are those of the slowest card of a group (sync boost).",
    "NVIDIA's DCGM makes such groups: take the card out of its group.",
  ],
};

/** Bits that come with another one that says more. */
const SAYS_MORE: readonly ThrottleReason[] = ["hardware_heat", "power_brake"];

/** A difference of clocks or limits that is worth a sentence. */
const SHARE = 0.98;

/** Clocks, what holds them back now, power limits, and whether the driver stays awake. */
export function clockFindings(health: DeviceHealth): Finding[] {
  const { clockKhz, maxClockKhz, setClockKhz, memoryClockKhz, maxMemoryClockKhz, throttle = [] } =
    health;
  if (health.code !== 0) return [];
  const found: Finding[] = [];
  const values = {
    clock_mhz: mega(clockKhz),
    max_clock_mhz: mega(maxClockKhz),
    memory_clock_mhz: mega(memoryClockKhz),
    throttle: throttle.join(",") || undefined,
  };
  const { fine, note, toDo } = findingsOf("clocks", values);
  for (const reason of throttle) {
    const known = REASONS[reason];
    if (known === undefined) continue;
    // A card at the limit that it came with does what it should.
    const usual = reason === "power_limit" && !isLowered(health);
    found.push((usual ? note : toDo)(reason, ...known));
  }
  if (throttle.includes("hardware") && !throttle.some((reason) => SAYS_MORE.includes(reason))) {
    found.push(toDo(
      "hardware",
      "The card's hardware has lowered its clocks to half or less, for heat or for its power.",
      "Look at the airflow and at the power plug: one of the two is not enough.",
    ));
  }
  if (setClockKhz !== undefined && maxClockKhz !== undefined && setClockKhz < SHARE * maxClockKhz) {
    const [set, most] = [mega(setClockKhz), mega(maxClockKhz)];
    const memory = mega(maxMemoryClockKhz ?? memoryClockKhz) ?? "MEMORY";
    found.push(note(
      "clocks_set",
      `Programs get ${set} MHz of the ${most} that the card can do; prompts are computed up to ` +
        `${Math.round(100 * (maxClockKhz / setClockKhz - 1))}% faster with those.`,
      `\`sudo nvidia-smi -ac ${memory},${most}\` sets them until the next restart; it gets warmer with them.`,
      { ...values, set_clock_mhz: set },
    ));
  }
  found.push(...powerFindings(health));
  if (health.persistence === false) {
    found.push(
      findingsOf("clocks").note(
        "persistence_off",
        "The driver goes to sleep when no program uses the card, and takes a second or more to wake.",
        "`sudo nvidia-smi -pm 1`, or the service nvidia-persistenced, keeps it awake.",
      ),
    );
  }
  const held = found.some(({ level }) => level === "to_do");
  if (!held && clockKhz !== undefined) {
    const most = maxClockKhz === undefined ? "" : ` of ${mega(maxClockKhz)}`;
    const [idle, but] = throttle.includes("idle") ? [", idle", " but that"] : ["", ""];
    const says = `The clocks are ${
      mega(clockKhz)
    } MHz${most}${idle}; nothing holds them back${but}.`;
    found.unshift(fine("clocks", says));
  }
  return found;
}

function powerFindings(health: DeviceHealth): Finding[] {
  const { powerLimitWatts: limit, defaultPowerLimitWatts: usual } = health;
  if (limit === undefined || usual === undefined || !isLowered(health)) return [];
  const [now, own] = [Math.round(limit), Math.round(usual)];
  return [
    findingsOf("clocks").note(
      "power_limited",
      `The power limit is ${now} W; the card's own is ${own} W.`,
      `Where that was not meant: \`sudo nvidia-smi -pl ${own}\`.`,
      {
        power_limit_watts: limit,
        default_power_limit_watts: usual,
        min_power_limit_watts: health.minPowerLimitWatts,
        max_power_limit_watts: health.maxPowerLimitWatts,
      },
    ),
  ];
}

function isLowered(
  { powerLimitWatts: limit, defaultPowerLimitWatts: usual }: DeviceHealth,
): boolean {
  return limit !== undefined && usual !== undefined && limit < SHARE * usual;
}

function mega(kilohertz: number | undefined): number | undefined {
  return kilohertz === undefined ? undefined : Math.round(kilohertz / 1000);
}
