import { M40Error } from "../errors.ts";
import type { Backend } from "./library.ts";

/** A device's name, taken apart. */
export interface DeviceName {
  /** The library that it is one of; "auto": the GPU's where there is a GPU. */
  readonly backend: Backend | "auto";
  /** Its index in that library. */
  readonly index: number;
}

/**
 * Takes a device's name apart: auto, cpu, cuda or cuda:N, and for tests emulated or emulated:N.
 *
 * @throws {M40Error} "invalid_request" for another name, or for a list of several.
 */
export function parseDeviceName(name: string): DeviceName {
  const match = /^(auto|cpu|(cuda|emulated)(?::(\d{1,4}))?)$/.exec(name);
  if (match === null) {
    throw new M40Error(
      "invalid_request",
      name.includes(",")
        ? `device ${JSON.stringify(name)} is a list; one device is wanted here`
        : `device ${JSON.stringify(name)} is not known; wanted auto, cpu, cuda or cuda:N`,
    );
  }
  const [, whole, indexed, index] = match;
  return { backend: (indexed ?? whole) as DeviceName["backend"], index: Number(index ?? 0) };
}

/**
 * The names in a list of devices: `cuda:0,cuda:1`, or `cuda:0,1`, as a bare number takes the previous name.
 *
 * @returns Names that {@link parseDeviceName} knows, in the list's order; at least one.
 * @throws {M40Error} "invalid_request" for an unknown name, a number without a previous name, a card that is named
 *   twice (the CPU may be), and for auto among others.
 */
export function parseDeviceList(list: string): string[] {
  const refuse = (problem: string): never => {
    throw new M40Error("invalid_request", `device ${JSON.stringify(list)}: ${problem}`);
  };
  const names: string[] = [];
  const seen = new Set<string>();
  let before: DeviceName | undefined;
  for (const part of list.split(",").map((one) => one.trim())) {
    const isNumber = /^\d+$/.test(part);
    if (
      isNumber && (before === undefined || before.backend === "cpu" || before.backend === "auto")
    ) {
      refuse(`the number ${part} has no name before it; wanted a list as cuda:0,1`);
    }
    if (part === "") refuse("a name is missing at a comma; wanted a list as cuda:0,1");
    const name = isNumber ? `${before!.backend}:${part}` : part;
    before = parseDeviceName(name);
    const { backend, index } = before;
    if (backend === "auto" && list.includes(",")) {
      refuse("auto chooses one device; name each where there are several");
    }
    const card = `${backend}:${index}`;
    if (backend !== "cpu" && seen.has(card)) refuse(`${card} is there twice; name each card once`);
    seen.add(card);
    names.push(name);
  }
  return names;
}
