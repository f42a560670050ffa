import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import { parseDeviceList } from "./device_list.ts";
import { M40Error } from "../errors.ts";

Deno.test("a list of devices: a bare number takes the previous name", () => {
  const lists: [string, string[]][] = [
    ["auto", ["auto"]],
    ["cuda", ["cuda"]],
    ["cuda:0,1", ["cuda:0", "cuda:1"]],
    ["cuda:0,cuda:2", ["cuda:0", "cuda:2"]],
    ["cuda,3, 1", ["cuda", "cuda:3", "cuda:1"]],
    ["cpu,cpu", ["cpu", "cpu"]],
    ["emulated:0,1,cuda:1", ["emulated:0", "emulated:1", "cuda:1"]],
  ];
  for (const [list, names] of lists) assertEquals(parseDeviceList(list), names, list);
});

Deno.test("what is wrong with a list of devices is said", () => {
  const wrong: [string, RegExp][] = [
    ["", /a name is missing/],
    ["cuda:0,", /a name is missing at a comma/],
    ["0,1", /the number 0 has no name before it/],
    ["cpu,1", /the number 1 has no name before it/],
    ["auto,1", /auto chooses one device/],
    ["cpu,auto", /auto chooses one device/],
    ["cuda:1,01", /cuda:1 is there twice/],
    ["cuda,cuda:0", /cuda:0 is there twice/],
    ["emulated:1,1", /emulated:1 is there twice/],
    ["cuda:0,gpu", /"gpu" is not known; wanted auto, cpu, cuda or cuda:N/],
    ["cuda:0,99999", /"cuda:99999" is not known/],
  ];
  for (const [list, reason] of wrong) {
    const error = assertThrows(() => parseDeviceList(list), M40Error, undefined, list);
    assertEquals(error.code, "invalid_request");
    assertMatch(error.message, reason);
  }
});
