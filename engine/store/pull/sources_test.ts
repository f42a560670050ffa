// Pulls from Ollama's registry, from URLs and from paths; servers that do not mean well.
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { join } from "@std/path";
import { M40Error } from "../../errors.ts";
import { pull } from "./mod.ts";
import { readRecord } from "../record.ts";
import { companionFile } from "../../../tests/fixtures/companion_files.ts";
import { smallModel, smallParts, withPulls } from "../../../tests/fixtures/pull_fixture.ts";
import { content, type Layers, type PullServer } from "../../../tests/fixtures/pull_server.ts";

/** Has the server answer everything below a path with the same. */
function answer(server: PullServer, path: RegExp, make: () => Response): void {
  server.intercept = (_request, url) => path.test(url.pathname) ? make() : undefined;
}

Deno.test("pull: an Ollama model comes with its template, system message and parameters", () =>
  withPulls(async ({ server, models }) => {
    const model = await smallModel();
    server.ollamaModels.set("library/tiny", [
      ["model", model],
      ["projector", await smallModel(1)],
      ["template", content("{{ .System }} {{ .Prompt }}")],
      ["system", content("Be kind.")],
      ["params", content(JSON.stringify({ stop: ["<|end|>"], temperature: 0.5, num_ctx: 4096 }))],
      ["license", content("x".repeat(5_000_000))],
    ]);
    const notes: string[] = [];
    const pulled = await pull("ollama:tiny:8b", { onNote: (note) => notes.push(note) });
    assertEquals([pulled.name, pulled.source], ["tiny:8b", "ollama:tiny:8b"]);
    assertEquals(await Deno.readFile(join(models, "tiny:8b.gguf")), model.bytes);
    assertMatch(notes.join(), /sees pictures; m40 takes its text part only/);
    const { record } = await readRecord(models, "tiny:8b");
    assertEquals(record?.template, "{{ .System }} {{ .Prompt }}");
    assertEquals(record?.system, "Be kind.");
    assertEquals(record?.parameters, { stop: ["<|end|>"], temperature: 0.5, num_ctx: 4096 });
    assertEquals((await pull("ollama.com/library/tiny:8b")).outcome, "present");
    // Another system message of the same model is taken over as well.
    server.ollamaModels.get("library/tiny")![3] = ["system", content("Be brief.")];
    assertEquals((await pull("ollama:tiny:8b")).outcome, "present");
    assertEquals((await readRecord(models, "tiny:8b")).record?.system, "Be brief.");
    // Of `latest` nothing is left in the name, and the file is there already.
    const latest = await pull("ollama:tiny");
    assertEquals([latest.name, latest.outcome], ["tiny", "linked"]);
    await assertRejects(() => pull("ollama:tiny:9b"), M40Error, "There is no ollama:tiny:9b");
    await assertRejects(() => pull("ollama:tiny", { quantisation: "Q8_0" }), M40Error, "its tag");
  }));

Deno.test("pull: of an Ollama model's GGUF files the model is taken, and what is left out is named", () =>
  withPulls(async ({ server, models }) => {
    const model = await smallModel();
    server.ollamaModels.set("library/tiny", [
      ["model", content(companionFile("projector"))],
      ["model", model],
      ["draft", content(companionFile("drafter"))],
      ["messages", content('[{"role":"user","content":"hi"}]')],
    ]);
    const notes: string[] = [];
    await pull("ollama:tiny:8b", { onNote: (note) => notes.push(note) });
    assertEquals(await Deno.readFile(join(models, "tiny:8b.gguf")), model.bytes);
    const { record } = await readRecord(models, "tiny:8b");
    assertEquals(record?.messages, [{ role: "user", content: "hi" }]);
    assertMatch(notes.join("\n"), /ollama:tiny:8b: its drafter is not used\./);
    // The only one is none: its header says so before it is fetched.
    server.ollamaModels.set("library/one", [["model", content(companionFile("LoRA adapter"))]]);
    await assertRejects(() => pull("ollama:one"), M40Error, "no model but a LoRA adapter");
  }));

