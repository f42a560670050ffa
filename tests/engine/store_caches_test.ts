import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import fc from "fast-check";
import { basename, join } from "@std/path";
import { M40Error } from "../../engine/errors.ts";
import { ollamaDirectories } from "../../engine/store/caches/ollama.ts";
import { hubDirectory } from "../../engine/store/caches/hugging_face.ts";
import { listModels, recordDefaults, resolveModel } from "../../engine/store/mod.ts";
import { writeRecord } from "../../engine/store/record.ts";
import { companionFile } from "../fixtures/companion_files.ts";
import { GOLDEN } from "../fixtures/goldens.ts";
import {
  inStore,
  type ManifestLayer,
  put,
  putBlob,
  putHubFile,
  putManifest,
} from "../fixtures/store_folder.ts";

// Models that other programs have fetched.

const LIBRARY = "registry.ollama.ai/library";

/** What list shows in addition to the built-in model. */
async function listed(): Promise<[name: string, origin: string][]> {
  return (await listModels()).filter(({ builtIn }) => !builtIn)
    .map(({ name, origin }) => [name, origin]);
}

const refused = (name: string) => assertRejects(() => resolveModel(name), M40Error);

Deno.test("Ollama's cache: a model is found by its names, where it is, with what comes with it", () =>
  inStore(async ({ ollama }) => {
    const weights = await putBlob(ollama, "model", "weights");
    const manifest = await putManifest(ollama, `${LIBRARY}/mistral/latest`, [
      weights,
      await putBlob(ollama, "template", "{{ .System }}"),
      await putBlob(ollama, "system", "Be brief."),
      await putBlob(ollama, "params", '{"stop":["[INST]"],"temperature":0.5,"num_ctx":4096}'),
      await putBlob(ollama, "license", "…"),
    ]);
    await putManifest(ollama, `${LIBRARY}/mistral/7b-q4_0`, [weights]);
    await putManifest(ollama, "registry.ollama.ai/someone/own/v1", [weights]);
    await putManifest(ollama, "hf.co/Some/repo-GGUF/Q4_K_M", [weights]);
    assertEquals(await listed(), [
      ["hf.co/Some/repo-GGUF:Q4_K_M", "ollama"],
      ["mistral:7b-q4_0", "ollama"],
      ["mistral:latest", "ollama"],
      ["someone/own:v1", "ollama"],
    ]);
    const blob = join(ollama, "blobs", String(weights.digest).replace(":", "-"));
    const names = {
      "mistral": "mistral:latest",
      "ollama:mistral": "mistral:latest",
      "mistral:latest": "mistral:latest",
    };
    const long = `${LIBRARY}/mistral:latest`;
    for (const [name, called] of Object.entries({ ...names, [long]: long })) {
      const { record, ...model } = await resolveModel(name);
      const { name: shown, path, files, fileBytes, builtIn, recordProblem } = model;
      assertEquals([shown, path, files, fileBytes, builtIn], [
        called,
        blob,
        [blob],
        7,
        false,
      ]);
      assertEquals(recordProblem, undefined);
      assertEquals(record, {
        source: "ollama:mistral:latest",
        pulledAt: (await Deno.stat(manifest)).mtime!,
        files: [{ name: basename(blob), bytes: 7, sha256: String(weights.digest).slice(7) }],
        template: "{{ .System }}",
        system: "Be brief.",
        messages: undefined,
        parameters: { stop: ["[INST]"], temperature: 0.5, num_ctx: 4096 },
      });
    }
    assertEquals((await resolveModel("someone/own:v1")).path, blob);
    assertEquals((await resolveModel("hf.co/some/REPO-GGUF:q4_k_m")).path, blob);
    assertMatch((await refused("mistral:7b-q4_1")).message, /Did you mean "mistral:7b-q4_0"\?/);
  }));

