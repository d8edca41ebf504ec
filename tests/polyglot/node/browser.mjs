// A page in a real browser: a site of another origin than the server's, and what the page reports to it.
import { spawn } from "node:child_process";
import { EventEmitter, on, once } from "node:events";
import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const browser = process.env.PROMPTD_BROWSER;
const BROWSER_MS = 60_000;
const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"];
FLAGS.push("--disable-background-networking", "--disable-component-update", "--disable-sync");

// A site on a free port. `answer` gives [content type, content] for a path, or undefined. `report` waits for the next object
// that the page posts to /report.
export async function site(answer) {
  const posts = new EventEmitter();
  const reports = on(posts, "report");
  const server = createServer(async (request, response) => {
    if (request.method === "POST") {
      const parts = [];
      for await (const part of request) parts.push(part);
      posts.emit("report", JSON.parse(Buffer.concat(parts)));
      return response.end();
    }
    const [type, content, headers = {}] = answer(request.url) ?? ["text/plain", ""];
    response.writeHead(headers.location ? 302 : 200, { "content-type": type, ...headers }).end(content);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const report = async () => (await reports.next()).value[0];
  return { origin: `http://127.0.0.1:${server.address().port}`, report, stop: () => server.close() };
}

// Has the address open in a browser while `use` runs, and gives what that gives.
export async function visit(address, use) {
  const profile = mkdtempSync(join(tmpdir(), "chromium-"));
  const chromium = spawn(browser, [...FLAGS, `--user-data-dir=${profile}`, address], { stdio: "ignore", detached: true });
  const exited = once(chromium, "exit");
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error("the page never reported")), BROWSER_MS);
  });
  try {
    return await Promise.race([use(), late]);
  } finally {
    clearTimeout(timer);
    process.kill(-chromium.pid, "SIGKILL"); // with its own processes, which write to its folder
    await exited;
    await rm(profile, { recursive: true, force: true, maxRetries: 10 });
  }
}
