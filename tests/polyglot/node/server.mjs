// The real server, started on a free port, and the pieces that the tests share.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import grpc from "@grpc/grpc-js";
import protoLoader from "@grpc/proto-loader";

export const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
export const CASES = JSON.parse(readFileSync(join(ROOT, "tests/polyglot/cases.json"), "utf8"));
export const SERVICE_CONFIG = readFileSync(join(ROOT, "examples/service_config.json"), "utf8");
export const pem = (name) => readFileSync(join(process.env.PROMPTD_TLS, name));
const START_MS = 30_000;

// Beside the example: one that never loads, by two faults, and one that locks a field.
const OTHERS = { broken: "profil: x\nagent: {name: [1]}\n", locked: "locked: [persona]\n" };

const OPTIONS = { keepCase: true, longs: Number, enums: String, defaults: true, oneofs: true };

// The services of a proto file, as grpc-js wants them.
export function load(proto, folder = join(ROOT, "proto")) {
  return grpc.loadPackageDefinition(protoLoader.loadSync(proto, { ...OPTIONS, includeDirs: [folder] }));
}

export const promptd = load("promptd/v1/promptd.proto").promptd.v1;

// Starts `promptd serve` over a copy of the example workspace and some others.
export async function serve(settings = {}) {
  const folder = mkdtempSync(join(tmpdir(), "promptd-"));
  const workspace = join(folder, "workspaces/example");
  cpSync(join(ROOT, "workspace-example"), workspace, { recursive: true });
  for (const [name, manifest] of Object.entries(OTHERS)) {
    mkdirSync(join(folder, "workspaces", name));
    writeFileSync(join(folder, "workspaces", name, "workspace.yaml"), manifest);
  }
  const config = join(folder, "promptd.yaml");
  writeFileSync(config, JSON.stringify({ workspaces: { root: "workspaces" }, log: { level: "warn" }, ...settings })); // JSON is YAML
  const child = spawn(process.env.PROMPTD_BIN, ["serve", "--config", config, "--listen", "127.0.0.1:0"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  const late = setTimeout(() => child.kill("SIGKILL"), START_MS);
  const [ready] = await Promise.race([once(createInterface({ input: child.stdout }), "line"), exited]);
  clearTimeout(late);
  assert.match(String(ready), /^promptd listening on /);
  const address = ready.split(" ").at(-1);
  const stop = async () => {
    child.kill("SIGTERM");
    const [code] = await exited;
    rmSync(folder, { recursive: true });
    assert.equal(code, 0);
  };
  return { address, port: Number(address.split(":").at(-1)), workspace, stop };
}

// One unary call as a promise.
export function call(client, method, request, options = {}) {
  const deadline = Date.now() + 10_000;
  return new Promise((resolve, reject) =>
    client[method](request, new grpc.Metadata(), { deadline, ...options }, (error, answer) =>
      error ? reject(error) : resolve(answer),
    ),
  );
}

// A plain object as google.protobuf.Struct, which proto-loader takes in its raw form.
export function struct(object) {
  return { fields: Object.fromEntries(Object.entries(object).map(([key, value]) => [key, structValue(value)])) };
}

function structValue(value) {
  if (value === null) return { nullValue: "NULL_VALUE" };
  if (Array.isArray(value)) return { listValue: { values: value.map(structValue) } };
  if (typeof value === "object") return { structValue: struct(value) };
  return { [`${typeof value === "boolean" ? "bool" : typeof value}Value`]: value };
}

// A request for the example workspace with the full turn, changed by `set`; null takes a field away.
export function assemble(set = {}) {
  return request({ workspace_id: "example", turn: { ...CASES.turn, ...set } });
}

// A request in proto3's JSON form, as proto-loader takes it.
export function request(json) {
  const { turn, ...rest } = json;
  if (!turn) return rest;
  const given = Object.fromEntries(Object.entries(turn).filter(([, value]) => value !== null));
  for (const key of ["variables", "inputs"]) if (given[key]) given[key] = struct(given[key]);
  if (given.now) given.now = { seconds: Date.parse(given.now) / 1000 };
  return { ...rest, turn: given };
}
