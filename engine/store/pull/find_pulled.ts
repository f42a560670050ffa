import {
  type HubReference,
  listModels,
  modelsDirectory,
  parseReference,
  readRecord,
  type Reference,
} from "../mod.ts";

/**
 * The name of a model that a pull of this reference gave, by the records: no server is asked, so it may be older than
 * what its source has now.
 *
 * @returns Undefined where there is none.
 */
export async function findPulled(reference: Reference): Promise<string | undefined> {
  const directory = modelsDirectory();
  if (directory === undefined || reference.kind === "path") return undefined;
  for (const { name, origin } of await listModels()) {
    if (origin !== "store") continue;
    const { record } = await readRecord(directory, name);
    if (record !== undefined && isFrom(record.source, reference)) return name;
  }
  return undefined;
}

/** Whether a record's source is what a reference means. */
function isFrom(source: string, reference: Exclude<Reference, { kind: "path" }>): boolean {
  let from: Reference;
  try {
    from = parseReference(source);
  } catch {
    // Of another version of the program, or written by hand.
    return false;
  }
  if (from.kind === "hub" && reference.kind === "hub") return isSameOnHub(from, reference);
  if (from.kind === "ollama" && reference.kind === "ollama") {
    return from.namespace === reference.namespace && from.model === reference.model &&
      from.tag === reference.tag;
  }
  return from.kind === "url" && reference.kind === "url" && from.url === reference.url;
}

function isSameOnHub(from: HubReference, asked: HubReference): boolean {
  const same = (a?: string, b?: string) => a?.toLowerCase() === b?.toLowerCase();
  return same(from.owner, asked.owner) && same(from.repository, asked.repository) &&
    from.revision === asked.revision &&
    (asked.file === undefined || asked.file === from.file) &&
    (asked.quantisation === undefined || same(asked.quantisation, from.quantisation));
}
