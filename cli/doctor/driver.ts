import type { Facts } from "./facts.ts";
import { type Finding, findingsOf } from "./finding.ts";

/** The last branch of the driver that knows Maxwell, Pascal and Volta, and the first that the library runs on. */
const LAST_BRANCH = 580;
const FIRST_BRANCH = 450;

const INSTALL = `Install NVIDIA's own driver, a branch from ${FIRST_BRANCH} to ${LAST_BRANCH} ` +
  "(535 and 580 are maintained longest): Debian and Ubuntu have it as packages, NVIDIA at nvidia.com/drivers";

const HOLD =
  `Install branch ${LAST_BRANCH} and keep it (apt-mark hold; NixOS: nvidiaPackages.legacy_580), so that ` +
  "an update does not take it away again";

/** The library, the cards on the bus, and whether the driver is there and knows them. */
export function driverFindings(facts: Facts): Finding[] {
  const { host, libraryProblem, management } = facts;
  const found: Finding[] = [];
  const add = (name: string, says: string, advice?: string) =>
    found.push(notUsable(name, says, advice));
  if (libraryProblem !== undefined) {
    add(
      "library",
      `The kernel library for GPUs cannot be used: ${libraryProblem.replace(/\.$/, "")}.`,
      "Put libm40_cuda.so of the same release next to the program, or name its folder in M40_KERNELS.",
    );
  }
  const { kernelDriver } = host;
  const version = kernelDriver?.version ?? management?.driver;
  const branch = Number(version?.split(".")[0]) || undefined;
  // A container may show the driver and no bus.
  if (host.cards.length === 0 && kernelDriver === undefined && !managed(facts)) {
    add(
      "no_card",
      "No card of NVIDIA's is on the PCI bus.",
      "Is it seated, and is its power plug in? A Tesla M40 has an 8-pin plug as processors have (EPS), which is not " +
        'the 8-pin plug of other graphics cards. Its 24 GB also want "Above 4G Decoding" switched on in the BIOS; ' +
        "a virtual machine has to be given the card.",
    );
    return found;
  }
  if (kernelDriver === undefined && !managed(facts)) {
    found.push(noKernelDriver(facts));
    return found;
  }
  const known = host.cards.filter(({ family }) => family !== "newer");
  const old = host.cards.length > 0 && host.cards.every(({ family }) => family === "older");
  if (old) {
    add(
      "card_too_old",
      "The card is older than Maxwell; m40 needs compute capability 5.2 or newer.",
      "Use a card such as the Tesla M40, or m40 on the processor: --device cpu.",
    );
  } else if (branch !== undefined && branch > LAST_BRANCH && known.length > 0) {
    add(
      "driver_too_new",
      `Driver ${version} is too new for this card: ${LAST_BRANCH} is the last branch that knows Maxwell, Pascal and Volta.`,
      HOLD + ".",
    );
  } else if (kernelDriver?.open && known.length > 0) {
    add(
      "open_module",
      "The kernel has NVIDIA's open module loaded, which knows Turing and newer cards alone.",
      "Install the closed one of the same version (Debian: nvidia-kernel-dkms; Ubuntu: the package without -open).",
    );
  } else if (branch !== undefined && branch < FIRST_BRANCH) {
    add(
      "driver_too_old",
      `Driver ${version} is too old: the library needs ${FIRST_BRANCH} or newer.`,
      INSTALL + ".",
    );
  }
  if (found.length > 0) return found;
  const isLast = branch === LAST_BRANCH;
  const latest = isLast ? "; it is the last branch for cards before Turing" : "";
  return [
    findingsOf("driver").fine(
      "driver",
      `NVIDIA driver ${version || "of a version that it does not say"}${latest}.`,
      // The time to prepare is before the driver is updated.
      isLast && known.length > 0 ? HOLD + "." : undefined,
      { driver: version || undefined },
    ),
  ];
}

const { notUsable } = findingsOf("driver");

/** Whether the driver is there, by its libraries, where the system's own files say nothing of it. */
function managed({ management, devices }: Facts): boolean {
  if (devices.length > 0 || management?.status === "mismatch") return true;
  return management?.status === "forbidden" ||
    (management?.status === "ok" && management.devices > 0);
}

/** A card is there, and the kernel has no driver of NVIDIA's for it. */
function noKernelDriver({ host }: Facts): Finding {
  const other = host.cards.find(({ driver }) => driver !== undefined)?.driver;
  if (other === "nouveau") {
    return notUsable(
      "nouveau",
      "The kernel's own driver nouveau has the card; CUDA does not run on it.",
      `${INSTALL}; its packages keep nouveau out. Then restart.`,
    );
  }
  if (other === "vfio-pci") {
    return notUsable(
      "passed_through",
      "The card is set aside for a virtual machine (vfio-pci).",
      "Run m40 in that machine, or take the card's numbers out of the options of vfio-pci and restart.",
    );
  }
  return notUsable(
    "no_driver",
    "A card of NVIDIA's is there, but no driver for it is loaded.",
    `${INSTALL}. Where it is installed, \`sudo modprobe nvidia\` loads it, and ` +
      "`sudo dmesg | grep NVRM` says why it does not.",
  );
}
