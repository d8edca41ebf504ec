// How soon the page is there.
import assert from "node:assert/strict";
import { test } from "node:test";

import { running } from "./fixture.mjs";
import { LARGE } from "./hostile.mjs";
import { open, skip, until } from "./page.mjs";

const FIRST_VIEW_MS = 300;
const LARGE_VIEW_MS = 1_000;
const ASSETS_BYTES = 200_000;

const fixture = running({ workspaces: { large: LARGE } });

// From the navigation to the first frame with the whole prompt, the best of ten: others use the machine too.
async function view(id, bytes) {
  const took = [];
  for (let round = 0; round < 10; round += 1) {
    const page = await open(fixture.browser, `${fixture.service.inspector}/#/w/${id}/prompt`);
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

test("what the page loads is small", { skip }, async () => {
  const page = await open(fixture.browser, `${fixture.service.inspector}/#/w/example/prompt`);
  await until(page, () => document.querySelector("[data-message-content]"));
  const bytes = await page.evaluate(() => {
    const loaded = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
    return loaded.filter((one) => !one.name.includes("/promptd.v1.")).reduce((sum, one) => sum + one.encodedBodySize, 0);
  });
  console.log(`# loaded: ${bytes} bytes`);
  assert.ok(bytes > 0 && bytes < ASSETS_BYTES, `${bytes} bytes`);
  await page.done();
});
