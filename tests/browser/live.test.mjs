// An edit on disk, until it is on the page.
import assert from "node:assert/strict";
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { after, before, test } from "node:test";

import { launch, open, skip, until } from "./page.mjs";
import { serve } from "./service.mjs";

// `PROMPTD_BROWSER_SAVES=100 just browser live` for the figure of docs/operating.md, on a machine that does nothing else.
const LONG = process.env.PROMPTD_BROWSER_SAVES;
const SAVES = Number(LONG ?? 20);
// Of 99 saves in 100 in the long form, and of every second one otherwise.
const VISIBLE_MS = 200;

let browser;
before(async () => {
  if (!skip) browser = await launch();
});
after(() => browser?.close());

// The example's prompt, once the page follows its saves.
async function followed(service) {
  const page = await open(browser, `${service.inspector}/#/w/example/prompt`);
  await until(page, () => document.querySelector("[data-live=connected]") && document.querySelector("[data-message-content]"));
  return page;
}

const appears = (page, text) =>
  page.evaluate(
    (text) =>
      new Promise((resolve) => {
        const look = () => {
          const found = [...document.querySelectorAll("[data-message-content]")].some((e) => e.textContent.includes(text));
          if (found) requestAnimationFrame(() => resolve(Date.now()));
          return found;
        };
        if (look()) return;
        const observer = new MutationObserver(() => look() && observer.disconnect());
        observer.observe(document.body, { subtree: true, childList: true, characterData: true });
      }),
    text,
  );

test("a save is visible at once", { skip }, async () => {
  const service = await serve();
  const page = await followed(service);
  const took = [];
  for (let save = 0; save < SAVES; save += 1) {
    const text = `Save number ${save} of this page.`;
    const visible = appears(page, text);
    const began = Date.now();
    writeFileSync(`${service.path("example", "SOUL.md")}.new`, text);
    renameSync(`${service.path("example", "SOUL.md")}.new`, service.path("example", "SOUL.md"));
    took.push((await visible) - began);
  }
  took.sort((a, b) => a - b);
  const [median, p99] = [took[took.length >> 1], took[Math.ceil(took.length * 0.99) - 1]];
  console.log(`# saves ${SAVES}: median ${median} ms, p99 ${p99} ms`);
  assert.ok((LONG ? p99 : median) <= VISIBLE_MS, `${took}`);
  await page.done();
  await service.stop();
});

test("a save says what it changed, and leads to the comparison", { skip }, async () => {
  const service = await serve();
  const page = await followed(service);
  const path = service.path("example", "SOUL.md");
  const text = readFileSync(path, "utf8");
  writeFileSync(path, `${text}Twelve chars`);
  const by = await until(page, () => document.querySelector('[data-row="workspace_context/SOUL.md"] [data-changed]')?.dataset.changed);
  assert.equal(by, String(`${text}Twelve chars`.trim().length - text.trim().length));
  assert.equal(await page.$$eval("[data-changed]", (all) => all.length), 1);
  await page.click("[data-tool=change]");
  await until(page, () => document.querySelector('[data-diff="workspace_context/SOUL.md"]')?.textContent.includes("Twelve chars"));
  await page.done();
  await service.stop();
});

test("a save that breaks a file is shown beside what stays in use", { skip }, async () => {
  const service = await serve();
  const page = await followed(service);
  const before = await page.$$eval("[data-section]", (all) => all.map((e) => e.dataset.section));
  writeFileSync(service.path("example", "workspace.yaml"), "agent: {name: [1\n");
  const said = await until(page, () => {
    const banner = document.getElementById("banner").textContent;
    return /last good/.test(banner) && banner;
  });
  assert.match(said, /workspace\.yaml/);
  assert.deepEqual(await page.$$eval("[data-section]", (all) => all.map((e) => e.dataset.section)), before);
  writeFileSync(service.path("example", "workspace.yaml"), "agent: {name: Repaired}\n");
  await until(page, () => document.getElementById("banner").textContent === "");
  await page.done();
  await service.stop();
});

test("a server that goes and comes back is found again, and a workspace that goes is said", { skip }, async () => {
  const service = await serve({ workspaces: { brief: { "AGENTS.md": "Here for a while." } } });
  const page = await open(browser, `${service.inspector}/#/w/brief/prompt`);
  await until(page, () => document.querySelector("[data-live=connected]"));
  rmSync(service.path("brief", "."), { recursive: true });
  await until(page, () => document.querySelector("[data-live=gone]"));
  await page.done();
  const other = await open(browser, `${service.inspector}/#/w/example/prompt`);
  await until(other, () => document.querySelector("[data-live=connected]"));
  await service.stop();
  await until(other, () => document.querySelector("[data-live=reconnecting]"));
  await other.close();
});