Deno.test("pull: of a list of manifests llama.cpp's is taken, else the one for this kind of machine", () =>
  withPulls(async ({ server, models }) => {
    const model = await smallModel();
    server.ollamaModels.set("library/tiny", [["model", model]]);
    const child = await (await fetch(`${server.origin}/v2/library/tiny/manifests/latest`)).text();
    const { sha256 } = content(child);
    const entry = (digest: string, more: object) => ({
      mediaType: "application/vnd.docker.distribution.manifest.v2+json",
      digest: `sha256:${digest}`,
      size: child.length,
      ...more,
    });
    const other = "0".repeat(64);
    const lists = [
      [entry(other, { runner: "ggml" }), entry(sha256, { runner: "llamacpp" })],
      [entry(other, { runner: "mlx" }), entry(sha256, { runner: "ggml" })],
      [
        entry(other, { platform: { os: "darwin", architecture: "arm64" } }),
        entry(sha256, { platform: { os: "linux", architecture: "amd64" } }),
      ],
      [entry(sha256, {}), entry(other, {})],
    ];
    for (const [i, manifests] of lists.entries()) {
      server.intercept = (_request, url) => {
        if (url.pathname.endsWith("/manifests/latest")) {
          return Response.json({ schemaVersion: 2, manifests });
        }
        return url.pathname.endsWith(`/manifests/sha256:${sha256}`)
          ? new Response(child)
          : undefined;
      };
      const { files } = await pull("ollama:tiny", { name: `m${i}` });
      assertEquals(await Deno.readFile(join(models, files[0].name)), model.bytes);
    }
  }));

Deno.test("pull: what a cache of another program has is linked, if it is what its name says", () =>
  withPulls(async ({ server, models, folder }) => {
    const model = await smallModel();
    server.ollamaModels.set("library/tiny", [["model", model]]);
    const cache = join(folder, ".ollama/models");
    const tags = join(cache, "manifests/registry.ollama.ai/library/tiny");
    const blob = join(cache, `blobs/sha256-${model.sha256}`);
    await Deno.mkdir(join(cache, "blobs"), { recursive: true });
    await Deno.mkdir(tags, { recursive: true });
    const { body } = await fetch(`${server.origin}/v2/library/tiny/manifests/latest`);
    await Deno.writeFile(join(tags, "latest"), body!);
    // The right name and length, and other bytes.
    await Deno.writeFile(blob, new Uint8Array(model.size));
    assertEquals((await pull("ollama:tiny", { name: "one" })).outcome, "fetched");
    await Promise.all(["one.gguf", "one.json"].map((file) => Deno.remove(join(models, file))));
    await Deno.writeFile(blob, model.bytes);
    server.asked.length = 0;
    assertEquals((await pull("ollama:tiny", { name: "two" })).outcome, "linked");
    assertEquals(server.asked.filter(({ host }) => host === "cdn"), []);
    assertEquals(Deno.statSync(join(models, "two.gguf")).ino, Deno.statSync(blob).ino);
  }));

