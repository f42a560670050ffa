// A server for tests of pulls: Hugging Face's API, Ollama's registry, plain files. Their bytes come from
// another port, as from a CDN.
import { createHash } from "node:crypto";
import { Metadata, type MetadataEntry } from "../engine/gguf/metadata.ts";
import { tensorBytes } from "../engine/gguf/types.ts";
import { encodeHeader } from "../engine/gguf/writer.ts";
import { randomModel } from "../tools/make_model/model.ts";
import { SHAPES } from "../tools/make_model/shapes.ts";

/** A file: bytes, and zeros behind them up to its size, which no test fetches. */
export interface Content {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly size: number;
  readonly sha256: string;
}

/** A file of these bytes. */
export function content(bytes: Uint8Array | string): Content {
  const copy = typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes.slice();
  return { bytes: copy, size: copy.length, sha256: sha256Of(copy) };
}

/** The header of a large model, and its size: what is behind the header cannot be fetched. */
export function largeModel(shape: string, type: string): Content {
  const { metadata, tensors } = randomModel(SHAPES[shape], type, 1);
  const header = encodeHeader(
    new Metadata(metadata as Iterable<readonly [string, MetadataEntry]>),
    tensors,
    32,
  );
  const data = tensors.reduce((sum, { type, shape }) => {
    const bytes = tensorBytes(type, shape.reduce((product, n) => product * n, 1));
    return sum + Math.ceil(bytes / 32) * 32;
  }, 0);
  const bytes = new Uint8Array(header);
  return {
    bytes,
    size: Math.ceil(bytes.length / 32) * 32 + data,
    sha256: sha256Of(new TextEncoder().encode(`${shape} ${type}`)),
  };
}

