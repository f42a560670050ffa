import { assert, assertEquals } from "@std/assert";
import { answered, browserTests, openPage, say } from "../fixtures/page_fixture.ts";
import { pieces, scriptedServer } from "../fixtures/scripted_answers.ts";
import { startChat } from "../fixtures/server_chat_fixture.ts";

/** Modules that run in the page; the policy lets nothing else in. */
const PROBE = await Deno.readTextFile(
  new URL("../fixtures/page_markdown_probe.js", import.meta.url),
);

const HOSTILE = `<script>globalThis.hacked = 1</script><img src=x onerror="globalThis.hacked=2">

[a](javascript:globalThis.hacked=3) [b](data:text/html,<script>1</script>) [c](vbscript:x) <javascript:alert(1)>
[d](JaVaScRiPt:alert(1)) [e](&#106;avascript:alert(1)) [f](//evil.example/x) [g](file:///etc/passwd)

![p](http://evil.example/pixel.png) ![q](data:image/svg+xml,<svg onload=alert(1)>) ![r](x "onerror=alert(1)")

<iframe src="http://evil.example"></iframe><style>@import "http://evil.example/x.css"</style>
<svg><use href="data:x#y"/></svg><math><maction actiontype="statusline#http://evil.example">x</maction></math>

| <b onmouseover=alert(1)>x</b> | y |
|---|---|
| <form action=http://evil.example><input></form> | z |

$\\href{javascript:alert(1)}{x}$ $\\url{http://evil.example}$ $\\includegraphics{http://evil.example/a.png}$
$\\class{evil}{x} \\style{background:url(http://evil.example)}{y} \\data{a=b}{z} \\htmlId{composer}{w}$
$\\def\\a{\\a\\a}\\a$ $\\rule{9999em}{9999em}$

\`\`\`"><script>globalThis.hacked=4</script>
</code></pre><script>globalThis.hacked=5</script>
\`\`\`

\`\`\`html
<script>globalThis.hacked=6</script><img src=x onerror=alert(1)>
\`\`\`

${"> ".repeat(400)}deep ${"- ".repeat(300)}deep

${"[".repeat(3000)}${"*a_".repeat(2000)}
`;

browserTests("the page's Markdown", {
  async "nothing that a model writes runs, loads or leads anywhere but to the web"(browser) {
    await using server = await startChat();
    await using scripted = scriptedServer(server, [
      (function* () {
        yield { reasoning_content: HOSTILE };
        yield* pieces(HOSTILE, 31);
      })(),
    ]);
    await using opened = await openPage(browser, scripted.url);
    const { page } = opened;
    await say(page, HOSTILE);
    await answered(page);
    await page.waitForTimeout(300);
    assertEquals(await page.evaluate("globalThis.hacked"), undefined);
    const elements = await page.evaluate(`[...new Set(Array.from(
      document.querySelectorAll("#transcript *"), (one) => one.localName))]`) as string[];
    for (const name of ["script", "img", "iframe", "style", "svg", "object", "embed", "input"]) {
      assert(!elements.includes(name), name);
    }
    const handlers = await page.evaluate(`Array.from(document.querySelectorAll("#transcript *"))
      .flatMap((one) => one.getAttributeNames()).filter((name) => /^on|^style$|^src/.test(name))`);
    assertEquals(handlers, []);
    const links = await page.evaluate(`Array.from(document.querySelectorAll("#transcript [href]"),
      (one) => [one.localName, one.protocol, one.rel, one.target].join(" "))`) as string[];
    assertEquals([...new Set(links)], ["a http: noopener noreferrer nofollow _blank"]);
    assertEquals(await page.locator("#composer").count(), 1);
  },

  async "what is shown does not depend on the pieces that the text came in"(browser) {
    await using server = await startChat();
    await using opened = await openPage(browser, server.url);
    const cases = Number(Deno.env.get("M40_FUZZ_CASES") ?? 600);
    const differences = await opened.page.evaluate(`${PROBE}; differences(${cases}, 5)`);
    assertEquals(differences, []);
  },

  async "the work for a piece follows from the piece, not from the answer before it"(browser) {
    await using server = await startChat();
    await using opened = await openPage(browser, server.url);
    const work = await opened.page.evaluate(`${PROBE}; workOfPieces()`) as Record<
      string,
      { short: number; long: number; nodes: number; changed: number }
    >;
    assertEquals(Object.keys(work).length, 7);
    for (const [kind, { short, long, nodes, changed }] of Object.entries(work)) {
      // Characters read for the costliest piece of an answer of 16,000 characters, and of one three times as long.
      assert(long <= 10_000, `${kind}: ${long}`);
      assert(long <= short + 300, `${kind}: ${short}, then ${long}`);
      assert(nodes > 0 && changed < 600, `${kind}: ${changed} nodes changed`);
    }
  },

  async "an answer of 10,000 tokens is shown whole, with code in colours and formulas set"(
    browser,
  ) {
    await using server = await startChat();
    const part = "Some **words** of it, $x^2$ and `code`.\n\n```js\nconst a = 1; // one\n```\n\n" +
      "- an item\n- another\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n";
    const text = part.repeat(Math.ceil(40_000 / part.length));
    await using scripted = scriptedServer(server, [pieces(text, 4)]);
    await using opened = await openPage(browser, scripted.url);
    const { page } = opened;
    await page.evaluate(`globalThis.long = [];
      new PerformanceObserver((list) => long.push(...list.getEntries().map((one) => Math.round(one.duration))))
        .observe({ type: "longtask" }); 0`);
    await say(page, "Much, please");
    await answered(page);
    const count = text.length / part.length;
    for (const selector of ["pre .hl-keyword", "pre .hl-comment", "math msup", "table", "ul"]) {
      assertEquals(await page.locator(`.content ${selector}`).count(), count, selector);
    }
    assertEquals(await page.locator(".content .plain-tail").count(), 0);
    const long = await page.evaluate("long") as number[];
    console.log(`tasks of over 50 ms: ${long.length}, the longest ${Math.max(0, ...long)} ms`);
  },
});
