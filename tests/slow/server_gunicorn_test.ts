// gunicorn's own cases of requests, out of its source package: what it refuses is refused here, unless it is said why
// not. Without Python or the package index nothing is tested, and that is said.
import { assert, assertEquals } from "@std/assert";
import { EchoServer } from "../fixtures/raw_requests.ts";
import { TemporaryFolder } from "../fixtures/temporary.ts";

const VERSION = "23.0.0";

/** Cases that gunicorn refuses and that are requests all the same. */
const REQUESTS: Readonly<Record<string, string>> = {
  "006.http": "its limit of a line is lower",
  "007.http": "its limit of a header is lower",
  "008.http": "its limit of a header is lower",
  "010.http": "the limit that it is configured with is lower",
  "017.http": "its limit of a header is lower",
  "019.http": "headers of proxies say nothing here",
  "040.http": "names with an underscore are names; it would make variables of them",
  "chunked_07.http": "names with an underscore are names; it would make variables of them",
};

/** The folder with gunicorn's cases; undefined where they are not available. */
async function fetchCases(folder: string): Promise<string | undefined> {
  const run = async (command: string, args: string[]) => {
    try {
      const { success } = await new Deno.Command(command, { args, stdout: "null", stderr: "null" })
        .output();
      return success;
    } catch {
      return false;
    }
  };
  const pip = [
    "-m",
    "pip",
    "download",
    "--no-deps",
    "--no-binary",
    ":all:",
  ];
  await run("python3", [...pip, "--dest", folder, `gunicorn==${VERSION}`]);
  const archive = `${folder}/gunicorn-${VERSION}.tar.gz`;
  if (!await run("tar", ["-xzf", archive, "-C", folder])) return undefined;
  return `${folder}/gunicorn-${VERSION}/tests/requests`;
}

/** The bytes of a case, which is written with its line ends as letters. */
function bytesOf(text: string): Uint8Array {
  const plain = text.replaceAll("\n", "").replace(
    /\\(r|n|t|0|\\|x[0-9a-fA-F]{2})/g,
    (_, code: string) =>
      code[0] === "x"
        ? String.fromCharCode(parseInt(code.slice(1), 16))
        : ({ r: "\r", n: "\n", t: "\t", 0: "\0", "\\": "\\" })[code]!,
  );
  return Uint8Array.from(plain, (character) => character.charCodeAt(0));
}

/** A case with the Host that HTTP/1.1 wants and most of them lack: what they are about is something else. */
function withHost(text: string): string {
  return /^host[ \t]*:/im.test(text) ? text : text.replace("\\r\\n", "\\r\\nHost: h\\r\\n");
}

Deno.test("requests that gunicorn refuses are refused", async () => {
  using temporary = new TemporaryFolder();
  const folder = temporary.path;
  const cases = await fetchCases(folder);
  if (cases === undefined) {
    return console.log("skipped: gunicorn's source package is not available");
  }
  await using server = new EchoServer();
  const results: Record<string, Record<string, string>> = { valid: {}, invalid: {} };
  for (const kind of ["valid", "invalid"]) {
    for (const { name } of Deno.readDirSync(`${cases}/${kind}`)) {
      if (!name.endsWith(".http")) continue;
      const text = await Deno.readTextFile(`${cases}/${kind}/${name}`);
      const bytes = bytesOf(withHost(text));
      const { messages, error } = await server.parse(bytes);
      results[kind][name] = error ?? `${messages.length} requests`;
    }
  }
  const passed = Object.entries(results.invalid).filter(([name, result]) =>
    result.endsWith("requests") && result !== "0 requests" && !(name in REQUESTS)
  );
  assertEquals(passed, []);
  const valid = Object.values(results.valid);
  assert(valid.length > 20 && Object.keys(results.invalid).length > 20);
  assert(
    valid.filter((result) => result.endsWith("requests")).length >= 20,
    Deno.inspect(results),
  );
});
