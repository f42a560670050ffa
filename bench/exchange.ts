/**
 * How long cards take to exchange a row of 4096 values, as it is measured where a model is split over them:
 * `deno run -A bench/exchange.ts --device cuda:0,1`.
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { parseDeviceList } from "../engine/device/device_list.ts";
import { exchangeTime } from "../engine/exchange_speed.ts";
import { closeCards, openCards } from "../engine/opened_card.ts";

const { device } = parseArgs(Deno.args, { string: ["device"], default: { device: "cuda:0,1" } });
const cards = await openCards(parseDeviceList(device), { deviceProcess: true });
try {
  for (let i = 0; i < 3; i++) {
    console.log(`${(await exchangeTime(cards) * 1e6).toFixed(2)} us an exchange`);
  }
} finally {
  await closeCards(cards);
}
