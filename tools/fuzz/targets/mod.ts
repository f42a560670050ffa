import type { FuzzTarget } from "../target.ts";
import { GBNF, JSON_SCHEMA, REGEX } from "./constraints.ts";
import { GGUF_HEADER } from "./gguf_header.ts";
import { HTTP_CHUNKS } from "./http_chunks.ts";
import { HTTP_HEAD } from "./http_head.ts";
import { TEMPLATE } from "./template.ts";

/** Everything that reads what strangers send, but for the device's channel (`channel.cpp`). */
export const FUZZ_TARGETS: readonly FuzzTarget[] = [
  HTTP_HEAD,
  HTTP_CHUNKS,
  GGUF_HEADER,
  TEMPLATE,
  GBNF,
  REGEX,
  JSON_SCHEMA,
];
