// Stored conversations on the page: sessions as they go on, what recall finds, what a session's prompt is made of.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";

import { running } from "./fixture.mjs";
import { memoryWith, startModel } from "./model.mjs";
import { open, skip, until } from "./page.mjs";
import { call, serve } from "./service.mjs";

const MARKUP = "<img src=x onerror=\"window.taken=1\"><b>bold</b>";
const TABS = ["sessions", "segments", "notes", "recall", "context"];
const model = await startModel(MARKUP);
const NOTES = Object.fromEntries([1, 2, 3, 4, 5, 6, 7].map((day) => [`notes/2026-03-0${day}.md`, `On day ${day} berth ${day} was painted. ${"It rained. ".repeat(40)}`]));
const fixture = running({ workspaces: { noted: NOTES }, settings: { memory: memoryWith(model) } });
after(() => model.stop());

const visit = (path, options) => open(fixture.browser, `${fixture.service.inspector}/${path}`, options);
const ask = async (method, request) => {
  const { status, answer } = await call(fixture.service.inspector, `SessionService/${method}`, { workspaceId: "example", ...request });
  assert.equal(status, 200, JSON.stringify(answer));
  return answer;
};
const say = (sessionId, from, count) => ask("AppendMessages", {
  sessionId,
  messages: Array.from({ length: count }, (_, index) => ({
    id: String(from + index), role: (from + index) % 2 ? "ROLE_ASSISTANT" : "ROLE_USER", content: `Berth ${from + index} of ${sessionId} is free.`,
  })),
});

test("the tabs are there only where conversations are stored", { skip }, async () => {
  const without = await serve();
  for (const [service, expected] of [[fixture.service, TABS], [without, []]]) {
    const page = await open(fixture.browser, `${service.inspector}/#/w/example/prompt`);
    await until(page, () => document.querySelector("[data-view=prompt]"));
    const tabs = await page.$$eval("[data-tab]", (all) => all.map((tab) => tab.dataset.tab));
    assert.deepEqual(tabs.filter((tab) => TABS.includes(tab)), expected);
    await page.done();
  }
  await without.stop();
});

test("a session's counts are the service's, and its messages come as they are said", { skip }, async () => {
  await say("going-on", 0, 3);
  await say("other", 0, 120);
  const page = await visit("#/w/example/sessions");
  await until(page, () => document.querySelector("[data-session=going-on]"));
  const listed = await page.$$eval("[data-session]", (all) => all.map((item) => item.dataset.session));
  assert.deepEqual(listed, (await ask("ListSessions", {})).sessions.map(({ id }) => id));
  const roles = await page.$$eval("[data-session=going-on] [data-share]", (all) => all.map((each) => [each.dataset.share, each.dataset.count]));
  assert.deepEqual(roles, [["user", "2"], ["assistant", "1"]]);

  await page.click("[data-session=going-on]");
  await until(page, () => document.querySelectorAll("[data-position]").length === 3);
  await until(page, () => document.querySelector(".split-detail [data-live=connected]"));
  await say("going-on", 3, 1);
  await until(page, () => document.querySelector("[data-position='3']")?.textContent.includes("Berth 3 of going-on is free."));

  // Of a long one the newest messages, then those before them.
  await page.click("[data-session=other]");
  await until(page, () => document.querySelectorAll("[data-position]").length === 50 && document.querySelector("[data-position='119']"));
  await page.click(".split-detail .more");
  await until(page, () => document.querySelectorAll("[data-position]").length === 100);
  await page.click(".split-detail .more");
  const positions = await until(page, () => {
    const all = [...document.querySelectorAll("[data-position]")].map((each) => Number(each.dataset.position));
    return all.length === 120 && all;
  });
  assert.deepEqual(positions, Array.from({ length: 120 }, (_, index) => index));

  await ask("DeleteSession", { sessionId: "other" });
  await until(page, () => document.querySelector(".split-detail [data-live=gone]"));
  await until(page, () => !document.querySelector("[data-session=other]"));
  await page.done();
});

