/** What Node and browsers share. */
export { Conversations } from "./conversations.js";
export { PromptdError, type ErrorCode, type Violation } from "./errors.js";
export { Memory, type LastGoodEntry, type LastGoodStore } from "./lastgood.js";
export type {
  Appended, AssembleOptions, CachePlan, CallOptions, Card, ConversationMessage, ConversationWindow, DiffOptions, Finding, Format,
  HistoryMessage, HistoryPlan, NotesSummaries, Profile, PromptDiff, PromptMessage, Recalled, RecalledMessage, RecallStats, Reply, Revision, Role,
  SectionReport, SessionChange, Size, Skill, SkillFile, SkillFilter, StoredMessage, StoredSegment, StoredSession, Turn, Workspace, WorkspaceChange,
  WorkspaceFile,
} from "./plain.js";
export { SERVICE_CONFIG } from "./policy.js";
export { Prompt } from "./prompt.js";
export type * from "./sdks.js";
export { Session } from "./session.js";
