/** The arguments that the providers' own clients take, as far as promptd renders them. */

/** `messages` of OpenAI's Chat Completions. */
export interface OpenAiArguments {
  messages: OpenAiMessage[];
}

type OpenAiText = string | { type: "text"; text: string }[];

export type OpenAiMessage =
  | { role: "system"; content: OpenAiText }
  | { role: "user"; content: OpenAiText; name?: string }
  | { role: "assistant"; content: OpenAiText | null; name?: string; tool_calls?: OpenAiToolCall[] }
  | { role: "tool"; content: OpenAiText; tool_call_id: string };

export interface OpenAiToolCall {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
}

/** `instructions` and `input` of OpenAI's Responses. */
export interface OpenAiResponsesArguments {
  instructions?: string;
  input: OpenAiItem[];
}

export type OpenAiItem =
  | { type: "message"; role: "system" | "user" | "assistant"; content: string }
  | { type: "function_call"; call_id: string; name: string; arguments: string }
  | { type: "function_call_output"; call_id: string; output: string };

/** `system` and `messages` of Anthropic's Messages. */
export interface AnthropicArguments {
  system?: AnthropicText[];
  messages: { role: "user" | "assistant"; content: AnthropicBlock[] }[];
}

interface AnthropicMark {
  cache_control?: { type: "ephemeral" };
}

export type AnthropicText = { type: "text"; text: string } & AnthropicMark;
export type AnthropicBlock =
  | AnthropicText
  | ({ type: "tool_use"; id: string; name: string; input: Record<string, unknown> } & AnthropicMark)
  | ({ type: "tool_result"; tool_use_id: string; content: string } & AnthropicMark);

/** `contents` and `config` of Google's `generateContent`. */
export interface GeminiArguments {
  contents: { role: "user" | "model"; parts: GeminiPart[] }[];
  config: { systemInstruction?: { parts: { text: string }[] } };
}

export type GeminiPart =
  | { text: string }
  | { functionCall: { id: string; name: string; args: Record<string, unknown> } }
  | { functionResponse: { id: string; name: string; response: Record<string, unknown> } };

/** `system` and `messages` of Amazon Bedrock's Converse. */
export interface BedrockArguments {
  system?: ({ text: string } | BedrockMark)[];
  messages: { role: "user" | "assistant"; content: BedrockBlock[] }[];
}

interface BedrockMark {
  cachePoint: { type: "default" };
}

export type BedrockBlock =
  | { text: string }
  | BedrockMark
  // Of any JSON object: AWS's own type of it is not one that others can name.
  | { toolUse: { toolUseId: string; name: string; input: any } }
  | { toolResult: { toolUseId: string; content: { text: string }[] } };
