import { formatBytes } from "../terminal/mod.ts";
import type { Facts, Program } from "./facts.ts";
import type { Finding } from "./finding.ts";

/** Free memory below which hardly a model fits, in bytes, and the share of it below which others are in the way. */
const LEAST_FREE_BYTES = 2 ** 30;
const FREE_SHARE = 0.8;

/** Whether the card can be computed on, and why not; what others take of its memory. */
export function cardFindings(facts: Facts): Finding[] {
  const { device, obstacle, libraryProblem } = facts;
  if (libraryProblem !== undefined) return [];
  const reasons = [...managementProblems(facts), ...healthProblems(facts)];
  if (device !== undefined && obstacle === undefined) return [...reasons, ...memoryFindings(facts)];
  if (obstacle !== undefined && hasM40(facts.programs)) {
    return [...reasons, {
      area: "card",
      name: "m40_has_it",
      level: "note",
      says: `m40 itself has the card, and leaves no room to look at it: ${obstacle}.`,
      advice: "`m40 ps` shows what it does; end it for what is measured here.",
    }];
  }
  const nodes = nodeProblems(facts);
  const all = [...reasons, ...nodes];
  // What CUDA says comes last: it is right, but seldom says what to do.
  const said = obstacle ?? facts.absence;
  if (/out of memory/i.test(said)) {
    return [
      ...all,
      problem(
        "no_memory",
        `Other programs have all of the card's memory: ${said.replace(/\.$/, "")}.`,
        "`nvidia-smi` shows which; end them, or wait for them.",
      ),
    ];
  }
  return [
    ...all,
    problem(
      "not_usable",
      `CUDA cannot use the card: ${said.replace(/\.$/, "") || "it does not say why"}.`,
      all.length > 0 ? undefined : "`nvidia-smi` and `sudo dmesg | grep NVRM` may say more.",
    ),
  ];
}

function problem(name: string, says: string, advice?: string): Finding {
  return { area: "card", name, level: "not_usable", says, advice };
}

function managementProblems({ management, host }: Facts): Finding[] {
  switch (management?.status) {
    case "mismatch":
      return [problem(
        "mismatch",
        `The kernel runs driver ${
          host.kernelDriver?.version ?? "of another version"
        }, and the driver's libraries are of ` +
          "another one: it was updated while it ran.",
        "Restart the machine, or in a container start it again, so that both are of one version.",
      )];
    case "missing":
      return host.kernelDriver === undefined ? [] : [problem(
        "no_libraries",
        "The kernel has the driver, but its libraries (libnvidia-ml.so.1, libcuda.so.1) are not here.",
        host.container
          ? "Begin the container with the NVIDIA container toolkit and NVIDIA_DRIVER_CAPABILITIES=compute,utility."
          : "Install the driver's libraries of the same version (Debian: libcuda1 and libnvidia-ml1).",
      )];
    case "forbidden":
      return [problem("forbidden", "The driver does not let this user ask it.", PERMISSION)];
    default:
      return [];
  }
}

const PERMISSION =
  "Files such as /dev/nvidia0 usually belong to everybody; some systems give them to the group video or render: " +
  "`sudo usermod -aG video,render $USER`, then log in again.";

/** Device files that are not there, or not for this user. */
function nodeProblems({ host }: Facts): Finding[] {
  const { control, card, memory } = host.nodes;
  const states = [control, card, memory];
  if (host.visibleDevices !== undefined && states.every((state) => state === "usable")) {
    return [problem(
      "hidden",
      "CUDA_VISIBLE_DEVICES is set, and hides from CUDA the cards that it does not name.",
      "Unset it, or set it to the number of the card: CUDA_VISIBLE_DEVICES=0.",
    )];
  }
  if (states.includes("forbidden")) {
    return [
      problem(
        "no_permission",
        "This user may not open the card's files (/dev/nvidia*).",
        PERMISSION,
      ),
    ];
  }
  if (control === "missing" || card === "missing") {
    return [problem(
      host.container ? "container" : "no_device_files",
      host.container
        ? "This is a container, and it was not given the card: /dev/nvidia* is not there."
        : "The driver is loaded, but its files /dev/nvidia* are not there.",
      host.container
        ? "Begin it with the card: `docker run --gpus all`, `podman run --device nvidia.com/gpu=all`, in Kubernetes a " +
          "limit of nvidia.com/gpu: 1."
        : "`sudo nvidia-modprobe -c 0 -u` makes them, as does running `sudo nvidia-smi` once; the service " +
          "nvidia-persistenced keeps them.",
    )];
  }
  if (memory === "missing") {
    return [problem(
      "no_uvm",
      "/dev/nvidia-uvm is not there, which CUDA needs in addition to the card's own file.",
      host.container
        ? "Give the container /dev/nvidia-uvm too; the NVIDIA container toolkit does."
        : "`sudo nvidia-modprobe -u` loads it; a line nvidia-uvm in /etc/modules-load.d/nvidia.conf keeps it.",
    )];
  }
  return [];
}

