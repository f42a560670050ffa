/**
 * What connections do in one turn of the event loop. Where data is there or there is room for it, Deno answers a read
 * or a write at once, without the event loop: without a share a client that sends or takes fast would hold up all
 * others.
 *
 * @module
 */

/** Bytes that all connections together move, read or written, before everything else that waits has its turn. */
const TURN_BYTES = 256 * 1024;
/** Bytes of one connection before it may have to wait. */
const OWN_BYTES = 64 * 1024;
/** What a connection may move in each turn for which others wait, without ever waiting itself: a stream's event, in bytes. */
const FREE_BYTES = 1024;
/** Connections that go on in one turn of those that wait: each may read several times before it waits again. */
const AT_ONCE = 8;

/**
 * So many of a kind before everything else that waits has its turn of the event loop; more wait for the next turns,
 * the first of them first. What many clients begin at the same moment would otherwise be done in one turn, and
 * streams would wait for all of it.
 */
export class PerTurn {
  /** Those that wait for a turn, the first of them first. */
  readonly waiting: (() => void)[] = [];
  /** How many went on since anyone waited last: no fewer than in this turn. */
  private count = 0;

  /**
   * @param most How many go on in one turn at most.
   * @param onTurn Called in each turn for which some waited, before they go on.
   */
  constructor(private readonly most: number, private readonly onTurn?: () => void) {}

  /** @returns undefined where it may go on; else what resolves in the turn in which it may. */
  take(): Promise<void> | undefined {
    if (this.waiting.length > 0 || this.count >= this.most) return this.wait();
    this.count++;
    return undefined;
  }

  /** Resolves in the turn in which whoever waits may go on. */
  wait(): Promise<void> {
    return new Promise((resolve) => {
      if (this.waiting.push(resolve) === 1) setTimeout(this.nextTurn, 0);
    });
  }

  private readonly nextTurn = () => {
    this.onTurn?.();
    const turn = this.waiting.splice(0, this.most);
    this.count = turn.length;
    if (this.waiting.length > 0) setTimeout(this.nextTurn, 0);
    for (const resolve of turn) resolve();
  };
}

let moved = 0;
/** The turns for which somebody waited. */
let turns = 0;

const queue = new PerTurn(AT_ONCE, () => {
  moved = 0;
  turns++;
});

/** What one connection moves, beside all others. */
export class TurnShare {
  /** Bytes since it last waited, without those that were free. */
  private own = 0;
  /** The turn in which it last moved something. */
  private turn = 0;

  /**
   * Counts bytes that the connection has moved. One that moves little in each turn never waits, however much it has
   * moved in all: a long stream does not stand behind all those that move what they can.
   *
   * @returns undefined where it may go on; else what resolves when the others have had their turn.
   */
  take(bytes: number): Promise<void> | undefined {
    moved += bytes;
    this.own = Math.max(0, this.own - FREE_BYTES * (turns - this.turn)) + bytes;
    this.turn = turns;
    if (this.own < OWN_BYTES || (moved < TURN_BYTES && queue.waiting.length === 0)) {
      return undefined;
    }
    this.own = 0;
    return queue.wait();
  }
}
