/** Node's HTTP parser, in WebAssembly as undici brings it: what another server makes of the bytes of requests. */
import code from "undici/lib/llhttp/llhttp-wasm.js";

/** A request as a parser understands it. */
export interface Message {
  readonly method: string;
  readonly target: string;
  /** By their names in small letters; what came several times is joined by commas. */
  readonly headers: Record<string, string>;
  /** A character for each byte. */
  body: string;
}

/** What a parser makes of bytes. */
export interface Parsed {
  /** The requests that are complete. */
  readonly messages: Message[];
  /** What is wrong with what follows them, if anything. */
  readonly error?: string;
}

const REQUEST = 1;
const OK = 0;

interface Exports {
  memory: WebAssembly.Memory;
  llhttp_alloc(type: number): number;
  llhttp_free(parser: number): void;
  llhttp_execute(parser: number, data: number, length: number): number;
  llhttp_finish(parser: number): number;
  llhttp_get_method(parser: number): number;
  llhttp_method_name(method: number): number;
  llhttp_errno_name(error: number): number;
  malloc(bytes: number): number;
  free(place: number): void;
}

/** What llhttp tells of the request that it reads at the moment. */
class Reader {
  readonly messages: Message[] = [];
  private target = "";
  private fields: [string, string][] = [];
  private isValue = true;
  private message?: Message;

  begin(): void {
    this.target = "";
    this.fields = [];
    this.isValue = true;
    this.message = undefined;
  }

  url(text: string): void {
    this.target += text;
  }

  name(text: string): void {
    if (this.isValue) this.fields.push(["", ""]);
    this.isValue = false;
    this.fields.at(-1)![0] += text;
  }

  value(text: string): void {
    this.isValue = true;
    this.fields.at(-1)![1] += text;
  }

  head(method: string): void {
    const headers: Record<string, string> = {};
    for (const [name, value] of this.fields) {
      const key = name.toLowerCase();
      const text = value.replace(/^[\t ]+/, "").replace(/(?<![\t ])[\t ]+$/, "");
      headers[key] = key in headers ? `${headers[key]}, ${text}` : text;
    }
    // As the platform's Headers have it.
    for (const key in headers) headers[key] = headers[key].trimEnd();
    this.message = { method, target: this.target, headers, body: "" };
  }

  body(text: string): void {
    this.message!.body += text;
  }

  end(): void {
    this.messages.push(this.message!);
  }
}

let reader = new Reader();

const text = (at: number, length: number): string =>
  latin1(new Uint8Array(llhttp.memory.buffer, at, length));

const told = (tell: (text: string) => void) => (_: number, at: number, length: number) => {
  tell(text(at, length));
  return 0;
};

const llhttp = new WebAssembly.Instance(new WebAssembly.Module(code), {
  env: {
    wasm_on_message_begin: () => (reader.begin(), 0),
    wasm_on_url: told((text) => reader.url(text)),
    wasm_on_status: () => 0,
    wasm_on_header_field: told((text) => reader.name(text)),
    wasm_on_header_value: told((text) => reader.value(text)),
    wasm_on_headers_complete: (parser: number) => {
      reader.head(cString(llhttp.llhttp_method_name(llhttp.llhttp_get_method(parser))));
      return 0;
    },
    wasm_on_body: told((text) => reader.body(text)),
    wasm_on_message_complete: () => (reader.end(), 0),
  },
}).exports as unknown as Exports;

/** What llhttp makes of bytes behind which a client ends. */
export function parseWithLlhttp(bytes: Uint8Array): Parsed {
  reader = new Reader();
  const parser = llhttp.llhttp_alloc(REQUEST);
  const data = llhttp.malloc(bytes.length);
  new Uint8Array(llhttp.memory.buffer, data, bytes.length).set(bytes);
  let error = llhttp.llhttp_execute(parser, data, bytes.length);
  if (error === OK) error = llhttp.llhttp_finish(parser);
  llhttp.free(data);
  llhttp.llhttp_free(parser);
  const { messages } = reader;
  return error === OK
    ? { messages }
    : { messages, error: cString(llhttp.llhttp_errno_name(error)) };
}

/** A text with a character for each byte. */
export function latin1(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}

function cString(at: number): string {
  const bytes = new Uint8Array(llhttp.memory.buffer, at);
  return latin1(bytes.subarray(0, bytes.indexOf(0)));
}
