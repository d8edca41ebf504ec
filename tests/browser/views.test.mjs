// What each view shows is what the service says.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { test } from "node:test";
import { promisify } from "node:util";

import { running } from "./fixture.mjs";
import { HOSTILE } from "./hostile.mjs";
import { open, placeOf, skip, until } from "./page.mjs";
import { call } from "./service.mjs";

const NOW = "2026-04-02T09:15:00Z";
const MANY = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`many-${i}`, { "AGENTS.md": `Number ${i}.` }]));
const HIDDEN = {
  "AGENTS.md": "Watch the tide.\n",
  "workspace.yaml": "skills: {blocklist: ['secret-*']}\n",
  "skills/open/SKILL.md": "---\nname: open\ndescription: Shown.\n---\nThe open text.\n",
  "skills/secret-one/SKILL.md": "---\nname: secret-one\ndescription: Not shown.\n---\nThe secret text.\n",
};

const fixture = running({ workspaces: { ...MANY, hidden: HIDDEN, hostile: HOSTILE } });

const visit = (path, options) => open(fixture.browser, `${fixture.service.inspector}/${path}`, options);
const texts = (page, selector) => page.$$eval(selector, (all) => all.map((element) => element.textContent));

test("point at a text, and its file opens at its line", { skip }, async () => {
  const page = await visit("#/w/example/prompt");
  await until(page, () => document.querySelector('[data-section="workspace_context/SOUL.md"]'));
  const { x, y } = await placeOf(page, "workspace_context/SOUL.md", "harbour");
  await page.mouse.move(x, y);
  await until(page, () => /SOUL\.md:\d+/.test(document.body.innerText));
  await page.mouse.click(x, y);
  const line = await until(page, () => document.querySelector("#drawer .here[data-line]")?.textContent);
  assert.match(line, /harbour/);
  await page.done();
});

test("workspaces are searched by the service, and listed in pages", { skip }, async () => {
  const page = await visit("#/");
  await until(page, () => document.querySelectorAll("[data-workspace]").length >= 100);
  await page.type("[data-view=workspaces] input[type=search]", "many-29");
  const wanted = (await call(fixture.service.inspector, "WorkspaceService/ListWorkspaces", { query: "many-29" })).answer.workspaces;
  const found = await until(page, (count) => {
    const all = [...document.querySelectorAll("[data-workspace]")].map((element) => element.dataset.workspace);
    return all.length === count && all;
  }, wanted.length);
  assert.deepEqual(found, wanted.map((one) => one.id));
  await page.done();
});

test("a skill is shown or hidden, and says by which rule", { skip }, async () => {
  const page = await visit("#/w/hidden/skills");
  await until(page, () => document.querySelectorAll("[data-skill]").length === 2);
  const shown = await page.$$eval("[data-skill]", (all) => all.map((e) => [e.dataset.skill, e.dataset.shown]));
  assert.deepEqual(shown, [["open", "true"], ["secret-one", "false"]]);
  const { skills } = (await call(fixture.service.inspector, "WorkspaceService/ListSkills", { workspaceId: "hidden" })).answer;
  const reason = skills.find((skill) => !skill.shown).hiddenReason;
  assert.ok((await texts(page, "[data-view=skills]")).join().includes(reason), reason);
  await page.click("[data-skill=open]");
  await until(page, () => document.body.innerText.includes("The open text."));
  await page.click("[data-skill=secret-one]");
  await until(page, (reason) => document.querySelector("[data-skill=secret-one][aria-current]") && document.body.innerText.includes(reason), reason);
  assert.ok(!(await page.evaluate(() => document.body.innerText)).includes("The secret text."));
  await page.done();
});

test("a profile's sections and inputs are those of the service", { skip }, async () => {
  const { profile } = (await call(fixture.service.inspector, "ProfileService/GetProfile", { name: "kern" })).answer;
  const page = await visit("#/w/example/profiles?profile=kern");
  const sections = await until(page, (count) => {
    const all = [...document.querySelectorAll("[data-profile-section]")].map((element) => element.dataset.profileSection);
    return all.length === count && all;
  }, profile.sections.length);
  assert.deepEqual(sections, profile.sections.map((section) => section.id));
  await page.done();
});

