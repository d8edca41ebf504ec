/** Every call of the service. What differs between Node and browsers is in `node.ts` and `browser.ts`. */
import { Caller, type Channels } from "./caller.js";
import { Conversations } from "./conversations.js";
import { toMessage, toPlain, unknownNames } from "./convert.js";
import { PromptdError, refused } from "./errors.js";
import * as pb from "./gen/promptd/v1/promptd_pb.js";
import { LastGood, type LastGoodStore } from "./lastgood.js";
import { pages, present } from "./pages.js";
import type {
  AssembleOptions, CallOptions, DiffOptions, Given, HistoryMessage, HistoryPlan, Profile, PromptDiff, Reply, Revision, Skill,
  SkillFile, SkillFilter, Workspace, WorkspaceChange, WorkspaceFile,
} from "./plain.js";
import { Prompt, type Answer } from "./prompt.js";
import { Session } from "./session.js";
import { follow } from "./watch.js";

/** What holds in Node and browsers alike. */
export interface ClientOptions {
  /** Sent as `authorization: Bearer TOKEN`. */
  token?: string;
  /** The deadline of a call over all its attempts, in milliseconds. Default: 10,000. */
  timeoutMs?: number;
}

const TURN_FIELDS = pb.TurnSchema.fields.map((field) => field.localName);
const ASSEMBLE_FIELDS = [
  "profile", "revision", "ifNoneMatch", "strict", "format", "tokenEncoding", "referenceConversation", "omitSections", "includeSpans",
];
const DIFF_FIELDS = ["profile", "beforeRevision", "afterRevision", "proposed", "tokenEncoding"];
/** How many entries a page of a list has. */
const PAGE_SIZE = 100;

type Rest<T, K extends keyof T> = Omit<T, K | `$${string}`>;

/** A client of one service, which keeps its connections. */
export class Client {
  /** The conversations that the service stores. */
  readonly conversations: Conversations;
  readonly #caller: Caller;
  readonly #lastGood: LastGood | undefined;
  /** The last call found no service: another is not tried as often where an answer of before will do. */
  #down = false;

