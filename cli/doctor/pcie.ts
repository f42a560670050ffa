import type { DeviceHealth } from "../../engine/device/mod.ts";
import { type Finding, findingsOf } from "./finding.ts";
import { type Link, linkBytesPerSecond } from "./pci_card.ts";

/** How fast copies were, and the link meanwhile. */
export interface CopySpeed {
  /** From host memory to the card and back, in bytes a second. */
  readonly toDevice: number;
  readonly toHost: number;
  readonly link?: Link;
}

/** Too few lanes for the traffic on the link apart from loading models. */
const FEW_LANES = 4;
/** What of a link's speed copies reach at least, where nothing is wrong. */
const SHARE = 0.6;
/** Packets sent again that a sound link does not have. */
const MANY_REPLAYS = 1000;

/** The link's generation and width, and what copies make of it. */
export function pcieFindings(health: DeviceHealth, copies?: CopySpeed): Finding[] {
  const { pcieGeneration, pcieWidth, pcieMaxGeneration, pcieMaxWidth, pcieReplays = 0 } = health;
  if (pcieGeneration === undefined || pcieWidth === undefined) return [];
  // An idle link falls to the first generation; its width stays.
  const busy = copies?.link ?? { generation: pcieGeneration, width: pcieWidth };
  const speed = linkBytesPerSecond(busy);
  const measured = copies &&
    `; copies take ${giga(copies.toDevice)} GB/s to the card and ${giga(copies.toHost)} back`;
  const link = `PCIe generation ${busy.generation}, x${busy.width}`;
  const most = pcieMaxGeneration !== undefined && pcieMaxWidth !== undefined
    ? ` (card and slot: generation ${pcieMaxGeneration}, x${pcieMaxWidth})`
    : "";
  const { fine, note, toDo } = findingsOf("pcie", {
    generation: busy.generation,
    width: busy.width,
    max_generation: pcieMaxGeneration,
    max_width: pcieMaxWidth,
    link_bytes_per_second: speed,
    to_device_bytes_per_second: copies?.toDevice,
    to_host_bytes_per_second: copies?.toHost,
    replays: health.pcieReplays,
  });
  const says = `The link${copies ? " under load" : ""} is ${link}${most}${measured ?? ""}`;
  const found: Finding[] = [];
  const slow = copies?.link !== undefined && pcieMaxGeneration !== undefined &&
    busy.generation < pcieMaxGeneration;
  if (busy.width <= FEW_LANES || slow) {
    const part = speed === undefined ? "a fraction of" : `most ${giga(speed)} GB/s, not`;
    found.push(toDo(
      slow ? "slow_link" : "few_lanes",
      `${says}: models load at ${part} what a slot of 16 lanes gives. Tokens a second are hardly touched.`,
      "Put the card into the slot nearest the processor, without a riser, and look in the BIOS whether that slot " +
        "shares its lanes with another or is set to a lower generation.",
    ));
  } else if (pcieMaxWidth !== undefined && busy.width < pcieMaxWidth) {
    found.push(note(
      "narrow",
      `${says}: fewer lanes than the card has.`,
      "Where another slot has 16 lanes, models load faster there.",
    ));
  } else if (copies !== undefined && speed !== undefined && copies.toDevice < SHARE * speed) {
    found.push(note(
      "slow_copies",
      `${says}, less than the ${giga(speed)} GB/s of the link should give.`,
      "Other programs may copy at the same time; on two processors the card may hang on the other one " +
        "(`numactl --cpunodebind`).",
    ));
  } else {
    found.push(fine("link", `${says}.`));
  }
  if (pcieReplays > MANY_REPLAYS) {
    found.push(toDo(
      "replays",
      `${pcieReplays} packets had to be sent again since the driver was loaded: the contact is poor.`,
      "Reseat the card, clean its contacts, and do without a riser or with a better one.",
    ));
  }
  return found;
}

function giga(bytesPerSecond: number): string {
  return (bytesPerSecond / 1e9).toFixed(1);
}