Deno.test("pull: manifests that are hostile, damaged or of no model are refused by name", () =>
  withPulls(async ({ server, list, models }) => {
    await Deno.mkdir(models);
    const model = await smallModel();
    const good = { mediaType: "application/vnd.ollama.image.model", size: 10 };
    const manifest = (layers: unknown[]) => () => Response.json({ schemaVersion: 2, layers });
    const digest = (text: string) => manifest([{ ...good, digest: text }]);
    const ok = `sha256:${"0".repeat(64)}`;
    const cases: [string, () => Response, RegExp][] = [
      [
        "no JSON",
        () => new Response("<html>Sign in</html>"),
        /answered with a web page, wanted JSON/,
      ],
      ["no manifest", () => Response.json([]), /is not what it should be/],
      ["schema 1", () => Response.json({ schemaVersion: 1, layers: [] }), /at schemaVersion/],
      ["no layers", manifest([]), /at layers/],
      ["10,000 layers", manifest(Array(10_000).fill({ ...good, digest: ok })), /bytes|at layers/],
      ["200 layers", manifest(Array(200).fill({ ...good, digest: ok })), /at layers/],
      ["a path as digest", digest("sha256:../../../../etc/passwd"), /a digest is not/],
      ["another hash", digest(`md5:${"0".repeat(32)}`), /a digest is not/],
      ["NUL in the digest", digest(`sha256:${"0".repeat(63)}\0`), /a digest is not/],
      ["upper case", digest(`sha256:${"A".repeat(64)}`), /a digest is not/],
      ["a size below 0", manifest([{ ...good, digest: ok, size: -1 }]), /layers\.0\.size/],
      ["a size of 10^18", manifest([{ ...good, digest: ok, size: 1e18 }]), /layers\.0\.size/],
      ["half a byte", manifest([{ ...good, digest: ok, size: 1.5 }]), /layers\.0\.size/],
      [
        "no GGUF",
        manifest([{ mediaType: "application/vnd.ollama.image.license", digest: ok, size: 1 }]),
        /it has no GGUF file of weights/,
      ],
      [
        "two GGUFs",
        manifest([{ ...good, digest: ok }, { ...good, digest: ok }]),
        /has 2 GGUF files/,
      ],
      [
        "an adapter",
        manifest([
          { ...good, digest: ok },
          { mediaType: "application/vnd.ollama.image.adapter", digest: ok, size: 1 },
        ]),
        /it brings an adapter \(LoRA\)/,
      ],
      [
        "a list of none",
        () => Response.json({ schemaVersion: 2, manifests: [] }),
        /it lists 0 manifests, wanted 1 to 100/,
      ],
      [
        "a list with a path",
        () => Response.json({ schemaVersion: 2, manifests: [{ digest: "sha256:../x", size: 1 }] }),
        /manifest 1 of its list has no digest/,
      ],
      [
        "a list that is another manifest's",
        () => Response.json({ schemaVersion: 2, manifests: [{ digest: ok, size: 1 }] }),
        /SHA-256 is another one/,
      ],
      [
        "tensors",
        manifest([
          { mediaType: "application/vnd.ollama.image.tensor", digest: ok, size: 1 },
          { mediaType: "application/vnd.ollama.image.tensor", digest: ok, size: 1 },
        ]),
        /its weights are 2 tensors for MLX and no GGUF file/,
      ],
      ["endless", () => new Response("[".repeat(3_000_000)), /more than 1048576 bytes/],
      ["nested", () => new Response("[".repeat(900_000)), /wanted JSON/],
      [
        "compressed a thousand times",
        () => {
          const zeros = new Blob([new Uint8Array(200_000_000)]).stream();
          const body = zeros.pipeThrough(new CompressionStream("gzip"));
          return new Response(body, { headers: { "content-encoding": "gzip" } });
        },
        /more than 1048576 bytes/,
      ],
      [
        "to a file",
        () => new Response(null, { status: 302, headers: { location: "file:///etc/passwd" } }),
        /file:/,
      ],
      [
        "round and round",
        () => new Response(null, { status: 302, headers: { location: "" } }),
        /redirects for ever/,
      ],
      ["a server's fault", () => new Response("", { status: 418 }), /answered 418/],
    ];
    for (const [what, make, pattern] of cases) {
      answer(server, /manifests/, make);
      const error = await assertRejects(() => pull("ollama:tiny"), M40Error, undefined, what);
      assertMatch(error.message, pattern, what);
      assertEquals(error.message.length < 1000, true, what);
    }
    server.intercept = undefined;

    const layers = (extra: Layers): void => {
      server.ollamaModels.set("library/tiny", [["model", model], ...extra]);
    };
    const wrong = { ...content("right"), bytes: content("wrong").bytes };
    const extras: [string, Layers, RegExp][] = [
      ["wrong digest", [["template", wrong]], /the template of .* SHA-256 is another/],
      ["huge template", [["template", { ...content("x"), size: 2 ** 40 }]], /1099511627776 bytes/],
      ["no UTF-8", [["system", content(new Uint8Array([0xff, 0xfe]))]], /not UTF-8/],
      ["no parameters", [["params", content("[1]")]], /parameters .* cannot be used/],
      ["odd parameters", [["params", content('{"../x": 1}')]], /parameters .* cannot be used/],
      ["nested parameters", [["params", content('{"a":{"b":1}}')]], /parameters .* cannot be used/],
    ];
    for (const [what, extra, pattern] of extras) {
      layers(extra);
      const error = await assertRejects(() => pull("ollama:tiny"), M40Error, undefined, what);
      assertMatch(error.message, pattern, what);
    }
    assertEquals(list(), []);
  }));

