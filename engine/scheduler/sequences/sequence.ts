import { NONE, type Sample, type StepSampling, type StepSequence } from "../../device/mod.ts";
import { M40Error } from "../../errors.ts";
import { SequenceSampling, type SequenceSamplingOptions } from "../../sampling/mod.ts";
import type { Match } from "../kv_blocks/kv_block_manager.ts";
import type { Prefix } from "../kv_blocks/prefix_tree.ts";
import type { SavedKvBlocks } from "../kv_blocks/host_kv_blocks.ts";

/**
 * The state of a sequence: it waits to be admitted ("waiting"), computes its prompt ("prefilling"), samples
 * tokens ("decoding"), was preempted and waits to go on ("preempted"), or has ended ("finished").
 */
export type SequenceState = "waiting" | "prefilling" | "decoding" | "preempted" | "finished";

/** Where a sequence can go from each state. */
const NEXT: Readonly<Record<SequenceState, readonly SequenceState[]>> = {
  waiting: ["prefilling", "finished"],
  prefilling: ["decoding", "preempted", "finished"],
  decoding: ["preempted", "finished"],
  preempted: ["prefilling", "decoding", "finished"],
  finished: [],
};

/** Receives the tokens and the end of a sequence. What it throws ends this sequence and no other. */
export interface SequenceListener {
  /**
   * A token was sampled; the answer is whether the listener wants more.
   *
   * @param at When the device's result was there, by `performance.now()`: several may be delivered together later.
   */
  accept(sample: Sample, at: number): boolean;
  /** The sequence is complete, was cancelled, or failed with `error`. Called once, as the last call. */
  end(error?: unknown): void;
}

/** Hidden states that a sequence returns instead of sampled tokens. */
export interface WantedHidden {
  /** Of which tokens of its prompt. */
  readonly of: "last" | "all";
  /** Gets them in the order of their tokens: [hidden size] each, overwritten by the next step. */
  readonly take: (values: Float32Array) => void;
}

/** What a sequence is made from. After its end tokens nothing more is sampled. */
export interface SequenceOptions extends SequenceSamplingOptions {
  /** How many tokens are sampled at most. */
  readonly maxTokens: number;
  /** What the caller calls that, for errors; default "max_tokens". */
  readonly limitName?: string;
  /** Absent: whoever makes it sets one before it is queued. */
  readonly listener?: SequenceListener;
  /** A sequence with the same prompt. This one takes over its KV blocks once they are computed. */
  readonly leader?: Sequence;
  /**
   * Drafts at most so many of the tokens that come after `tokens`. They are computed with the last token,
   * and those that would have been sampled anyway are taken in together; what is sampled is the same.
   */
  readonly draft?: (tokens: readonly number[], most: number) => readonly number[];
  /** It ends with its prompt, and nothing is sampled. */
  readonly hidden?: WantedHidden;
  /**
   * Whether every token needs its log-probabilities: then none is taken in that was not sampled, though it be the
   * only one allowed. Default true.
   */
  readonly logprobs?: boolean;
}

/** One sequence's part in a step, as the device takes it: its rows, all of one kind, and what they give. */
export interface Turn extends StepSequence {
  readonly sequence: Sequence;
  /** Of a run: the position of the step whose result is next. */
  position: number;
  /** Tokens that are computed, drafts not counted. */
  readonly count: number;
  /** Whether its sequence samples in each step; else it computes a prompt, or what it lost. */
  readonly samplesNext: boolean;
  /** What may come after the tokens; computed as well. */
  readonly drafts: readonly number[];
  /**
   * Tokens that are sampled: one after the last token and one after each draft, or none. Or hidden states that are
   * given, of so many of the last tokens.
   */
  readonly outputs: readonly TurnOutput[];
  states?: StepSequence["states"];
}

type TurnOutput = StepSequence["outputs"][number] & { sampling?: StepSampling };

const NO_TOKENS: readonly number[] = [];

