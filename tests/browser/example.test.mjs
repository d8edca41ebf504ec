// The page of examples/browser, as a reader runs it.
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { after, before, test } from "node:test";

import axe from "axe-core";

import { launch, skip, until } from "./page.mjs";
import { ROOT, serve } from "./service.mjs";

const TYPES = { html: "text/html", css: "text/css", js: "text/javascript" };
const WAIT_MS = 20_000;

let browser, files, origin;
before(async () => {
  if (skip) return;
  browser = await launch();
  files = createServer(async ({ url }, answer) => {
    const name = url === "/" ? "/index.html" : url;
    const text = await readFile(`${ROOT}examples/browser${name}`).catch(() => undefined);
    answer.writeHead(text ? 200 : 404, { "content-type": TYPES[name.split(".").at(-1)] ?? "text/plain" }).end(text);
  }).listen(0, "127.0.0.1");
  await once(files, "listening");
  origin = `http://localhost:${files.address().port}`;
});
after(async () => {
  await browser?.close();
  files?.close();
});

// The page, with its form filled in and sent.
async function assembled(service, fields = {}) {
  const page = await browser.newPage();
  page.setDefaultTimeout(WAIT_MS);
  await page.goto(origin);
  const values = { server: `http://${service.address}`, ...fields };
  for (const [name, value] of Object.entries(values)) {
    await page.$eval(`[name=${name}]`, (field, value) => (field.value = value), value);
  }
  await page.click("button");
  return page;
}

const status = (page, failed) =>
  until(page, (failed) => {
    const said = document.querySelector("[role=status]");
    return said.textContent && said.hasAttribute("data-failed") === failed && said.textContent;
  }, failed);

const shows = (page, text) =>
  until(page, (text) => document.querySelector("section").textContent.includes(text), text);

test("a prompt is shown, and shown anew after a save", { skip }, async () => {
  const service = await serve({ settings: { grpc: { web_origins: [origin] } } });
  const page = await assembled(service, { user: "Ines <b>Berg</b>", ephemeral: "Name the berth." });
  await shows(page, "Ines <b>Berg</b>");
  await shows(page, "Name the berth.");
  assert.match(await status(page, false), /^\d+ characters, \d+ findings, revision [0-9a-f]{8}$/);
  await writeFile(service.path("example", "SOUL.md"), "Saved while the page was open.\n");
  await shows(page, "Saved while the page was open.");
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  assert.deepEqual(violations.map((violation) => violation.id), []);
  await page.close();
  await service.stop();
});

test("what is wrong is said, with what to do", { skip }, async () => {
  const tokens = { tokens: [{ name: "page", token: "a-token-of-sixteen", workspaces: ["example"] }] };
  const service = await serve({ tokens, settings: { grpc: { web_origins: [origin] } } });
  const wrong = async (fields) => {
    const page = await assembled(service, fields);
    const said = await status(page, true);
    await page.close();
    return said;
  };
  assert.match(await wrong({}), /^TOKEN_MISSING: /);
  assert.match(await wrong({ token: "another-token-of-16" }), /^TOKEN_UNKNOWN: /);
  assert.match(await wrong({ token: "a-token-of-sixteen", workspace: "nowhere" }), /^WORKSPACE_FORBIDDEN: /);
  const page = await assembled(service, { token: "a-token-of-sixteen" });
  await shows(page, "Dana");
  await page.close();
  await service.stop();
});

test("an origin that is not listed, or a server that is not there, gets a hint", { skip }, async () => {
  const hint = /is promptd running, and is http:\/\/localhost:\d+ in its grpc.web_origins\?/;
  const service = await serve();
  const refused = await assembled(service);
  assert.match(await status(refused, true), hint);
  await refused.close();
  await service.stop();
  const gone = await assembled(service);
  assert.match(await status(gone, true), hint);
  await gone.close();
});
