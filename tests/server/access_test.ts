// Which clients may ask: keys, the hosts that a local server answers to, and web pages of other origins.
import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { M40Error } from "../../engine/mod.ts";
import { MODEL, readError, sendRaw, startServer } from "../fixtures/server_fixture.ts";
import { appOf } from "../fixtures/fixed_model.ts";

Deno.test("with a key all but /health and /ready needs it, and only the right one passes", async () => {
  await using server = await startServer({ app: { apiKey: " sécret key\n" } });
  const get = (path: string, authorization?: string, method = "GET") => {
    const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
    return fetch(server.url + path, { method, headers });
  };
  const health = await get("/health");
  assertEquals([health.status, (await health.json()).status], [200, "ok"]);
  const ready = await get("/ready");
  assertEquals([ready.status, (await ready.json()).status], [200, "ok"]);
  const bytes = new TextEncoder().encode("sécret key");
  const wrong = [undefined, "", "Bearer", "Bearer ", "Bearer x", "Basic c2VjcmV0", "secret"];
  for (const authorization of [...wrong, "Bearer s\u00e9cret ke", "Bearer s\u00e9cret keyy"]) {
    const closed = ["/metrics", "/slots", "/v1/models", "/v1/models/x", "/unknown", "/health/"];
    for (const path of [...closed, "//health"]) {
      const response = await get(path, authorization);
      assertMatch(response.headers.get("www-authenticate") ?? "", /^Bearer/);
      assertEquals((await readError(response, 401)).code, "invalid_api_key");
    }
  }
  await readError(await get("/v1/completions", undefined, "OPTIONS"), 401);
  await readError(await server.post("/v1/completions", { prompt: "a" }), 401);
  const latin1 = String.fromCharCode(...bytes);
  const response = await get("/v1/models", `bearer ${latin1}`);
  assertEquals([response.status, (await response.json()).object], [200, "list"]);
});

Deno.test("a key in x-api-key is as good as one behind Bearer; a wrong one in it is none", async () => {
  await using server = await startServer({ app: { apiKey: "sécret" } });
  const get = (headers: Record<string, string>) => fetch(server.url + "/v1/models", { headers });
  const key = String.fromCharCode(...new TextEncoder().encode("sécret"));
  const right: Record<string, string>[] = [
    { "x-api-key": key },
    { "x-api-key": key, authorization: "Bearer x" },
  ];
  for (const headers of right) {
    const response = await get(headers);
    assertEquals([response.status, (await response.json()).object], [200, "list"]);
  }
  for (const wrong of ["", "s", "s\u00e9cret", key + "t", `Bearer ${key}`]) {
    const { code } = await readError(await get({ "x-api-key": wrong }), 401);
    assertEquals(code, "invalid_api_key");
  }
});

Deno.test("a key of spaces alone, which no request could bring, starts no server", async () => {
  await using server = await startServer();
  const { engine } = server;
  const error = assertThrows(
    () => appOf({ engine, modelName: MODEL, apiKey: " \t " }),
    M40Error,
  );
  assertEquals(error.code, "invalid_request");
});

Deno.test("on a loopback address only loopback hosts are answered (DNS rebinding)", async () => {
  await using server = await startServer();
  const ask = (host: string | undefined, version = "1.1") =>
    sendRaw(
      server.port,
      `GET /health HTTP/${version}\r\n${host === undefined ? "" : `Host: ${host}\r\n`}` +
        "Connection: close\r\n\r\n",
    );
  const own = ["localhost", "LOCALHOST:1", "127.0.0.1:80", "127.1.2.3", "[::1]:11434"];
  const absolute = ["localhost.", "Localhost.:80", "127.0.0.1."];
  for (const host of [...own, ...absolute, "app.localhost", "A.b.LocalHost.:11434"]) {
    assertMatch(await ask(host), /^HTTP\/1\.1 200 /, host);
  }
  assertMatch(await ask(undefined, "1.0"), /^HTTP\/1\.0 200 /);
  const hosts = [
    "evil.example",
    "evil.example:11434",
    "localhost.evil.example",
    "localhost..",
    ".localhost",
    "notlocalhost",
    "evil.example:80.localhost",
    "127.0.0.1.nip.io",
  ];
  for (const host of [...hosts, "10.0.0.1", "127.0.0.1@evil.example", "0x7f.1"]) {
    const answer = await ask(host);
    assertMatch(answer, /^HTTP\/1\.1 40[03] /, host);
    if (answer.startsWith("HTTP/1.1 403")) assertStringIncludes(answer, "forbidden_host");
  }
});

