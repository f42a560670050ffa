import { Metadata, NestedArray, StringArray } from "../gguf/mod.ts";
import type { PostedMetadata } from "./jobs.ts";

/** The metadata of a vocabulary as it goes to another thread. */
export function postedMetadata(metadata: Metadata): PostedMetadata {
  const posted: PostedMetadata[number][] = [];
  for (const [key, entry] of metadata.entries()) {
    const { value } = entry;
    if (value instanceof NestedArray) continue;
    const texts = value instanceof StringArray;
    posted.push([key, { ...entry, value: texts ? { data: value.data, ends: value.ends } : value }]);
  }
  return posted;
}

export function metadataOf(posted: PostedMetadata): Metadata {
  return new Metadata(posted.map(([key, { value, ...entry }]) => {
    const isTexts = typeof value === "object" && "ends" in value;
    return [key, { ...entry, value: isTexts ? new StringArray(value.data, value.ends) : value }];
  }));
}
