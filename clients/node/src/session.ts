/** A conversation's calls. */
import type { Client } from "./client.js";
import { PromptdError } from "./errors.js";
import type { AssembleOptions, CallOptions, WorkspaceChange } from "./plain.js";
import type { Prompt } from "./prompt.js";

type OnChange = (change: WorkspaceChange) => void;
type OnEnd = (error: PromptdError) => void;

/**
 * Holds the messages of its last prompt, so that an answer brings only those that changed; and follows the workspace while
 * somebody listens.
 */
export class Session {
  readonly #client: Client;
  readonly #workspaceId: string;
  readonly #defaults: AssembleOptions;
  readonly #listeners = new Map<OnChange, OnEnd | undefined>();
  #held: ReadonlyMap<string, string> = new Map();
  #revision = "";
  #watching: AbortController | undefined;

  /** @internal */
  constructor(client: Client, workspaceId: string, defaults: AssembleOptions) {
    this.#client = client;
    this.#workspaceId = workspaceId;
    this.#defaults = defaults;
  }

  /** The newest revision that an answer or a change has named. Empty: none yet. */
  get revision(): string {
    return this.#revision;
  }

  /** Assembles the prompt of a turn; what it sets goes before the session's defaults. */
  async assemble(turn: AssembleOptions = {}, call: CallOptions = {}): Promise<Prompt> {
    const options = { ...this.#defaults, ...turn };
    const prompt = await this.#client.assembleHolding(this.#workspaceId, options, call, this.#held);
    if (prompt.stale) return prompt;
    this.#revision = prompt.revision;
    // Only what this prompt has, so that the list does not grow.
    this.#held = new Map([...prompt.messages, ...prompt.cards].map(({ digest, content }) => [digest, content]));
    return prompt;
  }

  /**
   * Calls `listener` with the workspace's state, and after each change of it, until the function that it gives is called. The
   * connection is opened again when it is lost. `ended` is told where that is of no use, such as when the token was revoked.
   */
  onChange(listener: OnChange, ended?: OnEnd): () => void {
    this.#listeners.set(listener, ended);
    if (!this.#watching) void this.#follow((this.#watching = new AbortController()));
    return () => {
      this.#listeners.delete(listener);
      if (!this.#listeners.size) this.close();
    };
  }

  /** Ends what `onChange` began. The session can still assemble. */
  close(): void {
    this.#listeners.clear();
    this.#watching?.abort();
    this.#watching = undefined;
  }

  async #follow(watching: AbortController): Promise<void> {
    try {
      for await (const change of this.#client.watch(this.#workspaceId, { signal: watching.signal })) {
        this.#revision = change.workspace?.revision || this.#revision;
        for (const listener of [...this.#listeners.keys()]) listener(change);
      }
    } catch (error) {
      if (!(error instanceof PromptdError)) throw error;
      for (const ended of [...this.#listeners.values()]) ended?.(error);
    } finally {
      if (this.#watching === watching) this.close();
    }
  }
}
