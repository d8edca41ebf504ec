/**
 * The contract's messages as plain values: times are `Date`, 64-bit numbers are `number`, enum values are short lower-case
 * names (`"user"`, `"openai-chat"`), and structs are JSON. All of it follows from the generated types.
 */
import type { Message } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";

import type * as pb from "./gen/promptd/v1/promptd_pb.js";
import type * as sessions from "./gen/promptd/v1/session_pb.js";

/** `OPENAI_CHAT` as `openai-chat`. */
type Kebab<S extends string> = S extends `${infer Head}_${infer Tail}` ? `${Lowercase<Head>}-${Kebab<Tail>}` : Lowercase<S>;

/** The short names of an enum. */
export type Names<Enum> = Kebab<Exclude<Extract<keyof Enum, string>, "UNSPECIFIED">>;

type NameOf<T> = T extends pb.Role ? Names<typeof pb.Role>
  : T extends pb.RenderFormat ? Names<typeof pb.RenderFormat>
  : T extends pb.ResponseFormat ? Names<typeof pb.ResponseFormat>
  : T extends pb.BudgetUnit ? Names<typeof pb.BudgetUnit>
  : T extends pb.Stage ? Names<typeof pb.Stage>
  : T extends pb.Outcome ? Names<typeof pb.Outcome>
  : T extends pb.Stability ? Names<typeof pb.Stability>
  : T extends pb.Severity ? Names<typeof pb.Severity>
  : T extends pb.OriginKind ? Names<typeof pb.OriginKind>
  : T extends pb.How ? Names<typeof pb.How>
  : T extends pb.SectionChange ? Names<typeof pb.SectionChange>
  : T extends pb.DiffLineKind ? Names<typeof pb.DiffLineKind>
  : T extends pb.SegmentEnd ? Names<typeof pb.SegmentEnd>
  : T extends pb.CanarySide ? Names<typeof pb.CanarySide>
  : never;

/** What a caller gives for a message or a value of the contract. */
export type Given<T> = T extends Timestamp ? Date
  : T extends bigint ? number
  // Only the type of all numbers has 0.5; an enum has not.
  : T extends number ? (0.5 extends T ? number : NameOf<T>)
  : T extends Uint8Array ? Uint8Array
  : T extends Message ? { [K in keyof T as K extends `$${string}` ? never : K]?: Given<T[K]> | undefined }
  : T extends readonly (infer Item)[] ? readonly Given<Item>[]
  : T;

/** What a caller gets for one. `unspecified` where the service set nothing. */
export type Shown<T> = T extends Timestamp ? Date
  : T extends bigint ? number
  : T extends number ? (0.5 extends T ? number : NameOf<T> | "unspecified")
  : T extends Uint8Array ? Uint8Array
  : T extends Message ? { [K in keyof T as K extends `$${string}` ? never : K]: Shown<T[K]> }
  : T extends readonly (infer Item)[] ? Shown<Item>[]
  : T;

export type Role = Names<typeof pb.Role>;
export type Format = Names<typeof pb.RenderFormat>;
export interface Turn extends Given<pb.Turn> {}
export interface ConversationMessage extends Given<pb.ConversationMessage> {}
export interface HistoryMessage extends Given<pb.HistoryMessage> {}
export interface SkillFilter extends Given<pb.SkillFilter> {}
export interface PromptMessage extends Shown<pb.PromptMessage> {}
export interface SectionReport extends Shown<pb.SectionReport> {}
export interface Finding extends Shown<pb.Finding> {}
export interface Card extends Shown<pb.Card> {}
export interface Size extends Shown<pb.Size> {}
export interface CachePlan extends Shown<pb.CachePlan> {}
export interface ConversationWindow extends Shown<pb.ConversationWindow> {}
export interface Workspace extends Shown<pb.Workspace> {}
export interface WorkspaceChange extends Shown<pb.WatchWorkspaceResponse> {}
export interface Skill extends Shown<pb.Skill> {}
export interface SkillFile extends Shown<pb.ReadSkillResponse> {}
export interface Revision extends Shown<pb.Revision> {}
export interface WorkspaceFile extends Shown<pb.ReadFileResponse> {}
export interface Profile extends Shown<pb.Profile> {}
export interface Reply extends Shown<pb.ParseReplyResponse> {}
export interface HistoryPlan extends Shown<pb.PlanHistoryResponse> {}
export interface PromptDiff extends Shown<pb.DiffPromptResponse> {}
export interface StoredSession extends Shown<sessions.Session> {}
export interface StoredMessage extends Shown<sessions.StoredMessage> {}
export interface StoredSegment extends Shown<sessions.StoredSegment> {}
export interface NotesSummaries extends Shown<sessions.ListNotesSummariesResponse> {}
export interface RecalledMessage extends Shown<sessions.RecalledMessage> {}
export interface Recalled extends Shown<sessions.RecallResponse> {}
export interface RecallStats extends Shown<sessions.GetRecallStatsResponse> {}
export interface SessionChange extends Shown<sessions.WatchSessionResponse> {}
export interface Appended extends Shown<sessions.AppendMessagesResponse> {}

/** What `assemble` takes: the fields of the turn, and those of the request. */
export interface AssembleOptions extends Turn {
  /** The profile; without one the workspace's own. */
  profile?: string | undefined;
  /** A revision of an earlier answer; without one the newest. */
  revision?: string | undefined;
  /** Digests that the caller holds: those messages come without content. A session does this by itself. */
  ifNoneMatch?: readonly string[] | undefined;
  /** A prompt of which something is lost is an error, PROMPT_LOSS. */
  strict?: boolean | undefined;
  /** Also renders the prompt for a provider, in `rendered`. */
  format?: Format | undefined;
  /** Counts tokens with this encoding: `o200k_base` or `cl100k_base`. */
  tokenEncoding?: string | undefined;
  /** The conversation is not sent back; the client puts the texts that it sent in their place. */
  referenceConversation?: boolean | undefined;
  /** Leaves `sections` out. */
  omitSections?: boolean | undefined;
  /** Says of each section which of its bytes came from where. */
  includeSpans?: boolean | undefined;
}

/** What `diff` takes: the fields of the turn, and the two sides. */
export interface DiffOptions extends Turn {
  /** The profile; without one each side's own. */
  profile?: string | undefined;
  /** The revision to compare from; without one the newest. */
  beforeRevision?: string | undefined;
  /** The revision to compare with; without one the newest. */
  afterRevision?: string | undefined;
  /** Files to compare with that are not published, in place of `afterRevision`. */
  proposed?: Given<pb.ProposedWorkspace> | undefined;
  /** Counts tokens with this encoding. */
  tokenEncoding?: string | undefined;
}

/** What belongs to a single call. */
export interface CallOptions {
  /** The deadline, in milliseconds, over all attempts. Default: the client's. */
  timeoutMs?: number;
  /** Ends the call when it is aborted. */
  signal?: AbortSignal;
  /** The call's name in the server's log. Default: the server makes one. */
  requestId?: string;
  /** The W3C trace context of the caller. */
  traceparent?: string;
}
