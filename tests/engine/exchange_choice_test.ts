import { assert, assertEquals, assertMatch } from "@std/assert";
import { chooseExchange } from "../../engine/parallel/exchange_choice.ts";
import { closeCards, openCards } from "../../engine/parallel/opened_card.ts";
import { BACKEND } from "../fixtures/device_harness.ts";
import { withEnvironment } from "../fixtures/emulated_environment.ts";

// How rows are exchanged, from card to card or through host memory: tried on the actual cards.

async function chosen(device: string, deviceProcess: boolean) {
  const cards = await openCards(device.split(" "), { deviceProcess });
  try {
    return await chooseExchange(cards);
  } finally {
    await closeCards(cards);
  }
}

Deno.test({
  ignore: BACKEND !== "cpu",
  name: "cards of the CPU library exchange rows through the host's memory, which is said",
  fn: async () => {
    const { path, noPeers } = await chosen("cpu cpu", true);
    assertEquals([path, noPeers], ["host", "the CPU's memory is the host's: wanted no inboxes"]);
  },
});

const TWO = { M40_EMULATION_DEVICES: "2" };

for (
  const [what, deviceProcess] of [["processes of their own", true], ["one process", false]] as const
) {
  const test = {
    ignore: BACKEND !== "emulated",
    name: `cards in ${what}`,
  };
  Deno.test({
    ...test,
    name: `${test.name} that reach each other's memory exchange rows from card to card`,
    fn: () =>
      withEnvironment(TWO, async () => {
        const found = await chosen("emulated:0 emulated:1", deviceProcess);
        assertEquals(found, { path: "peers", noPeers: undefined });
      }),
  });

  Deno.test({
    ...test,
    name:
      `${test.name} that do not reach each other's memory exchange rows through the host's, and why is said`,
    fn: () =>
      withEnvironment({ ...TWO, M40_EMULATION_NO_PEERS: "1" }, async () => {
        const { path, noPeers = "" } = await chosen("emulated:0 emulated:1", deviceProcess);
        assertEquals(path, "host");
        assertMatch(noPeers, /device \d: cudaErrorNotSupported/);
      }),
  });
}

Deno.test({
  ignore: BACKEND !== "emulated",
  name:
    "cards whose writes into each other's memory are lost, as behind an IOMMU, exchange rows through the host's, and soon",
  fn: () =>
    withEnvironment({ ...TWO, M40_EMULATION_PEERS_LOSE: "1" }, async () => {
      const begun = performance.now();
      const { path, noPeers = "" } = await chosen("emulated:0 emulated:1", true);
      assertEquals(path, "host");
      assertMatch(noPeers, /given up/);
      assert(performance.now() - begun < 15_000);
    }),
});
