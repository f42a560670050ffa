import { assertEquals } from "@std/assert";
import { join } from "@std/path";
import { asBytes } from "../../engine/device/bytes.ts";
import { type CacheDesc, encodeCacheDesc } from "../../engine/device/descriptions.ts";
import {
  CONTEXT_OPTIONS,
  NONE,
  Status,
  type StructOf,
  TENSOR_DESC,
} from "../../engine/device/structs.ts";
import { BACKEND, TestDevice } from "../fixtures/device_harness.ts";
import { answer, answerAsync, assertAnswer, withParts } from "../fixtures/spoiled_program.ts";
import { TemporaryFolder } from "../fixtures/temporary.ts";

// Files, contexts, arenas, caches and buffers: what is wrong is answered with a status and a message, and nothing is lost.
// The functions of m40.h are called directly here: engine/device/ would refuse much of this by itself.

Deno.test("files: missing, a folder, too short, an offset beyond the end; the arena stays as it was", async () => {
  using temporary = new TemporaryFolder();
  const folder = temporary.path;
  using device = new TestDevice({ arenaBytes: 65536 });
  const path = join(folder, "weights");
  await Deno.writeFile(path, new Uint8Array(1000));
  const { symbols } = device.kernels;
  const arena = (device.arena as unknown as { handle: Deno.PointerValue }).handle;
  const upload = (
    desc: Partial<Record<keyof typeof TENSOR_DESC.fields, number>>,
    file: string,
    offset: bigint,
  ) => {
    const tensor = Uint32Array.of(123);
    const encoded = TENSOR_DESC.encode({ type: 0, n_experts: 1, rows: 2, columns: 10, ...desc });
    const cPath = new TextEncoder().encode(file + "\0");
    return answerAsync((e) =>
      symbols.m40_tensor_from_file(arena, encoded, cPath, offset, asBytes(tensor), e)
    ).then((got) => {
      assertEquals(tensor[0], 123);
      assertEquals(device.arena.usedBytes, 0);
      return got;
    });
  };
  assertAnswer(
    await upload({}, join(folder, "none"), 0n),
    Status.io,
    /none cannot be opened: No such file/,
  );
  assertAnswer(
    await upload({}, folder, 0n),
    Status.io,
    /cannot be read at byte 0: Is a directory/,
  );
  assertAnswer(
    await upload({}, path, 960n),
    Status.io,
    /weights ends too early: wanted 80 bytes from byte 960 on, got 40/,
  );
  assertAnswer(
    await upload({}, path, 5000n),
    Status.io,
    /wanted 80 bytes from byte 5000 on, got 0/,
  );
  assertAnswer(
    await upload({}, path, 0xFFFFFFFFFFFFFFFFn),
    Status.io,
    /no file has 80 bytes from byte 18446744073709551615 on/,
  );
  assertAnswer(
    await upload({ rows: 1, type: 1 }, path, 990n),
    Status.io,
    /wanted 20 bytes from byte 990 on, got 10/,
  );
  assertAnswer(
    await upload({ type: 4 }, path, 0n),
    Status.unsupported,
    /tensor type 4 is not known; known are F32, F16/,
  );
  assertAnswer(
    await upload({ type: 8 }, path, 0n),
    Status.invalid_argument,
    /a Q8_0 row of 10 columns: wanted a positive multiple of 32/,
  );
  assertAnswer(
    await upload({ type: 40, columns: 96 }, path, 0n),
    Status.invalid_argument,
    /a NVFP4 row of 96 columns: wanted a positive multiple of 64/,
  );
  assertAnswer(
    await upload({ rows: 0 }, path, 0n),
    Status.invalid_argument,
    /1 experts, 0 rows and 10 columns: none of them may be 0/,
  );
  assertAnswer(
    await upload({ rows: 10_000 }, path, 0n),
    Status.out_of_memory,
    /a tensor of \d{6,7} bytes does not fit the arena: 65536 of its 65536 bytes are free/,
  );
  assertAnswer(
    await upload({ rows: NONE, n_experts: NONE, columns: NONE }, path, 0n),
    Status.invalid_argument,
    /more than 2\^48 bytes/,
  );
  // A pipe without a writer must not make the call wait for one.
  const pipe = join(folder, "pipe");
  if ((await new Deno.Command("mkfifo", { args: [pipe] }).output()).success) {
    assertAnswer(await upload({}, pipe, 0n), Status.io, /pipe cannot be read/);
  }
});

