// What the type checker takes and refuses. It is compiled, not run.
import Anthropic from "@anthropic-ai/sdk";
import { ConverseCommand } from "@aws-sdk/client-bedrock-runtime";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import { Memory, Promptd, type Prompt, type WorkspaceChange } from "promptd";
import { Promptd as InBrowser } from "promptd/browser";

const client = new Promptd(["a:1", "b:1"], { token: "t", tls: { caFile: "ca.pem" }, lastGood: new Memory() });
const prompt: Prompt = await client.assemble("example", {
  user: { name: "Dana" },
  now: new Date(),
  variables: { Length: 82, nested: { list: [1, null, "x"] } },
  conversation: { messages: [{ role: "assistant", content: "Hello", time: new Date() }], heldCut: 3 },
  skillFilter: { allowlist: { globs: ["tide-*"] } },
  format: "openai-chat",
  stage: "synthesis",
  budget: { max: 1, unit: "chars" },
});

const role: "system" | "user" | "assistant" | "tool" | "unspecified" = prompt.messages[0]!.role;
const age: number = prompt.ageMs;
const loaded: Date | undefined = (await client.getWorkspace("example")).loadedAt;
const onChange = (change: WorkspaceChange) => console.log(change.changedPaths.length, change.deleted, role, age, loaded);
client.session("example", { profile: "kern" }).onChange(onChange, (error) => console.log(error.code, error.retryAfterMs));

const stored = client.conversations;
const at: number | undefined = (await stored.append("example", "s", [{ id: "1", role: "user", content: "Hi" }])).session?.position;
for await (const { message, storedAt } of stored.messages("example", "s", { atPosition: at ?? 0 })) console.log(message?.content, storedAt?.getTime());

// The providers' own types.
await new OpenAI().chat.completions.create({ model: "m", ...prompt.forOpenai() });
await new OpenAI().responses.create({ model: "m", ...prompt.forOpenaiResponses() });
await new Anthropic().messages.create({ model: "m", max_tokens: 16, ...prompt.forAnthropic() });
await new GoogleGenAI({}).models.generateContent({ model: "m", ...prompt.forGemini() });
console.log(new ConverseCommand({ modelId: "m", ...prompt.forBedrock() }));

// @ts-expect-error: a misspelt field
await client.assemble("example", { usr: { name: "Dana" } });
// @ts-expect-error: a misspelt field within
await client.assemble("example", { user: { nmae: "Dana" } });
// @ts-expect-error: a format by another name
await client.assemble("example", { format: "openai" });
// @ts-expect-error: a misspelt role
await client.assemble("example", { conversation: { messages: [{ role: "usr" }] } });
// @ts-expect-error: a text for a time
await client.assemble("example", { now: "2026-03-01T02:30:00Z" });
// @ts-expect-error: a value that is not JSON
await client.assemble("example", { variables: { at: new Date() } });
// @ts-expect-error: a number for a text
await client.parseReply("example", 7);
// @ts-expect-error: a misspelt field of a stored message
await stored.append("example", "s", [{ idd: "1" }]);
// @ts-expect-error: an unknown option
new Promptd("a:1", { tokn: "t" });
// @ts-expect-error: pages have no TLS of their own
new InBrowser("a:1", { tls: true });
