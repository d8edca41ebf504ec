// A page that only loads what the inspector loads, and shows one prompt as plain text: what the browser and the machine take by themselves.
import { createServer } from "node:http";

const MAIN = "/js/main.js";
const SHOW = `
  const { messages } = await (await fetch("/prompt.json")).json();
  for (const { content } of messages) {
    const text = document.createElement("pre");
    text.dataset.messageContent = "";
    text.textContent = content;
    document.getElementById("view").append(text);
  }`;

/** Serves the bare page of an inspector. @returns {Promise<{address: string, stop: () => void}>} */
export async function bare(inspector, workspaceId) {
  const files = new Map([["/prompt.json", await prompt(inspector, workspaceId)]]);
  const page = await fetched(`${inspector}/`);
  files.set("/", page);
  for (const [, path] of page.body.toString().matchAll(/(?:src|href)="(\/[^"]+)"/g)) files.set(path, await fetched(inspector + path));
  files.set(MAIN, { type: files.get(MAIN).type, body: Buffer.from(SHOW) });
  const server = createServer((request, response) => {
    const file = files.get(request.url);
    response.writeHead(file ? 200 : 404, file && { "content-type": file.type }).end(file?.body);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { address: `http://127.0.0.1:${server.address().port}/`, stop: () => server.close() };
}

async function fetched(address, request) {
  const answer = await fetch(address, request);
  if (!answer.ok) throw new Error(`${address}: ${answer.status}`);
  return { type: answer.headers.get("content-type"), body: Buffer.from(await answer.arrayBuffer()) };
}

const prompt = (inspector, workspaceId) =>
  fetched(`${inspector}/promptd.v1.PromptService/AssemblePrompt`, {
    method: "POST",
    headers: { "content-type": "application/json", "connect-protocol-version": "1" },
    body: JSON.stringify({ workspaceId, includeSpans: true }),
  });
