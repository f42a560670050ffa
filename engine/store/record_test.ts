import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { join } from "@std/path";
import { M40Error } from "../errors.ts";
import { MAX_RECORD_BYTES, type ModelRecord, readRecord, writeRecord } from "./record.ts";
import { TemporaryFolder } from "../../tests/fixtures/temporary.ts";

const SHA256 = "0123456789abcdef".repeat(4);

const RECORD: ModelRecord = {
  source: "hf.co/someone/some-GGUF:Q4_K_M",
  pulledAt: new Date("2026-05-04T03:02:01.000Z"),
  files: [
    { name: "big:7b-00001-of-00002.gguf", bytes: 5, sha256: SHA256 },
    { name: "big:7b-00002-of-00002.gguf", bytes: 6, sha256: undefined },
  ],
  template: "{{ .System }}",
  system: "You are \u0000 brief.\n",
  messages: [{ role: "user", content: "Hi \u0000" }, { role: "assistant", content: "" }],
  parameters: { temperature: 0.7, stop: ["</s>", "[INST]"], num_ctx: 4096, use_mmap: true, s: "x" },
};

async function inFolder(test: (folder: string) => Promise<void>): Promise<void> {
  using temporary = new TemporaryFolder();
  const folder = temporary.path;
  await test(folder);
}

const names = async (folder: string) =>
  (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name);

Deno.test("record: what is written is read again, and nothing else is left in the folder", () =>
  inFolder(async (folder) => {
    await writeRecord(folder, "big:7b", RECORD);
    assertEquals(await readRecord(folder, "big:7b"), { record: RECORD });
    await writeRecord(folder, "big:7b", { ...RECORD, source: "elsewhere", system: undefined });
    assertEquals((await readRecord(folder, "big:7b")).record?.source, "elsewhere");
    assertEquals(await names(folder), ["big:7b.json"]);
    const mode = (await Deno.stat(join(folder, "big:7b.json"))).mode! & 0o777;
    assertEquals(mode, 0o666 & ~Deno.umask(), "as public as other files");
    assertEquals(await readRecord(folder, "other"), {});
  }));

