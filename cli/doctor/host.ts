import { join } from "@std/path";
import { type PciCard, pciCards, readLine } from "./pci_card.ts";

/** Whether a device file is there and can be opened. */
export type Node = "usable" | "forbidden" | "missing";

/** What the system shows of NVIDIA's cards, without the driver's libraries. */
export interface Host {
  readonly cards: readonly PciCard[];
  /** The driver that the kernel has loaded. */
  readonly kernelDriver?: { readonly version: string; readonly open: boolean };
  readonly nodes: {
    readonly control: Node;
    readonly memory: Node;
    /** The best of /dev/nvidia0 and so on. */
    readonly card: Node;
  };
  readonly container: boolean;
  /** `CUDA_VISIBLE_DEVICES`, where it is set: it hides devices from CUDA. */
  readonly visibleDevices?: string;
}

/**
 * Looks at the system.
 *
 * @param root Where /proc, /sys and /dev are; "/" but for tests.
 */
export async function lookAtHost(root: string): Promise<Host> {
  const version = await readLine(join(root, "proc/driver/nvidia/version"));
  const number = version?.match(/\b(\d{3,4}\.\d+(?:\.\d+)?)\b/)?.[1];
  const node = (name: string) => nodeAt(join(root, "dev", name));
  const cards = await Promise.all(
    Array.from({ length: 16 }, (_, i) => node(`nvidia${i}`)),
  );
  return {
    cards: await pciCards(root),
    kernelDriver: number === undefined
      ? undefined
      : { version: number, open: /open kernel module/i.test(version!) },
    nodes: {
      control: await node("nvidiactl"),
      memory: await node("nvidia-uvm"),
      card: (["usable", "forbidden"] as const).find((state) => cards.includes(state)) ?? "missing",
    },
    container: await isContainer(root),
    visibleDevices: Deno.env.get("CUDA_VISIBLE_DEVICES"),
  };
}

/** The program of a process, in the system's words; undefined where it is of another namespace. */
export async function programName(root: string, processId: number): Promise<string | undefined> {
  return await readLine(join(root, "proc", String(processId), "comm")) || undefined;
}

async function nodeAt(path: string): Promise<Node> {
  try {
    (await Deno.open(path, { read: true, write: true })).close();
    return "usable";
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "missing";
    const denied = error instanceof Deno.errors.PermissionDenied ||
      error instanceof Deno.errors.NotCapable;
    // Another failure is the driver's own: the library will say more of it.
    return denied ? "forbidden" : "usable";
  }
}

async function isContainer(root: string): Promise<boolean> {
  for (const mark of [".dockerenv", "run/.containerenv", "run/systemd/container"]) {
    try {
      await Deno.stat(join(root, mark));
      return true;
    } catch {
      // Not this kind.
    }
  }
  const group = await readLine(join(root, "proc/1/cgroup"));
  return /docker|lxc|kubepods|containerd|libpod/.test(group ?? "");
}
