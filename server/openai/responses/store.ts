import type { Item } from "./item_schemas.ts";
import type { ResponseObject } from "./response_schemas.ts";

/** What a {@link ResponseStore} keeps at most. */
export interface StoreLimits {
  /** Responses. */
  readonly count: number;
  /** Bytes of all of them together, as their JSON has them in memory. */
  readonly bytes: number;
}

/** A response, and what it was an answer to. */
export interface StoredResponse {
  readonly response: ResponseObject;
  /** What the request itself brought. */
  readonly input: readonly Item[];
  /** What was said and answered before. */
  readonly previous?: StoredResponse;
}

/** What is known of a response that is kept. */
interface Place {
  readonly bytes: number;
  /** Kept responses that go on from it. */
  followers: number;
}

/** The items of a response and of all before it that it goes on from, oldest first, its own output last. */
export function conversationOf(stored: StoredResponse | undefined): Item[] {
  return [...chainOf(stored)].reverse()
    .flatMap(({ input, response }): Item[] => [...input, ...response.output]);
}

/**
 * The responses that clients go on from, in memory. Where there is no room those go that were not used for the
 * longest time. Using a response also uses all that it goes on from, and those a little later. So a response is removed
 * before what it goes on from, and a kept one has its whole history.
 */
export class ResponseStore {
  /** Least recently used first. */
  private readonly places = new Map<StoredResponse, Place>();
  private readonly byId = new Map<string, StoredResponse>();
  private readonly items = new Map<string, Item>();
  /** They can no longer be asked for, though others go on from them. */
  private readonly deleted = new WeakSet<StoredResponse>();
  private total = 0;

  constructor(readonly limits: StoreLimits = { count: 4096, bytes: 64 * 2 ** 20 }) {}

  /** How many responses it has. */
  get count(): number {
    return this.places.size;
  }

  /** Bytes of all of them. */
  get bytes(): number {
    return this.total;
  }

  /** Keeps a response; others may go for that. */
  put(stored: StoredResponse): void {
    this.use(stored);
    for (const [oldest] of this.places) {
      if (this.places.size <= this.limits.count && this.total <= this.limits.bytes) break;
      this.remove(oldest);
    }
  }

  /** A response by its id; it counts as used. */
  get(id: string): StoredResponse | undefined {
    const found = this.byId.get(id);
    if (found !== undefined) this.use(found);
    return found;
  }

  /** An item of a response that is kept. */
  item(id: string): Item | undefined {
    return this.items.get(id);
  }

  /**
   * Has a response forgotten; what goes on from it still does, and keeps what was said.
   *
   * @returns Whether there was one.
   */
  delete(id: string): boolean {
    const found = this.byId.get(id);
    if (found === undefined) return false;
    this.forget(found);
    this.deleted.add(found);
    this.removeDeleted(found);
    return true;
  }

  private use(stored: StoredResponse): void {
    for (const one of chainOf(stored)) {
      const place = this.places.get(one) ?? this.enter(one);
      this.places.delete(one);
      this.places.set(one, place);
    }
  }

  /** A response is new, or was gone while one that goes on from it was on its way. */
  private enter(stored: StoredResponse): Place {
    const { response, input, previous } = stored;
    const place = { bytes: bytesOf(stored), followers: 0 };
    this.places.set(stored, place);
    this.total += place.bytes;
    if (!this.deleted.has(stored)) {
      this.byId.set(response.id, stored);
      for (const item of [...input, ...response.output]) this.items.set(item.id, item);
    }
    if (previous !== undefined) {
      (this.places.get(previous) ?? this.enter(previous)).followers++;
    }
    return place;
  }

  private remove(stored: StoredResponse): void {
    const { previous } = stored;
    this.forget(stored);
    this.total -= this.places.get(stored)!.bytes;
    this.places.delete(stored);
    if (previous === undefined) return;
    this.places.get(previous)!.followers--;
    this.removeDeleted(previous);
  }

  /** Removes what can no longer be asked for and has no continuation. */
  private removeDeleted(stored: StoredResponse): void {
    const { followers } = this.places.get(stored)!;
    if (followers === 0 && this.deleted.has(stored)) this.remove(stored);
  }

  /** It can no longer be found. */
  private forget({ response, input }: StoredResponse): void {
    this.byId.delete(response.id);
    for (const item of [...input, ...response.output]) {
      // Clients may send items again by the ids that they had.
      if (this.items.get(item.id) === item) this.items.delete(item.id);
    }
  }
}

/** A response and those that it goes on from, newest first. */
function* chainOf(stored: StoredResponse | undefined): Generator<StoredResponse> {
  for (let one = stored; one !== undefined; one = one.previous) yield one;
}

/** Strings have one or two bytes a character. */
function bytesOf({ response, input }: StoredResponse): number {
  return 2 * (JSON.stringify(response).length + JSON.stringify(input).length);
}
