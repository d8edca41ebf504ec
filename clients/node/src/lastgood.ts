/** Answers of before, for when the service cannot be reached. */
import { PromptdError } from "./errors.js";
import type { AssembleOptions, Card, ConversationMessage, Finding, PromptMessage } from "./plain.js";
import { Prompt, type Answer } from "./prompt.js";
import { render } from "./render.js";

/** Keeps answers by key. A key has the token and the turn in it: it must not be written anywhere but hashed. */
export interface LastGoodStore {
  get(key: string): Promise<LastGoodEntry | undefined>;
  put(key: string, entry: LastGoodEntry): Promise<void>;
  delete(key: string): Promise<void>;
}

/** An answer without any conversation, knowledge or summary. */
export interface LastGoodEntry {
  /** When it was assembled, in milliseconds since 1970. */
  savedAt: number;
  revision: string;
  profile: string;
  messages: PromptMessage[];
  /** How many of the messages come before a conversation; null: the profile carries none. */
  conversationAt: number | null;
  findings: Finding[];
  allowedTools: string[];
  cards: Card[];
}

/** Keeps answers in memory, the least recently used ones up to a number. */
export class Memory implements LastGoodStore {
  readonly #entries = new Map<string, LastGoodEntry>();
  readonly #most: number;

  constructor({ most = 256 }: { most?: number } = {}) {
    this.#most = most;
  }

  async get(key: string): Promise<LastGoodEntry | undefined> {
    const entry = this.#entries.get(key);
    if (entry) this.#entries.delete(key), this.#entries.set(key, entry);
    return entry;
  }

  async put(key: string, entry: LastGoodEntry): Promise<void> {
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > this.#most && oldest !== undefined) this.#entries.delete(oldest);
  }

  async delete(key: string): Promise<void> {
    this.#entries.delete(key);
  }
}

/** Of one revision an answer is kept so long before a newer one takes its place, in milliseconds. */
const KEEP_MS = 60_000;
/** Not part of the key, and not replayed. */
const NOT_KEPT = ["now", "conversation", "knowledge", "conversationSummary"] as const;
/** Not part of the key: the answers are the same without them. */
const OF_THE_CALL = ["ifNoneMatch", "referenceConversation", "omitSections", "includeSpans", "strict", "revision"] as const;

/** @internal */
export class LastGood {
  readonly #store: LastGoodStore;
  readonly #token: string;

  constructor(store: LastGoodStore, token: string) {
    this.#store = store;
    this.#token = token;
  }

  /**
   * What is kept for such a call. Undefined: nothing is, since it is pinned, strict, for parts alone, or names a session, whose messages
   * are the service's to show.
   */
  of(workspaceId: string, options: AssembleOptions): Kept | undefined {
    if (options.revision || options.strict || options.sessionId || options.ifNoneMatch?.length) return undefined;
    const clean = without(options, [...NOT_KEPT, ...OF_THE_CALL]);
    const key = canonical([this.#token, workspaceId, clean]);
    return new Kept(this.#store, key, options, without({ ...clean, now: options.now }, []));
  }
}

class Kept {
  constructor(
    readonly store: LastGoodStore, readonly key: string, readonly options: AssembleOptions, readonly clean: AssembleOptions,
  ) {}

  /** Keeps an answer. Where it carries what is not kept, `again` asks for one that does not. What fails here fails no call. */
  async remember(answer: Answer, again: (clean: AssembleOptions) => Promise<Answer>): Promise<void> {
    try {
      const entry = await this.store.get(this.key);
      if (entry?.revision === answer.revision && Date.now() - entry.savedAt < KEEP_MS) return;
      const { conversation, knowledge, conversationSummary, omitSections } = this.options;
      const whole = !conversation && !knowledge?.length && !conversationSummary && !omitSections;
      await this.store.put(this.key, entryOf(whole ? structuredClone(answer) : await again(this.clean)));
    } catch {
      // Such as a full disk: the caller has the answer.
    }
  }

  /** The prompt to serve in place of an error. Undefined: there is none, or the error is the service's own answer. */
  async instead(error: unknown): Promise<Prompt | undefined> {
    if (!(error instanceof PromptdError)) return undefined;
    if (REFUSED.includes(error.code)) await this.store.delete(this.key).catch(() => {});
    if (!isUnreachable(error)) return undefined;
    const entry = await this.store.get(this.key).catch(() => undefined);
    const said = this.options.conversation?.messages ?? [];
    // Only the service knows whether the workspace takes these.
    if (!entry || said.some((message) => message.role === "system")) return undefined;
    return served(structuredClone(entry), said, this.options);
  }
}

const REFUSED = ["unauthenticated", "permission_denied", "not_found"];

function isUnreachable({ code, reason }: PromptdError): boolean {
  return code === "deadline_exceeded" || (code === "unavailable" && reason !== "TOKEN_RIGHTS_CHANGED");
}

function entryOf(answer: Answer): LastGoodEntry {
  const { revision, profile, messages, findings, allowedTools, cards, sections } = answer;
  const at = sections.findIndex((section) => section.id === "conversation");
  const behind = sections.slice(at + 1).flatMap(({ messageIndex }) => (messageIndex === undefined ? [] : [messageIndex]));
  const conversationAt = at < 0 ? null : Math.min(messages.length, ...behind);
  return { savedAt: Date.now(), revision, profile, messages, conversationAt, findings, allowedTools, cards };
}

function served(entry: LastGoodEntry, said: readonly ConversationMessage[], { format }: AssembleOptions): Prompt {
  const { savedAt, conversationAt, messages, ...rest } = entry;
  if (conversationAt !== null) messages.splice(conversationAt, 0, ...said.map(carried));
  const text = messages.map((message) => message.content).join("");
  const answer: Answer = {
    ...rest, messages, sections: [], digest: "", notModified: false, recalledPositions: [], canarySide: "unspecified",
    rendered: format ? render(format, messages) : "",
    size: { bytes: new TextEncoder().encode(text).length, chars: [...text].length },
  };
  return new Prompt(answer, { format, stale: true, ageMs: Math.max(0, Date.now() - savedAt) });
}

function carried(message: ConversationMessage, conversationIndex: number): PromptMessage {
  const calls = (message.toolCalls ?? []).map(({ id = "", name = "", argumentsJson = "" }) => ({ id, name, argumentsJson }));
  return {
    role: message.role ?? "unspecified", content: message.content ?? "", name: "", ephemeral: false, digest: "",
    notModified: false, toolCallId: message.toolCallId ?? "", toolCalls: calls, speaker: message.name ?? "", conversationIndex,
  };
}

function without(options: AssembleOptions, names: readonly string[]): AssembleOptions {
  return Object.fromEntries(Object.entries(options).filter(([name, value]) => value !== undefined && !names.includes(name)));
}

/** The same text for equal values, however their keys are ordered. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) => {
    if (typeof item !== "object" || item === null || Array.isArray(item)) return item;
    return Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
