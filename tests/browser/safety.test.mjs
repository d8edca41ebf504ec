// Who gets an answer from the inspector, and what the page keeps.
import assert from "node:assert/strict";
import { createServer, request as connect } from "node:http";
import { once } from "node:events";
import { after, before, test } from "node:test";

import { launch, open, skip, until } from "./page.mjs";
import { serve } from "./service.mjs";

const LIST = "/promptd.v1.WorkspaceService/ListWorkspaces";
const TOKEN = "a-token-of-at-least-thirty-two-characters";
const TOKENS = { tokens: [{ name: "page", token: TOKEN, workspaces: ["example"] }] };

let browser;
before(async () => {
  if (!skip) browser = await launch();
});
after(() => browser?.close());

// The status of a request that names any host and any origin, which fetch does not let one do.
async function status(origin, path, headers) {
  const { hostname, port } = new URL(origin);
  const called = path === LIST ? { method: "POST", headers: { "content-type": "application/json", ...headers } } : { headers };
  const request = connect({ hostname, port, path, ...called }).end(path === LIST ? "{}" : undefined);
  const [response] = await once(request, "response");
  response.resume();
  return response.statusCode;
}

test("another host, another origin and another site get nothing", async () => {
  const service = await serve();
  const { host, origin } = new URL(service.inspector);
  for (const path of ["/", "/js/main.js", "/info.json", "/schema/turn.json", LIST]) {
    assert.equal(await status(origin, path, { host }), 200, path);
    assert.equal(await status(origin, path, { host: "rebound.example" }), 403, path);
    assert.equal(await status(origin, path, { host, origin: "http://evil.example" }), 403, path);
    assert.equal(await status(origin, path, { host, origin: "null" }), 403, path);
    assert.equal(await status(origin, path, { host, "sec-fetch-site": "cross-site" }), 403, path);
  }
  await service.stop();
});

test("a page of another origin reads nothing", { skip }, async () => {
  const service = await serve();
  const site = createServer((_, response) => response.writeHead(200, { "content-type": "text/html" }).end("<p>evil"));
  site.listen(0, "127.0.0.1");
  await once(site, "listening");
  const page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${site.address().port}/`);
  const tried = await page.evaluate(
    async (inspector, list) => {
      const tries = [
        () => fetch(inspector + list),
        () => fetch(inspector + list, { method: "POST", headers: { "content-type": "application/json" }, body: "{}" }),
        () => fetch(inspector + list, { method: "POST", headers: { "content-type": "text/plain" }, body: "{}" }),
        () => fetch(inspector + "/info.json"),
        () => import(`${inspector}/js/main.js`),
      ];
      return Promise.all(tries.map((one) => one().then(() => "read", () => "refused")));
    },
    service.inspector,
    LIST,
  );
  assert.deepEqual(new Set(tried), new Set(["refused"]), tried.join());
  const framed = await page.evaluate(async (inspector) => {
    const frame = document.createElement("iframe");
    frame.src = inspector;
    document.body.append(frame);
    await new Promise((resolve) => frame.addEventListener("load", resolve));
    return frame.contentDocument === null; // an error page, which is of no origin
  }, service.inspector);
  assert.ok(framed);
  await page.close();
  site.close();
  await service.stop();
});

test("where tokens are configured, the page asks for one and keeps it nowhere", { skip }, async () => {
  const service = await serve({ tokens: TOKENS, workspaces: { hidden: { "AGENTS.md": "Not for this token." } } });
  const page = await open(browser, `${service.inspector}/`);
  const login = await until(page, () => document.querySelector("input[type=password]") && document.body.textContent);
  assert.doesNotMatch(login, /example|hidden/);
  await page.type("input[type=password]", "wrong");
  await page.keyboard.press("Enter");
  await until(page, () => /token/i.test(document.querySelector("form [role=alert]")?.textContent ?? ""));
  await page.$eval("input[type=password]", (input) => (input.value = ""));
  await page.type("input[type=password]", TOKEN);
  await page.keyboard.press("Enter");
  await until(page, () => document.querySelector('[data-workspace="example"], [data-message-content]'));
  const kept = await page.evaluate(() => ({
    text: document.documentElement.outerHTML,
    stored: JSON.stringify({ ...localStorage }) + JSON.stringify({ ...sessionStorage }) + document.cookie,
    address: location.href,
  }));
  for (const [where, text] of Object.entries(kept)) assert.ok(!text.includes(TOKEN), where);
  assert.doesNotMatch(kept.text, /data-workspace="hidden"/);
  await page.reload();
  await until(page, () => document.querySelector("input[type=password]"));
  await page.done();
  await service.stop();
});