// The session's segments, once they reach so high, all have their summaries and none is added any more.
async function segmentsOf(sessionId, level) {
  let before = "";
  for (let tries = 0; tries < 60; tries += 1) {
    const { segments = [] } = await ask("ListSegments", { sessionId, pageSize: 1000 });
    const now = JSON.stringify(segments);
    const whole = segments.some(({ segment }) => segment.level === level) && segments.every(({ segment }) => segment.summary);
    if (now === before && whole) return segments.map(({ segment }) => segment);
    before = now;
    await wait(1_500); // longer than the planner rests
  }
  return assert.fail(`the segments do not settle: ${before}`);
}

test("the tree of segments is the service's, with what the prompt shows of it", { skip }, async () => {
  const topics = ["the harbour opens at six ", "bread needs flour ", "a train "];
  const message = (index) => ({ id: String(index), role: index % 2 ? "ROLE_ASSISTANT" : "ROLE_USER", content: `${index} ${topics[Math.floor(index / 11) % 3].repeat(4)}` });
  await ask("AppendMessages", { sessionId: "tree", messages: Array.from({ length: 120 }, (_, index) => message(index)) });
  await segmentsOf("tree", 2);
  // What was made is in prompts from the next message on.
  await ask("AppendMessages", { sessionId: "tree", messages: [message(120)] });
  const all = await segmentsOf("tree", 2);
  const turn = { inputs: { max_context_tokens: 900 } };
  const request = { workspaceId: "example", profile: "kern", turn: { ...turn, sessionId: "tree" } };
  const { answer } = await call(fixture.service.inspector, "PromptService/AssemblePrompt", request);
  const carried = answer.conversationWindow.summaryIds;
  assert.ok(carried.length > 0 && carried.length < all.length, `${carried.length} of ${all.length}`);

  const page = await visit("#/w/example/segments?profile=kern&session=tree", { storage: { "promptd.turn.example": JSON.stringify(turn) } });
  const shown = (page) => page.$$eval("[data-segment]", (all) => all.map((each) => each.dataset.segment));
  await until(page, () => document.querySelector("[data-segment]"));
  const start = (one, other) => Number(one.messageStart ?? 0) - Number(other.messageStart ?? 0);
  assert.deepEqual(await shown(page), all.filter(({ parentId }) => !parentId).sort(start).map(({ id }) => id));
  for (let closed = await page.$("[aria-expanded=false]"); closed; closed = await page.$("[aria-expanded=false]")) await closed.click();
  const below = (parentId) => all.filter((each) => (each.parentId ?? "") === parentId).sort(start).flatMap(({ id }) => [id, ...below(id)]);
  assert.deepEqual(await shown(page), below(""));

  const { id, summary } = all.at(-1);
  await page.click(`[data-segment="${id}"]`);
  assert.equal(await until(page, (id) => document.querySelector(`[data-summary="${id}"]`)?.textContent, id), summary);
  await page.click("[data-view=segments] input[type=checkbox]");
  const inContext = await until(page, (count) => {
    const ids = [...document.querySelectorAll("[data-segment][data-carried=true]")].map((each) => each.dataset.segment);
    return ids.length === count && ids;
  }, carried.length);
  assert.deepEqual(new Set(inContext), new Set(carried));
  assert.deepEqual(await shown(page), inContext);
  await page.done();
});

test("the notes before the newest are summed up, shown, and in the next prompt", { skip }, async () => {
  const workspaceId = "noted";
  const say = (id) => ask("AppendMessages", { workspaceId, sessionId: "s", messages: [{ id, role: "ROLE_USER", content: "What was painted?" }] });
  const prompt = async () => {
    const { answer } = await call(fixture.service.inspector, "PromptService/AssemblePrompt", { workspaceId, profile: "kern", turn: { sessionId: "s" } });
    return answer.messages[0].content;
  };
  const page = await visit("#/w/noted/notes");
  await until(page, () => document.querySelector("[data-view=notes] .empty"));
  await say("1");
  assert.doesNotMatch(await prompt(), /<notes_summary>/);
  const shown = await until(page, () => document.querySelector("[data-notes='0']")?.textContent);
  const { summaries } = await ask("ListNotesSummaries", { workspaceId });
  assert.deepEqual(summaries.map(({ firstNote, lastNote }) => [firstNote, lastNote]), [["notes/2026-03-02.md", "notes/2026-03-06.md"]]);
  assert.ok(shown.includes(summaries[0].summary), shown);
  await say("2");
  assert.ok((await prompt()).includes(`<notes_summary>\n${summaries[0].summary.trim()}\n</notes_summary>`));
  await page.done();
});

