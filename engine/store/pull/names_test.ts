// What names of models to be fetched mean, and what the names of a repository's files say.
import { assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { z } from "zod";
import { M40Error } from "../../errors.ts";
import { isModelName } from "../names.ts";
import { aliases } from "../sources/aliases.ts";
import { plainName } from "../sources/plain_name.ts";
import { quantisationOf, variantsOf } from "../sources/quantisations.ts";
import { parseReference } from "../sources/references.ts";
import { checkRedirect } from "../sources/redirects.ts";

const aliasesSchema = z.array(z.strictObject({
  names: z.array(z.string().refine(isModelName, "no name of a model")).min(1),
  source: z.string().regex(/^hf\.co\/[\w.-]+\/[\w.-]+$/),
  file: z.string().regex(/^[\w./-]+\.gguf$/),
  bytes: z.number().int().min(1e8).max(24e9),
  why: z.string().min(20).max(120),
})).min(30);

Deno.test("pull: every alias has one meaning, a file that may be on its card, and a reason", () => {
  aliasesSchema.parse(aliases);
  const names = aliases.flatMap(({ names }) => names.map((name) => name.toLowerCase()));
  assertEquals(names.length, new Set(names).size, "a name stands for two things");
  for (const { names, source, file } of aliases) {
    for (const name of names) {
      const { kind, alias, ...reference } = parseReference(name) as
        & ReturnType<
          typeof parseReference
        >
        & { kind: "hub" };
      const [, owner, repository] = source.split("/");
      assertEquals(kind, "hub");
      assertEquals(reference, {
        owner,
        repository,
        file,
        name,
        quantisation: undefined,
        revision: undefined,
      });
      assertEquals(alias?.file, file);
    }
    assertEquals(typeof quantisationOf(file), "string", `${file} names no quantisation`);
  }
  for (
    const wanted of [
      "mistral",
      "llama3.1",
      "qwen3:8b",
      "qwen3:30b-a3b",
      "gpt-oss",
      "phi4",
      "qwen3.5",
      "qwen3.8",
      "gemma4:26b",
      "ministral-3",
      "nemotron-3-nano",
    ]
  ) {
    assertEquals(names.includes(wanted), true, `${wanted} is missing`);
  }
});

/** A reference without the fields that it does not say. */
function meaning(text: string): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(parseReference(text)).filter(([, value]) => value !== undefined),
  );
}

Deno.test("pull: each form of a name means what it says", () => {
  const hub = { kind: "hub", owner: "Qwen", repository: "Qwen3-8B-GGUF" };
  const cases: [string, Record<string, unknown>][] = [
    ["hf.co/Qwen/Qwen3-8B-GGUF", hub],
    ["HF.co/Qwen/Qwen3-8B-GGUF/", hub],
    ["hf.co/Qwen/Qwen3-8B-GGUF:latest", hub],
    ["huggingface.co/Qwen/Qwen3-8B-GGUF:q4_k_m", { ...hub, quantisation: "q4_k_m" }],
    ["https://huggingface.co/Qwen/Qwen3-8B-GGUF?x=1", hub],
    ["https://hf.co/Qwen/Qwen3-8B-GGUF:UD-Q4_K_XL", { ...hub, quantisation: "UD-Q4_K_XL" }],
    ["hf.co/Qwen/Qwen3-8B-GGUF@v1.0:Q8_0", { ...hub, revision: "v1.0", quantisation: "Q8_0" }],
    ["https://huggingface.co/Qwen/Qwen3-8B-GGUF/tree/main", { ...hub, revision: "main" }],
    [
      "https://huggingface.co/Qwen/Qwen3-8B-GGUF/resolve/main/sub/a%20b.gguf?download=true",
      { ...hub, revision: "main", file: "sub/a b.gguf" },
    ],
    ["hf.co/Qwen/Qwen3-8B-GGUF/Q4/x.gguf", { ...hub, file: "Q4/x.gguf" }],
    ["ollama:qwen3", { kind: "ollama", namespace: "library", model: "qwen3", tag: "latest" }],
    [
      "ollama.com/library/qwen3:8b",
      { kind: "ollama", namespace: "library", model: "qwen3", tag: "8b" },
    ],
    [
      "https://registry.ollama.ai/someone/thing:x",
      { kind: "ollama", namespace: "someone", model: "thing", tag: "x" },
    ],
    [
      "https://example.com/a/b.gguf?x=y#part",
      { kind: "url", url: "https://example.com/a/b.gguf?x=y" },
    ],
    ["./dir/b.gguf", { kind: "path", path: "./dir/b.gguf" }],
    ["b.gguf", { kind: "path", path: "b.gguf" }],
    ["/abs/model", { kind: "path", path: "/abs/model" }],
  ];
  for (const [text, expected] of cases) assertEquals(meaning(text), expected, text);
});

