// A server of models with OpenAI's interface, which sums everything up in one sentence.
import { once } from "node:events";
import { createServer } from "node:http";

/** Starts it; each summary ends with `text`. @param {string} [text] @returns {Promise<{url: string, stop: () => void}>} */
export async function startModel(text = "") {
  const server = createServer(async (request, response) => {
    const chunks = await request.toArray();
    const { messages } = JSON.parse(Buffer.concat(chunks));
    const content = `It had ${messages.at(-1).content.length} characters. ${text}`;
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ choices: [{ message: { role: "assistant", content } }], usage: { completion_tokens: 20 } }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const stop = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${server.address().port}/v1`, stop };
}

/** Settings of a store whose summaries a model says, of small segments. @param {{url: string}} model @returns {object} */
export function memoryWith({ url }) {
  return {
    store: "memory",
    models: { summarise: { url, model: "mock" } },
    segments: { min_new_messages: 4, min_new_tokens: 100, min_segment_tokens: 60, min_segment_messages: 4, rollup_size: 3 },
  };
}
