import { basename } from "@std/path";
import { ask } from "./answers.ts";
import { findOnHub } from "./hub.ts";
import { findInLibrary } from "./ollama.ts";
import { plainName } from "./plain_name.ts";
import { type PathReference, type Reference, safeDecode, type UrlReference } from "./references.ts";
import { quantisationOf } from "./quantisations.ts";
import { type Source, sourceOfFile } from "./source.ts";

/**
 * Asks a reference's source what there is to be fetched.
 *
 * @throws {M40Error} Where there is nothing, or the source does not answer as it should.
 */
export async function findSource(
  reference: Exclude<Reference, PathReference>,
  signal?: AbortSignal,
): Promise<Source> {
  switch (reference.kind) {
    case "hub":
      return await findOnHub(reference, signal);
    case "ollama":
      return await findInLibrary(reference, signal);
    case "url":
      return await findAtUrl(reference, signal);
  }
}

/** A URL is one file; how long it is, its server may say. */
async function findAtUrl({ url }: UrlReference, signal?: AbortSignal): Promise<Source> {
  const path = safeDecode(new URL(url).pathname);
  const answer = await ask(new URL(url), {
    what: url,
    method: "HEAD",
    // Of what is compressed on the way, the length would be another.
    headers: { "accept-encoding": "identity" },
    maxBytes: 0,
    signal,
  });
  // What is signed for GET refuses HEAD, and others do not know it: fetching shows whether there is a file.
  const length = Number(answer.headers.get("Content-Length") ?? NaN);
  const bytes = answer.status === 200 && Number.isSafeInteger(length) && length > 0
    ? length
    : undefined;
  const name = plainName(basename(path));
  return sourceOfFile(url, { url, bytes }, name, path, quantisationOf(path));
}