  /** @internal */
  constructor(channels: Channels, options: ClientOptions, store: LastGoodStore | undefined) {
    this.#caller = new Caller(channels, options.token, options.timeoutMs);
    this.conversations = new Conversations(this.#caller);
    this.#lastGood = store && new LastGood(store, options.token ?? "");
  }

  /** Assembles the prompt of one turn. */
  async assemble(workspaceId: string, options: AssembleOptions = {}, call: CallOptions = {}): Promise<Prompt> {
    return this.assembleHolding(workspaceId, options, call, new Map());
  }

  /** As `assemble`, with the contents of messages by digest that need not be sent. @internal */
  async assembleHolding(
    workspaceId: string, options: AssembleOptions, call: CallOptions, held: ReadonlyMap<string, string>,
  ): Promise<Prompt> {
    const request = assembleRequest(workspaceId, options, held);
    const kept = this.#lastGood?.of(workspaceId, options);
    try {
      const answer = await this.#assembled(request, call, kept && this.#down ? 1 : undefined);
      this.#down = false;
      putTogether(answer, options, held);
      await kept?.remember(answer, (clean) => this.#assembled(assembleRequest(workspaceId, clean), call, 1));
      return new Prompt(answer, { format: options.format });
    } catch (thrown) {
      this.#down = isDown(thrown);
      const prompt = await kept?.instead(thrown);
      if (prompt) return prompt;
      throw thrown;
    }
  }

  async #assembled(request: pb.AssemblePromptRequest, call: CallOptions, attempts?: number): Promise<Answer> {
    const { method } = pb.PromptService;
    return toPlain(method.assemblePrompt.output, await this.#caller.unary(method.assemblePrompt, request, call, attempts));
  }

  /** Shows what an edit does to a prompt: between two revisions, or a revision and files that are not published. */
  async diff(workspaceId: string, options: DiffOptions = {}, call?: CallOptions): Promise<PromptDiff> {
    const [turn, rest] = split(options, DIFF_FIELDS, "DiffPrompt");
    if (rest.afterRevision !== undefined && rest.proposed !== undefined)
      throw refused("DiffPrompt", [{ field: "proposed", description: "cannot be given together with `afterRevision`" }]);
    return this.#caller.plain(pb.PromptService.method.diffPrompt, { workspaceId, turn, ...rest }, call);
  }

  /** Takes a model's reply apart by the profile's reply contract. */
  async parseReply(
    workspaceId: string, text: string, options: Rest<Given<pb.ParseReplyRequest>, "workspaceId" | "text"> = {}, call?: CallOptions,
  ): Promise<Reply> {
    return this.#caller.plain(pb.PromptService.method.parseReply, { ...options, workspaceId, text }, call);
  }

  /** Plans the summaries of a long conversation, from its first message that is not settled. */
  async planHistory(
    workspaceId: string, messages: readonly HistoryMessage[],
    options: Rest<Given<pb.PlanHistoryRequest>, "workspaceId" | "messages"> = {}, call?: CallOptions,
  ): Promise<HistoryPlan> {
    return this.#caller.plain(pb.PromptService.method.planHistory, { ...options, workspaceId, messages }, call);
  }

  /** All workspaces that the caller may see, page by page; with `query` those whose id or agent's name has it. */
  async *listWorkspaces(options: { query?: string } = {}, call?: CallOptions): AsyncGenerator<Workspace, void, undefined> {
    const page = (pageToken: string) =>
      this.#caller.plain(pb.WorkspaceService.method.listWorkspaces, { ...options, pageSize: PAGE_SIZE, pageToken }, call);
    yield* pages(page, ({ workspaces }) => workspaces);
  }

  /** One workspace, with its context files and findings. */
  async getWorkspace(workspaceId: string, call?: CallOptions): Promise<Workspace> {
    return present(await this.#caller.plain(pb.WorkspaceService.method.getWorkspace, { workspaceId }, call), "workspace");
  }

  /** The revisions that the service holds, newest first. */
  async listRevisions(workspaceId: string, call?: CallOptions): Promise<Revision[]> {
    return (await this.#caller.plain(pb.WorkspaceService.method.listRevisions, { workspaceId }, call)).revisions;
  }

  /** `workspace.yaml` or a document of a workspace, as it is on the disk. */
  async readFile(workspaceId: string, path: string, call?: CallOptions): Promise<WorkspaceFile> {
    return this.#caller.plain(pb.WorkspaceService.method.readFile, { workspaceId, path }, call);
  }

  /** All skills of a workspace, hidden ones included, page by page. */
  async *listSkills(
    workspaceId: string, options: { skillFilter?: SkillFilter } = {}, call?: CallOptions,
  ): AsyncGenerator<Skill, void, undefined> {
    const page = (pageToken: string) =>
      this.#caller.plain(pb.WorkspaceService.method.listSkills, { ...options, workspaceId, pageSize: PAGE_SIZE, pageToken }, call);
    yield* pages(page, ({ skills }) => skills);
  }

  /** A skill's SKILL.md, or the file of it that `options.file` names. */
  async readSkill(
    workspaceId: string, name: string, options: { file?: string; skillFilter?: SkillFilter; revision?: string } = {}, call?: CallOptions,
  ): Promise<SkillFile> {
    return this.#caller.plain(pb.WorkspaceService.method.readSkill, { ...options, workspaceId, name }, call);
  }

  /** All profiles, page by page. */
  async *listProfiles(call?: CallOptions): AsyncGenerator<Profile, void, undefined> {
    const page = (pageToken: string) => this.#caller.plain(pb.ProfileService.method.listProfiles, { pageSize: PAGE_SIZE, pageToken }, call);
    yield* pages(page, ({ profiles }) => profiles);
  }

  /** One profile, with its inputs, sections and source. */
  async getProfile(name: string, call?: CallOptions): Promise<Profile> {
    return present(await this.#caller.plain(pb.ProfileService.method.getProfile, { name }, call), "profile");
  }

  /**
   * Follows a workspace: its state now, unless that is `knownRevision`, then each newer one. A connection that is lost is opened
   * again, and nothing is missed. Ends when the signal is aborted, or after a change that is `deleted`.
   */
  watch(
    workspaceId: string, options: { knownRevision?: string; signal?: AbortSignal } = {},
  ): AsyncGenerator<WorkspaceChange, void, undefined> {
    const { signal, ...known } = options;
    const revision = ({ workspace }: WorkspaceChange) => (workspace?.revision ? { knownRevision: workspace.revision } : {});
    return follow(this.#caller, pb.WorkspaceService.method.watchWorkspace, { ...known, workspaceId }, revision, signal);
  }

  /** A conversation's calls: what it sets in every turn, and what it holds of the last answer. */
  session(workspaceId: string, defaults: AssembleOptions = {}): Session {
    return new Session(this, workspaceId, defaults);
  }

  /** Ends all connections. Calls that are under way, and later ones, fail. */
  close(): void {
    this.#caller.close();
  }
}

function assembleRequest(
  workspaceId: string, options: AssembleOptions, held: ReadonlyMap<string, string> = new Map(),
): pb.AssemblePromptRequest {
  const [turn, { format, ...rest }] = split(options, ASSEMBLE_FIELDS, "AssemblePrompt");
  const given = { workspaceId, turn, renderFormat: format, ...rest, ...(held.size && { ifNoneMatch: [...held.keys()] }) };
  const named = (path: string) => (path === "renderFormat" ? "format" : path.replace(/^turn\./, ""));
  return toMessage(pb.AssemblePromptRequestSchema, given, "AssemblePrompt", named);
}

/** What belongs to the turn, and what to the request. */
function split<T extends object>(options: T, fields: string[], call: string): [object, Record<string, unknown>] {
  const unknown = unknownNames(options, [...TURN_FIELDS, ...fields], "a turn or its request");
  if (unknown.length) throw refused(call, unknown);
  const entries = Object.entries(options).filter(([, value]) => value !== undefined);
  const part = (own: boolean) => Object.fromEntries(entries.filter(([name]) => fields.includes(name) === own));
  return [part(false), part(true)];
}

/** Puts the contents into an answer that the caller has already. */
function putTogether(answer: Answer, options: AssembleOptions, held: ReadonlyMap<string, string>): void {
  for (const message of [...answer.messages, ...answer.cards])
    if (message.notModified && held.has(message.digest)) {
      message.content = held.get(message.digest)!;
      message.notModified = false;
    }
  if (!options.referenceConversation) return;
  for (const message of answer.messages)
    if (message.conversationIndex !== undefined)
      message.content ||= options.conversation?.messages?.[message.conversationIndex]?.content ?? "";
}

const isDown = (error: unknown) => error instanceof PromptdError && error.code === "unavailable";
