/** Stored conversations. */
import type { Caller } from "./caller.js";
import * as pb from "./gen/promptd/v1/session_pb.js";
import { pages, present } from "./pages.js";
import type {
  Appended, CallOptions, ConversationMessage, Given, NotesSummaries, Recalled, RecallStats, SessionChange, StoredMessage, StoredSegment,
  StoredSession,
} from "./plain.js";
import { follow } from "./watch.js";

const { method } = pb.SessionService;
/** How many entries a page of a list has. */
const PAGE_SIZE = 1_000;

type Rest<T, K extends keyof T> = Omit<T, K | `$${string}`>;

/**
 * The conversations that the service stores, where it has `memory.store`: each message is sent once, and a turn names its session,
 * `client.assemble(workspaceId, { sessionId })`.
 */
export class Conversations {
  readonly #caller: Caller;

  /** @internal */
  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /**
   * Stores messages, each with an `id` of its own, and makes the session where there is none. Answered when they are on the disk;
   * what is stored already is not stored again. With `expectedPosition` they are refused, SESSION_MOVED, where another writer changed it.
   */
  async append(
    workspaceId: string, sessionId: string, messages: readonly ConversationMessage[], options: { expectedPosition?: number } = {},
    call?: CallOptions,
  ): Promise<Appended> {
    return this.#caller.plain(method.appendMessages, { ...options, workspaceId, sessionId, messages }, call);
  }

  /** All sessions of a workspace, those that changed last first, page by page. */
  async *list(workspaceId: string, call?: CallOptions): AsyncGenerator<StoredSession, void, undefined> {
    const page = (pageToken: string) =>
      this.#caller.plain(method.listSessions, { workspaceId, pageSize: PAGE_SIZE, pageToken }, call);
    yield* pages(page, ({ sessions }) => sessions);
  }

  /** A session: where it is, and how many messages it has by role. */
  async get(workspaceId: string, sessionId: string, call?: CallOptions): Promise<StoredSession> {
    return present(await this.#caller.plain(method.getSession, { workspaceId, sessionId }, call), "session");
  }

  /** All messages of a session from a position on, page by page; with `atPosition` as it was then. */
  async *messages(
    workspaceId: string, sessionId: string, options: { fromPosition?: number; atPosition?: number } = {}, call?: CallOptions,
  ): AsyncGenerator<StoredMessage, void, undefined> {
    for (let from: number | undefined = options.fromPosition ?? 0; from !== undefined; ) {
      const given = { ...options, workspaceId, sessionId, fromPosition: from, pageSize: PAGE_SIZE };
      const page: { messages: StoredMessage[]; nextPosition?: number } = await this.#caller.plain(method.listMessages, given, call);
      yield* page.messages;
      from = page.nextPosition;
    }
  }

  /** What a session's messages were divided into, with the summaries: of level 0 first, page by page. */
  async *segments(workspaceId: string, sessionId: string, call?: CallOptions): AsyncGenerator<StoredSegment, void, undefined> {
    const page = (pageToken: string) =>
      this.#caller.plain(method.listSegments, { workspaceId, sessionId, pageSize: PAGE_SIZE, pageToken }, call);
    yield* pages(page, ({ segments }) => segments);
  }

  /** The summaries of a workspace's daily notes, those made last first, and why there is no newer one. */
  async notes(workspaceId: string, call?: CallOptions): Promise<NotesSummaries> {
    return this.#caller.plain(method.listNotesSummaries, { workspaceId }, call);
  }

  /** A whole session as JSON lines, some at a time. Where it breaks, it begins again with another call. */
  async *export(workspaceId: string, sessionId: string, call?: CallOptions): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const { lines } of this.#caller.plainStream(method.exportSession, { workspaceId, sessionId }, call)) yield lines;
  }

  /** Removes a session. Answered, with the number of its messages, when its text is gone from the disk. */
  async delete(workspaceId: string, sessionId: string, call?: CallOptions): Promise<number> {
    return (await this.#caller.plain(method.deleteSession, { workspaceId, sessionId }, call)).messages;
  }

  /**
   * Follows a session: its state now, unless it is at `knownPosition`, then each newer one. A connection that is lost is opened
   * again. Ends when the signal is aborted, or after a change that is `deleted`.
   */
  watch(
    workspaceId: string, sessionId: string, options: { knownPosition?: number; signal?: AbortSignal } = {},
  ): AsyncGenerator<SessionChange, void, undefined> {
    const { signal, ...known } = options;
    const position = ({ session }: SessionChange) => ({ knownPosition: session?.position });
    return follow(this.#caller, method.watchSession, { ...known, workspaceId, sessionId }, position, signal);
  }

  /** Copies a session, as it was at `atPosition` or as it is, to a new one. */
  async fork(
    workspaceId: string, sessionId: string, newSessionId: string, options: { atPosition?: number } = {}, call?: CallOptions,
  ): Promise<StoredSession> {
    const given = { ...options, workspaceId, sessionId, newSessionId };
    return present(await this.#caller.plain(method.forkSession, given, call), "session");
  }

  /** Removes the messages from a position on, such as one that is edited and sent again. */
  async truncate(
    workspaceId: string, sessionId: string, fromPosition: number, options: { expectedPosition?: number } = {}, call?: CallOptions,
  ): Promise<StoredSession> {
    const given = { ...options, workspaceId, sessionId, fromPosition };
    return present(await this.#caller.plain(method.truncateSession, given, call), "session");
  }

  /** The messages that match best, of all sessions or of one. */
  async recall(
    workspaceId: string, query: string, options: Rest<Given<pb.RecallRequest>, "workspaceId" | "query"> = {}, call?: CallOptions,
  ): Promise<Recalled> {
    return this.#caller.plain(method.recall, { ...options, workspaceId, query }, call);
  }

  /** How much a workspace has stored. */
  async stats(workspaceId: string, call?: CallOptions): Promise<RecallStats> {
    return this.#caller.plain(method.getRecallStats, { workspaceId }, call);
  }
}