/** A prompt and the tokens that follow it, on their way through the scheduler. */
export class Sequence {
  readonly prompt: readonly number[];
  readonly maxTokens: number;
  readonly limitName: string;
  /** The sequence whose KV blocks of the same prompt it waits for and then shares. */
  leader?: Sequence;
  /** Whether others wait for it so. */
  leads = false;
  readonly draft?: SequenceOptions["draft"];
  readonly hidden?: WantedHidden;
  /** Whether it must compute all of its prompt itself. */
  readonly computesAll: boolean;
  /** Of how many tokens of its prompt the hidden states were taken, where those of all are wanted. */
  hiddenTaken = 0;
  /** The prompt, then what was sampled. */
  readonly tokens: readonly number[];
  /** How many of them were sampled. */
  sampled = 0;
  /** How many of the tokens have their K and V in its KV blocks. */
  computed = 0;
  /** How many tokens of its prompt came from the cache when it was first admitted. */
  cached = 0;
  /**
   * The KV blocks that it holds: of each group of layers one a KV block of tokens, in their order, `NO_KV_BLOCK`
   * where none of its tokens to come needs it. Empty while it holds none.
   */
  kvBlocks: number[][] = [];
  /** KV blocks that it needs for its next step, and has when the step of a sequence ends that was preempted for it. */
  awaited = 0;
  /**
   * The prefixes of its published KV blocks, one each. An undefined last one: no block from there on is
   * published; see {@link KvBlockManager.publish}.
   */
  prefixes: (Prefix | undefined)[] = [];
  /** The cached prefix that was found while it waits. */
  match?: Match;
  /** The slot with its state after its computed tokens, where its model keeps states and any are computed. */
  slot?: number;
  /** The slot that the next step writes its state to, where that is not the same. */
  nextSlot?: number;
  /** The slot that a run writes its state to behind the next KV block border, where the one there is kept. */
  laterSlot?: number;
  /** The slot with its state before the last token of its prompt. Its followers start from it. */
  startSlot?: number;
  /** The last prefix in its answer whose state is kept, for prompts that continue the answer. */
  answered?: Prefix;
  /**
   * How many tokens before the last are not computed, although it samples one in each step. Some were the
   * only ones allowed and needed no step. Others were accepted with a wrong draft after them: a state covers
   * all drafts or none.
   */
  uncomputed = 0;
  /** How many steps that are not over it takes part in, also where it runs no more. */
  stepsUnderWay = 0;
  /** How many tokens those compute, where it was not preempted meanwhile. Its next part follows them. */
  underWay = 0;
  /** Its KV blocks and its state in host memory, while it is preempted. */
  saved?: SavedKvBlocks;
  savedState?: SavedKvBlocks;
  /** When it arrived: what came earlier is served earlier. Set by the scheduler. */
  arrival = 0;
  /** When it arrived and when it was first admitted, in milliseconds of `performance.now()`. */
  arrivedAt = 0;
  admittedAt?: number;
  /** Where it is; {@link become} alone changes it. */
  state: SequenceState = "waiting";
  /** Whether it takes part in steps: it is prefilling or decoding. */
  runs = false;
  /** Absent once it was notified of the end. */
  listener?: SequenceListener;
  /** Parts of the prompt, rising, that were taken over from sequences that had decoded them. */
  private decodedParts: { readonly start: number; readonly end: number }[] = [];
  /** After these nothing more is sampled. */
  readonly endTokens: ReadonlySet<number>;
  /** How its next tokens are to be sampled. */
  readonly sampler: SequenceSampling;
  /** Whether something steers what is sampled: then some of it may be prepared, or need no sampling. */
  readonly steered: boolean;
  /** Whether no token may be taken in that was not sampled. */
  readonly logprobs: boolean;

  constructor(options: SequenceOptions) {
    this.prompt = options.prompt;
    this.maxTokens = options.maxTokens;
    this.limitName = options.limitName ?? "max_tokens";
    this.listener = options.listener;
    this.hidden = options.hidden;
    this.computesAll = options.hidden?.of === "all";
    this.leader = options.leader;
    if (this.leader) this.leader.leads = true;
    this.endTokens = options.endTokens;
    this.sampler = new SequenceSampling(options);
    this.tokens = this.sampler.tokens;
    this.steered = options.steering !== undefined;
    this.logprobs = options.logprobs ?? true;
    if (this.sampler.canDraft) {
      this.draft = options.draft ??
        (options.steering?.draft && ((_, most) => this.sampler.draft(most)));
    }
  }

  /**
   * Goes to another state; the scheduler's {@link Roster} alone says when.
   *
   * @throws {M40Error} "internal" where it cannot go there.
   */
  become(state: SequenceState): void {
    if (!NEXT[this.state].includes(state)) {
      throw new M40Error("internal", `a sequence that is ${this.state} cannot become ${state}`);
    }
    this.state = state;
    this.runs = state === "prefilling" || state === "decoding";
  }

  /** How many of the tokens are computed, or will be by steps that have begun. */
  get begun(): number {
    return this.computed + this.underWay;
  }

  /** Tokens that no step has begun to compute: one while it decodes, more where some are computed again. */
  get left(): number {
    return this.tokens.length - this.computed - this.underWay;
  }

  /**
   * Whether another step may begin with it: with parts of a prompt also while the ones before are computed, but where
   * what it keeps follows from how those went.
   */
  get canBegin(): boolean {
    if (this.stepsUnderWay === 0) return true;
    return this.state === "prefilling" && this.underWay > 0 && this.left > 0 &&
      this.hidden === undefined && this.slot === undefined && this.nextSlot === undefined;
  }

