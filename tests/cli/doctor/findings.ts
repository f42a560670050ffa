/** Every finding of `m40 doctor` about cards that are there, and the machine around them, provoked by a driver that says so. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { asText } from "../../../cli/doctor/report.ts";
import type { Level } from "../../../cli/doctor/finding.ts";
import { check, findOn, findOnCard, options } from "./finding.ts";
import { kernelDriver, M40, type Machine, SOUND, takeEmulatedDriver } from "./fixture.ts";

await takeEmulatedDriver();

Deno.test(
  "doctor: a sound machine has nothing to do, and says what there is",
  options,
  async () => {
    const found = await findOn(SOUND);
    for (const { area, name, level, says } of found) {
      assert(level === "fine" || level === "note", `${area}.${name} is ${level}: ${says}`);
    }
    check(found, "driver", "fine", /^NVIDIA driver 450\.248\.02\.$/);
    const usable = check(
      found,
      "usable",
      "fine",
      /^Tesla M40 24GB can be used, and 23\.0 GiB of its 24\.0/,
    );
    assertEquals(usable.values?.free_bytes, 23 * 2 ** 30);
    check(found, "bandwidth", "fine", /copied at \d+ GB\/s/);
    check(found, "ecc_off", "fine", /is off/);
    check(found, "memory", "fine", /no errors/);
    check(found, "clocks", "fine", /1114 MHz of 1114; nothing holds them back/);
    check(found, "temperature", "fine", /41 °C.* 89 °C/);
    check(found, "vectors", "fine", /vector units/);
    check(found, "folder", "fine", /GiB free/);
    check(found, "free", "fine", /free for m40 serve/);
    const { values } = found.find(({ area }) => area === "pcie")!;
    assertEquals([values?.generation, values?.width], [3, 16]);
    assert(Number(values?.to_device_bytes_per_second) > 0);
  },
);

/** The machine, what the driver says, and what must be found: its name, level and sentence. */
const CASES: Record<
  string,
  [
    Partial<Machine>,
    nvml: string,
    name: string,
    level: Level,
    says: RegExp,
    Record<string, string>?,
  ]
