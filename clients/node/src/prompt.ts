/** An assembled prompt. */
import type { JsonValue } from "@bufbuild/protobuf";

import { PromptdError } from "./errors.js";
import type { AssemblePromptResponse } from "./gen/promptd/v1/promptd_pb.js";
import type { CachePlan, Card, ConversationWindow, Finding, Format, PromptMessage, SectionReport, Shown, Size } from "./plain.js";
import type { AnthropicArguments, BedrockArguments, GeminiArguments, OpenAiArguments, OpenAiResponsesArguments } from "./sdks.js";

/** The service's answer as plain values. @internal */
export type Answer = Shown<AssemblePromptResponse>;

/** What a prompt is besides the answer. @internal */
export interface About {
  format: Format | undefined;
  stale?: boolean;
  ageMs?: number;
}

/** The messages for the model, and an account of every byte of them. */
export class Prompt {
  /** In the order of the context window. One that is `ephemeral` must not be written to a conversation's history. */
  readonly messages: PromptMessage[];
  /** What became of every section of the profile. Empty in a stale prompt. */
  readonly sections: SectionReport[];
  /** Losses, faults and risks. */
  readonly findings: Finding[];
  /** SHA-256 over messages and cards. Empty in a stale prompt with a conversation. */
  readonly digest: string;
  /** Names all that was read besides the request. */
  readonly revision: string;
  /** The profile that was used. */
  readonly profile: string;
  /** The prompt is one of `ifNoneMatch`; it has no messages then. */
  readonly notModified: boolean;
  /** The request fragment of `format`, parsed; of `text`, the text. Undefined without `format`. */
  readonly rendered: JsonValue | undefined;
  /** Totals over all messages. */
  readonly size: Size;
  /** How much of the front stays the same from turn to turn. Undefined in a stale prompt. */
  readonly cachePlan: CachePlan | undefined;
  /** What is carried of the conversation. Undefined: nothing, or the prompt is stale. */
  readonly conversationWindow: ConversationWindow | undefined;
  /** Where the session was that the turn names: `sessionPosition` of a turn that gives the same prompt again. */
  readonly sessionPosition: number | undefined;
  /** The positions of the session's messages that were recalled for the turn. */
  readonly recalledPositions: readonly number[];
  /** The tools that the profile's allowlist leaves. */
  readonly allowedTools: string[];
  /** Texts for the user interface; not for the model. */
  readonly cards: Card[];
  /** While a canary runs on the workspace: which of its two sides this is. Unspecified in a stale prompt. */
  readonly canarySide: Answer["canarySide"];
  /** The service could not be reached, and this is an answer of before. */
  readonly stale: boolean;
  /** How old that answer is, in milliseconds; 0 where not stale. */
  readonly ageMs: number;
  readonly #format: Format | undefined;

  /** @internal */
  constructor(answer: Answer, { format, stale = false, ageMs = 0 }: About) {
    this.messages = answer.messages;
    this.sections = answer.sections;
    this.findings = answer.findings;
    this.digest = answer.digest;
    this.revision = answer.revision;
    this.profile = answer.profile;
    this.notModified = answer.notModified;
    this.rendered = parsed(answer.rendered, format);
    this.size = answer.size ?? { bytes: 0, chars: 0 };
    this.cachePlan = answer.cachePlan;
    this.conversationWindow = answer.conversationWindow;
    this.sessionPosition = answer.sessionPosition;
    this.recalledPositions = answer.recalledPositions;
    this.allowedTools = answer.allowedTools;
    this.cards = answer.cards;
    this.canarySide = answer.canarySide;
    this.stale = stale;
    this.ageMs = ageMs;
    this.#format = format;
  }

  /** For `openai.chat.completions.create({ model, ...prompt.forOpenai() })`. Of `format: "openai-chat"` or `"openrouter-chat"`. */
  forOpenai(): OpenAiArguments {
    return this.#arguments("forOpenai", "openai-chat", "openrouter-chat");
  }

  /** For `openai.responses.create({ model, ...prompt.forOpenaiResponses() })`. Of `format: "openai-responses"`. */
  forOpenaiResponses(): OpenAiResponsesArguments {
    return this.#arguments("forOpenaiResponses", "openai-responses");
  }

  /** For `anthropic.messages.create({ model, max_tokens, ...prompt.forAnthropic() })`. Of `format: "anthropic-messages"`. */
  forAnthropic(): AnthropicArguments {
    return this.#arguments("forAnthropic", "anthropic-messages");
  }

  /** For `genai.models.generateContent({ model, ...prompt.forGemini() })`. Of `format: "gemini"`. */
  forGemini(): GeminiArguments {
    const { systemInstruction, contents } = this.#arguments<GeminiArguments & GeminiArguments["config"]>("forGemini", "gemini");
    return { contents, config: systemInstruction ? { systemInstruction } : {} };
  }

  /** For `new ConverseCommand({ modelId, ...prompt.forBedrock() })`. Of `format: "bedrock-converse"`. */
  forBedrock(): BedrockArguments {
    return this.#arguments("forBedrock", "bedrock-converse");
  }

  #arguments<T>(method: string, ...formats: Format[]): T {
    if (this.#format && formats.includes(this.#format) && this.rendered !== undefined) return this.rendered as T;
    const was = this.#format ? `format "${this.#format}"` : "no format";
    throw new PromptdError("failed_precondition", `${method}: the prompt was assembled with ${was}; assemble it with ` +
      `\`format: "${formats[0]}"\``);
  }
}

function parsed(rendered: string, format: Format | undefined): JsonValue | undefined {
  if (!format || !rendered) return undefined;
  return format === "text" ? rendered : (JSON.parse(rendered) as JsonValue);
}
