/**
 * A machine for tests of `m40 doctor`: folders instead of /proc, /sys and /dev, and the emulated device with its
 * management library instead of the GPU's.
 *
 * @module
 */
import { dirname, join } from "@std/path";
import { buildKernels } from "../../../build_kernels.ts";
import { buildManagement } from "../../fixtures/emulated_management.ts";

/** What the folders show. */
export interface Machine {
  /** Numbers of NVIDIA's devices on the bus. */
  readonly cards?: readonly number[];
  /** The kernel driver that has them. */
  readonly boundTo?: string;
  /** The text of /proc/driver/nvidia/version. */
  readonly kernelDriver?: string;
  /** Names in /dev. */
  readonly nodes?: readonly string[];
  readonly container?: boolean;
  /** Names of programs by their numbers. */
  readonly programs?: Readonly<Record<number, string>>;
}

export const M40 = 0x17fd;
export const NODES = ["nvidiactl", "nvidia0", "nvidia-uvm"];

/** What the driver of a version writes into /proc/driver/nvidia/version. */
export function kernelDriver(version: string, open = false): string {
  const module = open ? "Open Kernel Module for x86_64" : "x86_64 Kernel Module";
  return `NVRM version: NVIDIA UNIX ${module}  ${version}  Thu Nov  6 09:00:00 UTC 2025\nGCC version:  gcc 12\n`;
}

/** A machine in which nothing is wrong. */
export const SOUND: Machine = {
  cards: [M40],
  boundTo: "nvidia",
  kernelDriver: kernelDriver("450.248.02"),
  nodes: NODES,
};

/** Makes the folders; remove them afterwards. */
export async function makeRoot(machine: Machine): Promise<string> {
  const root = await Deno.makeTempDir({ prefix: "m40-doctor-" });
  const put = async (path: string, text: string) => {
    await Deno.mkdir(dirname(join(root, path)), { recursive: true });
    await Deno.writeTextFile(join(root, path), text);
  };
  for (const [i, device] of (machine.cards ?? []).entries()) {
    const at = `sys/bus/pci/devices/0000:0${i + 3}:00.0`;
    await put(`${at}/vendor`, "0x10de\n");
    await put(`${at}/class`, "0x030200\n");
    await put(`${at}/device`, `0x${device.toString(16)}\n`);
    await put(`${at}/max_link_speed`, "8.0 GT/s PCIe\n");
    await put(`${at}/max_link_width`, "16\n");
    if (machine.boundTo === undefined) continue;
    await Deno.symlink(`../../../bus/pci/drivers/${machine.boundTo}`, join(root, at, "driver"));
  }
  // Its sound device, and another maker's card.
  await put("sys/bus/pci/devices/0000:03:00.1/vendor", "0x10de\n");
  await put("sys/bus/pci/devices/0000:03:00.1/class", "0x040300\n");
  await put("sys/bus/pci/devices/0000:00:02.0/vendor", "0x8086\n");
  await put("sys/bus/pci/devices/0000:00:02.0/class", "0x030000\n");
  if (machine.kernelDriver) await put("proc/driver/nvidia/version", machine.kernelDriver);
  for (const name of machine.nodes ?? []) await put(`dev/${name}`, "");
  if (machine.container) await put("run/.containerenv", "");
  for (const [id, name] of Object.entries(machine.programs ?? {})) {
    await put(`proc/${id}/comm`, `${name}\n`);
  }
  return root;
}

/**
 * Has this process, and those that it starts, take the emulated device for the GPU, and its management library for the
 * driver's. Every test of the process sees that: a file that does so is run in one of its own (tests/slow/doctor_emulated_test.ts).
 *
 * @returns Environment variables, set here already.
 */
export async function takeEmulatedDriver(): Promise<Record<string, string>> {
  const emulated = (await buildKernels({ target: "emulated" })).path;
  const cpu = (await buildKernels({ target: "cpu" })).path;
  const folder = await Deno.makeTempDir({ prefix: "m40-doctor-kernels-" });
  await Deno.symlink(emulated, join(folder, "libm40_cuda.so"));
  await Deno.symlink(cpu, join(folder, "libm40_cpu.so"));
  const variables = {
    M40_KERNELS: folder,
    LD_LIBRARY_PATH: await buildManagement(dirname(emulated)),
    M40_EMULATION_TEMPERATURE: "41",
  };
  for (const [name, value] of Object.entries(variables)) Deno.env.set(name, value);
  // This process read LD_LIBRARY_PATH when it started: what is asked for by that name is now this one.
  Deno.dlopen(join(variables.LD_LIBRARY_PATH, "libnvidia-ml.so.1"), {
    nvmlInit_v2: { parameters: [], result: "i32" },
  });
  globalThis.addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));
  return variables;
}
