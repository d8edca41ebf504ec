// Writes the pictures of docs/inspector.md, from a copy of workspace-example: `just screenshots`.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { launch, open, placeOf, until } from "./page.mjs";
import { ROOT, serve } from "./service.mjs";

const FOLDER = join(ROOT, "docs/images");
const TURN = {
  now: "2026-03-01T02:30:00Z",
  user: { name: "Dana" },
  channel: { name: "telegram", chat_type: "direct" },
  knowledge: [{ title: "Berth plan", content: "Berth 4 is closed until the crane has been inspected." }],
};

// A name, the address behind the workspace's, how the page is made, and what to do before the picture is taken.
const PICTURES = [
  ["prompt", "prompt", { width: 1440 }, pointAtSoul],
  ["edit", "history", { scheme: "dark" }, compareAnEdit],
  ["phone", "prompt", { width: 400, height: 800 }, async () => {}],
];

mkdirSync(FOLDER, { recursive: true });
const browser = await launch();
for (const [name, view, shape, prepare] of PICTURES) {
  const service = await serve();
  const storage = { "promptd.turn.example": JSON.stringify(TURN) };
  const page = await open(browser, `${service.inspector}/#/w/example/${view}`, { height: 800, ...shape, storage });
  await until(page, () => document.querySelector("[data-live=connected]"));
  await until(page, (view) => document.querySelector(`[data-view=${view}] :is([data-message-content], [data-revision])`), view);
  await prepare(page, service);
  await page.waitForNetworkIdle({ idleTime: 200, concurrency: 1 });
  await page.screenshot({ path: join(FOLDER, `inspector-${name}.png`) });
  await page.done();
  await service.stop();
}
await browser.close();

// Points at a sentence of SOUL.md, and opens the file there.
async function pointAtSoul(page) {
  const place = await placeOf(page, "workspace_context/SOUL.md", "seafarers");
  await page.mouse.move(place.x, place.y);
  await page.mouse.click(place.x, place.y);
  await until(page, () => document.querySelector("#drawer .here[data-line]"));
}

// Saves an edit of SOUL.md and compares the prompt with the one before.
async function compareAnEdit(page, service) {
  const path = service.path("example", "SOUL.md");
  writeFileSync(path, readFileSync(path, "utf8").replace(/^(.*)harbour(.*)$/m, "$1harbour and the marina$2"));
  await until(page, () => document.querySelectorAll("[data-revision]").length === 2);
  await page.click("[data-act^=before]");
  await until(page, () => document.querySelector("[data-diff]"));
}
