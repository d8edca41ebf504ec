// The programs of docs/connect.md, and the README's curl, as a reader runs them.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { ROOT, serve } from "./server.mjs";

const MANUAL = readFileSync(join(ROOT, "docs/connect.md"), "utf8");
// Where its packages and stubs are.
const cwd = fileURLToPath(new URL(".", import.meta.url));

let server;
before(async () => (server = await serve()));
after(() => server.stop());

// The one program of a language that has this in it, for the test's server.
function program(language, part, text = MANUAL) {
  const all = [...text.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, "gms"))].map((match) => match[1]);
  const found = all.filter((text) => text.includes(part));
  assert.equal(found.length, 1, `${found.length} programs with ${part}`);
  assert.ok(found[0].includes("127.0.0.1:50051"));
  return found[0].replaceAll("127.0.0.1:50051", server.address);
}

// What it prints.
function run(command, options, input) {
  return new Promise((resolve, reject) => {
    const child = execFile(command, options, { cwd, timeout: 30_000 }, (error, stdout, stderr) =>
      error ? reject(new Error(`${error.message}\n${stderr}`)) : resolve(stdout),
    );
    child.stdin.end(input);
  });
}

const shell = (part, text) => run("bash", ["-eu"], program("sh", part, text));

test("curl assembles a prompt", async () => {
  const { messages } = JSON.parse(await shell('"turn"'));
  assert.match(messages[0].content, /^You are a conversational AI assistant\./);
});

test("curl assembles a prompt as the README says", async () => {
  const { messages } = JSON.parse(await shell("curl", readFileSync(join(ROOT, "README.md"), "utf8")));
  assert.match(messages[0].content, /^You are a conversational AI assistant\./);
});

test("curl reads lists", async () => {
  const printed = await shell("ListWorkspaces");
  assert.match(printed, /^\{"workspaces":\[.*"id":"example"/);
  assert.match(printed, /\}\{"workspace":\{"id":"example",.*"contextFiles"/);
  assert.match(printed, /\{"status":"SERVING"\}$/);
});

test("curl follows a workspace", async () => {
  assert.match(await shell("WatchWorkspace"), /"workspace":\{"id":"example"/);
});

test("Node calls, and reads an error", async () => {
  const printed = await run("node", ["--input-type=module"], program("js", "createConnectTransport"));
  assert.match(printed, /^--- skeleton\nYou are a conversational AI assistant\./);
  assert.match(printed, /^--- workspace_context$/m);
  assert.match(printed, /^NotFound WORKSPACE_NOT_FOUND$/m);
});

test("fetch calls", async () => {
  const printed = await run("node", ["--input-type=module"], `${program("js", "fetch(")}console.log(prompt.messages[0].name);`);
  assert.equal(printed, "skeleton\n");
});

test("an error looks as shown", async () => {
  const shown = JSON.parse(MANUAL.match(/^```json\n(.*?)^```$/ms)[1]);
  const answer = await fetch(`http://${server.address}/promptd.v1.PromptService/AssemblePrompt`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ workspaceId: "harbour" }),
  });
  assert.equal(answer.status, 404);
  assert.deepEqual(await answer.json(), shown);
});