Deno.test("contexts, arenas, host memory, caches and buffers refuse what is out of range", async () => {
  await withParts(async (parts) => {
    const { symbols, handle, cache } = parts;
    const out = new BigUint64Array(1);
    const place = asBytes(out);
    const context = (
      options: Partial<StructOf<typeof CONTEXT_OPTIONS>>,
    ) =>
      answer((e) =>
        symbols.m40_context_create(
          CONTEXT_OPTIONS.encode({
            device: 0,
            n_threads: 1,
            executor: 0,
            instruction_set: "",
            ...options,
          }),
          place,
          e,
        )
      );
    assertAnswer(context({ device: 99 }), Status.invalid_argument, /device 99: /);
    assertAnswer(
      context({ executor: 4 }),
      Status.invalid_argument,
      /executor 4: wanted at most 3/,
    );
    if (BACKEND === "cpu") {
      assertAnswer(
        context({ n_threads: 5000 }),
        Status.invalid_argument,
        /5000 threads: wanted at most 1024/,
      );
      assertAnswer(
        context({ executor: 2 }),
        Status.unsupported,
        /graphs were asked for: the CPU has none, wanted launches or auto/,
      );
      assertAnswer(
        context({ instruction_set: "mmx" }),
        Status.unsupported,
        /instruction set "mmx": .* the best that both have is "\w+"/,
      );
    }
    assertAnswer(
      answer((e) =>
        symbols.m40_context_create(new Uint8Array(CONTEXT_OPTIONS.bytes).fill(65, 12), place, e)
      ),
      Status.invalid_argument,
      /instruction_set has no terminating zero/,
    );
    assertAnswer(
      answer((e) => symbols.m40_arena_create(handle, 1n << 60n, place, e)),
      Status.out_of_memory,
      /an arena of 1152921504606846976 bytes: the (host|device) has \d+ bytes/,
    );
    assertAnswer(
      answer((e) => symbols.m40_arena_create(handle, 0n, place, e)),
      Status.invalid_argument,
      /an arena of 0 bytes/,
    );
    assertAnswer(
      answer((e) => symbols.m40_arena_create(null, 1n, place, e)),
      Status.invalid_argument,
      /context is NULL/,
    );
    assertAnswer(
      answer((e) => symbols.m40_host_alloc(handle, 1n << 62n, place, e)),
      Status.out_of_memory,
      /bytes of host memory could not be allocated/,
    );
    assertEquals(out[0], 0n);

    const bytes = (desc: Partial<CacheDesc>) =>
      answer((e) =>
        symbols.m40_cache_bytes(
          handle,
          encodeCacheDesc({ ...cache.desc, ...desc }),
          place,
          place,
          place,
          e,
        )
      );
    assertAnswer(
      bytes({ kv_block_tokens: 3 }),
      Status.invalid_argument,
      /KV blocks of 3 tokens: wanted a power of two/,
    );
    assertAnswer(
      bytes({ type: 12 }),
      Status.unsupported,
      /a KV cache of type Q4_K \(12\): wanted F32, F16 or Q8_0/,
    );
    assertAnswer(bytes({ type: 8 }), Status.invalid_argument, /a Q8_0 row of 12 columns/);
    assertAnswer(
      bytes({ n_kv_blocks: 0 }),
      Status.invalid_argument,
      /0 KV blocks: wanted at least 1/,
    );
    assertAnswer(
      bytes({ head_dim: [NONE, 12], n_kv_heads: [NONE, 2] }),
      Status.invalid_argument,
      /a KV block would take more than 2\^48 bytes/,
    );
    const kvBlocks = asBytes(Uint32Array.of(1, 64));
    assertAnswer(
      await answerAsync((e) =>
        symbols.m40_cache_copy_kv_blocks(cache.handle, kvBlocks, kvBlocks, 2, e)
      ),
      Status.invalid_argument,
      /from\[1\] is KV block 64: the KV cache has 64 KV blocks/,
    );
    assertAnswer(
      await answerAsync((e) =>
        symbols.m40_cache_save_kv_blocks(cache.handle, kvBlocks, 1, place, 8n, e)
      ),
      Status.invalid_argument,
      /8 bytes for 1 KV blocks: wanted \d+ a KV block/,
    );

    assertAnswer(
      answer((e) => symbols.m40_tensor_read(handle, 0, 99n, 2n, place, 2n, e)),
      Status.invalid_argument,
      /2 rows from row 99 on: the tensor has 100/,
    );
    assertAnswer(
      answer((e) => symbols.m40_tensor_read(handle, 4000, 0n, 1n, place, 2n, e)),
      Status.invalid_argument,
      /tensor 4000 does not exist/,
    );
    await parts.create((program) => {
      assertAnswer(
        answer((e) => symbols.m40_buffer_read(program, 14, place, 8n, e)),
        Status.invalid_argument,
        /buffer 14: the program has 14/,
      );
      assertAnswer(
        answer((e) => symbols.m40_buffer_write(program, 0, place, 3080n, e)),
        Status.invalid_argument,
        /3080 bytes of buffer 0: it has 3072/,
      );
      return Promise.resolve();
    });
  });
});
