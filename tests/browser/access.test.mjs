// Every view, by axe's rules, in light and dark, wide and narrow; and by the keyboard alone.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";

import { running } from "./fixture.mjs";
import { HOSTILE } from "./hostile.mjs";
import { memoryWith, startModel } from "./model.mjs";
import { open, skip, until } from "./page.mjs";
import { call } from "./service.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const VIEWS = ["prompt", "compare", "findings", "skills", "profiles", "history", "sent", "reply", "sessions", "sessions?session=said", "recall?query=berth", "context", "notes"];
const SHAPES = [
  { scheme: "light", width: 1280 },
  { scheme: "dark", width: 1280 },
  { scheme: "light", width: 360 },
  { scheme: "dark", width: 360 },
];

const model = await startModel("w".repeat(300));
after(() => model.stop());
const NOTES = Object.fromEntries([1, 2, 3].map((day) => [`notes/2026-03-0${day}.md`, "It rained. ".repeat(100)]));
const fixture = running({ workspaces: { hostile: { ...HOSTILE, ...NOTES } }, settings: { memory: memoryWith(model) } }, async ({ inspector }) => {
  const roles = ["ROLE_USER", "ROLE_ASSISTANT", "ROLE_SYSTEM"];
  const messages = Array.from({ length: 60 }, (_, index) => ({ id: String(index), role: roles[index % 3], name: "Dana", content: `Is berth ${index} free? ${"w".repeat(400)}` }));
  const ask = async (method, request) => {
    const { status, answer } = await call(inspector, `SessionService/${method}`, { workspaceId: "hostile", ...request });
    assert.equal(status, 200);
    return answer;
  };
  await ask("AppendMessages", { sessionId: "said", messages });
  // Until there is a segment that sums others up.
  for (let parent; !parent; await wait(500)) {
    const { segments = [] } = await ask("ListSegments", { sessionId: "said" });
    parent = segments.find(({ segment }) => segment.level > 0 && segment.summary)?.segment;
    const child = segments.find(({ segment }) => segment.parentId === parent?.id)?.segment;
    if (parent) VIEWS.push("segments?session=said", `segments?session=said&segment=${child.id}`);
  }
  // And a summary of notes.
  await call(inspector, "PromptService/AssemblePrompt", { workspaceId: "hostile", profile: "kern", turn: { sessionId: "said" } });
  while (!(await ask("ListNotesSummaries", {})).summaries?.length) await wait(100);
});

// What axe finds once the view has settled: nothing on the way to it.
async function violations(page, address) {
  const view = address.split("?")[0];
  await until(page, (view) => document.querySelector(`[data-view=${view}] *`), view);
  await page.waitForNetworkIdle({ idleTime: 100, concurrency: 1 }); // the watch stays open
  await page.evaluate(AXE);
  const found = await page.evaluate(async () => {
    const { violations } = await axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] });
    return violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => node.target.join(" ")).join(", ")}`);
  });
  return found;
}

for (const shape of SHAPES) {
  test(`no violations, ${shape.scheme} at ${shape.width} px`, { skip }, async () => {
    const found = [];
    for (const view of [...VIEWS, "workspaces"]) {
      const address = view === "workspaces" ? "#/" : `#/w/hostile/${view}`;
      const page = await open(fixture.browser, `${fixture.service.inspector}/${address}`, shape);
      for (const one of await violations(page, view)) found.push(`${view}: ${one}`);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (overflow > 0) found.push(`${view}: ${overflow} px beyond the window`);
      await page.done();
    }
    assert.deepEqual(found, []);
  });
}

test("tabs, views and the source of a text by the keyboard", { skip }, async () => {
  const page = await open(fixture.browser, `${fixture.service.inspector}/#/w/example/prompt`);
  await until(page, () => document.querySelector("[data-message-content]"));
  await page.focus("#tabs [aria-current=page], #tabs [aria-selected=true]");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  await until(page, () => !document.querySelector("[data-view=prompt]"));
  await page.focus("#tabs [aria-current=page], #tabs [aria-selected=true]");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("Enter");
  await until(page, () => document.querySelector("[data-view=prompt] [data-message-content]"));
  await page.focus("[data-message-content]");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await until(page, () => document.querySelector("#drawer:not([hidden])"));
  await page.keyboard.press("Escape");
  await until(page, () => document.querySelector("#drawer[hidden]"));
  await page.done();
});
