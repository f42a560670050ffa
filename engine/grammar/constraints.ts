import { M40Error } from "../errors.ts";
import type { Steering } from "../sampling/mod.ts";
import type { Tokenizer } from "../tokenizer/mod.ts";
import type { Automaton } from "./automaton.ts";
import { DraftTrust } from "./drafting.ts";
import { LikelyTexts } from "./likely_texts.ts";
import {
  type BuiltNetworks,
  CompiledConstraint,
  type Constraint,
  namingParam,
} from "./constraint.ts";
import type { ContentTrack } from "./content_track.ts";
import { GrammarSteering } from "./grammar_steering.ts";
import { KeptConstraints, type KeptLimits } from "./kept_constraints.ts";
import { LazyMasks } from "./lazy_masks.ts";
import type { TokenMasks } from "./masks.ts";
import { Preparation } from "./preparation.ts";
import { SharedWork } from "./shared_work.ts";
import { Turns } from "../turns.ts";
import { terminalBytes } from "./token_terminals.ts";

/** Turns the constraints of requests into steerings for one vocabulary. */
export class Constraints {
  private readonly kept: KeptConstraints;
  private readonly preparations = new WeakMap<Automaton, Preparation>();
  private readonly likelyTexts: LikelyTexts;
  private readonly draftTrust = new DraftTrust();
  private readonly lazyMasks: LazyMasks;
  /** Those that are being built elsewhere. */
  private readonly building = new Map<string, SharedWork<void>>();

  /** @param vocabSize Tokens that the model knows; the tokenizer may know fewer. */
  constructor(
    private readonly tokenizer: Tokenizer,
    private readonly vocabSize: number,
    limits?: KeptLimits,
  ) {
    this.likelyTexts = new LikelyTexts(tokenizer);
    this.lazyMasks = new LazyMasks(tokenizer, vocabSize);
    this.kept = new KeptConstraints(
      (one) => one.automata.reduce((sum, each) => sum + each.bytes + this.masks.bytesOf(each), 0),
      limits,
    );
  }

  /** Makes what every constraint needs, in pieces between which others have their turn. */
  prepare(): void {
    this.lazyMasks.begin();
  }

  /** Prepares nothing more. */
  stop(): void {
    this.lazyMasks.stop();
  }

  /**
   * What steers one answer.
   *
   * @param track Where the answer's content begins; absent: at its first token.
   * @throws {M40Error} "invalid_request" naming the field and what is wrong with it; "unsupported" for a model
   * without a token that ends an answer; "queue_full" where the grammars of other answers take too much memory.
   */
  steering(constraint: Constraint, track?: ContentTrack): Steering {
    const { tokenizer } = this;
    const { param = constraint.kind } = constraint;
    if (![...tokenizer.endTokens].some((token) => token < this.vocabSize)) {
      throw new M40Error(
        "unsupported",
        `${param}: this model has no token that ends an answer, so no answer could be complete`,
        param,
      );
    }
    const key = keyOf(constraint);
    const known = this.kept.get(key);
    if (known === undefined) this.kept.requireRoom();
    const compiled = known ?? new CompiledConstraint(constraint);
    const reasons = mayReason(compiled, track);
    const steering = new GrammarSteering({
      constraint: compiled,
      masks: this.masks,
      likelyTexts: this.likelyTexts,
      draftTrust: this.draftTrust,
      preparationOf: (automaton) => this.preparationOf(automaton),
      tokenBytes: (token) =>
        token < tokenizer.vocabSize ? terminalBytes(tokenizer, token) : new Uint8Array(0),
      track: reasons ? track : undefined,
      hold: (over) => this.kept.hold(compiled, over),
    });
    namingParam(constraint, () => {
      // What is too ambiguous for its first token is refused now.
      this.masks.of(compiled.automaton, compiled.automaton.start);
      if (reasons) this.masks.of(compiled.behindSpace, compiled.behindSpace.start);
    });
    // What was refused is refused again, whatever of it was found out.
    this.kept.put(key, compiled);
    return steering;
  }

  /**
   * Has a constraint built elsewhere, unless it is known, and finds out in turn with others what its first token may
   * be: what {@link steering} does of it then takes little time.
   *
   * @param build Builds it, or gives nothing because it cannot; called once for concurrent requests for the same. Its
   * signal is aborted when all of them have left: then it need not begin.
   * @param signal Aborts the caller's wait.
   * @param track As {@link steering} is going to have it.
   * @throws {M40Error} "invalid_request" naming what is wrong with it, "queue_full"; "cancelled" where the signal is
   * aborted; what `build` throws.
   */
  async ready(
    constraint: Constraint,
    build: (unwanted: AbortSignal) => Promise<BuiltNetworks> | undefined,
    signal?: AbortSignal,
    track?: ContentTrack,
  ): Promise<void> {
    await this.readyNetworks(constraint, build, signal);
    const compiled = this.kept.get(keyOf(constraint));
    if (compiled === undefined) return;
    const turns = new Turns();
    const begin = async (automaton: Automaton) => {
      do {
        await turns.next();
        if (signal?.aborted) throw new M40Error("cancelled", "the request was cancelled");
      } while (!namingParam(constraint, () => this.masks.proceed(automaton, automaton.start)));
    };
    await this.lazyMasks.ready(turns);
    await begin(compiled.automaton);
    if (!mayReason(compiled, track)) return;
    await begin(namingParam(constraint, () => compiled.behindSpace));
  }

  private async readyNetworks(
    constraint: Constraint,
    build: (unwanted: AbortSignal) => Promise<BuiltNetworks> | undefined,
    signal?: AbortSignal,
  ): Promise<void> {
    const key = keyOf(constraint);
    if (this.kept.get(key) !== undefined) return;
    this.kept.requireRoom();
    for (let going = this.building.get(key); going; going = this.building.get(key)) {
      try {
        return await going.wait(signal);
      } catch (error) {
        const isDropped = going.isUnwanted && !signal?.aborted && error instanceof M40Error &&
          error.code === "cancelled";
        if (!isDropped) throw error;
        // All callers left before it was started: it is asked for once more.
        await going.ended;
      }
    }
    const work = new SharedWork(async (unwanted) => {
      const built = await build(unwanted);
      if (built !== undefined) this.kept.put(key, new CompiledConstraint(constraint, built));
    });
    this.building.set(key, work);
    work.ended.then(() => {
      if (this.building.get(key) === work) this.building.delete(key);
    });
    await work.wait(signal);
  }

  private preparationOf(automaton: Automaton): Preparation {
    return this.preparations.getOrInsertComputed(
      automaton,
      () => new Preparation(automaton, this.masks, this.likelyTexts),
    );
  }

  private get masks(): TokenMasks {
    return this.lazyMasks.masks;
  }
}

/** Whether reasoning may come before an answer, and space between them. */
function mayReason(compiled: CompiledConstraint, track: ContentTrack | undefined): boolean {
  return track !== undefined &&
    (compiled.free || !track.isContent(track.start) || track.openers(track.start).length > 0);
}

/** What is alike for constraints that are alike. */
function keyOf(constraint: Constraint): string {
  const { param: _, ...source } = constraint;
  return source.kind === "made" ? `made ${source.key}` : JSON.stringify(source);
}
