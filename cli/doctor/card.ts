import { formatBytes } from "../terminal/mod.ts";
import type { Facts, Program } from "./facts.ts";
import { type Finding, findingsOf } from "./finding.ts";

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
    const advice = "`m40 ps` shows what it does; end it for what is measured here.";
    const says = `m40 itself has the card, and leaves no room to look at it: ${obstacle}.`;
    return [...reasons, note("m40_has_it", says, advice)];
  }
  const all = [...reasons, ...nodeProblems(facts)];
  // What CUDA says comes last: it is right, but seldom says what to do.
  const said = (obstacle ?? facts.absence).replace(/\.$/, "");
  const last = /out of memory/i.test(said)
    ? notUsable(
      "no_memory",
      `Other programs have all of the card's memory: ${said}.`,
      "`nvidia-smi` shows which; end them, or wait for them.",
    )
    : notUsable(
      "not_usable",
      `CUDA cannot use the card: ${said || "it does not say why"}.`,
      all.length > 0 ? undefined : "`nvidia-smi` and `sudo dmesg | grep NVRM` may say more.",
    );
  return [...all, last];
}

const { note, notUsable } = findingsOf("card");

function managementProblems({ management, host }: Facts): Finding[] {
  switch (management?.status) {
    case "mismatch":
      return [notUsable(
        "mismatch",
        `The kernel runs driver ${
          host.kernelDriver?.version ?? "of another version"
        }, and the driver's ` +
          "libraries are of another one: it was updated while it ran.",
        "Restart the machine, or in a container start it again, so that both are of one version.",
      )];
    case "missing":
      return host.kernelDriver === undefined ? [] : [notUsable(
        "no_libraries",
        "The kernel has the driver, but its libraries (libnvidia-ml.so.1, libcuda.so.1) are not here.",
        host.container
          ? "Begin the container with the NVIDIA container toolkit and NVIDIA_DRIVER_CAPABILITIES=compute,utility."
          : "Install the driver's libraries of the same version (Debian: libcuda1 and libnvidia-ml1).",
      )];
    case "forbidden":
      return [notUsable("forbidden", "The driver does not let this user ask it.", PERMISSION)];
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
    return [notUsable(
      "hidden",
      "CUDA_VISIBLE_DEVICES is set, and hides from CUDA the cards that it does not name.",
      "Unset it, or set it to the number of the card: CUDA_VISIBLE_DEVICES=0.",
    )];
  }
  if (states.includes("forbidden")) {
    const says = "This user may not open the card's files (/dev/nvidia*).";
    return [notUsable("no_permission", says, PERMISSION)];
  }
  if (control === "missing" || card === "missing") {
    return [
      host.container
        ? notUsable(
          "container",
          "This is a container, and it was not given the card: /dev/nvidia* is not there.",
          "Begin it with the card: `docker run --gpus all`, `podman run --device nvidia.com/gpu=all`, in Kubernetes a " +
            "limit of nvidia.com/gpu: 1.",
        )
        : notUsable(
          "no_device_files",
          "The driver is loaded, but its files /dev/nvidia* are not there.",
          "`sudo nvidia-modprobe -c 0 -u` makes them, as does running `sudo nvidia-smi` once; the service " +
            "nvidia-persistenced keeps them.",
        ),
    ];
  }
  if (memory === "missing") {
    return [notUsable(
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
    return [notUsable(
      "no_power",
      "The card has no power: its plug is not in, or the wrong one.",
      "A Tesla M40 wants an 8-pin plug as processors have (EPS 12 V), or an adapter from two 8-pin plugs of graphics cards.",
    )];
  }
  if (health.code === 15) {
    return [notUsable(
      "lost",
      "The card fell off its bus: it no longer answers.",
      "Switch the machine off and on. Where it comes again, look at heat, the power plug and the riser.",
    )];
  }
  if (health.code !== 0) {
    const says = `The driver has the card but gives no access to it (NVML ${health.code}).`;
    return [notUsable("no_answer", says, "`sudo dmesg | grep -i nvrm` says why.")];
  }
  if (health.computeMode === 2) {
    return [notUsable(
      "prohibited",
      "The card's compute mode is Prohibited: no program may use it.",
      "`sudo nvidia-smi -c DEFAULT` lets them.",
    )];
  }
  if (health.computeMode === 1 || health.computeMode === 3) {
    const says = "The card's compute mode lets one program alone use it";
    const several = "`sudo nvidia-smi -c DEFAULT`";
    return [
      programs.length === 0 ? note("exclusive", `${says}.`, `${several} lets several.`) : notUsable(
        "exclusive",
        `${says}, and ${namesOf(programs)} does.`,
        `End that program, or let several: ${several}.`,
      ),
    ];
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
  const own = findingsOf("card", { card: name, memory_bytes: total, free_bytes: free });
  const state = `${name} can be used, and ${formatBytes(free)} of its ${
    formatBytes(total)
  } are free`;
  if (free >= FREE_SHARE * total) return [own.fine("usable", `${state}.`)];
  if (hasM40(programs)) {
    const says = `${state}: ${namesOf(others)} ${others.length === 1 ? "has" : "have"} the rest.`;
    return [own.note("m40_has_it", says, "`m40 ps` shows what m40 does with it.")];
  }
  return [(free < LEAST_FREE_BYTES ? own.notUsable : own.toDo)(
    "others_memory",
    `${state}: ${namesOf(others) || "other programs"} have the rest.`,
    "End them, or let m40 have what is left: it plans for the memory that is free when it begins. ",
  )];
}

function namesOf(programs: readonly Program[]): string {
  const names = programs.map(({ name, bytes }) =>
    `${name ?? "a program"}${bytes === undefined ? "" : ` (${formatBytes(bytes)})`}`
  );
  return names.length < 2 ? names.join() : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}
