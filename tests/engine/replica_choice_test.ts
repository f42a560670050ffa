import { assert, assertEquals } from "@std/assert";
import {
  chooseReplica,
  outstandingTokens,
  type ReplicaOffer,
} from "../../engine/parallel/replicas/choice.ts";
import { Random } from "../fixtures/random.ts";

const RUNS = 3000;

function someOffer(random: Random, promptTokens: number): ReplicaOffer {
  return {
    hasRoom: !random.once(4),
    cachedTokens: random.once(2) ? 0 : 32 * random.below(promptTokens / 32),
    sequences: random.below(8),
    promptTokens: random.once(2) ? 0 : random.below(4000),
    promptBudget: 16 + random.below(1024),
    isAwaited: random.once(6),
  };
}

function cases(
  check: (promptTokens: number, offers: ReplicaOffer[], random: Random) => void,
): void {
  for (let seed = 1; seed <= RUNS; seed++) {
    const random = new Random(seed * 7919);
    const promptTokens = 1 + random.below(6000);
    const offers = Array.from(
      { length: 1 + random.below(5) },
      () => someOffer(random, promptTokens),
    );
    check(promptTokens, offers, random);
  }
}

/** Tokens to be computed until a prompt of none is. */
const tokensAt = (offer: ReplicaOffer) => outstandingTokens(offer) - offer.cachedTokens;
const canBegin = ({ hasRoom, isAwaited, promptTokens, promptBudget }: ReplicaOffer) =>
  hasRoom && !isAwaited && promptTokens < promptBudget;

Deno.test("a replica is chosen where one has room, and begins where no other is before the request in its next step", () => {
  cases((promptTokens, offers) => {
    const choice = chooseReplica(promptTokens, offers);
    assertEquals(choice === undefined, offers.every(({ hasRoom }) => !hasRoom));
    if (choice === undefined) return;
    const offer = offers[choice.index];
    assert(offer.hasRoom);
    assertEquals(choice.begins, canBegin(offer));
  });
});

Deno.test("of those where it begins it is the one with the least to do; it waits only for its prefix", () => {
  let waits = 0;
  cases((promptTokens, offers) => {
    const choice = chooseReplica(promptTokens, offers);
    if (choice === undefined) return;
    const chosen = offers[choice.index];
    const rivals = offers.filter(choice.begins ? canBegin : ({ hasRoom }) => hasRoom);
    for (const other of rivals) assert(tokensAt(chosen) <= tokensAt(other));
    if (choice.begins) return;
    for (const other of offers.filter(canBegin)) {
      waits++;
      if (tokensAt(other) === Math.min(...offers.filter(canBegin).map(tokensAt))) {
        assert(other.cachedTokens < chosen.cachedTokens);
      }
    }
  });
  assert(waits > 100);
});

Deno.test("a request returns to its prefix as long as that replica has no more to do than the others by what it saves", () => {
  cases((promptTokens, offers, random) => {
    const home = random.below(offers.length);
    const alike = offers.map((one, i): ReplicaOffer => ({
      ...one,
      hasRoom: true,
      isAwaited: false,
      promptBudget: 10_000,
      cachedTokens: i === home ? 32 * (1 + random.below(100)) : 0,
    }));
    const { index } = chooseReplica(promptTokens + alike[home].cachedTokens, alike)!;
    const others = alike.filter((_, i) => i !== home).map(outstandingTokens);
    const excess = outstandingTokens(alike[home]) - Math.min(...others);
    if (excess < alike[home].cachedTokens) assertEquals(index, home);
    if (excess > alike[home].cachedTokens) assert(index !== home);
  });
});

/** Steps that requests waited for, where they come at random, some with a prefix that only one replica has. */
function simulate(random: Random): { waited: number[]; loads: number[][] } {
  const count = 2 + random.below(3);
  const budget = 256;
  const replicas = Array.from({ length: count }, () => ({ tokens: 0, running: [] as number[] }));
  const hot = 32 * random.below(60);
  let waiting: { arrived: number; prompt: number; cached: boolean }[] = [];
  const waited: number[] = [];
  const loads: number[][] = [];
  for (let step = 0; step < 400 || waiting.length > 0; step++) {
    assert(step < 100_000, "a request waits for ever");
    for (let i = random.below(3); step < 400 && i > 0; i--) {
      waiting.push({ arrived: step, prompt: 1 + random.below(600), cached: random.once(2) });
    }
    const awaited = new Set<number>();
    waiting = waiting.filter(({ arrived, prompt, cached }) => {
      const offers = replicas.map((one, i): ReplicaOffer => ({
        hasRoom: one.running.length < 8,
        cachedTokens: cached && i === 0 ? hot : 0,
        sequences: one.running.length,
        promptTokens: one.tokens,
        promptBudget: budget,
        isAwaited: awaited.has(i),
      }));
      const choice = chooseReplica(cached ? prompt + hot : prompt, offers);
      if (!choice?.begins) {
        for (const i of choice === undefined ? replicas.keys() : [choice.index]) awaited.add(i);
        return true;
      }
      const replica = replicas[choice.index];
      replica.tokens += prompt + (cached && choice.index !== 0 ? hot : 0);
      replica.running.push(5 + random.below(40));
      waited.push(step - arrived);
      return false;
    });
    for (const one of replicas) {
      one.tokens = Math.max(0, one.tokens - budget);
      one.running = one.running.map((left) => left - 1).filter((left) => left > 0);
    }
    loads.push(
      replicas.map(({ tokens, running }) =>
        outstandingTokens({ promptTokens: tokens, sequences: running.length })
      ),
    );
  }
  return { waited, loads };
}

Deno.test("whatever comes, every request is served, and no replica piles up work while others are idle", () => {
  for (let seed = 1; seed <= 40; seed++) {
    const { waited, loads } = simulate(new Random(seed * 104_729));
    assert(waited.length > 300);
    const most = 60 * 32 + 600 + 64 + 256 + 64 * 8;
    for (const load of loads) assert(Math.max(...load) - Math.min(...load) <= most, `${load}`);
  }
});
