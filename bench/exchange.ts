/**
 * How long cards take to exchange rows of given widths, measured as where a model is split over them:
 * `deno run -A bench/exchange.ts --device cuda:0,1 [--columns 4096,14336] [--rows 1,8,32]`, from card to card and
 * through the host's memory.
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { parseDeviceList } from "../engine/device/device_list.ts";
import { asM40Error } from "../engine/errors.ts";
import { chooseExchange } from "../engine/parallel/exchange_choice.ts";
import { exchangeTime } from "../engine/parallel/exchange_speed.ts";
import { closeCards, openCards } from "../engine/parallel/opened_card.ts";

const args = parseArgs(Deno.args, {
  string: ["device", "columns", "rows"],
  default: { device: "cuda:0,1", columns: "4096", rows: "1" },
});
const numbers = (text: string) => text.split(",").map(Number);
const cards = await openCards(parseDeviceList(args.device), { deviceProcess: true });
try {
  const { path, noPeers } = await chooseExchange(cards);
  console.log(
    `chosen: ${path}${noPeers === undefined ? "" : ` (not from card to card: ${noPeers})`}`,
  );
  for (const columns of numbers(args.columns)) {
    for (const rows of numbers(args.rows)) {
      for (const path of ["peers", "host"] as const) {
        try {
          const seconds = await exchangeTime(cards, { columns, rows, path });
          const microseconds = (seconds * 1e6).toFixed(2);
          console.log(`${path}: ${rows} x ${columns} values: ${microseconds} us an exchange`);
        } catch (error) {
          console.log(`${path}: ${asM40Error(error).message}`);
        }
      }
    }
  }
} finally {
  await closeCards(cards);
}