test("each save is a revision, with what changed, and is compared with the one before", { skip }, async () => {
  const page = await visit("#/w/hidden/history");
  await until(page, () => document.querySelectorAll("[data-revision]").length === 1);
  await until(page, () => document.querySelector("[data-live=connected]"));
  writeFileSync(fixture.service.path("hidden", "AGENTS.md"), "Watch the tides.\n");
  const said = await until(page, () => {
    const all = [...document.querySelectorAll("[data-revision]")];
    return all.length === 2 && all[0].textContent;
  });
  assert.match(said, /AGENTS\.md/);
  const { revisions } = (await call(fixture.service.inspector, "WorkspaceService/ListRevisions", { workspaceId: "hidden" })).answer;
  const shown = await page.$$eval("[data-revision]", (all) => all.map((element) => element.dataset.revision));
  assert.deepEqual(shown, revisions.map((one) => one.revision));
  await page.click("[data-revision] [data-act^=before]");
  const changed = await until(page, () => document.querySelector('[data-diff="workspace_context/AGENTS.md"]')?.textContent);
  assert.match(changed, /tides/);
  await page.done();
});

// JSON without what the view adds for people: line ends and indents. In a text it breaks the line at each line feed, too.
const bare = (json) => json.replaceAll("\\n", "").replaceAll(/\s/g, "");

test("each provider's fragment is the one that is sent, and the copied call makes it", { skip }, async () => {
  const storage = { "promptd.turn.example": JSON.stringify({ now: NOW, user: { name: "Dana's \"friend\" $(id)" } }) };
  const page = await visit("#/w/example/sent", { storage });
  const formats = await until(page, () => {
    const all = [...document.querySelectorAll("[data-format]")].map((element) => element.dataset.format);
    return all.length > 5 && all;
  });
  for (const format of formats) {
    await page.click(`[data-format="${format}"]`);
    const text = await until(page, (format) => {
      const element = document.querySelector("[data-fragment]");
      return element?.dataset.fragment === format && element.textContent;
    }, format);
    const request = { workspaceId: "example", turn: JSON.parse(storage["promptd.turn.example"]), renderFormat: format };
    const { rendered } = (await call(fixture.service.inspector, "PromptService/AssemblePrompt", request)).answer;
    if (format === "RENDER_FORMAT_TEXT") assert.equal(text, rendered);
    else assert.equal(bare(text), bare(rendered), format);
  }
  await page.click("[data-language=curl]");
  const curl = await until(page, () => document.querySelector("[data-snippet=curl]")?.textContent);
  const { stdout } = await promisify(execFile)("bash", ["-c", curl.replaceAll("http://127.0.0.1:50051", fixture.service.inspector)]);
  assert.match(JSON.parse(stdout).rendered ?? JSON.parse(stdout).messages[0].content, /Dana's/);
  await page.done();
});

test("a reply is read as the prompt taught it", { skip }, async () => {
  const page = await visit("#/w/example/reply?profile=airi");
  const reply = 'Good morning. <|ACT {"emotion": "happy"}|> HEARTBEAT_OK';
  await until(page, () => document.querySelector("[data-view=reply] textarea"));
  await page.type("[data-view=reply] textarea", reply);
  const { text = "", actions = [] } = (
    await call(fixture.service.inspector, "PromptService/ParseReply", { workspaceId: "example", profile: "airi", text: reply })
  ).answer;
  await until(page, (text, count) => document.querySelector("[data-reply-text]")?.textContent === text && document.querySelectorAll("[data-action]").length === count, text, actions.length);
  await page.done();
});

test("findings are shown at their places", { skip }, async () => {
  const page = await visit("#/w/example/findings");
  const { findings } = (await call(fixture.service.inspector, "PromptService/AssemblePrompt", { workspaceId: "example" })).answer;
  assert.ok(findings.length > 0);
  const codes = await until(page, (least) => {
    const all = [...document.querySelectorAll("[data-finding]")].map((element) => element.dataset.finding);
    return all.length >= least && all;
  }, findings.length);
  for (const { code } of findings) assert.ok(codes.includes(code), code);
  await page.done();
});

test("hostile names and texts stay text in every view", { skip }, async () => {
  for (const view of ["prompt", "compare", "findings", "skills", "profiles", "history", "sent", "reply"]) {
    const page = await visit(`#/w/hostile/${view}`);
    await until(page, (view) => document.querySelector(`[data-view=${view}] *`), view);
    await page.waitForNetworkIdle({ idleTime: 100, concurrency: 1 });
    const made = await page.evaluate(() => ({
      taken: window.taken ?? null,
      foreign: document.querySelectorAll("main img, main script, main iframe, main b, main i, main style, main base").length,
      links: [...document.querySelectorAll("a")].filter((a) => a.protocol === "javascript:").length,
    }));
    assert.deepEqual(made, { taken: null, foreign: 0, links: 0 }, view);
    await page.done();
  }
});
