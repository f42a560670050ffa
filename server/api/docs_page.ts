import { NDJSON_TYPE } from "../ollama/mod.ts";
import { createHash } from "node:crypto";
import { html, raw } from "hono/html";
import type { HtmlEscapedString } from "hono/utils/html";
import type { ApiDocument, Schema } from "./document.ts";
import {
  inAnswer,
  inRequest,
  type Presence,
  type SchemaField,
  schemaFields,
  typeInWords,
} from "./schema_fields.ts";

type Html = HtmlEscapedString | Promise<HtmlEscapedString>;

/** One method of one path, as the document has it. */
interface Described {
  readonly summary: string;
  readonly description: string;
  readonly operationId: string;
  readonly parameters: readonly { readonly name: string; readonly description: string }[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: { readonly "200": { readonly content: Content } };
  readonly security?: readonly unknown[];
}

type Content = Readonly<Record<string, { readonly schema?: Schema }>>;

const STYLE = `
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 20%, transparent) }
* { box-sizing: border-box }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem;
  overflow-wrap: anywhere }
code { font-family: ui-monospace, monospace; font-size: .9em }
a:focus-visible, summary:focus-visible { outline: 3px solid Highlight; outline-offset: 2px }
.skip { position: absolute; left: -100vw }
.skip:focus { position: static }
nav ul { list-style: none; padding: 0 }
nav li { padding: .25rem 0 }
section { border-top: 1px solid var(--line); padding-top: 1rem; margin-top: 2rem }
h2 { font-size: 1.25rem } h3 { font-size: 1rem }
dl { margin: 0 } dl dl { border-left: 2px solid var(--line); padding-left: .75rem }
dt { margin-top: .5rem } dt code { font-weight: bold }
dd { margin: 0 0 0 1rem }
.type, .method { opacity: .75 }
summary { cursor: pointer; padding: .25rem 0 }
`;

/** What the page may load: its own style, and nothing else. */
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** A page of the document for people: all in one file, without scripts, everything in it escaped. */
export async function docsPage(document: ApiDocument): Promise<Response> {
  return new Response(String(await pageOf(document)), {
    headers: {
      "Content-Type": "text/html; charset=utf-8",
      "Content-Security-Policy": POLICY,
      "X-Content-Type-Options": "nosniff",
      "Referrer-Policy": "no-referrer",
    },
  });
}

function pageOf(document: ApiDocument): Html {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => ({
      method: method.toUpperCase(),
      path,
      described: described as Described,
    }))
  );
  const { title, version, description } = document.info;
  return html`
    <!DOCTYPE html>
    <html lang="en">
      <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>${title} ${version}: HTTP API</title>
        ${raw(`<style>${STYLE}</style>`)}
      </head>
      <body>
        <a class="skip" href="#operations">To the operations</a>
        <header>
          <h1>${title} ${version}: HTTP API</h1>
          <p>${description}</p>
          <p>${keySentence(document)} For programs: <a href="openapi.json">openapi.json</a>.</p>
        </header>
        <nav aria-label="Operations"><ul>${operations.map(({ method, path, described }) =>
          html`
            <li>
              <span class="method">${method}</span>
              <a href="#${described.operationId}"><code>${path}</code></a> ${described.summary}
            </li>
          `
        )}</ul></nav>
        <main id="operations">${operations.map(({ method, path, described }) =>
          operationSection(method, path, described, document.components.schemas)
        )}</main>
      </body>
    </html>
  `;
}

function keySentence({ security }: ApiDocument): string {
  return security.length > 0
    ? 'Requests need the header "Authorization: Bearer KEY" or "x-api-key: KEY", but where it is said that they do not.'
    : "Requests need no key.";
}

function operationSection(
  method: string,
  path: string,
  described: Described,
  schemas: Readonly<Record<string, Schema>>,
): Html {
  const { summary, description, operationId, parameters, requestBody, security } = described;
  const answers = described.responses["200"].content;
  return html`
    <section id="${operationId}">
      <h2><span class="method">${method}</span> <code>${path}</code></h2>
      <p><strong>${summary}.</strong> ${description}${security === undefined
        ? ""
        : " It needs no key."}</p>
      ${parameters.length === 0 ? "" : html`
        <h3>Path</h3><dl>${parameters.map(({ name, description }) =>
          html`
            <dt><code>${name}</code></dt><dd>${description}</dd>
          `
        )}</dl>
      `} ${Object.values(requestBody?.content ?? {}).map(({ schema }) =>
        html`
          <h3>Request</h3>${fieldList(schemaFields(schema!, schemas), inRequest)}
        `
      )} ${Object.entries(answers).map(([type, { schema }]) => answerPart(type, schema, schemas))}
    </section>
  `;
}

function answerPart(
  type: string,
  schema: Schema | undefined,
  schemas: Readonly<Record<string, Schema>>,
): Html {
  const name = type === "text/event-stream" || type === NDJSON_TYPE
    ? "Each event of a stream"
    : "Answer";
  if (schema === undefined) {
    return html`
      <p>${name}: <code>${type}</code></p>
    `;
  }
  const several = schema.anyOf ?? [schema];
  return html`
    ${several.map((one) => {
      const fields = schemaFields(one, schemas);
      const body = fields.length > 0 ? fieldList(fields, inAnswer) : html`
        <p>${typeInWords(one, schemas)}</p>
      `;
      return html`
        <details><summary>${name}</summary>${body}</details>
      `;
    })}
  `;
}

function fieldList(fields: readonly SchemaField[], presence: Presence): Html {
  return html`
    <dl>${fields.map(({ name, type, required, description, fields }) =>
      html`
        <dt><code>${name}</code> <span class="type">${type}${presence(required)}</span></dt><dd>
          ${description}${fields.length > 0 ? fieldList(fields, presence) : ""}
        </dd>
      `
    )}</dl>
  `;
}
