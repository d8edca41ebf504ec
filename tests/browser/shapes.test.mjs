// What the browser keeps, and what people type, can be of any shape; the page works on.
import assert from "node:assert/strict";
import { test } from "node:test";

import { running } from "./fixture.mjs";
import { open, skip, until } from "./page.mjs";
import { serve } from "./service.mjs";

const fixture = running();

for (const value of ["{}", "5", '"abc"', "[1]", "[null]", '[{"name": 1}]', "not json", "null"]) {
  test(`the browser keeps ${value}`, { skip }, async () => {
    const keys = ["promptd.presets", "promptd.turn.example", "promptd.look", "promptd.theme"];
    const page = await open(fixture.browser, `${fixture.service.inspector}/#/w/example/prompt`, { storage: Object.fromEntries(keys.map((key) => [key, value])) });
    await until(page, () => document.querySelector("[data-message-content]") && document.querySelector("[data-field]"));
    await page.done();
  });
}

for (const turn of [{ context_files: "SOUL.md" }, { user: "Dana" }, { knowledge: {} }, { inputs: [] }, { variables: "x" }, JSON.parse('{"__proto__": {"a": 1}}')]) {
  test(`a turn of another shape: ${JSON.stringify(turn)}`, { skip }, async () => {
    const storage = { "promptd.turn.example": JSON.stringify(turn) };
    const page = await open(fixture.browser, `${fixture.service.inspector}/#/w/example/prompt`, { storage });
    await until(page, () => document.querySelector("[data-field]") && document.querySelector("[data-message-content], [data-reason], .field-error:not(:empty)"));
    assert.equal(await page.evaluate(() => ({}).a), undefined);
    await page.done();
  });
}

test("a server that does not answer is said", { skip }, async () => {
  const hung = await serve();
  const page = await open(fixture.browser, `${hung.inspector}/#/w/example/prompt`);
  await until(page, () => document.querySelector("[data-live=connected]") && document.querySelector("[data-message-content]"));
  hung.signal("SIGSTOP");
  await page.select("#header select", "cache-first");
  await until(page, () => document.querySelector("[data-late]"));
  hung.signal("SIGCONT");
  await until(page, () => !document.querySelector("[data-late]"));
  await page.done();
  await hung.stop();
});

