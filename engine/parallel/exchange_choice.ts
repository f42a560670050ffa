import { asM40Error, isDeviceLoss } from "../errors.ts";
import type { ExchangePath } from "./exchange_memory.ts";
import { checkExchange, type ExchangeSize, exchangeTime } from "./exchange_speed.ts";
import { canBeTimed, type OpenedCard } from "./opened_card.ts";

/** How cards exchange rows. */
export interface ChosenExchange {
  readonly path: ExchangePath;
  /** What an exchange of a row of 4096 values takes; absent where that was not measured. */
  readonly seconds?: number;
  /** Why rows do not go from card to card, where they do not, in words. */
  readonly noPeers?: string;
}

/** Few values, which go in packets, and many. */
const CHECKED: readonly ExchangeSize[] = [{ rows: 1 }, { rows: 2, columns: 300_000 }];

/**
 * Chooses how cards exchange rows: from card to card where that works and is not slower than through host memory. A
 * test shows whether it works: with an IOMMU between cards, the driver may report peer access although what the cards
 * write is lost.
 *
 * @throws {M40Error} "device" where a card fails; "out_of_memory" where there is no memory that all could have.
 */
export async function chooseExchange(cards: readonly OpenedCard[]): Promise<ChosenExchange> {
  const noPeers = await whyNoPeers(cards);
  if (!canBeTimed(cards)) return { path: noPeers === undefined ? "peers" : "host", noPeers };
  const host = await exchangeTime(cards);
  if (noPeers !== undefined) return { path: "host", seconds: host, noPeers };
  const peers = await exchangeTime(cards, { path: "peers" });
  if (peers <= host) return { path: "peers", seconds: peers };
  const microseconds = (peers * 1e6).toFixed(1);
  return { path: "host", seconds: host, noPeers: `that takes ${microseconds} µs` };
}

async function whyNoPeers(cards: readonly OpenedCard[]): Promise<string | undefined> {
  try {
    for (const size of CHECKED) await checkExchange(cards, { ...size, path: "peers" });
    return undefined;
  } catch (error) {
    if (isDeviceLoss(error)) throw error;
    return asM40Error(error).message;
  }
}
