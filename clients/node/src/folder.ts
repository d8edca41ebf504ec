/** Last good answers on disk. */
import { createHash, randomUUID } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";

import { Memory, type LastGoodEntry, type LastGoodStore } from "./lastgood.js";

/** The form of the files; others are passed by. */
const VERSION = 1;
const NAME = /^[0-9a-f]{64}\.json$/;

/**
 * Keeps answers in a folder, one file each, that only their owner can read, up to a number of the newest. Ephemeral messages
 * never reach the disk: they are kept in memory, and a program that starts again does without.
 */
export class Folder implements LastGoodStore {
  readonly #path: string;
  readonly #most: number;
  readonly #memory = new Memory();

  constructor(path: string, { most = 1_000 }: { most?: number } = {}) {
    this.#path = path;
    this.#most = most;
  }

  async get(key: string): Promise<LastGoodEntry | undefined> {
    const entry = await this.#memory.get(key);
    if (entry) return entry;
    try {
      const saved = JSON.parse(await readFile(this.#file(key), "utf8")) as { version: number; entry: LastGoodEntry };
      return saved.version === VERSION ? saved.entry : undefined;
    } catch {
      // None is there, or none that can be used.
      return undefined;
    }
  }

  async put(key: string, entry: LastGoodEntry): Promise<void> {
    await this.#memory.put(key, entry);
    await mkdir(this.#path, { recursive: true, mode: 0o700 });
    // A whole file or none: written beside it, then put in its place.
    const beside = join(this.#path, `${randomUUID()}.part`);
    const file = await open(beside, "wx", 0o600);
    try {
      await file.writeFile(JSON.stringify({ version: VERSION, entry: lasting(entry) }));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(beside, this.#file(key));
    await this.#prune();
  }

  async delete(key: string): Promise<void> {
    await this.#memory.delete(key);
    await rm(this.#file(key), { force: true });
  }

  #file(key: string): string {
    return join(this.#path, `${createHash("sha256").update(key).digest("hex")}.json`);
  }

  async #prune(): Promise<void> {
    const names = (await readdir(this.#path)).filter((name) => NAME.test(name));
    if (names.length <= this.#most) return;
    const files = await Promise.all(names.map(async (name) => ({ name, at: (await stat(join(this.#path, name))).mtimeMs })));
    files.sort((a, b) => b.at - a.at);
    await Promise.all(files.slice(this.#most).map(({ name }) => rm(join(this.#path, name), { force: true })));
  }
}

function lasting(entry: LastGoodEntry): LastGoodEntry {
  const { messages, conversationAt } = entry;
  const before = messages.slice(0, conversationAt ?? 0).filter((message) => message.ephemeral).length;
  return {
    ...entry,
    messages: messages.filter((message) => !message.ephemeral),
    conversationAt: conversationAt === null ? null : conversationAt - before,
  };
}
