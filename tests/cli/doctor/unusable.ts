/** Every finding of `m40 doctor` about cards that are not there or cannot be used, provoked by a driver or by missing files. */
import { assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path";
import { examineCards } from "../../../cli/doctor/examine_card.ts";
import { KernelLibrary } from "../../../engine/device/library.ts";
import { check, findOn, findOnCard, options } from "./finding.ts";
import { M40, makeRoot, SOUND, takeEmulatedDriver } from "./fixture.ts";
import { withEnvironment } from "../../fixtures/emulated_environment.ts";

await takeEmulatedDriver();

const GONE = { M40_EMULATION_DEVICES: "0" };

Deno.test(
  "doctor reports a card that is not there, has no driver, or has another one",
  options,
  async () => {
    check(await findOnCard({}, "devices=0", GONE), "no_card", "not_usable", /^No card/);
    const bare = { cards: [M40] };
    check(await findOnCard(bare, "devices=0", GONE), "no_driver", "not_usable", /no driver for it/);
    const nouveau = { ...bare, boundTo: "nouveau" };
    check(
      await findOnCard(nouveau, "devices=0", GONE),
      "nouveau",
      "not_usable",
      /nouveau has the card/,
    );
    const passed = { ...bare, boundTo: "vfio-pci" };
    check(
      await findOnCard(passed, "devices=0", GONE),
      "passed_through",
      "not_usable",
      /virtual machine/,
    );
  },
);

Deno.test(
  "doctor reports a card whose memory is so full that CUDA has no room",
  options,
  async () => {
    const found = await findOnCard(SOUND, "", { M40_EMULATION_NO_CONTEXT: "1" });
    check(found, "no_memory", "not_usable", /^Other programs have all of the card's memory/);
  },
);

Deno.test(
  "doctor reports device files that are missing, in a container and outside",
  options,
  async () => {
    const outside = await findOnCard({ ...SOUND, nodes: [] }, "", GONE);
    check(outside, "no_device_files", "not_usable", /\/dev\/nvidia\* are not there/);
    const inside = await findOnCard({ ...SOUND, nodes: ["nvidiactl"], container: true }, "", GONE);
    const container = check(inside, "container", "not_usable", /container, and it was not given/);
    assertMatch(container.advice!, /--gpus all/);
    const half = await findOnCard({ ...SOUND, nodes: ["nvidiactl", "nvidia0"] }, "", GONE);
    check(half, "no_uvm", "not_usable", /\/dev\/nvidia-uvm is not there/);
    const last = half.findLast(({ area }) => area === "card")!;
    assertMatch(last.says, /^CUDA cannot use the card: no NVIDIA driver/);
  },
);

Deno.test(
  "doctor reports cards that CUDA_VISIBLE_DEVICES hides, and one that there is not",
  options,
  async () => {
    const hidden = await findOnCard(SOUND, "", { ...GONE, CUDA_VISIBLE_DEVICES: "" });
    check(hidden, "hidden", "not_usable", /CUDA_VISIBLE_DEVICES is set/);
    const plain = await findOnCard(SOUND, "", GONE);
    assertEquals(plain.find(({ name }) => name === "hidden"), undefined);
  },
);

Deno.test("doctor reports device files that are not this user's", {
  ...options,
  // Root may open everything.
  ignore: Deno.uid() === 0,
}, async () => {
  const root = await makeRoot(SOUND);
  await Deno.chmod(join(root, "dev/nvidia0"), 0);
  await withEnvironment({ ...GONE, M40_EMULATION_NVML: "" }, async () => {
    const open = () => KernelLibrary.find("cuda");
    const found = await examineCards({ root, device: 0, loadSeconds: 0, open });
    check(found, "no_permission", "not_usable", /may not open/);
  });
  await Deno.remove(root, { recursive: true });
});

Deno.test(
  "doctor without the driver's libraries, and without a kernel library",
  options,
  async () => {
    const folder = await Deno.makeTempDir();
    for (const name of ["libnvidia-ml.so.1", "libm40_cuda.so"]) {
      await Deno.writeTextFile(join(folder, name), "no library");
    }
    // The machine may have a driver's libraries; this one comes before them.
    const none = { ...GONE, LD_LIBRARY_PATH: folder };
    const found = await findOn({ ...SOUND, container: true }, "", none);
    const missing = check(found, "no_libraries", "not_usable", /libnvidia-ml\.so\.1/);
    assertMatch(missing.advice!, /container toolkit/);
    const broken = await findOn(SOUND, "", { M40_KERNELS: folder });
    check(broken, "library", "not_usable", /cannot be used: .*cannot be loaded/);
    await Deno.remove(folder, { recursive: true });
  },
);
