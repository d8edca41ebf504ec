// A page of another origin, in a real browser: the bundle that its `import ... from "promptd"` becomes, and what it reports.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { appendFileSync, mkdtempSync } from "node:fs";
import { EventEmitter, on, once } from "node:events";
import { rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { build } from "esbuild";

import { serve } from "./server.mjs";

const BROWSER = process.env.PROMPTD_BROWSER;
const BROWSER_MS = 60_000;
const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync"];

// Runs in the page. `/step/NAME` answers once the test has done what that names.
const PAGE = `
  import { Memory, Promptd } from "promptd";
  const step = (name) => fetch("/step/" + name);
  const report = (result) => fetch("/report", { method: "POST", body: JSON.stringify(result) });
  const refused = (call) => call.then(() => "no error", ({ name, code, reason, message, violations }) => ({ name, code, reason, message, violations }));
  try {
    const address = await (await fetch("/address")).text();
    const client = new Promptd(address, { lastGood: new Memory() });
    const session = client.session("example", { user: { name: "Dana" }, format: "openai-chat" });
    const changes = [];
    let changed;
    session.onChange((change) => { changes.push(change.changedPaths); changed?.(); });
    const now = new Date("2026-03-01T02:30:00Z");
    const prompt = await session.assemble({ now, variables: { Length: 82 } });
    const again = await session.assemble({ now, variables: { Length: 82 } });
    const edited = new Promise((resolve) => (changed = () => changes.length > 1 && resolve()));
    while (!changes.length) await new Promise((resolve) => setTimeout(resolve, 10));
    await step("edit");
    await edited;
    const errors = [
      await refused(client.assemble("harbour")),
      await refused(client.assemble("example", { timeZone: "Mars/Olympus" })),
      await refused(client.assemble("example", { usr: {} })),
      await refused(new Promptd("127.0.0.1:1").assemble("example")),
    ];
    const { messages } = await session.assemble({ now, variables: { Length: 82 } });
    await step("kill");
    const stale = await session.assemble({ now, variables: { Length: 82 } });
    await step("start");
    const fresh = await session.assemble({ now, variables: { Length: 82 } });
    await report({
      names: prompt.messages.map(({ name }) => name), first: prompt.messages[1].content, same: JSON.stringify(again.messages) === JSON.stringify(prompt.messages),
      openai: prompt.forOpenai().messages.length, changes, errors, stale: stale.stale, kept: JSON.stringify(stale.messages) === JSON.stringify(messages),
      fresh: !fresh.stale,
    });
  } catch (error) {
    await report({ error: String(error.stack) });
  }
`;

// A site of the page, whose steps the test takes.
async function site(steps) {
  const { outputFiles: [bundle] } = await build({
    stdin: { contents: PAGE, resolveDir: import.meta.dirname }, bundle: true, write: false, format: "esm", platform: "browser",
  });
  const posts = new EventEmitter();
  const reports = on(posts, "report");
  const answers = { "/": ["text/html", '<script type="module" src="/page.js"></script>'], "/page.js": ["text/javascript", bundle.text] };
  const server = createServer(async (request, response) => {
    const [type, content] = answers[request.url] ?? ["text/plain", ""];
    if (request.url.startsWith("/step/")) await steps[request.url.slice("/step/".length)]();
    if (request.url === "/address") return response.end(steps.address());
    if (request.method !== "POST") return response.writeHead(200, { "content-type": type }).end(content);
    const parts = [];
    for await (const part of request) parts.push(part);
    posts.emit("report", JSON.parse(Buffer.concat(parts)));
    response.end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const stop = () => (server.close(), server.closeAllConnections());
  return { origin: `http://127.0.0.1:${server.address().port}`, report: async () => (await reports.next()).value[0], stop };
}

// Has the address open in a browser while `use` runs, and gives what that gives.
async function visit(address, use) {
  const profile = mkdtempSync(join(tmpdir(), "chromium-"));
  const chromium = spawn(BROWSER, [...FLAGS, `--user-data-dir=${profile}`, address], { stdio: "ignore", detached: true });
  const exited = once(chromium, "exit");
  let timer;
  const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error("the page never reported")), BROWSER_MS)));
  try {
    return await Promise.race([use(), late]);
  } finally {
    clearTimeout(timer);
    process.kill(-chromium.pid, "SIGKILL"); // with its own processes, which write to its folder
    await exited;
    await rm(profile, { recursive: true, force: true, maxRetries: 10 });
  }
}

test("a page calls, follows, and goes on while the service is away", { skip: BROWSER ? false : "NO BROWSER" }, async () => {
  let server;
  const host = await site({
    address: () => server.address,
    edit: () => appendFileSync(join(server.workspaces, "example/IDENTITY.md"), "\n- You have a parrot.\n"),
    kill: () => server.kill(),
    start: () => server.start(),
  });
  server = await serve({ grpc: { web_origins: [host.origin] } });
  const seen = await visit(host.origin, host.report);
  host.stop();
  await server.stop();

  assert.equal(seen.error, undefined);
  assert.deepEqual(seen.names, ["skeleton", "runtime_facts", "workspace_context"]);
  assert.match(seen.first, /2026-03-01T03:30:00\+01:00[\s\S]*- Length: 82/);
  assert.deepEqual([seen.same, seen.openai, seen.stale, seen.kept, seen.fresh], [true, 3, true, true, true]);
  assert.deepEqual(seen.changes.slice(0, 2), [[], ["IDENTITY.md"]]);
  const [missing, zone, misspelt, nobody] = seen.errors;
  assert.ok(seen.errors.every(({ name }) => name === "PromptdError"));
  assert.deepEqual([missing.code, missing.reason], ["not_found", "WORKSPACE_NOT_FOUND"]);
  assert.deepEqual(zone.violations.map(({ field }) => field), ["turn.time_zone"]);
  assert.match(misspelt.message, /did you mean `user`\?/);
  assert.deepEqual([nobody.code, nobody.reason], ["unavailable", ""]);
  assert.match(nobody.message, /no promptd answers at 127.0.0.1:1/);
});
