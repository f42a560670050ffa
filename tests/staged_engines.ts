/**
 * Engines whose model is on several devices: of the CPU library as many as are named, of the emulated one those that there
 * are made.
 *
 * @module
 */
import {
  architectureOf,
  Engine,
  type EngineOptions,
  type GenerateRequest,
  readGguf,
} from "../engine/mod.ts";
import type { Program } from "../engine/program/program.ts";
import { BACKEND } from "./device_harness.ts";
import { type Answer, collect } from "./engine_fixture.ts";

if (BACKEND === "emulated") Deno.env.set("M40_EMULATION_DEVICES", "3");

/** So many devices of {@link BACKEND}, as `--device` names them. */
export function devicesOf(count: number): string {
  return Array.from({ length: count }, (_, i) => BACKEND === "cpu" ? "cpu" : `${BACKEND}:${i}`)
    .join(",");
}

/** The path of a golden model. */
export function golden(name: string): string {
  return new URL(`data/golden/${name}.gguf`, import.meta.url).pathname;
}

/** Runs something with a golden model, or one of a path, on so many devices, and closes it. */
export async function withCards<T>(
  name: string,
  count: number,
  options: EngineOptions,
  work: (engine: Engine) => Promise<T>,
): Promise<T> {
  const engine = await Engine.load(name.includes("/") ? name : golden(name), {
    device: devicesOf(count),
    threads: 1,
    ...options,
  });
  try {
    return await work(engine);
  } finally {
    await engine.close();
  }
}

/** What all of these requests get, asked for together. */
export function answersTo(
  engine: Engine,
  requests: readonly GenerateRequest[],
): Promise<Answer[]> {
  return Promise.all(requests.map((request) => collect(engine.generate(request))));
}

/** The program of a golden model. */
export async function programOf(name: string): Promise<Program> {
  const gguf = await readGguf(golden(name));
  return architectureOf(gguf).read(gguf, {}).program;
}