export function sha256Of(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** A repository of the Hub. */
export interface Repository {
  /** Files by their path; of what is no {@link Content}, a listing says that and the file is missing. */
  files: Record<string, Content>;
  commit?: string;
  /** Whoever has not this token is not let in. */
  token?: string;
  gated?: boolean;
  /** Whether everybody may see what there is, and only the files want the token. */
  listed?: boolean;
  /** Files of a page of the listing. */
  pageSize?: number;
}

/** A model of the registry: its layers by kind, in order. */
export type Layers = [kind: string, content: Content][];

/** What was asked, for tests to look at. */
export interface Asked {
  readonly host: "hub" | "cdn";
  readonly method: string;
  readonly path: string;
  readonly range?: string;
  readonly authorization?: string;
}

type Handler = (request: Request, url: URL) => Response | Promise<Response> | undefined;

/** The server; everything about it may be changed while it runs. */
export class PullServer implements AsyncDisposable {
  readonly repositories = new Map<string, Repository>();
  readonly ollamaModels = new Map<string, Layers>();
  /** Files at `/files/NAME` of the CDN. */
  readonly files = new Map<string, Content>();
  readonly asked: Asked[] = [];
  /** Asked before anything else; what it returns is the answer. */
  intercept?: Handler;
  /** Where files are redirected to; the CDN's own port where nothing is said. */
  cdnOrigin?: string;
  /** How many bytes of a file are sent a second; all at once where nothing is said. */
  bytesPerSecond = Infinity;
  readonly #hub = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    (request) => this.#answer(request),
  );
  readonly #cdn = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    (request) => this.#deliver(request),
  );

  get origin(): string {
    return `http://127.0.0.1:${this.#hub.addr.port}`;
  }

  get cdn(): string {
    return `http://127.0.0.1:${this.#cdn.addr.port}`;
  }

  /** What a program has to have in its environment to come here. */
  get env(): Record<string, string> {
    return { HF_ENDPOINT: this.origin, M40_OLLAMA_REGISTRY: this.origin, NO_PROXY: "127.0.0.1" };
  }

  /** Bytes of files that were asked for, as their ranges say. */
  asksFor(path: RegExp): Asked[] {
    return this.asked.filter((each) => path.test(each.path));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#hub.shutdown(), this.#cdn.shutdown()]);
  }

  #note(host: Asked["host"], request: Request, url: URL): void {
    this.asked.push({
      host,
      method: request.method,
      path: url.pathname,
      range: request.headers.get("range") ?? undefined,
      authorization: request.headers.get("authorization") ?? undefined,
    });
  }

  async #answer(request: Request): Promise<Response> {
    const url = new URL(request.url);
    // Asked as a proxy, for whatever server.
    if (url.origin === this.cdnOrigin) return await this.#deliver(request);
    this.#note("hub", request, url);
    const intercepted = await this.intercept?.(request, url);
    if (intercepted !== undefined) return intercepted;
    const parts = url.pathname.split("/").slice(1).map(decodeURIComponent);
    if (parts[0] === "api") return this.#api(parts.slice(2), request, url);
    if (parts[0] === "v2") return this.#registry(parts.slice(1));
    if (parts[2] === "resolve") return this.#resolve(parts, request);
    return new Response("Not Found", { status: 404 });
  }

  #closed(repository: Repository, request: Request): Response | undefined {
    const { token, gated = false } = repository;
    if (token === undefined || request.headers.get("authorization") === `Bearer ${token}`) {
      return undefined;
    }
    const status = gated && request.headers.has("authorization") ? 403 : 401;
    const headers = { "x-error-code": gated ? "GatedRepo" : "RepoNotFound" };
    return new Response(`{"error":"no"}`, { status: status, headers: gated ? headers : {} });
  }

  #api([owner, name, what, revision]: string[], request: Request, url: URL): Response {
    const repository = this.repositories.get(`${owner}/${name}`);
    if (repository === undefined) return new Response(`{"error":"no"}`, { status: 404 });
    const closed = repository.listed ? undefined : this.#closed(repository, request);
    if (closed !== undefined) return closed;
    const commit = repository.commit ?? "0".repeat(40);
    if (what === "revision") {
      if (revision !== "main" && revision !== commit) {
        const headers = { "x-error-code": "RevisionNotFound" };
        return new Response("{}", { status: 404, headers });
      }
      return Response.json({ id: `${owner}/${name}`, sha: commit, siblings: [] });
    }
    const { pageSize = 1000 } = repository;
    const start = Number(url.searchParams.get("cursor") ?? 0);
    const entries = Object.entries(repository.files);
    const page = entries.slice(start, start + pageSize).map(([path, { size, sha256 }]) => ({
      type: "file",
      oid: "f".repeat(40),
      size,
      path,
      lfs: { oid: sha256, size, pointerSize: 135 },
    }));
    const headers: Record<string, string> = {};
    if (start + pageSize < entries.length) {
      url.searchParams.set("cursor", String(start + pageSize));
      headers.link = `<${url.href}>; rel="next"`;
    }
    return Response.json(start === 0 ? [{ type: "directory", path: "sub" }, ...page] : page, {
      headers,
    });
  }

  /** Files of the Hub are elsewhere: a redirect with a signature in its query, which needs no token. */
  #resolve(parts: string[], request: Request): Response {
    const [owner, name, , revision, ...path] = parts;
    const repository = this.repositories.get(`${owner}/${name}`);
    const file = repository?.files[path.join("/")];
    if (repository === undefined || file === undefined) return new Response("", { status: 404 });
    const closed = this.#closed(repository, request);
    if (closed !== undefined) return closed;
    if (revision !== (repository.commit ?? "0".repeat(40))) {
      return new Response("", { status: 404 });
    }
    return this.#elsewhere(file);
  }

  #elsewhere({ sha256 }: Content): Response {
    const location = `${this.cdnOrigin ?? this.cdn}/${sha256}?signature=secret`;
    return new Response(null, { status: 302, headers: { location } });
  }

  #registry([namespace, model, kind, name]: string[]): Response {
    const layers = this.ollamaModels.get(`${namespace}/${model}`);
    if (layers === undefined) return new Response("{}", { status: 404 });
    if (kind === "blobs") {
      const found = layers.find(([, { sha256 }]) => name === `sha256:${sha256}`);
      return found ? this.#elsewhere(found[1]) : new Response("{}", { status: 404 });
    }
    if (name !== "latest" && name !== "8b") return new Response("{}", { status: 404 });
    return Response.json({
      schemaVersion: 2,
      mediaType: "application/vnd.docker.distribution.manifest.v2+json",
      config: { mediaType: "x", digest: `sha256:${"0".repeat(64)}`, size: 2 },
      layers: layers.map(([kind, { sha256, size }]) => ({
        mediaType: `application/vnd.ollama.image.${kind}`,
        digest: `sha256:${sha256}`,
        size,
      })),
    });
  }

  async #deliver(request: Request): Promise<Response> {
    const url = new URL(request.url);
    this.#note("cdn", request, url);
    const intercepted = await this.intercept?.(request, url);
    if (intercepted !== undefined) return intercepted;
    if (url.pathname.startsWith("/files/")) {
      return this.#send(request, this.files.get(decodeURIComponent(url.pathname.slice(7))));
    }
    const sha256 = url.pathname.slice(1);
    const all = [
      ...[...this.repositories.values()].flatMap(({ files }) => Object.values(files)),
      ...[...this.ollamaModels.values()].flatMap((layers) => layers.map(([, content]) => content)),
    ];
    return this.#send(request, all.find((file) => file.sha256 === sha256));
  }

  #send(request: Request, file?: Content): Response {
    if (file === undefined) return new Response("", { status: 404 });
    const { size, sha256 } = file;
    const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.get("range") ?? "");
    const start = range ? Number(range[1]) : 0;
    const end = range?.[2] ? Math.min(Number(range[2]) + 1, size) : size;
    const headers: Record<string, string> = {
      "accept-ranges": "bytes",
      etag: `"${sha256}"`,
      "content-length": String(end - start),
    };
    if (range && start >= size) {
      return new Response("", { status: 416, headers: { "content-range": `bytes */${size}` } });
    }
    if (range) headers["content-range"] = `bytes ${start}-${end - 1}/${size}`;
    const body = request.method === "HEAD" ? null : this.#bytes(file, start, end);
    return new Response(body, { status: range ? 206 : 200, headers });
  }

  #bytes({ bytes }: Content, start: number, end: number): ReadableStream<Uint8Array<ArrayBuffer>> {
    let at = start;
    return new ReadableStream({
      pull: async (controller) => {
        const length = Math.min(end - at, 65_536, Math.max(1, this.bytesPerSecond / 50));
        if (length <= 0) return controller.close();
        if (this.bytesPerSecond < Infinity) await new Promise((done) => setTimeout(done, 20));
        const piece = new Uint8Array(length);
        piece.set(bytes.subarray(at, at + length));
        at += length;
        controller.enqueue(piece);
      },
    });
  }
}
