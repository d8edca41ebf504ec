/**
 * Renders messages for a provider where the service cannot: as its `render_format`, without marks for caches and without
 * changing the ids of tool calls.
 */
import type { Format, PromptMessage } from "./plain.js";

const BLANK_LINE = "\n\n";

/** The fragment of a format, as the service's `rendered`. @internal */
export function render(format: Format, messages: readonly PromptMessage[]): string {
  const system = messages.filter((message) => message.role === "system");
  const text = (some: readonly PromptMessage[]) => some.map((message) => message.content).join(BLANK_LINE);
  switch (format) {
    case "text":
      return text(system);
    case "openai-chat": case "openrouter-chat":
      return JSON.stringify({ messages: messages.map(chatMessage) });
    case "openai-responses": {
      const front = messages.findIndex((message) => message.role !== "system");
      const first = front < 0 ? messages : messages.slice(0, front);
      const input = messages.slice(first.length).flatMap(inputItems);
      return JSON.stringify({ ...(first.length && { instructions: text(first) }), input });
    }
    case "anthropic-messages": {
      const blocks = system.map((message) => ({ type: "text", text: message.content }));
      const turns = alternating(messages, anthropicBlocks).map(({ user, blocks: content }) => ({ role: user ? "user" : "assistant", content }));
      return JSON.stringify({ ...(blocks.length && { system: blocks }), messages: turns });
    }
    case "bedrock-converse": {
      const blocks = system.map((message) => ({ text: message.content }));
      const turns = alternating(messages, bedrockBlocks).map(({ user, blocks: content }) => ({ role: user ? "user" : "assistant", content }));
      return JSON.stringify({ ...(blocks.length && { system: blocks }), messages: turns });
    }
    case "gemini": {
      const parts = system.map((message) => ({ text: message.content }));
      const names = new Map(messages.flatMap((message) => message.toolCalls.map(({ id, name }) => [id, name])));
      const turns = alternating(messages, (message) => geminiParts(message, names));
      const contents = turns.map(({ user, blocks }) => ({ role: user ? "user" : "model", parts: blocks }));
      return JSON.stringify({ ...(parts.length && { systemInstruction: { parts } }), contents });
    }
  }
}

function chatMessage({ role, content, speaker, toolCallId, toolCalls }: PromptMessage): object {
  const calls = toolCalls.map(({ id, name, argumentsJson }) => ({ id, type: "function", function: { name, arguments: argumentsJson } }));
  const named = /^[A-Za-z0-9_-]{1,64}$/.test(speaker) && (role === "user" || role === "assistant");
  return {
    role, ...(named && { name: speaker }), ...(toolCallId && { tool_call_id: toolCallId }),
    content: content || !calls.length ? content : null, ...(calls.length && { tool_calls: calls }),
  };
}

function inputItems({ role, content, toolCallId, toolCalls }: PromptMessage): object[] {
  if (role === "tool") return [{ type: "function_call_output", call_id: toolCallId, output: content }];
  const said = content || !toolCalls.length ? [{ type: "message", role, content }] : [];
  const calls = toolCalls.map(({ id, name, argumentsJson }) => ({ type: "function_call", call_id: id, name, arguments: argumentsJson }));
  return [...said, ...calls];
}

function anthropicBlocks({ role, content, toolCallId, toolCalls }: PromptMessage): object[] {
  if (role === "tool") return [{ type: "tool_result", tool_use_id: toolCallId, content }];
  const calls = toolCalls.map(({ id, name, argumentsJson }) => ({ type: "tool_use", id, name, input: object(argumentsJson) }));
  return [...(content.trim() ? [{ type: "text", text: content }] : []), ...calls];
}

function bedrockBlocks({ role, content, toolCallId, toolCalls }: PromptMessage): object[] {
  const said = content.trim() ? [{ text: content }] : [];
  if (role === "tool") return [{ toolResult: { toolUseId: toolCallId, content: said } }];
  const calls = toolCalls.map(({ id, name, argumentsJson }) => ({ toolUse: { toolUseId: id, name, input: object(argumentsJson) } }));
  return [...said, ...calls];
}

function geminiParts({ role, content, toolCallId, toolCalls }: PromptMessage, names: Map<string, string>): object[] {
  if (role === "tool")
    return [{ functionResponse: { id: toolCallId, name: names.get(toolCallId) ?? "", response: { output: content } } }];
  const calls = toolCalls.map(({ id, name, argumentsJson }) => ({ functionCall: { id, name, args: object(argumentsJson) } }));
  return [...(content ? [{ text: content }] : []), ...calls];
}

/** Messages of one side that follow each other as one; the first is the user's. */
function alternating(messages: readonly PromptMessage[], blocksOf: (message: PromptMessage) => object[]) {
  const turns: { user: boolean; blocks: object[] }[] = [];
  const said = messages.filter((message) => message.role !== "system");
  const first = said.findIndex((message) => message.role === "user");
  for (const message of first < 0 ? [] : said.slice(first)) {
    const user = message.role !== "assistant";
    const blocks = blocksOf(message);
    const last = turns.at(-1);
    if (last?.user === user) last.blocks.push(...blocks);
    else if (blocks.length) turns.push({ user, blocks });
  }
  return turns;
}

/** A call's arguments, which these providers take as an object alone. */
function object(argumentsJson: string): object {
  if (!argumentsJson.trim()) return {};
  try {
    const value: unknown = JSON.parse(argumentsJson);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  } catch {
    // Said as text, below.
  }
  return { arguments_json: argumentsJson };
}
