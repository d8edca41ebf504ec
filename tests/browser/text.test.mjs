// What the page shows as a message is the message, byte for byte.
import assert from "node:assert/strict";
import { test } from "node:test";

import { running } from "./fixture.mjs";
import { HOSTILE } from "./hostile.mjs";
import { open, skip, until } from "./page.mjs";
import { call } from "./service.mjs";

const NOW = "2026-04-02T09:15:00Z";
const PROFILES = [
  ["five-layer", { user: { name: "Dana <b>O'Neil</b>" }, heartbeat: true, ephemeral_system_prompt: "Be brief.\n" }],
  ["cache-first", { user: { name: "Dana" }, knowledge: [{ content: "Berth 4 is closed.", title: "log" }] }],
];

const fixture = running({ workspaces: { hostile: HOSTILE } });

// The contents of the messages that the page shows, once there are so many.
async function shown(page, count) {
  const find = (count) => {
    const found = [...document.querySelectorAll("[data-message-content]")].map((element) => element.textContent);
    return found.length === count && found;
  };
  return until(page, find, count);
}

// The prompt that a turn has by the service's own account.
async function assembled(request) {
  const { status, answer } = await call(fixture.service.inspector, "PromptService/AssemblePrompt", request);
  assert.equal(status, 200, JSON.stringify(answer));
  return answer.messages.map((message) => message.content ?? "");
}

async function holds(workspaceId, profile, turn) {
  const storage = { [`promptd.turn.${workspaceId}`]: JSON.stringify(turn) };
  const page = await open(fixture.browser, `${fixture.service.inspector}/#/w/${workspaceId}/prompt?profile=${profile}`, { storage });
  const wanted = await assembled({ workspaceId, profile, turn });
  const found = await shown(page, wanted.length);
  for (const [index, text] of wanted.entries()) assert.equal(found[index], text, `${workspaceId} ${profile} ${index}`);
  assert.equal(await page.evaluate(() => window.taken), undefined);
  await page.done();
}

for (const [profile, turn] of PROFILES) {
  for (const workspaceId of ["example", "hostile"]) {
    test(`the messages of ${workspaceId} by ${profile}`, { skip }, () => holds(workspaceId, profile, { now: NOW, ...turn }));
  }
}

test("a conversation is shown as it was sent", { skip }, async () => {
  const messages = [
    { role: "ROLE_USER", content: "<script>window.taken = 7</script> \u202e\n\n  spaces  " },
    { role: "ROLE_ASSISTANT", content: "Yes.\n" },
    { role: "ROLE_USER", content: "And now?" },
  ];
  await holds("example", "five-layer", { now: NOW, conversation: { messages } });
});

test("marks for hidden characters change no text", { skip }, async () => {
  const storage = { "promptd.turn.hostile": JSON.stringify({ now: NOW }) };
  const page = await open(fixture.browser, `${fixture.service.inspector}/#/w/hostile/prompt`, { storage });
  const wanted = await assembled({ workspaceId: "hostile", turn: { now: NOW } });
  await shown(page, wanted.length);
  await page.click("[data-tool=hidden]");
  await until(page, () => document.querySelector(".hidden-character"));
  assert.deepEqual(await shown(page, wanted.length), wanted);
  await page.done();
});

test("every built-in profile has its form, and the prompt follows it", { skip }, async () => {
  const { answer } = await call(fixture.service.inspector, "ProfileService/ListProfiles", {});
  for (const { name } of answer.profiles) {
    const storage = { "promptd.turn.example": JSON.stringify({ now: NOW }), "promptd.look": JSON.stringify({ turn: true }) };
    const page = await open(fixture.browser, `${fixture.service.inspector}/#/w/example/prompt?profile=${name}`, { storage });
    await until(page, () => document.querySelector("[data-field='turn.user.name'] input"));
    const inputs = (await call(fixture.service.inspector, "ProfileService/GetProfile", { name })).answer.profile.inputs ?? [];
    const fields = await page.$$eval("[data-field]", (all) => all.map((element) => element.dataset.field));
    for (const input of inputs) assert.ok(fields.includes(`turn.inputs.${input.name}`), `${name}: ${input.name}`);

    await page.$$eval("details", (all) => all.forEach((one) => (one.open = true)));
    await page.type("[data-field='turn.user.name'] input", "Dana O'Neil");
    await page.type("[data-field='turn.ephemeral_system_prompt'] textarea", "Be brief.");
    const turn = { now: NOW, user: { name: "Dana O'Neil" }, ephemeral_system_prompt: "Be brief." };
    const { answer: prompt } = await call(fixture.service.inspector, "PromptService/AssemblePrompt", { workspaceId: "example", profile: name, turn });
    const same = (wanted) => {
      const found = [...document.querySelectorAll("[data-message-content]")].map((element) => element.textContent);
      return JSON.stringify(found) === wanted;
    };
    await until(page, same, JSON.stringify((prompt.messages ?? []).map((message) => message.content ?? "")));
    await page.done();
  }
});
