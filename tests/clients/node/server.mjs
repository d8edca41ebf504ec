// The real server, over copies of the example workspace, and what is between it and a client.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const START_MS = 30_000;
// How long what must come may take, however slow the machine is.
export const PATIENCE_MS = 10_000;
export const ROOT = process.env.PROMPTD_ROOT;
export const tlsFile = (name) => join(process.env.PROMPTD_TLS, name);

// Below those that outgoing connections are given: a client that connects again and again would end up with the port of the server that
// it waits for. Each is given once, from one of this process's own on.
const [FIRST_PORT, PORTS] = [20_000, 12_000];
let drawn = Math.floor(Math.random() * PORTS);

async function freePort() {
  const listener = createServer();
  for (;;) {
    const port = FIRST_PORT + (drawn++ % PORTS);
    listener.listen(port, "127.0.0.1");
    const free = await once(listener, "listening").then(() => true, () => false);
    if (!free) continue;
    listener.close();
    await once(listener, "close");
    return port;
  }
}

// `promptd serve` on a free port, over the example and a workspace that locks its persona. `kill` ends it at once, `start` starts
// it again on the same port.
export async function serve(settings = {}) {
  const folder = mkdtempSync(join(tmpdir(), "promptd-"));
  const workspaces = join(folder, "workspaces");
  cpSync(join(ROOT, "workspace-example"), join(workspaces, "example"), { recursive: true });
  mkdirSync(join(workspaces, "locked"));
  writeFileSync(join(workspaces, "locked/workspace.yaml"), "locked: [persona]\n");
  const config = join(folder, "promptd.yaml");
  const usual = { workspaces: { root: "workspaces" }, memory: { store: "memory" }, log: { level: "error" } };
  writeFileSync(config, JSON.stringify({ ...usual, ...settings })); // JSON is YAML
  const server = { workspaces, address: `127.0.0.1:${await freePort()}` };
  let child;
  process.once("exit", () => child?.kill("SIGKILL"));
  server.start = async () => {
    child = spawn(process.env.PROMPTD_BIN, ["serve", "--config", config, "--listen", server.address], { stdio: ["ignore", "pipe", "inherit"] });
    const late = setTimeout(() => child.kill("SIGKILL"), START_MS);
    const [ready] = await Promise.race([once(createInterface({ input: child.stdout }), "line"), once(child, "exit")]);
    clearTimeout(late);
    assert.match(String(ready), /^promptd listening on /);
    server.address = ready.split(" ").at(-1);
  };
  server.kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  };
  server.stop = async () => {
    await server.kill();
    rmSync(folder, { recursive: true });
  };
  await server.start();
  return server;
}

// A TCP proxy to an address. It counts connections and the bytes that come back; `hangUps` of the first connections are closed as soon
// as something is sent.
export async function proxy(address, { hangUps = 0 } = {}) {
  const seen = { connections: 0, bytes: 0, events: new EventEmitter() };
  const open = new Set();
  const listener = createServer((client) => {
    const hangUp = seen.connections++ < hangUps;
    seen.events.emit("connection");
    const server = connect(Number(address.split(":")[1]), "127.0.0.1");
    const close = () => [client, server].forEach((socket) => socket.destroy());
    client.on("data", (data) => (hangUp ? close() : server.write(data)));
    server.on("data", (data) => {
      seen.bytes += data.length;
      client.write(data);
    });
    for (const socket of [client, server]) {
      open.add(socket);
      socket.on("error", close).on("close", close);
    }
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  seen.address = `127.0.0.1:${listener.address().port}`;
  seen.cut = () => open.forEach((socket) => socket.destroy());
  seen.stop = () => {
    seen.cut();
    listener.close();
  };
  return seen;
}

// The items of an async iterable.
export async function all(items) {
  const found = [];
  for await (const item of items) found.push(item);
  return found;
}
