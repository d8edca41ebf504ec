// How soon the page is there.
import assert from "node:assert/strict";
import { test } from "node:test";

import { bare } from "./bare.mjs";
import { running } from "./fixture.mjs";
import { LARGE } from "./hostile.mjs";
import { open, skip, until } from "./page.mjs";

const FIRST_VIEW_MS = 300;
const LARGE_VIEW_MS = 1_000;
const MOST_OF_BARE = 2.5; // where the machine is too slow for that: times the bare page, in the same rounds
const ASSETS_BYTES = 200_000;
const ROUNDS = 10;

const fixture = running({ workspaces: { large: LARGE } });

// From the navigation to the first frame with the whole prompt.
async function view(address, chars) {
  const page = await open(fixture.browser, address);
  const find = (chars) => {
    const texts = [...document.querySelectorAll("[data-message-content]")].map((e) => e.textContent.length);
    if (texts.reduce((sum, one) => sum + one, 0) < chars) return false;
    return new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now()))));
  };
  const took = await until(page, find, chars);
  await page.done();
  return took;
}

// The best of the rounds, as others use the machine too.
async function holds(id, chars, target) {
  const { inspector } = fixture.service;
  const ruler = await bare(inspector, id);
  const ours = [];
  const bares = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    ours.push(await view(`${inspector}/#/w/${id}/prompt`, chars));
    bares.push(await view(ruler.address, chars));
  }
  ruler.stop();
  console.log(`# ${id}: ${ours.map(Math.round)} ms; bare: ${bares.map(Math.round)} ms`);
  const [took, most] = [Math.min(...ours), Math.max(target, MOST_OF_BARE * Math.min(...bares))];
  assert.ok(took < most, `${took} ms of ${most} ms`);
}

test("the example's first view", { skip }, () => holds("example", 1_000, FIRST_VIEW_MS));

test("a prompt of a million characters", { skip }, () => holds("large", 800_000, LARGE_VIEW_MS));

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
