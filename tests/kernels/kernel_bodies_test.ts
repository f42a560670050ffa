import { assertEquals } from "@std/assert";
import { fromFileUrl, join } from "@std/path";

// What cuda/kernels/block.cuh asks of kernel bodies, as far as it can be read off the sources.

const CUDA = fromFileUrl(new URL("../../cuda", import.meta.url));

/** The headers of kernels, by name, without comments. */
function headers(): Map<string, string> {
  const folder = join(CUDA, "kernels");
  const names = [...Deno.readDirSync(folder)].map(({ name }) => name)
    .filter((name) => name.endsWith(".cuh")).sort();
  return new Map(names.map((name) => {
    const text = Deno.readTextFileSync(join(folder, name));
    return [name, text.replaceAll(/\/\/.*$/gm, "")];
  }));
}

/** A source without its launches: __global__ functions with their bodies. */
function withoutLaunches(text: string): string {
  return text.replaceAll(/__global__[^;{]*\{[\s\S]*?\n\}/g, "");
}

/** The lines of a text that match, each with the name of its file. */
function linesWith(texts: Map<string, string>, pattern: RegExp): string[] {
  return [...texts].flatMap(([name, text]) =>
    text.split("\n").filter((line) => pattern.test(line)).map((line) => `${name}: ${line.trim()}`)
  );
}

Deno.test("a kernel body that looks up its own block, grid or block size would compute another's block in a persistent kernel", () => {
  const bodies = headers();
  // Says itself what a launch's block and grid are.
  bodies.delete("block.cuh");
  assertEquals(linesWith(bodies, /\b(blockIdx|gridDim|blockDim)\b/), []);
});

Deno.test("a kernel body that declares shared memory of its own would take it in addition to every other body's", () => {
  const bodies = new Map([...headers()].map(([name, text]) => [name, withoutLaunches(text)]));
  assertEquals(linesWith(bodies, /__shared__/), []);
  assertEquals(linesWith(bodies, /M40_DYNAMIC_SHARED/), []);
});

Deno.test("a launch that does more than call its body would do what a persistent kernel does not", () => {
  const launches = [...headers()].flatMap(([name, text]) =>
    [...text.matchAll(/__global__[^;{]*\{([\s\S]*?)\n\}/g)].map(([, body]) => ({ name, body }))
  );
  const statements = ({ body }: { body: string }) =>
    body.split(";").map((statement) => statement.trim())
      .filter((statement) =>
        statement !== "" && !/^(__shared__|M40_DYNAMIC_SHARED|using) ?/.test(statement)
      );
  const others = launches.filter((launch) => {
    // Those of prompts may go through several blocks; a persistent kernel only decodes.
    if (/prefill|packed/.test(launch.name) && /\bwalk_blocks\(/.test(launch.body)) return false;
    if (
      /\bwalk_grid\([\w.]+, at, place, \[&\] \{ \w+(<[^(]*>)?\([^;{}]*\); \}\);\s*$/.test(
        launch.body,
      )
    ) {
      return false;
    }
    const [call, ...more] = statements(launch);
    return more.length > 0 || !/^\w+(<[^(]*>)?\(.*launched_block\(\)/.test(call ?? "");
  });
  assertEquals(others, []);
  // As many as there are templates of kernels, at least: the pattern above finds them.
  assertEquals(launches.length >= 13, true, `found ${launches.length} launches`);
});

Deno.test("a kernel header that is not compiled with all others could have a name that clashes with theirs", () => {
  const source = Deno.readTextFileSync(join(CUDA, "ops", "all_kernels.cu"));
  const included = [...source.matchAll(/#include "\.\.\/kernels\/(.+)"/g)].map(([, name]) => name);
  assertEquals(included.sort(), [...headers().keys()]);
});

/** The sources below a folder, by their paths from there. */
function* sources(folder: string, below = ""): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(join(folder, below))) {
    if (isDirectory) yield* sources(folder, join(below, name));
    else if (/\.(cuh?|cpp|h)$/.test(name)) yield join(below, name);
  }
}

Deno.test("a source that knows of the persistent kernel's folder would not compile without it", () => {
  const others = [...sources(CUDA)].filter((name) => !name.startsWith("gpu/persistent/"));
  const knowing = others.filter((name) =>
    /#include "[^"]*persistent\/|\bResident[A-Z]\w+/.test(Deno.readTextFileSync(join(CUDA, name)))
  );
  // The one that says which decode executor the library has.
  assertEquals(knowing, ["gpu/decode_executor.cu"]);
});