Deno.test("pull: hostile and mistaken names are refused, and the message says what is wrong", () => {
  const cases: [string, RegExp][] = [
    ["", /it is empty/],
    ["a\0b", /control character/],
    ["\x1b[2Jx", /control character/],
    ["x".repeat(5000), /has 5000 characters/],
    ["file:///etc/passwd", /named by its path/],
    ["ftp://example.com/x.gguf", /"ftp:" is not a way/],
    ["javascript://x/x.gguf", /"javascript:" is not a way/],
    ["https://user:secret@example.com/x.gguf", /user and password/],
    ["https://example.com/x.bin", /path ends in ".gguf"/],
    ["https://exa mple/x.gguf", /not a URL/],
    ["hf.co/../x", /cannot be a part|wanted hf.co/],
    ["hf.co/a/..", /cannot be a part/],
    ["hf.co/a", /wanted hf.co\/OWNER/],
    ["hf.co/a/b:../../x", /cannot be a part/],
    ["hf.co/a/b@../../c", /wanted hf.co|cannot be a revision/],
    ["hf.co/a/b/../../../x.gguf", /leaves its folder/],
    ["hf.co/a/b/%2e%2e/x.gguf", /./],
    ["https://huggingface.co/a/b/resolve/main/..%2f..%2fx.gguf", /leaves its folder/],
    ["https://huggingface.co/a/b/resolve/..%2f..%2fapi/x.gguf", /cannot be a revision|leaves/],
    ["hf.co/a/b/x.bin", /ends in ".gguf"/],
    ["hf.co/a/b c", /cannot be a part/],
    ["ollama:../../x", /./],
    ["ollama:a/b/c/d", /wanted ollama:/],
    ["ollama:a:b:c", /wanted ollama:/],
    ["ollama:", /cannot be a part/],
    ["ollama:a:../b", /./],
    ["owner/repository", /hf.co\/owner\/repository/],
  ];
  for (const [text, pattern] of cases) {
    if (text === "hf.co/a/b/%2e%2e/x.gguf") {
      // Not a URL: a literal folder of that name, which is escaped again when it is asked for.
      assertEquals(meaning(text).file, "%2e%2e/x.gguf");
      continue;
    }
    const error = assertThrows(() => parseReference(text), M40Error, undefined, text);
    assertMatch(error.message, pattern, text);
    assertEquals(error.message.includes("secret"), false, "a password is repeated");
    assertEquals(error.message.length < 1000, true, "a message as long as its cause");
  }
});

Deno.test("pull: an alias that there is not is answered with those of its family, or the nearest", () => {
  const of = (text: string) => assertThrows(() => parseReference(text), M40Error).message;
  assertMatch(of("qwen3:9b"), /Did you mean qwen3, qwen3:8b.*qwen3:32b/);
  assertMatch(of("mistrl"), /Did you mean mistral, /);
  assertMatch(of("zzzzzz"), /no alias "zzzzzz"\. `m40 pull --list`.*ollama:zzzzzz/);
  assertEquals(meaning("Mistral:latest").name, "mistral");
});

