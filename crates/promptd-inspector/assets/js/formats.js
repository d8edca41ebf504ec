// The providers' formats, in the order of the contract's RenderFormat.

/** @type {Array<{id: string, title: string, what: string}>} */
export const FORMATS = [
  { id: "RENDER_FORMAT_TEXT", title: "Plain text", what: "All system messages joined by a blank line." },
  { id: "RENDER_FORMAT_OPENAI_CHAT", title: "OpenAI Chat", what: "`messages` of OpenAI's Chat Completions." },
  { id: "RENDER_FORMAT_OPENAI_RESPONSES", title: "OpenAI Responses", what: "`instructions` and `input` of OpenAI's Responses." },
  { id: "RENDER_FORMAT_ANTHROPIC_MESSAGES", title: "Anthropic Messages", what: "`system` and `messages` of Anthropic's Messages." },
  { id: "RENDER_FORMAT_GEMINI", title: "Gemini", what: "`systemInstruction` and `contents` of Gemini." },
  { id: "RENDER_FORMAT_OPENROUTER_CHAT", title: "OpenRouter Chat", what: "`messages` of OpenRouter's Chat Completions." },
  { id: "RENDER_FORMAT_BEDROCK_CONVERSE", title: "Bedrock Converse", what: "`system` and `messages` of Amazon Bedrock's Converse." },
];

/** The name of a format for people. @param {string} id @returns {string} */
export function formatTitle(id) {
  return FORMATS.find((each) => each.id === id)?.title ?? id;
}
