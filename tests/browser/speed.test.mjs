// How soon the page is there.
import assert from "node:assert/strict";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { LARGE } from "./hostile.mjs";
import { launch, open, skip, until } from "./page.mjs";
import { ROOT, serve } from "./service.mjs";

const FIRST_VIEW_MS = 300;
const LARGE_VIEW_MS = 1_000;
const ASSETS_BYTES = 200_000;

let browser, service;
before(async () => {
  if (skip) return;
  browser = await launch();
  service = await serve({ workspaces: { large: LARGE } });
});
after(async () => {
  await browser?.close();
  await service?.stop();
});

// From the navigation to the first frame with the whole prompt, the best of three: others use the machine too.
async function view(id, bytes) {
  const took = [];
  for (let round = 0; round < 3; round += 1) {
    const page = await open(browser, `${service.inspector}/#/w/${id}/prompt`);
    const find = (bytes) => {
      const texts = [...document.querySelectorAll("[data-message-content]")].map((e) => e.textContent.length);
      if (texts.reduce((sum, one) => sum + one, 0) < bytes) return false;
      return new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now()))));
    };
    took.push(await until(page, find, bytes));
    await page.done();
  }
  console.log(`# ${id}: ${took.map(Math.round)} ms`);
  return Math.min(...took);
}

test("the example's first view", { skip }, async () => {
  const took = await view("example", 1_000);
  assert.ok(took < FIRST_VIEW_MS, `${took} ms`);
});

test("a prompt of a million characters", { skip }, async () => {
  const took = await view("large", 800_000);
  assert.ok(took < LARGE_VIEW_MS, `${took} ms`);
});

test("the assets are small", () => {
  const folder = join(ROOT, "crates/promptd-inspector/assets");
  const files = readdirSync(folder, { recursive: true }).map((file) => statSync(join(folder, file)));
  const bytes = files.filter((file) => file.isFile()).reduce((sum, file) => sum + file.size, 0);
  assert.ok(bytes < ASSETS_BYTES, `${bytes} bytes`);
});
