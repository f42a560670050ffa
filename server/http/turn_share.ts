/**
 * Bytes that all connections together move, read or written, before everything else that waits has its
 * turn. Where data is there or there is room for it, Deno answers a read or a write at once, without the
 * event loop: without a share a client that sends or takes fast would hold up all others.
 */
const TURN_BYTES = 256 * 1024;
/** Bytes of one connection before it may have to wait. */
const OWN_BYTES = 64 * 1024;
/** Connections that go on in one turn of those that wait: what one of them does next may be large. */
const AT_ONCE = 16;

let moved = 0;
/** Those that wait for a turn, the first of them first. */
let waiting: (() => void)[] = [];

/** What one connection moves, beside all others. */
export class TurnShare {
  /** Bytes since it last waited. */
  private own = 0;

  /**
   * Counts bytes that the connection has moved. One that moves little never waits.
   *
   * @returns undefined where it may go on; else what resolves when the others have had their turn.
   */
  take(bytes: number): Promise<void> | undefined {
    moved += bytes;
    this.own += bytes;
    if (this.own < OWN_BYTES || (moved < TURN_BYTES && waiting.length === 0)) return undefined;
    this.own = 0;
    return new Promise((resolve) => {
      if (waiting.push(resolve) === 1) setTimeout(nextTurn, 0);
    });
  }
}

function nextTurn(): void {
  moved = 0;
  const turn = waiting.slice(0, AT_ONCE);
  waiting = waiting.slice(AT_ONCE);
  if (waiting.length > 0) setTimeout(nextTurn, 0);
  for (const resolve of turn) resolve();
}
