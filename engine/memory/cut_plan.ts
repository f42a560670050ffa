import { bisect } from "./bisect.ts";

/** A card, as one that some layers of a model may be on. */
export interface CardRoom {
  /** Bytes of its memory that may be taken. */
  readonly bytes: number;
  /** What its memory gives; it is compared with other cards' alone. */
  readonly bytesPerSecond: number;
}

/** What some layers take of a card. */
export interface PartSize {
  readonly weightBytes: number;
  /** The buffers of the largest step. */
  readonly programBytes: number;
  /** What a KV block and a slot take there. */
  readonly kvBlockBytes: number;
  readonly slotBytes: number;
  /** What a step of decoded tokens reads. */
  readonly readBytes: number;
}

/** What is to be cut, and for which cards. */
export interface CutRequest {
  /** In the order in which a step goes through them. */
  readonly cards: readonly CardRoom[];
  /** How many pieces there are: each card has some that follow each other, and at least one. */
  readonly pieces: number;
  /** What the pieces of [from, to) take of a card. It is asked for the same ones again and again. */
  readonly size: (card: number, from: number, to: number) => PartSize;
  /** KV blocks and slots that there must be at least. */
  readonly kvBlocks: number;
  readonly slots: number;
}

/** How much longer the slowest card may take than it has to, for more KV blocks. */
const SLOWER_FOR_KV_BLOCKS = 1.05;
/** As many times the KV blocks that there must be are enough; for fewer it may take still longer. */
const ENOUGH = 4;
const SLOWER_FOR_ENOUGH = 1.25;
/** No more KV blocks are looked for. */
const MOST_KV_BLOCKS = 2 ** 20;
/** Halvings of a time, after which the cards' times are distinguished. */
const HALVINGS = 40;

/**
 * Which pieces of a model each card gets. As many steps run as there are cards, so the slowest card counts: its time
 * is the bytes that it reads in a step, divided by its memory's bandwidth. Among ways within a few hundredths of each
 * other, the one with the most KV blocks is taken. If that fits only few sequences of a whole context, a way that is
 * slower by up to a quarter is taken.
 *
 * @returns The first piece of each card but the first; undefined where there is no room, or are too few pieces.
 */
export function planCuts(request: CutRequest): number[] | undefined {
  const { cards, pieces, kvBlocks } = request;
  if (pieces < cards.length) return undefined;
  const any = filled(request, Infinity, kvBlocks);
  if (any === undefined) return undefined;
  let [fast, slow] = [0, slowest(request, any)];
  let best = any;
  for (let i = 0; i < HALVINGS && fast < slow; i++) {
    const middle = (fast + slow) / 2;
    const found = filled(request, middle, kvBlocks);
    if (found === undefined) {
      fast = middle;
    } else {
      best = found;
      slow = slowest(request, found);
    }
  }
  const most = withMostKvBlocks(
    request,
    SLOWER_FOR_KV_BLOCKS * slow,
    { kvBlocks, begins: best },
    MOST_KV_BLOCKS,
  );
  const enough = Math.min(MOST_KV_BLOCKS, ENOUGH * kvBlocks);
  if (most.kvBlocks >= enough) return most.begins;
  return withMostKvBlocks(request, SLOWER_FOR_ENOUGH * slow, most, enough).begins;
}

/** A plan, and KV blocks that there is room for by it. */
interface RoomFor {
  readonly kvBlocks: number;
  readonly begins: number[];
}

/** The plan with the most KV blocks, up to a number, of those that take no longer than a time. */
function withMostKvBlocks(
  request: CutRequest,
  seconds: number,
  known: RoomFor,
  limit: number,
): RoomFor {
  let best = known;
  bisect(known.kvBlocks, limit + 1, (kvBlocks) => {
    const begins = filled(request, seconds, kvBlocks);
    if (begins !== undefined) best = { kvBlocks, begins };
    return begins !== undefined;
  });
  return best;
}

/**
 * How many pieces each card takes, one after the other as many as it has room for, whatever time they take: what there is
 * to say where it is not enough.
 */
export function piecesThatFit(request: CutRequest): number[] {
  let from = 0;
  return request.cards.map((_, card) => {
    const to = furthest(request, card, from, request.pieces, Infinity, request.kvBlocks);
    const count = to - from;
    from = to;
    return count;
  });
}

/**
 * Fills one card after the other with as many pieces as fit and as it computes in a time, so that the fewest are left
 * for the later ones. A card gets fewer where the later ones could not take the rest.
 */
function filled(request: CutRequest, seconds: number, kvBlocks: number): number[] | undefined {
  const { cards, pieces } = request;
  const last = cards.length - 1;
  /** Where a card cannot begin so that all that is left is taken. */
  const dead = cards.map(() => new Set<number>());
  const from = (card: number, begin: number): number[] | undefined => {
    if (card === last) {
      return isFit(request, card, begin, pieces, seconds, kvBlocks) ? [] : undefined;
    }
    if (dead[card].has(begin)) return undefined;
    // Those behind it want a piece each.
    const most = pieces - (last - card);
    for (let end = furthest(request, card, begin, most, seconds, kvBlocks); end > begin; end--) {
      const rest = from(card + 1, end);
      if (rest !== undefined) return [end, ...rest];
    }
    dead[card].add(begin);
    return undefined;
  };
  return from(0, 0);
}

/** How far a card's pieces go from one on, up to `most`: more of them take more memory and more time. */
function furthest(
  request: CutRequest,
  card: number,
  from: number,
  most: number,
  seconds: number,
  kvBlocks: number,
): number {
  return bisect(from, most + 1, (to) => isFit(request, card, from, to, seconds, kvBlocks));
}

function isFit(
  { cards, size, slots }: CutRequest,
  card: number,
  from: number,
  to: number,
  seconds: number,
  kvBlocks: number,
): boolean {
  const part = size(card, from, to);
  const { bytes, bytesPerSecond } = cards[card];
  return part.readBytes / bytesPerSecond <= seconds &&
    part.weightBytes + part.programBytes + kvBlocks * part.kvBlockBytes + slots * part.slotBytes <=
      bytes;
}

/** The time of the card that takes longest. */
function slowest({ cards, pieces, size }: CutRequest, begins: readonly number[]): number {
  const ends = [...begins, pieces];
  return Math.max(
    ...cards.map(({ bytesPerSecond }, card) =>
      size(card, card === 0 ? 0 : ends[card - 1], ends[card]).readBytes / bytesPerSecond
    ),
  );
}