Deno.test("record: a damaged one is reported, whatever is wrong with it, and never thrown", () =>
  inFolder(async (folder) => {
    await writeRecord(folder, "big:7b", RECORD);
    const path = join(folder, "big:7b.json");
    const good = JSON.parse(await Deno.readTextFile(path));
    const file = good.files[0];
    const one = (change: Record<string, unknown>) => ({
      ...good,
      files: [{ ...file, ...change }, good.files[1]],
    });
    const bad: [unknown, RegExp][] = [
      [null, /the record is null, wanted an object/],
      [[], /the record is a list/],
      [{ ...good, version: 2 }, /"version" is 2, wanted 1/],
      [{ ...good, source: undefined }, /"source" is missing/],
      [{ ...good, messages: {} }, /"messages" is not a list of 100 messages at most/],
      [{ ...good, messages: Array(101).fill({ role: "user", content: "" }) }, /list of 100/],
      [{ ...good, messages: [{ role: "tool", content: "" }] }, /message 1 has the role "tool"/],
      [{ ...good, source: "x".repeat(5000) }, /"source" has 5000 characters/],
      [{ ...good, pulled_at: "yesterday" }, /"pulled_at" is not a date/],
      [{ ...good, files: [] }, /"files" is not a list of 1 to 1024/],
      [{ ...good, files: new Array(10_000).fill(file) }, /"files" is not a list/],
      [{ ...good, files: [file] }, /no file of this model/],
      [{ ...good, files: [file, file] }, /file 2 of "files" is .*no file of this model/],
      [{ ...good, files: [...good.files].reverse() }, /no file of this model/],
      [one({ name: "../../etc/passwd" }), /"..\/..\/etc\/passwd", which is no file of this model/],
      [one({ name: "/etc/passwd" }), /no file of this model/],
      [one({ name: "other-00001-of-00002.gguf" }), /no file of this model/],
      [one({ name: 7 }), /the name of file 1 of "files" is 7/],
      [one({ bytes: -1 }), /the size of file 1 of "files" is -1/],
      [one({ bytes: 1e300 }), /the size of/],
      [one({ sha256: "sha256-" }), /"sha256" of file 1/],
      [{ ...good, template: "x".repeat(2 ** 20 + 1) }, /"template" has 1048577 characters/],
      [{ ...good, system: {} }, /"system" is an object, wanted a text/],
      [{ ...good, parameters: { "../x": 1 } }, /"..\/x" cannot be a parameter's name/],
      [{ ...good, parameters: { stop: [1] } }, /parameter "stop" is a list/],
      [{ ...good, parameters: { temperature: null } }, /parameter "temperature" is null/],
      [
        {
          ...good,
          parameters: Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`p${i}`, i])),
        },
        /there are 101 parameters/,
      ],
    ];
    for (const [value, expected] of bad) {
      await Deno.writeTextFile(path, JSON.stringify(value));
      const { record, problem } = await readRecord(folder, "big:7b");
      assertEquals(record, undefined);
      assertMatch(problem ?? "", expected);
    }
    const whole = new TextEncoder().encode(JSON.stringify(good));
    const bytes: [Uint8Array, RegExp][] = [
      [new Uint8Array(), /it is not JSON/],
      [whole.slice(0, -1), /it is not JSON/],
      [new Uint8Array([...whole.slice(0, 30), 0xff, ...whole.slice(31)]), /it is not UTF-8/],
      [new Uint8Array(MAX_RECORD_BYTES + 1), /it has 4194305 bytes, and 4194304 are the most/],
      [new TextEncoder().encode("[".repeat(2 ** 20)), /the record .* is not used/],
    ];
    for (const [content, expected] of bytes) {
      await Deno.writeFile(path, content);
      assertMatch((await readRecord(folder, "big:7b")).problem ?? "", expected);
    }
    await Deno.remove(path);
    await Deno.mkdir(path);
    assertMatch((await readRecord(folder, "big:7b")).problem ?? "", /it is not a file/);
    await Deno.remove(path);
    await Deno.symlink("big:7b.json", path);
    assertMatch((await readRecord(folder, "big:7b")).problem ?? "", /too many symbolic links/);
    await Deno.remove(path);
    await new Deno.Command("mkfifo", { args: [path] }).output();
    assertMatch((await readRecord(folder, "big:7b")).problem ?? "", /it is not a file/);
  }));

Deno.test("record: what a later version adds does not make it unreadable", () =>
  inFolder(async (folder) => {
    await writeRecord(folder, "big:7b", RECORD);
    const path = join(folder, "big:7b.json");
    const good = JSON.parse(await Deno.readTextFile(path));
    await Deno.writeTextFile(path, JSON.stringify({ ...good, licence: "MIT" }));
    assertEquals(await readRecord(folder, "big:7b"), { record: RECORD });
  }));

Deno.test("record: none is written that could not be read again, and the old one stays", () =>
  inFolder(async (folder) => {
    await writeRecord(folder, "big:7b", RECORD);
    const bad: ModelRecord[] = [
      { ...RECORD, files: [] },
      { ...RECORD, files: [{ name: "big:7b.gguf", bytes: NaN }] },
      { ...RECORD, pulledAt: new Date(NaN) },
      { ...RECORD, system: "x".repeat(2 ** 20 + 1) },
      { ...RECORD, parameters: { temperature: Infinity } },
    ];
    for (const record of bad) {
      const error = await assertRejects(() => writeRecord(folder, "big:7b", record), M40Error);
      assertEquals(error.code, "invalid_request");
    }
    for (const name of ["../x", "demo", "a\0"]) {
      await assertRejects(() => writeRecord(folder, name, RECORD), M40Error);
    }
    const missing = await assertRejects(
      () => writeRecord(join(folder, "no"), "big:7b", RECORD),
      M40Error,
    );
    assertEquals(missing.code, "io");
    assertEquals(await names(folder), ["big:7b.json"]);
    assertEquals(await readRecord(folder, "big:7b"), { record: RECORD });
  }));