> = {
  "a driver that is too new for the card": [
    { kernelDriver: kernelDriver("590.44.01") },
    "driver=590.44.01,devices=0",
    "driver_too_new",
    "not_usable",
    /590\.44\.01 is too new for this card: 580 is the last/,
    { M40_EMULATION_DEVICES: "0" },
  ],
  "the last driver for the card": [
    { kernelDriver: kernelDriver("580.95.05") },
    "driver=580.95.05",
    "driver",
    "fine",
    /580\.95\.05; it is the last branch/,
  ],
  "a driver that is too old": [
    { kernelDriver: kernelDriver("440.100") },
    "driver=440.100",
    "driver_too_old",
    "not_usable",
    /440\.100 is too old/,
    { M40_EMULATION_DRIVER: "10020" },
  ],
  "the open kernel module": [
    { kernelDriver: kernelDriver("580.95.05", true) },
    "devices=0",
    "open_module",
    "not_usable",
    /open module/,
    { M40_EMULATION_DEVICES: "0" },
  ],
  "a card older than Maxwell": [
    { cards: [0x102d] },
    "capability=37",
    "card_too_old",
    "not_usable",
    /older than Maxwell/,
    { M40_EMULATION_CAPABILITY: "37" },
  ],
  "the driver and its libraries of two versions": [
    {},
    "init=18",
    "mismatch",
    "not_usable",
    /^The kernel runs driver 450\.248\.02, and the driver's libraries are of another one/,
    { M40_EMULATION_DEVICES: "0" },
  ],
  "a driver that does not let this user ask": [
    {},
    "init=4",
    "forbidden",
    "not_usable",
    /does not let this user/,
    { M40_EMULATION_DEVICES: "0" },
  ],
  "no power": [{}, "handle=8", "no_power", "not_usable", /no power/, {
    M40_EMULATION_DEVICES: "0",
  }],
  "a card that fell off its bus": [
    {},
    "handle=15",
    "lost",
    "not_usable",
    /fell off its bus/,
    { M40_EMULATION_DEVICES: "0" },
  ],
  "a card that gives no access": [
    {},
    "handle=4",
    "no_answer",
    "not_usable",
    /NVML 4/,
    { M40_EMULATION_DEVICES: "0" },
  ],
  "compute mode prohibited": [{}, "compute_mode=2", "prohibited", "not_usable", /Prohibited/],
  "compute mode exclusive, taken": [
    { programs: { 4242: "blender" } },
    "compute_mode=3,programs=4242:512",
    "exclusive",
    "not_usable",
    /one program alone use it, and blender \(512\.0 MiB\) does/,
  ],
  "compute mode exclusive, free": [{}, "compute_mode=3", "exclusive", "note", /one program alone/],
  "other programs' memory": [
    { programs: { 4242: "python3" } },
    "used_mib=12288,programs=4242:12000;77:100",
    "others_memory",
    "to_do",
    /12\.0 GiB of its 24\.0 GiB are free: python3 \(11\.7 GiB\) and a program \(100\.0 MiB\) have/,
  ],
  "no memory left": [
    {},
    "used_mib=24000",
    "others_memory",
    "not_usable",
    /other programs have the rest/,
  ],
  "m40 itself on the card": [
    { programs: { 4242: "m40" } },
    "used_mib=24000,programs=4242:23000",
    "m40_has_it",
    "note",
    /m40 \(22\.5 GiB\) has the rest/,
  ],
  "ECC": [
    {},
    "ecc=1",
    "ecc_on",
    "note",
    /takes 1\.6 GiB of the memory \(a sixteenth\), and some of the/,
  ],
  "ECC that is about to change": [
    {},
    "ecc=1,ecc_next=0",
    "ecc_changes",
    "to_do",
    /on, and will be off/,
  ],
  "four lanes": [{}, "pcie_width=4", "few_lanes", "to_do", /under load is .*x4.* 3\.9 GB\/s/],
  "eight lanes": [{}, "pcie_width=8", "narrow", "note", /x8 .*fewer lanes/],
  "a link of the first generation under load": [
    {},
    "pcie_generation=1",
    "slow_link",
    "to_do",
    /generation 1, x16 \(card and slot: generation 3/,
  ],
  "packets sent again": [{}, "pcie_replays=123456", "replays", "to_do", /^123456 packets/],
  "heat that lowers the clocks": [{}, "throttle=72", "hardware_heat", "to_do", /too hot/],
  "heat that the driver sees": [{}, "throttle=32", "driver_heat", "to_do", /driver has lowered/],
  "power brake": [{}, "throttle=136", "power_brake", "to_do", /power supply asks/],
  "hardware slowdown without a word why": [
    {},
    "throttle=8",
    "hardware",
    "to_do",
    /heat or for its power/,
  ],
  "sync boost": [{}, "throttle=16", "sync_boost", "to_do", /slowest card of a group/],
  "the card's own power limit": [{}, "throttle=4", "power_limit", "note", /power limit/],
  "a lowered power limit that holds it back": [
    {},
    "throttle=4,power_limit=180000",
    "power_limit",
    "to_do",
    /held back by the power limit/,
  ],
  "a lowered power limit": [{}, "power_limit=180000", "power_limited", "note", /180 W; .* 250 W/],
  "lower clocks than the card can do": [
    {},
    "set_clock=948",
    "clocks_set",
    "note",
    /948 MHz of the 1114 .* 18% faster/,
  ],
  "a driver that goes to sleep": [{}, "persistence=0", "persistence_off", "note", /goes to sleep/],
  "a hot card": [
    {},
    "",
    "hot",
    "to_do",
    /86 °C.* at 89 °C/,
    { M40_EMULATION_TEMPERATURE: "86" },
  ],
  "a card that is warm doing nothing": [
    {},
    "throttle=1",
    "warm_idle",
    "to_do",
    /66 °C doing nothing/,
    { M40_EMULATION_TEMPERATURE: "66" },
  ],
  "errors that were not corrected": [{}, "uncorrected=2", "uncorrected", "to_do", /^2 errors/],
  "pages to be retired": [{}, "retirement_pending=1", "pending", "to_do", /next restart/],
  "a card that is worn out": [
    {},
    "retired=60,retired_uncorrected=90",
    "worn_out",
    "to_do",
    /^150 pages/,
  ],
  "errors that were corrected": [
    {},
    "corrected=7,retired=1,lifetime_uncorrected=1",
    "memory",
    "note",
    /1 page of it out of use .*7 errors corrected .*1 error not corrected in the card's life/,
  ],
};

for (const [what, [machine, nvml, name, level, says, variables]] of Object.entries(CASES)) {
  Deno.test(`doctor finds: ${what}`, options, async () => {
    // The library is initialised once in a process.
    const find = nvml.startsWith("init=") ? findOn : findOnCard;
    check(await find({ ...SOUND, ...machine }, nvml, variables), name, level, says);
  });
}

Deno.test(
  "doctor under load: how hot it gets, and what holds the clocks back",
  options,
  async () => {
    const cool = await findOnCard(SOUND, "throttle=4", {}, 1);
    const load = check(
      cool,
      "load",
      "fine",
      /^After 1 s of load: 41 °C, 183 W, 1114 to 1114 MHz; its power/,
    );
    assert(Number(load.values?.samples) >= 1);
    const hot = await findOnCard(
      SOUND,
      "throttle=64,clock=324",
      { M40_EMULATION_TEMPERATURE: "90" },
      1,
    );
    check(hot, "hot_under_load", "to_do", /90 °C.* 324 to 324 MHz; heat lowered its clocks/);
  },
);

const TWO = { M40_EMULATION_DEVICES: "2" };
const TWO_CARDS: Machine = { ...SOUND, cards: [M40, M40] };

Deno.test("doctor looks at every card, and says of which a finding is", options, async () => {
  const nvml = "devices=2,1:pcie_width=4,1:temperature=88,0:ecc=1";
  const found = await findOnCard(TWO_CARDS, nvml, TWO, 1);
  const cardsWith = (name: string) =>
    found.filter((one) => one.name === name).map(({ card }) => card);
  assertEquals(cardsWith("usable"), ["cuda:0", "cuda:1"]);
  assertEquals(cardsWith("few_lanes"), ["cuda:1"]);
  assertEquals(cardsWith("hot"), ["cuda:1"]);
  assertEquals(cardsWith("ecc_on"), ["cuda:0"]);
  assertEquals([cardsWith("load"), cardsWith("hot_under_load")], [["cuda:0"], ["cuda:1"]]);
  // The driver is that of all.
  assertEquals(cardsWith("driver"), [undefined]);
  const text = asText(found);
  assertMatch(text, /\n {2}to do {3}cuda:1: The link under load is PCIe generation 3, x4/);
  assertMatch(text, /\n {2}ok {6}cuda:0: Tesla M40 24GB can be used/);
});

Deno.test("doctor looks at the card that is named alone", options, async () => {
  const nvml = "devices=2,0:pcie_width=4,1:temperature=88";
  const found = await findOnCard(TWO_CARDS, nvml, TWO, 0, 1);
  assertEquals(found.filter(({ name }) => name === "usable").length, 1);
  check(found, "hot", "to_do", /^The card has 88 °C/);
  // What copies make of the link depends on the machine.
  assertEquals(found.filter(({ name }) => name === "few_lanes"), []);
  assertEquals(found.filter(({ card }) => card !== undefined), []);
  const none = await findOnCard(SOUND, "", {}, 0, 1);
  check(none, "not_usable", "not_usable", /there is no device cuda:1; CUDA has 1/);
  assertEquals(none.filter(({ area }) => area === "heat" || area === "pcie"), []);
});

Deno.test(
  "doctor reports a card that fell off its bus while another one computes",
  options,
  async () => {
    const found = await findOnCard(TWO_CARDS, "devices=2,1:handle=15");
    const lost = check(found, "lost", "not_usable", /fell off its bus/);
    assertEquals(lost.card, "card 1 of nvidia-smi");
    assertEquals(check(found, "usable", "fine", /can be used/).card, "cuda:0");
    assertMatch(asText(found), /\n\nm40 cannot use card 1 of nvidia-smi as it is\.\n$/);
  },
);
