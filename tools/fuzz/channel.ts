import { join } from "@std/path";

/** How {@link fuzzChannel} runs. */
export interface ChannelFuzzOptions {
  readonly seconds: number;
  readonly seed: number;
}

/**
 * Fuzzes the device process's channel: `channel.cpp` with the C++ sources of the CPU library, built by
 * clang with libFuzzer and the address and undefined-behaviour sanitizers.
 *
 * @param root The checkout.
 * @param folder Where the fuzzer, its corpus and a fault go.
 * @returns Whether no fault was found. Where there is no clang it says so, and there is none.
 */
export async function fuzzChannel(
  root: string,
  folder: string,
  { seconds, seed }: ChannelFuzzOptions,
): Promise<boolean> {
  if (!await succeeds("clang++", ["--version"])) {
    console.log(
      "channel: skipped; it wants clang++ with libFuzzer (Debian: clang, libclang-rt-14-dev)",
    );
    return true;
  }
  const corpus = join(folder, "channel");
  await Deno.mkdir(corpus, { recursive: true });
  const program = join(folder, "fuzz_channel");
  console.log("channel: building ...");
  const built = await run("make", [
    ...["-s", "-j2", "-C", join(root, "tools", "fuzz"), "-f", "channel.mk"],
    ...[`ROOT=${root}`, `OUT=${folder}`],
  ]);
  if (!built) return false;
  return await run(program, [
    ...[`-max_total_time=${seconds}`, `-seed=${seed}`, "-timeout=30", "-rss_limit_mb=4096"],
    ...[
      `-artifact_prefix=${folder}/channel.fault.`,
      "-print_final_stats=1",
      "-verbosity=0",
      corpus,
    ],
  ]);
}

async function succeeds(program: string, args: string[]): Promise<boolean> {
  try {
    return (await new Deno.Command(program, { args, stdout: "null", stderr: "null" }).output())
      .success;
  } catch {
    return false;
  }
}

async function run(program: string, args: string[]): Promise<boolean> {
  return (await new Deno.Command(program, { args, stdout: "inherit", stderr: "inherit" }).spawn()
    .status)
    .success;
}
