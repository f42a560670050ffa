import type { CodePointRange, Expression } from "../grammar.ts";
import { normalizeRanges } from "../utf8_ranges.ts";
import { type Costs, MAX_STATES, SchemaRefusal } from "./limits.ts";

const LAST = 0x10ffff;

/** From `first` to `last` to the state `target`. */
export interface Step<T = number> {
  readonly first: number;
  readonly last: number;
  readonly target: T;
}

export interface State<T = number> {
  readonly accepts: boolean;
  /** By their first characters, ascending; those of no step are refused. */
  readonly steps: readonly Step<T>[];
}

/**
 * A deterministic automaton over characters: what is needed to have a string follow several constraints at once (a
 * pattern, a length, a format, values that it must not be). State 0 is the first.
 */
export class TextAutomaton {
  constructor(readonly states: readonly State[]) {}

  /** The texts of an expression without rules. */
  static of(expression: Expression, costs: Costs): TextAutomaton {
    const nfa = new Pieces(costs);
    const start = nfa.state();
    const end = nfa.add(expression, start);
    return explore(
      () => nfa.closure([start]),
      (set) => ({
        accepts: set.includes(end),
        steps: splitSteps(
          set.flatMap((s) => nfa.steps[s]),
          (targets) => nfa.closure(targets),
          costs,
        ),
      }),
      (set) => set.join(),
      costs,
    );
  }

  /** Texts of `least` to `most` characters. */
  static ofLength(least: number, most: number | undefined, costs: Costs) {
    const top = most ?? least;
    return explore(
      () => 0,
      (n) => ({
        accepts: n >= least,
        steps: n < top || most === undefined
          ? [{ first: 0, last: LAST, target: Math.min(n + 1, top) }]
          : [],
      }),
      String,
      costs,
    );
  }

  /** The texts that both accept. */
  and(other: TextAutomaton, costs: Costs): TextAutomaton {
    return this.combine(other, (a, b) => a && b, costs);
  }

  /** The texts that this one accepts and the other does not. */
  without(other: TextAutomaton, costs: Costs): TextAutomaton {
    return this.combine(other, (a, b) => a && !b, costs);
  }

  private combine(
    other: TextAutomaton,
    accepts: (a: boolean, b: boolean) => boolean,
    costs: Costs,
  ): TextAutomaton {
    return explore<[number, number]>(
      () => [0, 0],
      ([a, b]) => {
        const left = complete(this.states[a]);
        const right = complete(other.states[b]);
        costs.look(left.length + right.length);
        const steps: Step<[number, number]>[] = [];
        for (let i = 0, j = 0; i < left.length && j < right.length;) {
          const first = Math.max(left[i].first, right[j].first);
          const last = Math.min(left[i].last, right[j].last);
          const target: [number, number] = [left[i].target, right[j].target];
          // Without a left state nothing is accepted any more, whatever the right one says.
          if (target[0] >= 0) steps.push({ first, last, target });
          if (left[i].last === last) i++;
          if (right[j].last === last) j++;
        }
        const rightAccepts = b >= 0 && other.states[b].accepts;
        return { accepts: accepts(this.states[a].accepts, rightAccepts), steps };
      },
      String,
      costs,
    );
  }

  /** The same texts by as few states as can be: those from which the same texts follow are one. */
  minimized(costs: Costs): TextAutomaton {
    const size = this.states.reduce((sum, { steps }) => sum + steps.length, 0);
    let classes = this.states.map((state) => Number(state.accepts));
    for (let count = 0;;) {
      costs.spend(this.states.length);
      costs.look(size);
      const known = new Map<string, number>();
      classes = this.states.map(({ steps }, i) => {
        const led = merge(steps.map((step) => ({ ...step, target: classes[step.target] })));
        const name = `${classes[i]};${led.map((s) => `${s.first}-${s.last}-${s.target}`)}`;
        return known.getOrInsert(name, known.size);
      });
      if (known.size === count) break;
      count = known.size;
    }
    // The first state of a class stands for it; classes are numbered by those, so 0 stays the first.
    const states = [...new Set(classes)].map((one) => this.states[classes.indexOf(one)]);
    return new TextAutomaton(states.map(({ accepts, steps }) => ({
      accepts,
      steps: merge(steps.map((step) => ({ ...step, target: classes[step.target] }))),
    })));
  }

  get isEmpty(): boolean {
    return !this.states.some((state) => state.accepts);
  }

  accepts(text: string, costs: Costs): boolean {
    let state = 0;
    for (const character of text) {
      costs.look(1);
      const step = stepOf(this.states[state], character.codePointAt(0)!);
      if (!step) return false;
      state = step.target;
    }
    return this.states[state].accepts;
  }
}

/** The step of a character. */
function stepOf({ steps }: State, code: number): Step | undefined {
  let [low, high] = [0, steps.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (steps[middle].last < code) low = middle + 1;
    else high = middle;
  }
  return low < steps.length && steps[low].first <= code ? steps[low] : undefined;
}

/** The steps of a state with those that lead nowhere (-1); of no state, all lead nowhere. */
function complete(state: State | undefined): Step[] {
  const steps: Step[] = [];
  let next = 0;
  for (const step of state?.steps ?? []) {
    if (step.first > next) steps.push({ first: next, last: step.first - 1, target: -1 });
    steps.push(step);
    next = step.last + 1;
  }
  if (next <= LAST) steps.push({ first: next, last: LAST, target: -1 });
  return steps;
}

