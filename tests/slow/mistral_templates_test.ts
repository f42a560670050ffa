import { assertEquals } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { JinjaTemplate } from "../../engine/chat/jinja/template.ts";
import { Marks } from "../../engine/chat/jinja/marks.ts";
import { addResultValues } from "../../engine/chat/result_values.ts";
import { BUILT_IN_TEMPLATES } from "../../engine/chat/templates/mod.ts";
import { pythonWith } from "../fixtures/official_clients.ts";
import { outputOf } from "../fixtures/python_output.ts";
import { REQUESTS, shownTo } from "../fixtures/template_conversations.ts";

/** Those whose control tokens SentencePiece puts a blank behind. */
const SENTENCE_PIECE = ["mistral", "mistral-v3"];

/** The pieces of SentencePiece as a text; the blank that each part begins with is the vocabulary's own. */
function plain(template: string, text: string): string {
  if (!SENTENCE_PIECE.includes(template)) return text;
  const bare = text.replaceAll("<0x0A>", "\n");
  if (template === "mistral") return bare.replaceAll(/(^|<\/?s>)▁/g, "$1").replaceAll("▁", " ");
  return bare.replaceAll(/(<\/?s>|\[\/?[A-Z_]+\])▁/g, "$1").replaceAll("▁", " ");
}

Deno.test("built-in templates of Mistral write what mistral-common writes", async () => {
  const python = await pythonWith("mistral-common[sentencepiece]==1.13.1");
  if (python === undefined) return;
  const names = [...BUILT_IN_TEMPLATES.keys()].filter((name) => name.startsWith("mistral"));
  const cases = names.flatMap((template) =>
    Object.entries(REQUESTS).map(([title, request]) => ({ template, title, request }))
  ).filter(({ template, request }) => template !== "mistral" || request.tools === undefined);
  const script = fromFileUrl(import.meta.resolve("./mistral_reference.py"));
  const wanted = await outputOf(python, script, cases);
  cases.forEach(({ template, title, request }, i) => {
    const variables = shownTo(request);
    addResultValues(variables.messages as Record<string, unknown>[], new Marks(""));
    const text = new JinjaTemplate(BUILT_IN_TEMPLATES.get(template)!).render({
      ...variables,
      bos_token: "<s>",
      eos_token: "</s>",
    });
    assertEquals(
      { text },
      { text: plain(template, wanted[i].text ?? wanted[i].error!) },
      `${template}, ${title}`,
    );
  });
});
