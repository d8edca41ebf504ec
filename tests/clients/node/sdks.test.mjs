// What the providers' own clients make of a prompt, to a stub that answers as each provider does.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import Anthropic from "@anthropic-ai/sdk";
import { BedrockRuntimeClient, ConverseCommand } from "@aws-sdk/client-bedrock-runtime";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import { Promptd } from "promptd";

import { serve } from "./server.mjs";
import { provider } from "./stub.mjs";

let server;
let client;
let stub;
before(async () => {
  server = await serve();
  client = new Promptd(server.address);
  stub = await provider();
});
after(async () => {
  client.close();
  stub.stop();
  await server.stop();
});

const conversation = { messages: [
  { role: "user", content: "When is high tide?" },
  { role: "assistant", toolCalls: [{ id: "c1", name: "tide", argumentsJson: '{"port":"Kiel"}' }] },
  { role: "tool", content: "14:05", toolCallId: "c1" },
] };

const SDKS = {
  "openai-chat": (prompt) => new OpenAI({ baseURL: `${stub.url}/v1`, apiKey: "none" }).chat.completions.create({ model: "m", ...prompt.forOpenai() }),
  "openrouter-chat": (prompt) => new OpenAI({ baseURL: `${stub.url}/v1`, apiKey: "none" }).chat.completions.create({ model: "m", ...prompt.forOpenai() }),
  "openai-responses": (prompt) => new OpenAI({ baseURL: `${stub.url}/v1`, apiKey: "none" }).responses.create({ model: "m", ...prompt.forOpenaiResponses() }),
  "anthropic-messages": (prompt) => new Anthropic({ baseURL: stub.url, apiKey: "none" }).messages.create({ model: "m", max_tokens: 16, ...prompt.forAnthropic() }),
  gemini: (prompt) => new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl: stub.url } }).models.generateContent({ model: "m", ...prompt.forGemini() }),
  "bedrock-converse": (prompt) => new BedrockRuntimeClient({
    region: "us-east-1", endpoint: stub.http2Url, credentials: { accessKeyId: "none", secretAccessKey: "none" },
  }).send(new ConverseCommand({ modelId: "m", ...prompt.forBedrock() })),
};

for (const [format, send] of Object.entries(SDKS))
  test(`all of a prompt arrives: ${format}`, async () => {
    const prompt = await client.assemble("example", { format, conversation, user: { name: "Dana" } });
    await send(prompt);
    const received = stub.received();
    for (const [key, value] of Object.entries(prompt.rendered)) {
      // Google's client names the role of a system text, which is of no matter.
      const { role: _, ...arrived } = key === "systemInstruction" ? received[key] : {};
      assert.deepEqual(key === "systemInstruction" ? arrived : received[key], value, key);
    }
    assert.ok(JSON.stringify(received).includes("Kiel"));
  });
