import { basename, join } from "@std/path";

/** Families of NVIDIA's cards, by the driver's view of them. */
export type Family = "older" | "maxwell" | "pascal" | "volta" | "newer";

/** A link of PCI Express. */
export interface Link {
  readonly generation: number;
  readonly width: number;
}

/** A card of NVIDIA's on the PCI bus, as the kernel lists it without any driver. */
export interface PciCard {
  /** PCI device number: 0x17fd is the Tesla M40. */
  readonly device: number;
  readonly family: Family;
  /** The kernel driver that has it: "nvidia", "nouveau", "vfio-pci"; absent where none has. */
  readonly driver?: string;
  /** What card and slot could do together. */
  readonly most?: Link;
}

const NVIDIA = 0x10de;

/** Numbers of PCI devices, from each on: chips of one family have numbers that lie together, with few exceptions. */
const FAMILIES: readonly (readonly [from: number, family: Family])[] = [
  [0, "older"],
  [0x1340, "maxwell"],
  [0x15f0, "pascal"],
  [0x1600, "maxwell"],
  [0x1b00, "pascal"],
  [0x1d81, "volta"],
  [0x1e00, "newer"],
];

/** Transfers a second and lane, in units of 10^9, of each generation of PCI Express. */
const GIGATRANSFERS = [2.5, 5, 8, 16, 32, 64];

/** The cards of NVIDIA's on the bus; none where the kernel shows no bus, as in some containers. */
export async function pciCards(root: string): Promise<PciCard[]> {
  const folder = join(root, "sys/bus/pci/devices");
  const cards: PciCard[] = [];
  for (const name of await namesIn(folder)) {
    const at = (file: string) => readLine(join(folder, name, file));
    const [vendor, kind, device] = await Promise.all([at("vendor"), at("class"), at("device")]);
    // 0x0300 is a display, 0x0302 a computing card; its sound device is none.
    if (Number(vendor) !== NVIDIA || !/^0x030[02]/.test(kind ?? "")) continue;
    const [speed, width] = await Promise.all([at("max_link_speed"), at("max_link_width")]);
    const generation = GIGATRANSFERS.indexOf(parseFloat(speed ?? "")) + 1;
    const number = Number(device);
    cards.push({
      device: number,
      family: familyOf(number),
      driver: await linkTarget(join(folder, name, "driver")),
      most: generation > 0 && Number(width) > 0 && Number(width) <= 32
        ? { generation, width: Number(width) }
        : undefined,
    });
  }
  return cards;
}

/** Bytes a second that a link carries in one direction, before the packets' own share. */
export function linkBytesPerSecond({ generation, width }: Link): number | undefined {
  const rate = GIGATRANSFERS[generation - 1];
  if (rate === undefined) return undefined;
  // 8 bits in 10 up to the second generation, then 128 in 130.
  return rate * 1e9 * (generation <= 2 ? 8 / 10 : 128 / 130) / 8 * width;
}

function familyOf(device: number): Family {
  return FAMILIES.findLast(([from]) => device >= from)![1];
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name).sort();
  } catch {
    return [];
  }
}

async function linkTarget(path: string): Promise<string | undefined> {
  try {
    return basename(await Deno.readLink(path));
  } catch {
    return undefined;
  }
}

/** The first line of a small file; undefined where it cannot be read. */
export async function readLine(path: string): Promise<string | undefined> {
  try {
    return (await Deno.readTextFile(path)).split("\n")[0].trim();
  } catch {
    return undefined;
  }
}
