/**
 * What can be said of a model on a card before it is loaded: whether it fits, and how fast its tokens can
 * come at the most.
 *
 * @module
 */
import { FitDevice } from "./fit.ts";
import { type Gguf, SUPPORTED_TYPE_NAMES } from "../gguf/mod.ts";
import { architectureNames } from "../models/mod.ts";
import { type Target, targetOf, TESLA_M40 } from "./target_card.ts";

/** What is estimated of a model. */
export interface Estimate {
  readonly fits: boolean;
  /** The most tokens of context that there is room for, up to those that it was trained for. */
  readonly contextTokens: number;
  readonly trainedTokens: number;
  /**
   * Tokens a second of one answer, were the card's memory all that takes time: what a token reads of it,
   * over what it gives. Absent where that is not known.
   */
  readonly tokensPerSecond?: number;
}

/** Estimates for the GPU of this machine, or a {@link TESLA_M40} where there is none. */
export class Estimator implements Disposable {
  private device?: FitDevice;

  private constructor(private readonly target: Target) {}

  /** @throws {M40Error} "unsupported" where there is no library that could say what things take. */
  static open(): Estimator {
    return new Estimator(targetOf("auto", "f16"));
  }

  /** What the estimates are for. */
  get card(): { readonly name: string; readonly assumed: boolean } {
    const { card } = this.target;
    return { name: card.name, assumed: card === TESLA_M40 };
  }

  /** Changes with everything that the estimates hang on but the model. */
  get signature(): string {
    const known = [...architectureNames(), ...SUPPORTED_TYPE_NAMES].join(" ");
    return `${known} ${JSON.stringify(this.target)}`;
  }

  /**
   * Opens the device that says what things take, which on a GPU takes most of a second.
   *
   * @throws {M40Error} Where it cannot be used now, which says nothing of a model.
   */
  ready(): FitDevice {
    return this.device ??= FitDevice.open(this.target.device);
  }

  /** @throws {M40Error} Where the model cannot run at all. */
  of(gguf: Gguf): Estimate {
    const { card, kvType } = this.target;
    const { contextTokens, trainedTokens, readBytes } = this.ready().fit(gguf, { kvType, card });
    return {
      fits: contextTokens > 0,
      contextTokens,
      trainedTokens,
      tokensPerSecond: card.bytesPerSecond && card.bytesPerSecond / readBytes,
    };
  }

  [Symbol.dispose](): void {
    this.device?.[Symbol.dispose]();
  }
}
