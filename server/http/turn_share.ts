/**
 * Bytes that all connections together move, read or written, before everything else that waits has its
 * turn. Where data is there or there is room for it, Deno answers a read or a write at once, without the
 * event loop: without a share a client that sends or takes fast would hold up all others.
 */
const TURN_BYTES = 256 * 1024;
/** Bytes of one connection before it may have to wait. */
const OWN_BYTES = 64 * 1024;
/** What a connection may move in each turn for which others wait, without ever waiting itself: a stream's event, in bytes. */
const FREE_BYTES = 1024;
/** Connections that go on in one turn of those that wait: each may read several times before it waits again. */
const AT_ONCE = 8;

let moved = 0;
/** The turns for which somebody waited. */
let turns = 0;
/** Those that wait for a turn, the first of them first. */
let waiting: (() => void)[] = [];

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
    if (this.own < OWN_BYTES || (moved < TURN_BYTES && waiting.length === 0)) return undefined;
    this.own = 0;
    return new Promise((resolve) => {
      if (waiting.push(resolve) === 1) setTimeout(nextTurn, 0);
    });
  }
}

function nextTurn(): void {
  moved = 0;
  turns++;
  const turn = waiting.slice(0, AT_ONCE);
  waiting = waiting.slice(AT_ONCE);
  if (waiting.length > 0) setTimeout(nextTurn, 0);
  for (const resolve of turn) resolve();
}