/** What the driver says by itself: of the card's plug, its bus, and which users may open it. */
export function healthProblems(
  { health, programs }: Pick<Facts, "health" | "programs">,
): Finding[] {
  if (health === undefined) return [];
  if (health.code === 8) {
    return [problem(
      "no_power",
      "The card has no power: its plug is not in, or the wrong one.",
      "A Tesla M40 wants an 8-pin plug as processors have (EPS 12 V), or an adapter from two 8-pin plugs of graphics cards.",
    )];
  }
  if (health.code === 15) {
    return [problem(
      "lost",
      "The card fell off its bus: it no longer answers.",
      "Switch the machine off and on. Where it comes again, look at heat, the power plug and the riser.",
    )];
  }
  if (health.code !== 0) {
    return [
      problem(
        "no_answer",
        `The driver has the card but gives no access to it (NVML ${health.code}).`,
        "`sudo dmesg | grep -i nvrm` says why.",
      ),
    ];
  }
  if (health.computeMode === 2) {
    return [problem(
      "prohibited",
      "The card's compute mode is Prohibited: no program may use it.",
      "`sudo nvidia-smi -c DEFAULT` lets them.",
    )];
  }
  if (health.computeMode === 1 || health.computeMode === 3) {
    const others = programs.length > 0;
    return [{
      area: "card",
      name: "exclusive",
      level: others ? "not_usable" : "note",
      says: "The card's compute mode lets one program alone use it" +
        (others ? `, and ${namesOf(programs)} does.` : "."),
      advice: others
        ? "End that program, or let several: `sudo nvidia-smi -c DEFAULT`."
        : "`sudo nvidia-smi -c DEFAULT` lets several.",
    }];
  }
  return [];
}

/** Whether the program is there that this one is: its processes have its name. */
function hasM40(programs: readonly Program[]): boolean {
  return programs.some(({ name }) => name === "m40");
}

function memoryFindings({ device, health, programs }: Facts): Finding[] {
  const total = health?.memoryBytes ?? device!.memoryBytes;
  const free = health?.freeBytes ?? device!.freeBytes;
  const others = programs.filter(({ bytes }) => bytes === undefined || bytes > 0);
  const name = health?.name || device!.name;
  const values = { card: name, memory_bytes: total, free_bytes: free };
  const base = { area: "card" as const, values };
  const state = `${name} can be used, and ${formatBytes(free)} of its ${
    formatBytes(total)
  } are free`;
  if (free >= FREE_SHARE * total) {
    return [{ ...base, name: "usable", level: "fine", says: `${state}.` }];
  }
  if (hasM40(programs)) {
    return [{
      ...base,
      name: "m40_has_it",
      level: "note",
      says: `${state}: ${namesOf(others)} ${others.length === 1 ? "has" : "have"} the rest.`,
      advice: "`m40 ps` shows what m40 does with it.",
    }];
  }
  return [{
    ...base,
    name: "others_memory",
    level: free < LEAST_FREE_BYTES ? "not_usable" : "to_do",
    says: `${state}: ${
      others.length > 0 ? `${namesOf(others)} have` : "other programs have"
    } the rest.`,
    advice:
      "End them, or let m40 have what is left: it plans for the memory that is free when it begins. ",
  }];
}

function namesOf(programs: readonly Program[]): string {
  const names = programs.map(({ name, bytes }) =>
    `${name ?? "a program"}${bytes === undefined ? "" : ` (${formatBytes(bytes)})`}`
  );
  return names.length < 2 ? names.join() : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}