Deno.test("pull: quantisations are read out of file names as people spell them", () => {
  const cases: [string, string | undefined][] = [
    ["Mistral-7B-Instruct-v0.3-Q4_K_M.gguf", "Q4_K_M"],
    ["tinyllama-1.1b-chat-v1.0.Q4_K_M.gguf", "Q4_K_M"],
    ["qwen2.5-7b-instruct-q4_k_m-00001-of-00002.gguf", "q4_k_m"],
    ["Qwen3-30B-A3B-UD-Q4_K_XL.gguf", "UD-Q4_K_XL"],
    ["gpt-oss-20b-mxfp4.gguf", "mxfp4"],
    ["x-IQ2_XXS.gguf", "IQ2_XXS"],
    ["x-TQ1_0.gguf", "TQ1_0"],
    ["x.f16.gguf", "f16"],
    ["BF16/x-00001-of-00002.gguf", "BF16"],
    ["x-Q4_0_4_4.gguf", undefined],
    ["Q2-model.gguf", undefined],
    ["x-Q8_0-to-Q4_K_S.gguf", "Q4_K_S"],
  ];
  for (const [path, expected] of cases) assertEquals(quantisationOf(path), expected, path);
});

Deno.test("pull: parts are one model, the preferred come first, and no word in a name makes a file none", () => {
  const file = (path: string, bytes = 10) => ({ path, bytes });
  const variants = variantsOf([
    file("x-Q8_0.gguf", 80),
    file("x-Q2_K.gguf", 20),
    file("vocab-extended-IQ1_M.gguf", 30),
    file("Q4_K_M/x-Q4_K_M-00002-of-00003.gguf"),
    file("Q4_K_M/x-Q4_K_M-00001-of-00003.gguf"),
    file("x-odd.gguf"),
    file("README.md"),
  ]);
  assertEquals(variants.map(({ quantisation, missing }) => [quantisation, missing]), [
    ["Q4_K_M", [3]],
    ["Q8_0", []],
    ["Q2_K", []],
    ["IQ1_M", []],
    [undefined, []],
  ]);
  assertEquals(variants[0].files.map(({ path }) => path), [
    "Q4_K_M/x-Q4_K_M-00001-of-00003.gguf",
    "Q4_K_M/x-Q4_K_M-00002-of-00003.gguf",
  ]);
});

Deno.test("pull: whatever a thing is called elsewhere, its name here is one", () => {
  const texts = [
    "",
    "..",
    "../../etc/passwd",
    "a b",
    "-x",
    "é".repeat(300),
    "x".repeat(500),
    "a:b:c",
  ];
  for (const text of [...texts, "con\0trol", "demo.gguf", "x-00001-of-00002"]) {
    for (const tag of [undefined, ...texts]) {
      const name = plainName(text, tag);
      assertEquals(isModelName(name), true, JSON.stringify([text, tag, name]));
    }
  }
  assertEquals(plainName("Qwen3-8B", "Q4_K_M"), "Qwen3-8B:Q4_K_M");
});

Deno.test("pull: redirects lead to http(s) only, never down to http, nor from outside to inside", async () => {
  const from = new URL("https://huggingface.co/a");
  for (
    const bad of [
      "file:///etc/passwd",
      "data:,x",
      "http://huggingface.co/a",
      "https://127.0.0.1/x",
      "https://localhost:8080/x",
      "https://10.0.0.1/",
      "https://169.254.169.254/latest/meta-data",
      "https://192.168.1.1/",
      "https://[::1]/",
      "https://[fe80::1]/",
      "https://[::ffff:10.0.0.1]/",
      "https://2130706433/",
      "https://0x7f.1/",
      "https://router/",
      "https://metadata.google.internal/",
      "https://a:b@cdn.example/",
      "https://",
    ]
  ) {
    await assertRejects(() => checkRedirect(from, bad), M40Error, "is not followed", bad);
  }
  const followed = async (from: URL, to: string) => (await checkRedirect(from, to)).href;
  assertEquals(await followed(from, "/b"), "https://huggingface.co/b");
  assertEquals(await followed(from, "https://cdn.example/x?y"), "https://cdn.example/x?y");
});
