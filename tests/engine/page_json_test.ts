import { assertEquals } from "@std/assert";
import { indented, parseExact } from "../../server/page/client/server/exact_json.js";

Deno.test("the page's JSON keeps numbers as they are written", () => {
  for (const text of ['{"a":[1234567890123456789,1.0,-0,1e400,0.5,7],"b":"1.0"}', "1.0", "[]"]) {
    assertEquals(JSON.stringify(parseExact(text)), text);
  }
});

Deno.test("the page shows a call's arguments as they are written, a value a line", () => {
  const text = '{"b": 1234567890123456789,"10":[1.0,{}, [ ]],"2":{"a\\"]{":"x, y: z"}}';
  assertEquals(
    indented(text),
    `{
  "b": 1234567890123456789,
  "10": [
    1.0,
    {},
    []
  ],
  "2": {
    "a\\"]{": "x, y: z"
  }
}`,
  );
  const plain = '{"a":[1,{"b":[],"c":{}},"d"],"e":null,"f":true}';
  assertEquals(indented(plain), JSON.stringify(JSON.parse(plain), null, 2));
  for (const broken of ['{"a": ', "", "{]", "nope"]) assertEquals(indented(broken), broken);
});
