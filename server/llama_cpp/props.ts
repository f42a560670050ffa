import type { Hono } from "hono";
import { z } from "zod";
import type { Tokenizer } from "../../engine/mod.ts";
import { ModelRequest } from "../answer/mod.ts";
import type { ServerContext, ServerEnv } from "../context.ts";
import { get } from "../route.ts";
import { VERSION } from "../version.ts";

/** The answer of `GET /props`. */
export const Props = z.strictObject({
  default_generation_settings: z.strictObject({
    n_ctx: z.int().min(1).describe("Tokens that one sequence may have."),
  }),
  total_slots: z.int().min(1).describe("Sequences that run at the same time."),
  model_alias: z.string().describe("The model's name."),
  model_path: z.string().describe("The same: where its file is stays the server's."),
  chat_template: z.string().describe("In Jinja; empty where there is none."),
  bos_token: z.string(),
  eos_token: z.string(),
  modalities: z.strictObject({ vision: z.literal(false), audio: z.literal(false) }),
  build_info: z.string(),
}).meta({ id: "LlamaProps" });

/** The answer of `GET /tokenizer_info`. */
export const TokenizerInfo = z.strictObject({
  tokenizer_class: z.string().describe("The kind of its vocabulary: gpt2, llama …"),
  bos_token: z.string().nullable(),
  eos_token: z.string().nullable(),
  pad_token: z.string().nullable().describe("The one that ends a sequence."),
  add_bos_token: z.boolean(),
  add_eos_token: z.boolean(),
  model_max_length: z.int().min(1),
  chat_template: z.string().nullable(),
}).meta({ id: "TokenizerInfo" });

/** `GET /props`, as llama.cpp's server has it, and `GET /tokenizer_info`, as vLLM has it. */
export function propsRoutes(app: Hono<ServerEnv>, server: ServerContext): void {
  get(app, "/props", async (c) => {
    using model = await new ModelRequest(c, server, { model: c.req.query("model") }).lease();
    const { engine, name } = model;
    const { tokenizer, chat, contextTokens, maxRunning } = engine;
    return c.json(
      {
        default_generation_settings: { n_ctx: contextTokens },
        total_slots: maxRunning,
        model_alias: name,
        model_path: name,
        chat_template: chat?.template ?? "",
        bos_token: textOf(tokenizer, tokenizer.bos) ?? "",
        eos_token: textOf(tokenizer, tokenizer.eos) ?? "",
        modalities: { vision: false, audio: false },
        build_info: `m40 ${VERSION}`,
      } satisfies z.output<typeof Props>,
    );
  });
  get(app, "/tokenizer_info", async (c) => {
    using model = await new ModelRequest(c, server, { model: c.req.query("model") }).lease();
    const { tokenizer, chat, contextTokens } = model.engine;
    const eos = textOf(tokenizer, tokenizer.eos) ?? null;
    return c.json(
      {
        tokenizer_class: tokenizer.kind,
        bos_token: textOf(tokenizer, tokenizer.bos) ?? null,
        eos_token: eos,
        pad_token: eos,
        add_bos_token: tokenizer.addBos,
        add_eos_token: tokenizer.addEos,
        model_max_length: contextTokens,
        chat_template: chat?.template ?? null,
      } satisfies z.output<typeof TokenizerInfo>,
    );
  });
}

function textOf(tokenizer: Tokenizer, token: number | undefined): string | undefined {
  return token === undefined ? undefined : tokenizer.tokenText(token);
}
