// The real server with its inspector, started on free ports over folders made for one test.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const START_MS = 30_000;

// Starts `promptd serve` over a copy of the example and the workspaces given: {id: {path: text}}. Its settings may be changed,
// and `tokens` is a tokens file.
export async function serve({ workspaces = {}, settings = {}, tokens } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "promptd-"));
  const root = join(folder, "workspaces");
  cpSync(join(ROOT, "workspace-example"), join(root, "example"), { recursive: true });
  for (const [id, files] of Object.entries(workspaces)) {
    for (const [path, text] of Object.entries(files)) write(join(root, id, path), text);
  }
  const auth = tokens ? { auth: { tokens_file: "tokens.yaml" } } : {};
  if (tokens) write(join(folder, "tokens.yaml"), JSON.stringify(tokens), 0o600);
  const config = { workspaces: { root: "workspaces" }, log: { level: "warn" }, ...auth, ...settings };
  write(join(folder, "promptd.yaml"), JSON.stringify(config)); // JSON is YAML
  const flags = ["--config", join(folder, "promptd.yaml"), "--listen", "127.0.0.1:0", "--inspector", "127.0.0.1:0"];
  const child = spawn(process.env.PROMPTD_BIN, ["serve", ...flags], { stdio: ["ignore", "pipe", "pipe"] });
  const exited = once(child, "exit");
  const late = setTimeout(() => child.kill("SIGKILL"), START_MS);
  const said = lines(child.stderr);
  const [ready] = await Promise.race([once(createInterface({ input: child.stdout }), "line"), exited]);
  clearTimeout(late);
  assert.match(String(ready), /^promptd listening on /, said.all.join("\n"));
  const inspector = await said.find(/^inspector at (http:\S+)$/);
  return {
    inspector: inspector.replace(/\/$/, ""),
    address: ready.split(" ").at(-1),
    path: (id, file) => join(root, id, file),
    log: said.all,
    signal: (name) => child.kill(name),
    stop: async () => {
      child.kill("SIGTERM");
      const [code] = await exited;
      rmSync(folder, { recursive: true });
      assert.equal(code, 0, said.all.join("\n"));
    },
  };
}

function write(path, text, mode = 0o644) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text, { mode });
}

// The lines that a stream has given, and the first group of the first that a pattern finds.
function lines(stream) {
  const all = [];
  const waiting = new Set();
  createInterface({ input: stream }).on("line", (line) => {
    all.push(line);
    for (const look of waiting) look();
  });
  const find = (pattern) =>
    new Promise((resolve) => {
      const look = () => {
        const found = all.map((line) => pattern.exec(line)).find(Boolean);
        if (found) resolve(found[1]);
        if (found) waiting.delete(look);
      };
      waiting.add(look);
      look();
    });
  return { all, find };
}

// One call by Connect in JSON.
export async function call(origin, method, request, headers = {}) {
  const response = await fetch(`${origin}/promptd.v1.${method}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(request),
  });
  return { status: response.status, answer: await response.json().catch(() => undefined) };
}