  /** Of how many of its next `count` tokens, the last of them, the hidden states are wanted. */
  private hiddenIn(count: number): number {
    const end = this.computed + count;
    if (this.computesAll) return Math.min(count, Math.max(0, end - this.hiddenTaken));
    return end === this.prompt.length ? 1 : 0;
  }

  /** How many tokens it can compute where so many outputs are left. */
  mostRows(outputs: number): number {
    return this.computesAll ? this.hiddenTaken - this.computed + outputs : Infinity;
  }

  /** Whether its next step samples a token: only the last token and the {@link uncomputed} ones are left. */
  get samplesNext(): boolean {
    return this.state === "decoding" &&
      this.tokens.length - this.computed === 1 + this.uncomputed;
  }

  /**
   * Its part in a step, of at most so many rows that are computed alike; drafts come on top. Sampled tokens are decode
   * rows, also when they are recomputed. The prompt consists of prompt rows, except where another sequence had decoded
   * it. So the K and V of each token keep their bits.
   */
  turn(most: number, drafts = NO_TOKENS): Turn {
    const { begun: position, kvBlocks, samplesNext, hidden } = this;
    let decode = position >= this.prompt.length;
    let end = decode ? this.tokens.length : this.prompt.length;
    for (const part of this.decodedParts) {
      if (decode || position >= part.end) continue;
      decode = position >= part.start;
      end = decode ? part.end : part.start;
      break;
    }
    const count = Math.min(end - position, most);
    const tokens = this.tokens.slice(position, position + count).concat(drafts);
    const outputs: TurnOutput[] = [];
    if (hidden !== undefined) {
      const kind = "hidden";
      for (let i = this.hiddenIn(count); i > 0; i--) outputs.push({ row: count - i, kind });
    } else if (position + count === this.tokens.length) {
      for (let i = 0; i <= drafts.length; i++) outputs.push({ row: count - 1 + i });
    }
    return {
      sequence: this,
      tokens,
      position,
      count,
      kvBlocks,
      decode,
      samplesNext,
      drafts,
      outputs,
    };
  }

  /** How many of a KV block's tokens, those from `start` to `end`, are prompt rows; the rest follow them. */
  promptRows(start: number, end: number): number {
    const part = this.decodedParts.find((one) => one.start < end && one.end > start);
    const decodedFrom = part === undefined ? this.prompt.length : Math.max(part.start, start);
    return Math.min(Math.max(decodedFrom - start, 0), end - start);
  }

  /** Notes that the prompt's tokens from `start` to `end` were taken over from one that had decoded them. */
  noteDecoded(start: number, end: number): void {
    if (start < end && this.promptRows(start, end) === end - start) {
      this.decodedParts.push({ start, end });
    }
  }

  /** Notes what {@link noteDecoded} has noted of another sequence with the same prompt. */
  noteDecodedLike(other: Sequence): void {
    this.decodedParts = [...other.decodedParts];
  }

  /** What was computed of it is lost: it is computed again, in the same way. */
  forgetComputed(): void {
    this.computed = 0;
    this.underWay = 0;
    this.uncomputed = 0;
    this.prefixes = [];
    this.match = undefined;
  }

  /** Takes in a sampled token; the answer is whether nothing more is sampled. */
  append(sample: Sample): boolean {
    this.sampler.append(sample);
    this.sampled++;
    return this.endTokens.has(sample.token) || this.sampled >= this.maxTokens;
  }

  /** Notifies the listener of the end, once. */
  notifyEnd(error?: unknown): void {
    const { listener } = this;
    // Cleared first: the listener may throw, or cancel the sequence itself.
    this.listener = undefined;
    listener?.end(error);
  }
}

/** A step begins to compute a turn. */
export function beginTurn({ sequence, count }: Turn): void {
  sequence.stepsUnderWay++;
  sequence.underWay += count;
}

/** The step is over, or came to nothing. */
export function endTurn({ sequence, count }: Turn): void {
  sequence.stepsUnderWay--;
  // A sequence preempted meanwhile begins where its computed tokens end.
  if (sequence.runs) sequence.underWay -= count;
}

/** Adds to a turn what follows from the steps before and from the memory reserved: its slots, and how it is sampled. */
export function completeTurn(turn: Turn): void {
  const { sequence, drafts, outputs } = turn;
  const { slot, nextSlot = slot } = sequence;
  if (nextSlot !== undefined) turn.states = { from: slot ?? NONE, to: nextSlot };
  if (sequence.hidden !== undefined) return;
  for (let i = 0; i < outputs.length; i++) {
    outputs[i].sampling = sequence.sampler.next(i === 0 ? NO_TOKENS : drafts.slice(0, i));
  }
}