test("what was said is found as the service finds it", { skip }, async () => {
  await say("searched", 0, 4);
  // Before a message has its vector it may come at another place.
  while ((await ask("GetRecallStats", {})).vectorsWaiting) await wait(100);
  const page = await visit("#/w/example/recall");
  const stats = await ask("GetRecallStats", {});
  await until(page, (said) => document.querySelector("[data-stats]").textContent.startsWith(said), `${stats.messages} messages · ${stats.sessions} session`);
  await page.type("[aria-label='Words to find']", "searched berth");
  await page.type("[aria-label='Only of this session']", "searched");
  const { messages } = await ask("Recall", { query: "searched berth", sessionId: "searched", limit: 20 });
  const found = await until(page, (count) => {
    const all = [...document.querySelectorAll("[data-recalled]")].map((link) => link.closest("[data-position]").dataset.position);
    return all.length === count && all;
  }, messages.length);
  assert.deepEqual(found, messages.map(({ message }) => message.position ?? "0"));
  await page.click("[data-recalled]");
  await until(page, () => document.querySelector("[data-view=sessions] .split-detail [data-position]"));
  await page.done();
});

test("the tokens of a session's prompt are those of the answer", { skip }, async () => {
  await say("carried", 0, 40);
  const page = await visit("#/w/example/sessions?session=carried");
  await until(page, () => document.querySelector("[data-act=use]"));
  await page.click("[data-act=use]");
  await until(page, () => document.querySelector("[data-view=context] [data-context-section=conversation]"));
  assert.equal(await page.$eval("[data-view=context] select", (select) => select.value), "carried");
  const request = { workspaceId: "example", turn: { sessionId: "carried" }, tokenEncoding: "o200k_base" };
  const { answer } = await call(fixture.service.inspector, "PromptService/AssemblePrompt", request);
  const digits = (text) => Number(text.replaceAll(/\D/g, ""));
  const total = digits(await page.$eval("[data-tokens]", (element) => element.textContent));
  // The clock of the two prompts is another one.
  assert.ok(Math.abs(total - Number(answer.size.tokens)) <= 10, `${total} ${answer.size.tokens}`);
  const shares = Object.fromEntries(await page.$$eval("[data-view=context] [data-share]", (all) => all.map((each) => [each.dataset.share, Number(each.dataset.count)])));
  const conversation = answer.sections.find(({ id }) => id === "conversation");
  assert.equal(shares.messages, Number(conversation.includedSize.tokens));
  assert.ok(shares.system > 0 && shares.system + shares.summary + shares.messages <= total, JSON.stringify(shares));

  await page.select("[data-view=context] select", "");
  await until(page, () => document.querySelector("[data-tokens]") && !document.querySelector("[data-context-section=conversation]"));
  await page.done();
});

test("what is said stays text", { skip }, async () => {
  await ask("AppendMessages", { sessionId: "hostile", messages: [
    { id: MARKUP, role: "ROLE_USER", content: `markup ${MARKUP}`, name: MARKUP },
    { id: "2", role: "ROLE_ASSISTANT", toolCalls: [{ id: "c", name: MARKUP, argumentsJson: JSON.stringify({ a: MARKUP }) }] },
  ] });
  for (const [path, shown] of [["sessions?session=hostile", "[data-position]"], ["recall?query=markup", "[data-recalled]"], ["segments?session=tree", "[data-summary]"]]) {
    const page = await visit(`#/w/example/${path}`);
    if (path.startsWith("segments")) await (await page.waitForSelector("[data-segment]")).click();
    await until(page, (shown) => document.querySelector(shown), shown);
    const made = await page.evaluate(() => [window.taken ?? null, document.querySelectorAll("main img, main b, main script").length]);
    assert.deepEqual(made, [null, 0], path);
    assert.ok((await page.evaluate(() => document.querySelector("main").textContent)).includes(MARKUP), path);
    await page.done();
  }
});
