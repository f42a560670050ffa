/**
 * Clients that hold conversations through a load balancer, and what they were answered.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";

/** A message of a conversation. */
interface Message {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}

/** A request that was not answered as a whole. */
export interface Failure {
  /** Whether the head of its answer had come. */
  readonly begun: boolean;
  readonly reason: string;
}

/** What a balancer wants beside what a replica wants, and changes. */
export interface Proxy {
  readonly model: string;
  readonly key: string;
}

const WORDS = "the fox ran over a small green hill and saw its old friend near that river".split(
  " ",
);

/** Keeps answers from ending before their sixteen tokens. */
const NO_END = { "2": -100 };

/** Conversations of many clients, and the answers by what was asked. */
export class BalancedLoad {
  readonly failures: Failure[] = [];
  private readonly answered = new Map<string, string>();
  private clients: Promise<void>[] = [];
  private stopped = false;

  /**
   * @param stream Whether every other answer comes as a stream.
   * @param conversations The number of the first conversation: none with another number begins like it.
   * @param proxy What is asked through a proxy that has keys and names of its own, and keeps `X-M40-Prefix` to itself.
   */
  constructor(
    private readonly stream = true,
    private conversations = 0,
    private readonly proxy?: Proxy,
  ) {}

  get answers(): number {
    return this.answered.size;
  }

  /** Clients that hold one conversation after the other until {@link stop}. */
  begin(url: string, clients: number): void {
    for (let i = 0; i < clients; i++) {
      const client = async () => {
        while (!this.stopped) await this.converse(url, 3);
      };
      this.clients.push(client());
    }
  }

  /** Lets conversations come to their end. */
  async stop(): Promise<void> {
    this.stopped = true;
    await Promise.all(this.clients);
  }

  /**
   * Holds a conversation of so many turns, with a beginning that no other has.
   *
   * @param named Whether the client names it from the first turn on, or brings back what the first answer names.
   */
  async converse(url: string, turns: number, named = false): Promise<void> {
    const number = this.conversations++;
    const words = Array.from(
      { length: 90 },
      (_, i) => WORDS[(i * i + number * (i + 7)) % WORDS.length],
    );
    const messages: Message[] = [{
      role: "system",
      content: `Story ${number}: ${words.join(" ")}`,
    }];
    let prefix = named ? `story-${number}` : undefined;
    for (let turn = 0; turn < turns; turn++) {
      messages.push({
        role: "user",
        content: `What did ${WORDS[(number + turn) % WORDS.length]} do?`,
      });
      const stream = this.stream && (number + turn) % 2 === 0;
      const answer = await this.ask(url, messages, stream, prefix);
      if (answer === undefined) return;
      prefix = answer.prefix;
      messages.push({ role: "assistant", content: answer.text });
    }
  }

  /** Asks a server for what was answered through the balancer; gives how many answers differ. */
  async wrongAnswers(url: string, sample: number): Promise<number> {
    const every = Math.max(1, Math.floor(this.answered.size / sample));
    let wrong = 0;
    for (const [i, [asked, text]] of [...this.answered].entries()) {
      if (i % every !== 0) continue;
      const response = await post(url, JSON.parse(asked), false);
      const body = await response.json();
      assertEquals(response.status, 200, JSON.stringify(body));
      if (body.choices[0].message.content !== text) wrong++;
    }
    return wrong;
  }

  private async ask(
    url: string,
    messages: readonly Message[],
    stream: boolean,
    prefix?: string,
  ): Promise<{ text: string; prefix?: string } | undefined> {
    let begun = false;
    try {
      const response = await post(url, messages, stream, prefix, this.proxy);
      begun = response.status === 200;
      const text = stream && begun ? await streamed(response) : await whole(response);
      this.answered.set(JSON.stringify(messages), text);
      if (this.proxy !== undefined) return { text };
      const name = response.headers.get("X-M40-Prefix");
      assert(name !== null, "no X-M40-Prefix");
      if (prefix !== undefined) assertEquals(name, prefix);
      return { text, prefix: name };
    } catch (error) {
      this.failures.push({ begun, reason: String(error) });
    }
  }
}

function post(
  url: string,
  messages: readonly Message[],
  stream: boolean,
  prefix?: string,
  proxy?: Proxy,
): Promise<Response> {
  const model = proxy?.model;
  const body = { model, messages, stream, max_tokens: 16, temperature: 0, logit_bias: NO_END };
  const headers = {
    "Content-Type": "application/json",
    ...prefix && { "X-M40-Prefix": prefix },
    ...proxy && { Authorization: `Bearer ${proxy.key}` },
  };
  return fetch(url + "/v1/chat/completions", {
    method: "POST",
    headers,
    body: JSON.stringify(body),
    // Far more than any of them takes: an answer that never comes is a failure, not a test without an end.
    signal: AbortSignal.timeout(60_000),
  });
}

async function whole(response: Response): Promise<string> {
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${response.status}: ${text}`);
  return JSON.parse(text).choices[0].message.content;
}

async function streamed(response: Response): Promise<string> {
  const events = (await response.text()).split("\n\n").filter((event) =>
    event.startsWith("data: ")
  );
  if (events.pop() !== "data: [DONE]") throw new Error("the stream has no end");
  return events.map((event) => {
    const { choices, error } = JSON.parse(event.slice("data: ".length));
    if (error !== undefined) throw new Error(error.message);
    return choices[0].delta.content ?? "";
  }).join("");
}