Deno.test("pull: listings of the Hub that are hostile or damaged are refused by name", () =>
  withPulls(async ({ server, list, models }) => {
    await Deno.mkdir(models);
    server.repositories.set("a/b", { files: { "x-Q8_0.gguf": await smallModel() } });
    const entry = {
      type: "file",
      size: 10,
      path: "x.gguf",
      lfs: { oid: "0".repeat(64), size: 10 },
    };
    const tree = (...entries: unknown[]) => () => Response.json(entries);
    const path = (text: string) => tree({ ...entry, path: text });
    const next = (link: string) => () =>
      Response.json([], { headers: { link: `<${link}>; rel="next"` } });
    const cases: [string, () => Response, RegExp][] = [
      ["a path out of it", path("../../x.gguf"), /lists a file at .*: refused/],
      ["an absolute path", path("/etc/x.gguf"), /lists a file at .*: refused/],
      ["NUL in a path", path("a\0.gguf"), /lists a file at .*: refused/],
      ["a backslash", path("a\\b.gguf"), /lists a file at .*: refused/],
      ["a hash that is none", tree({ ...entry, lfs: { oid: "x", size: 1 } }), /0\.lfs\.oid/],
      ["a huge size", tree({ ...entry, lfs: { oid: "0".repeat(64), size: 2 ** 60 } }), /lfs\.size/],
      ["no list", () => Response.json({ error: "x" }), /is not what it should be/],
      ["elsewhere", next("https://evil.example/tree"), /evil\.example.*refused/],
      ["a file", next("file:///etc/passwd"), /refused/],
      ["for ever", next(`${server.origin}/api/models/a/b/tree/x`), /more files than can be listed/],
      ["a page", () => new Response("<!DOCTYPE html><p>Sign in"), /a web page, wanted JSON/],
    ];
    for (const [what, make, pattern] of cases) {
      answer(server, /\/tree\//, make);
      const error = await assertRejects(() => pull("hf.co/a/b"), M40Error, undefined, what);
      assertMatch(error.message, pattern, what);
    }
    answer(server, /\/revision\//, () => Response.json({ sha: "../../../x" }));
    await assertRejects(() => pull("hf.co/a/b"), M40Error, "at sha");
    assertEquals(list(), []);
  }));

Deno.test("pull: what fails for a moment is asked for again, what takes too long is reported", () =>
  withPulls(async ({ server }) => {
    server.repositories.set("a/b", { files: { "x-Q8_0.gguf": await smallModel() } });
    let left = 2;
    server.intercept = () => {
      const headers = { "retry-after": "1" };
      if (left-- > 0) return new Response("", { status: left ? 429 : 503, headers });
      return undefined;
    };
    assertEquals((await pull("hf.co/a/b")).outcome, "fetched");
    server.intercept = () => new Response("", { status: 429, headers: { "retry-after": "3600" } });
    await assertRejects(() => pull("hf.co/a/b"), M40Error, "429, too many requests");
    // A port without a listener.
    Deno.env.set("HF_ENDPOINT", "http://127.0.0.1:1");
    await assertRejects(() => pull("hf.co/a/b"), M40Error, "cannot be reached");
    for (const wrong of ["x", "file:///", "http://a:b@c/"]) {
      Deno.env.set("HF_ENDPOINT", wrong);
      await assertRejects(() => pull("hf.co/a/b"), M40Error, "HF_ENDPOINT is not", wrong);
    }
  }));

Deno.test("pull: a file at a URL comes under its name, and is there the second time", () =>
  withPulls(async ({ server, models, list }) => {
    const model = await smallModel();
    server.files.set("My Model.gguf", model);
    server.files.set("page.gguf", content("<html>gone</html>"));
    const url = `${server.cdn}/files/My%20Model.gguf?x=1`;
    const pulled = await pull(url);
    assertEquals([pulled.name, pulled.source], ["My-Model", url]);
    assertEquals(await Deno.readFile(join(models, "My-Model.gguf")), model.bytes);
    assertEquals((await pull(url)).outcome, "present");
    const changed = content(new Uint8Array([...(await smallModel(5)).bytes, 0]));
    server.files.set("My Model.gguf", changed);
    assertEquals((await pull(url)).outcome, "fetched");
    assertEquals(await Deno.readFile(join(models, "My-Model.gguf")), changed.bytes);

    await assertRejects(() => pull(`${server.cdn}/files/no.gguf`), M40Error, "no such file");
    const page = await assertRejects(() => pull(`${server.cdn}/files/page.gguf`), M40Error);
    assertMatch(page.message, /a web page/);
    answer(server, /files/, () => new Response("", { status: 403 }));
    await assertRejects(() => pull(url), M40Error, "does not let you have it");
    // Signed for GET: HEAD is refused, and says nothing.
    server.intercept = (request) =>
      request.method === "HEAD" ? new Response(null, { status: 403 }) : undefined;
    assertEquals((await pull(url, { name: "signed" })).outcome, "fetched");
    await Promise.all(
      ["signed.gguf", "signed.json"].map((file) => Deno.remove(join(models, file))),
    );
    answer(
      server,
      /files/,
      () => new Response(null, { status: 302, headers: { location: "file:///etc/passwd" } }),
    );
    await assertRejects(() => pull(url), M40Error, "file:");
    assertEquals(list(), ["My-Model.gguf", "My-Model.json"]);
  }));

Deno.test("pull: parts that cannot all be moved into place are never together with those of before", () =>
  withPulls(async ({ models, folder }) => {
    const fileName = (part: number) => `p-0000${part}-of-00003.gguf`;
    const parts = await smallParts("p", 3);
    const put = async (name: string, last: number) => {
      const place = join(folder, name);
      await Deno.mkdir(place);
      for (const [file, { bytes }] of Object.entries(parts)) {
        // Of a tensor's data, which nothing checks.
        await Deno.writeFile(join(place, file), bytes.with(-1, last));
      }
      return join(place, fileName(1));
    };
    const [before, after] = [await put("before", 1), await put("after", 2)];
    await pull(before, { name: "p", copy: true });
    await Deno.remove(join(models, fileName(2)));
    await Deno.mkdir(join(models, fileName(2)));
    await assertRejects(() => pull(after, { name: "p", force: true }), M40Error, fileName(2));
    const versions = await Promise.all(
      [1, 3].map((part) =>
        Deno.readFile(join(models, fileName(part))).then((bytes) => bytes.at(-1), () => 0)
      ),
    );
    assert(versions.includes(0) || versions[0] === versions[1], `parts 1 and 3 are ${versions}`);
  }));

Deno.test("pull: a path is linked or copied, whole models only, and the original stays", () =>
  withPulls(async ({ models, folder, list }) => {
    const { bytes } = await smallModel();
    const path = join(folder, "a model.gguf");
    await Deno.writeFile(path, bytes);
    const linked = await pull(path);
    assertEquals([linked.name, linked.outcome], ["a-model", "linked"]);
    assertEquals(Deno.statSync(join(models, "a-model.gguf")).ino, Deno.statSync(path).ino);
    const copied = await pull(path, { name: "b:c", copy: true });
    assertEquals(copied.outcome, "copied");
    assertEquals(Deno.statSync(join(models, "b:c.gguf")).ino === Deno.statSync(path).ino, false);
    assertEquals(await Deno.readFile(join(models, "b:c.gguf")), bytes);
    assertEquals(await Deno.readFile(path), bytes);

    for (const [name, { bytes }] of Object.entries(await smallParts("p", 2))) {
      await Deno.writeFile(join(folder, name), bytes);
    }
    const parts = await pull(join(folder, "p-00002-of-00002.gguf"), { name: "parts" });
    assertEquals(parts.files.map(({ name }) => name), [
      "parts-00001-of-00002.gguf",
      "parts-00002-of-00002.gguf",
    ]);
    await Deno.remove(join(folder, "p-00001-of-00002.gguf"));
    const before = list();
    await assertRejects(() => pull(join(folder, "p-00002-of-00002.gguf"), { name: "q" }), M40Error);
    await assertRejects(() => pull(join(folder, "none.gguf")), M40Error, "no such file");
    await Deno.writeTextFile(join(folder, "text.gguf"), "hello");
    await assertRejects(() => pull(join(folder, "text.gguf")), M40Error, "not a GGUF file");
    await assertRejects(() => pull(join(folder, "text.gguf"), { force: true }), M40Error);
    await assertRejects(() => pull(join(models, "a-model.gguf")), M40Error, "already");
    await assertRejects(() => pull(folder), M40Error);
    assertEquals(list(), before);
  }));