Deno.test("Ollama's cache: what a manifest names is refused, with why, and never followed", () =>
  inStore(async ({ ollama, home }) => {
    const good = await putBlob(ollama, "model", "weights");
    const secret = await put(join(home, "secret"), "weights");
    const digest = (digest: unknown): ManifestLayer[] => [{ ...good, digest }];
    // A well-formed digest whose file is a link out of the cache.
    const hex = "ab".repeat(32);
    await Deno.symlink(secret, join(ollama, "blobs", `sha256-${hex}`));
    await Deno.mkdir(join(ollama, "blobs", `sha256-${"cd".repeat(32)}`));
    const adapter = await putBlob(ollama, "adapter", "lora");
    const cases: [string, unknown, RegExp][] = [
      [
        "absolute",
        digest("/etc/passwd"),
        /the digest of layer 1 is "\/etc\/passwd", wanted sha256:/,
      ],
      ["dots", digest("sha256:../../../secret"), /the digest of layer 1 is/],
      ["nul", digest(`sha256:${"0".repeat(63)}\0`), /the digest of layer 1 is/],
      ["none", digest(undefined), /the digest of layer 1 is missing/],
      ["long", digest("x".repeat(100_000)), /the digest of layer 1 is "x{10,100}, wanted/],
      ["upper", digest(`sha256:${"AB".repeat(32)}`), /the digest of layer 1 is/],
      ["later", [good, { ...good, digest: "../x" }], /the digest of layer 2 is/],
      ["link", digest(`sha256:${hex}`), /is a link or not a file, and is not followed/],
      ["folder", digest(`sha256:${"cd".repeat(32)}`), /is a link or not a file/],
      ["missing", digest(`sha256:${"ef".repeat(32)}`), /no such file/],
      ["many", new Array(10_000).fill(good), /it has 10000 layers, and 64 are the most/],
      ["short", [{ ...good, size: 8 }], /has 7 bytes, wanted 8/],
      ["huge", [{ ...good, size: 1e30 }], /the size of layer 1 is 1e\+30/],
      ["negative", [{ ...good, size: -1 }], /the size of layer 1 is -1/],
      ["text", [{ ...good, size: "7" }], /the size of layer 1 is "7"/],
      ["two", [good, good], /it has 2 GGUF files of weights, wanted one/],
      ["empty", [], /it has no GGUF file of weights/],
      ["object", {}, /it has no list of layers/],
      ["null", [null], /layer 1 has no media type/],
      ["lora", [good, adapter], /it brings an adapter/],
    ];
    for (const [name, layers] of cases) {
      await putManifest(ollama, `${LIBRARY}/${name}/latest`, layers);
    }
    await put(join(ollama, "manifests", LIBRARY, "binary/latest"), new Uint8Array([0xff, 0xfe]));
    await put(join(ollama, "manifests", LIBRARY, "half/latest"), '{"layers": [');
    await put(join(ollama, "manifests", LIBRARY, "wide/latest"), new Uint8Array(2 ** 22 + 1));
    // None of these is looked into at all.
    const elsewhere = join(home, "elsewhere");
    await put(join(elsewhere, "latest"), JSON.stringify({ layers: [good] }));
    await Deno.symlink(elsewhere, join(ollama, "manifests", LIBRARY, "linked"));
    await Deno.mkdir(join(ollama, "manifests", LIBRARY, "file"));
    await Deno.symlink(
      join(elsewhere, "latest"),
      join(ollama, "manifests", LIBRARY, "file/latest"),
    );
    await put(join(ollama, "manifests", LIBRARY, "-rf/latest"), JSON.stringify({ layers: [good] }));
    await putManifest(ollama, `${LIBRARY}/good/latest`, [good]);

    assertEquals(await listed(), [["good:latest", "ollama"]]);
    for (const [name, , expected] of cases) {
      const { code, message } = await refused(name);
      assertEquals(code, "invalid_model", name);
      assertMatch(message, expected, name);
      assertMatch(message, new RegExp(`Ollama's manifest .*/${name}/latest is not used: `));
    }
    assertMatch((await refused("binary")).message, /it is not UTF-8/);
    assertMatch((await refused("half")).message, /it is not JSON/);
    assertMatch((await refused("wide")).message, /it has 4194305 bytes/);
    for (const name of ["linked", "file", "-rf"]) {
      assertEquals((await refused(name)).code, "model_not_found", name);
    }
  }));

Deno.test("Ollama's cache: a registry with a port, lists of manifests, several GGUF files, what is left out", () =>
  inStore(async ({ ollama }) => {
    const weights = await putBlob(ollama, "model", await Deno.readFile(GOLDEN));
    const blob = join(ollama, "blobs", String(weights.digest).replace(":", "-"));
    await putManifest(ollama, "localhost:5000/library/tiny/latest", [weights]);
    await putManifest(ollama, "localhost:99999999/library/odd/latest", [weights]);
    await putManifest(ollama, `${LIBRARY}/both/latest`, [
      await putBlob(ollama, "model", companionFile("projector")),
      weights,
      await putBlob(ollama, "draft", companionFile("drafter")),
      await putBlob(ollama, "messages", '[{"role":"user","content":"hi"}]'),
    ]);
    await putManifest(ollama, `${LIBRARY}/lora/latest`, [
      await putBlob(ollama, "model", companionFile("LoRA adapter")),
    ]);
    await putManifest(ollama, `${LIBRARY}/mlx/latest`, [await putBlob(ollama, "tensor", "x")]);
    const child = await putBlob(
      ollama,
      "",
      JSON.stringify({ schemaVersion: 2, layers: [weights] }),
    );
    const list = (digest: unknown) =>
      JSON.stringify({
        schemaVersion: 2,
        manifests: [
          { digest: `sha256:${"0".repeat(64)}`, size: 7, runner: "mlx" },
          { digest, size: child.size, runner: "llamacpp" },
        ],
      });
    await put(join(ollama, "manifests", LIBRARY, "list/latest"), list(child.digest));
    await put(join(ollama, "manifests", LIBRARY, "gone/latest"), list(`sha256:${"1".repeat(64)}`));
    await put(join(ollama, "manifests", LIBRARY, "bad/latest"), list("sha256:../../x"));
    assertEquals((await listed()).map(([name]) => name), [
      "localhost:5000/library/tiny:latest",
      "both:latest",
      "list:latest",
    ]);
    for (
      const name of [
        "localhost:5000/library/tiny",
        "localhost:5000/library/tiny:latest",
        "both",
        "list",
      ]
    ) {
      assertEquals((await resolveModel(name)).path, blob, name);
    }
    const { record, recordProblem = "" } = await resolveModel("both");
    assertEquals(record?.messages, [{ role: "user", content: "hi" }]);
    assertEquals(recordDefaults(record).messages, record?.messages);
    assertMatch(recordProblem, /its drafter, .* is not used/);
    assertEquals((await resolveModel("list")).recordProblem, undefined);
    const reasons: [string, RegExp][] = [
      ["lora", /its GGUF file is no model but a LoRA adapter/],
      ["mlx", /its weights are 1 tensors for MLX and no GGUF file/],
      ["gone", /it is a list of manifests, of which the right one is not there/],
      ["bad", /manifest 2 of its list has no digest/],
    ];
    for (const [name, reason] of reasons) assertMatch((await refused(name)).message, reason);
  }));

Deno.test("Ollama's cache: small layers that cannot be used are reported, and the model is used", () =>
  inStore(async ({ ollama, home }) => {
    const weights = await putBlob(ollama, "model", "weights");
    const params = (text: string) => putBlob(ollama, "params", text);
    const cases: [string, ManifestLayer, RegExp][] = [
      ["json", await params("{"), /the params .* are not used: it is not JSON/],
      ["list", await params("[1]"), /"parameters" is a list, wanted an object/],
      ["nested", await params('{"stop":[["x"]]}'), /parameter "stop" is a list/],
      [
        "role",
        await putBlob(ollama, "messages", '[{"role":"tool","content":"x"}]'),
        /the messages .* the role "tool"/,
      ],
      [
        "pictures",
        await putBlob(ollama, "messages", '[{"role":"user","content":"x","images":["eA=="]}]'),
        /message 1 has pictures, which m40 does not take/,
      ],
      [
        "content",
        await putBlob(ollama, "messages", '[{"role":"user"}]'),
        /the content of message 1 is missing/,
      ],
      ["wide", await params(`{"a":"${"x".repeat(70_000)}"}`), /at most 65536/],
      [
        "system",
        await putBlob(ollama, "system", new Uint8Array([0xff])),
        /the system .* not UTF-8/,
      ],
    ];
    for (const [name, layer] of cases) {
      await putManifest(ollama, `${LIBRARY}/${name}/latest`, [weights, layer]);
    }
    for (const [name, , expected] of cases) {
      const { record, recordProblem } = await resolveModel(name);
      assertEquals([record?.parameters, record?.system, record?.messages], [
        undefined,
        undefined,
        undefined,
      ]);
      assertMatch(recordProblem ?? "", expected);
    }
    const secret = await put(join(home, "secret"), "secret");
    const system = await putBlob(ollama, "system", "secret");
    const blob = join(ollama, "blobs", String(system.digest).replace(":", "-"));
    await Deno.remove(blob);
    await Deno.symlink(secret, blob);
    await putManifest(ollama, `${LIBRARY}/out/latest`, [weights, system]);
    assertEquals((await resolveModel("out")).record?.system, undefined);
  }));

Deno.test("caches: the models directory's own models win where names collide, and no name is twice", () =>
  inStore(async ({ models, ollama, hub }) => {
    const weights = await putBlob(ollama, "model", "weights");
    await putManifest(ollama, `${LIBRARY}/mistral/latest`, [weights]);
    await putManifest(ollama, `${LIBRARY}/demo/latest`, [weights]);
    await putHubFile(hub, "a/b", "mistral.gguf", "hub's");
    const own = await put(join(models, "mistral.gguf"), "own");
    assertEquals((await resolveModel("mistral")).path, own);
    assertEquals((await resolveModel("mistral:latest")).origin, "ollama");
    assertEquals((await resolveModel("demo")).origin, "built-in");
    assertEquals(await listed(), [
      ["mistral", "store"],
      ["demo:latest", "ollama"],
      ["mistral:latest", "ollama"],
      ["hf.co/a/b/mistral.gguf", "hugging-face"],
    ]);
    await Deno.rename(own, join(models, "mistral:latest.gguf"));
    for (const name of ["mistral", "mistral:latest"]) {
      assertEquals((await resolveModel(name)).path, join(models, "mistral:latest.gguf"));
    }
    const names = (await listed()).map(([name]) => name);
    assertEquals(new Set(names).size, names.length);
    for (const name of names) assertEquals((await resolveModel(name)).name, name);
  }));

Deno.test("caches: they lie where their programs' variables say", () =>
  inStore(({ home }) => {
    assertEquals(ollamaDirectories(), [join(home, "ollama")]);
    Deno.env.delete("OLLAMA_MODELS");
    assertEquals(ollamaDirectories(), [
      join(home, ".ollama/models"),
      "/usr/share/ollama/.ollama/models",
    ]);
    const variables: [string, string, string][] = [
      ["HF_HUB_CACHE", "/a", "/a"],
      ["HF_HOME", "/b", "/b/hub"],
      ["XDG_CACHE_HOME", "/c", "/c/huggingface/hub"],
    ];
    for (const [name] of variables) Deno.env.delete(name);
    assertEquals(hubDirectory(), join(home, ".cache/huggingface/hub"));
    for (const [name, value, wanted] of variables.reverse()) {
      Deno.env.set(name, value);
      assertEquals(hubDirectory(), wanted);
    }
    for (const [name] of variables) Deno.env.delete(name);
    return Promise.resolve();
  }));

Deno.test("store: a record of other files than the existing ones is reported, and not used", () =>
  inStore(async ({ models }) => {
    await put(join(models, "x.gguf"), "12345");
    const record = { source: "s", pulledAt: new Date(0), system: "Be brief." };
    await writeRecord(models, "x", { ...record, files: [{ name: "x.gguf", bytes: 5 }] });
    assertEquals((await resolveModel("x")).record?.system, "Be brief.");
    await put(join(models, "x.gguf"), "123456");
    const { record: unused, recordProblem } = await resolveModel("x");
    assertEquals(unused, undefined);
    assertMatch(
      recordProblem ?? "",
      /record of x is not used: it is of 5 bytes, and its files have 6/,
    );
  }));

Deno.test("caches: whatever JSON a manifest is, listing goes on, and only our own errors come of it", () =>
  inStore(async ({ ollama }) => {
    const good = await putBlob(ollama, "model", "weights");
    const odd = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom(good.digest, good.mediaType, 7, -0, 1e308),
    );
    const layer = fc.oneof(
      odd,
      fc.record({ mediaType: odd, digest: odd, size: odd }, { requiredKeys: [] }),
      fc.record({
        mediaType: fc.constantFrom("model", "params", "system", "template", "adapter", "")
          .map((kind) => `application/vnd.ollama.image.${kind}`),
        digest: fc.constant(good.digest),
        size: fc.oneof(fc.constant(7), odd),
      }),
    );
    let usable = 0;
    await fc.assert(
      fc.asyncProperty(fc.oneof(odd, fc.array(layer, { maxLength: 4 })), async (layers) => {
        await putManifest(ollama, `${LIBRARY}/fuzzed/latest`, layers);
        const names = (await listed()).map(([name]) => name);
        try {
          const { path, record } = await resolveModel("fuzzed");
          assertEquals(basename(path), String(good.digest).replace(":", "-"));
          assertEquals(record?.files.length, 1);
          assertEquals(names, ["fuzzed:latest"]);
          usable++;
        } catch (error) {
          if (!(error instanceof M40Error)) throw error;
          assertEquals([error.code, names], ["invalid_model", []]);
        }
      }),
      // At random, few are usable.
      { numRuns: 300, examples: [[[{ ...good, size: 7 }]]] },
    );
    assert(usable > 0, "none was usable");
  }));