/** The status of an answer to a request for a host, and its code where it is an error. */
async function statusFor(port: number, host: string, headers = ""): Promise<string> {
  const answer = await sendRaw(
    port,
    `GET /v1/models HTTP/1.1\r\nHost: ${host}\r\n${headers}Connection: close\r\n\r\n`,
  );
  return answer.slice(9, 12) + (/"code":"(\w+)"/.exec(answer)?.[1] ?? "");
}

Deno.test("without a key no name is answered that a stranger could lead to the server (DNS rebinding)", async () => {
  const own = ["127.0.0.1", "10.0.0.1:80", "[fe80::1]:11434", "localhost", "gpu-box", "GPU-BOX:1"];
  const local = [Deno.hostname(), "gpu-box.local", "m40.internal.", "box.home.arpa:11434"];
  const foreign = ["evil.example", "127.0.0.1.nip.io", "a.evil.example:11434", "evil.localdomain"];
  for (const hostname of ["0.0.0.0", "192.168.1.5", "::"]) {
    await using server = await startServer({ app: { hostname } });
    for (const host of [...own, ...local]) {
      assertEquals(await statusFor(server.port, host), "200", `${hostname} ${host}`);
    }
    for (const host of foreign) {
      const answer = await statusFor(server.port, host);
      assertEquals(answer, "403forbidden_host", `${hostname} ${host}`);
      // What the browser takes for the page's own origin.
      const origin = `Origin: http://${host}\r\n`;
      assertEquals(await statusFor(server.port, host, origin), "403forbidden_host");
    }
  }
});

Deno.test("names that a server is given are answered, on a loopback address too; with a key any is elsewhere", async () => {
  for (const hostname of ["0.0.0.0", "127.0.0.1"]) {
    const app = { hostname, allowedHosts: ["gpu.example.com"] };
    await using server = await startServer({ app });
    for (const host of ["gpu.example.com", "GPU.Example.com.:11434"]) {
      assertEquals(await statusFor(server.port, host), "200");
    }
    for (const host of ["x.gpu.example.com", "example.com", "gpu.example.com.evil.example"]) {
      assertEquals(await statusFor(server.port, host), "403forbidden_host");
    }
    await using any = await startServer({ app: { hostname, allowedHosts: ["*"] } });
    assertEquals(await statusFor(any.port, "evil.example"), "200");
  }
  await using keyed = await startServer({ app: { hostname: "0.0.0.0", apiKey: "k" } });
  assertEquals(await statusFor(keyed.port, "gpu.example.com"), "401invalid_api_key");
  assertEquals(await statusFor(keyed.port, "gpu.example.com", "X-Api-Key: k\r\n"), "200");
});

Deno.test("web pages of other origins are refused, and no preflight is granted", async () => {
  await using server = await startServer();
  const ask = (method: string, origin: string, host = "localhost:1") =>
    sendRaw(
      server.port,
      `${method} /v1/models HTTP/1.1\r\nHost: ${host}\r\nOrigin: ${origin}\r\n` +
        "Connection: close\r\n\r\n",
    );
  for (const origin of ["https://evil.example", "http://localhost:3000", "null"]) {
    for (const method of ["GET", "OPTIONS"]) {
      const answer = await ask(method, origin);
      assertMatch(answer, /^HTTP\/1\.1 403 /);
      assertStringIncludes(answer, "forbidden_origin");
      assert(!/access-control/i.test(answer));
    }
  }
  for (const origin of ["http://localhost:1", "HTTP://LOCALHOST.:1", "vscode-file://vscode-app"]) {
    assertMatch(await ask("GET", origin), /^HTTP\/1\.1 200 /);
  }
  assertMatch(await ask("GET", "http://a.localhost:1", "A.localhost.:1"), /^HTTP\/1\.1 200 /);
  assertMatch(await ask("GET", "http://a.localhost:1", "b.localhost:1"), /^HTTP\/1\.1 403 /);
});