/** Makes the states that can be reached, without those from which nothing is accepted. */
export function explore<T>(
  start: () => T,
  look: (state: T) => State<T>,
  key: (state: T) => string,
  costs: Costs,
): TextAutomaton {
  const numbers = new Map<string, number>();
  const pending: T[] = [];
  const numberOf = (state: T): number =>
    numbers.getOrInsertComputed(key(state), () => {
      if (numbers.size >= MAX_STATES) {
        throw new SchemaRefusal(
          costs.place,
          `the strings that are allowed here need more than ${MAX_STATES} states; use a simpler ` +
            "pattern or smaller lengths",
          "states",
        );
      }
      return pending.push(state) - 1;
    });
  numberOf(start());
  const states: State[] = [];
  for (let i = 0; i < pending.length; i++) {
    const { accepts, steps } = look(pending[i]);
    costs.spend(1 + steps.length);
    states.push({ accepts, steps: steps.map((s) => ({ ...s, target: numberOf(s.target) })) });
  }
  return new TextAutomaton(trim(states));
}

/** Removes states that cannot reach an accepting one. */
function trim(states: State[]): State[] {
  const before = states.map((): number[] => []);
  states.forEach((state, i) => state.steps.forEach((s) => before[s.target].push(i)));
  const useful = new Set<number>();
  const pending = states.flatMap((state, i) => state.accepts ? [i] : []);
  for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
    if (useful.has(at)) continue;
    useful.add(at);
    pending.push(...before[at]);
  }
  if (!useful.has(0)) return [{ accepts: false, steps: [] }];
  const kept = states.flatMap((_, i) => useful.has(i) ? [i] : []);
  const numbers = new Map(kept.map((state, i) => [state, i]));
  return kept.map((i) => ({
    accepts: states[i].accepts,
    steps: merge(states[i].steps.flatMap((s) => {
      const target = numbers.get(s.target);
      return target === undefined ? [] : [{ ...s, target }];
    })),
  }));
}

/** Joins neighbours that lead to the same state. */
function merge(steps: readonly Step[]): Step[] {
  const merged: Step[] = [];
  for (const step of steps) {
    const before = merged.at(-1);
    if (before && before.last + 1 === step.first && before.target === step.target) {
      merged[merged.length - 1] = { ...before, last: step.last };
    } else merged.push(step);
  }
  return merged;
}

/** Steps of several states at once into steps to sets of states, which do not overlap. */
function splitSteps<T>(
  steps: readonly Step[],
  join: (targets: number[]) => T,
  costs: Costs,
): Step<T>[] {
  const borders = [...new Set(steps.flatMap((s) => [s.first, s.last + 1]))].sort((a, b) => a - b);
  const starting = steps.toSorted((a, b) => a.first - b.first);
  const split: Step<T>[] = [];
  let within: Step[] = [];
  for (let i = 0, next = 0; i + 1 < borders.length; i++) {
    const [first, last] = [borders[i], borders[i + 1] - 1];
    within = within.filter((step) => step.last >= first);
    for (; next < starting.length && starting[next].first <= first; next++) {
      within.push(starting[next]);
    }
    costs.look(1 + within.length);
    const targets = within.map((step) => step.target);
    if (targets.length > 0) split.push({ first, last, target: join(targets) });
  }
  return split;
}

/** A nondeterministic automaton, made piece by piece out of an expression. */
class Pieces {
  readonly steps: Step[][] = [];
  private readonly free: number[][] = [];

  constructor(private readonly costs: Costs) {}

  state(): number {
    this.costs.spend(1);
    this.free.push([]);
    return this.steps.push([]) - 1;
  }

  /** Adds the expression behind a state; the state behind the expression. */
  add(expression: Expression, from: number): number {
    this.costs.look(1);
    switch (expression.kind) {
      case "literal":
        return [...expression.text].reduce((at, character) => {
          const code = character.codePointAt(0)!;
          return this.step(at, [[code, code]]);
        }, from);
      case "characters":
        return this.step(from, normalizeRanges(expression.ranges, expression.negated));
      case "sequence":
        return expression.items.reduce((at, item) => this.add(item, at), from);
      case "choice": {
        const end = this.state();
        for (const option of expression.options) {
          const begin = this.state();
          this.free[from].push(begin);
          this.free[this.add(option, begin)].push(end);
        }
        return end;
      }
      case "repeat":
        return this.repeat(expression, from);
      case "rule":
      case "token":
      case "until":
        throw new Error(`got a ${expression.kind}, where an expression of characters is wanted`);
    }
  }

  private step(from: number, ranges: readonly CodePointRange[]): number {
    const end = this.state();
    this.costs.look(ranges.length);
    for (const [first, last] of ranges) this.steps[from].push({ first, last, target: end });
    return end;
  }

  private repeat(
    { item, least, most }: Extract<Expression, { kind: "repeat" }>,
    from: number,
  ): number {
    let at = from;
    for (let i = 0; i < least; i++) at = this.add(item, at);
    const end = this.state();
    if (most === undefined) {
      const begin = this.state();
      this.free[at].push(begin);
      this.free[this.add(item, begin)].push(begin);
      this.free[begin].push(end);
      return end;
    }
    for (let i = least; i < most; i++) {
      this.free[at].push(end);
      // A state of its own keeps an item that loops at its start from being entered half way.
      const begin = this.state();
      this.free[at].push(begin);
      at = this.add(item, begin);
    }
    this.free[at].push(end);
    return end;
  }

  /** The states, and those that are reached from them without a character; ascending. */
  closure(states: readonly number[]): number[] {
    const seen = new Set(states);
    for (const state of seen) {
      this.costs.spend(1);
      for (const next of this.free[state]) seen.add(next);
    }
    return [...seen].sort((a, b) => a - b);
  }
}
