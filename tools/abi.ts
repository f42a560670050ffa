/**
 * Writes all that repeats cuda/include/m40.h: `deno task abi`.
 *
 * @module
 */
import { fromFileUrl } from "@std/path";
import {
  channelHeader,
  operationFieldsHeader,
  operationsHeader,
  structsHeader,
  tensorTypesHeader,
} from "./abi/cpp.ts";
import type { Header } from "./abi/header.ts";
import { parseHeader } from "./abi/header_reader.ts";
import {
  operationsModule,
  structsModule,
  symbolsModule,
  tensorTypesModule,
} from "./abi/typescript.ts";

const ROOT = new URL("../", import.meta.url);
const FIRST_LINE =
  "// Written by `deno task abi` out of cuda/include/m40.h: change that, not this.";

const FILES: Record<string, (header: Header) => string> = {
  "engine/gguf/tensor_types.generated.ts": tensorTypesModule,
  "engine/device/structs.generated.ts": structsModule,
  "engine/device/symbols.generated.ts": symbolsModule,
  "engine/program/operations.generated.ts": operationsModule,
  "cuda/common/tensor_types.generated.h": tensorTypesHeader,
  "cuda/program/structs.generated.h": structsHeader,
  "cuda/program/operations.generated.h": operationsHeader,
  "cuda/program/operation_fields.generated.h": operationFieldsHeader,
  "cuda/process/channel_functions.generated.h": channelHeader,
};

/** The header's text. */
export async function readHeader(): Promise<string> {
  return await Deno.readTextFile(new URL("cuda/include/m40.h", ROOT));
}

/** The files by their paths in the checkout, as a header wants them. */
export function abiFiles(text: string): Map<string, string> {
  const header = parseHeader(text);
  return new Map(
    Object.entries(FILES).map(([path, make]) => [path, `${FIRST_LINE}\n${make(header)}\n`]),
  );
}

if (import.meta.main) {
  for (const [path, text] of abiFiles(await readHeader())) {
    await Deno.writeTextFile(fromFileUrl(new URL(path, ROOT)), text);
  }
}
