// The form, the prompt, and following the workspace.
import { PromptdError, call, stream } from "./promptd.js";

const RETRY_MS = 2000;

const form = document.querySelector("form");
const status = document.querySelector("[role=status]");
const prompt = document.querySelector("section");
let following = new AbortController();

form.addEventListener("submit", (event) => {
  event.preventDefault();
  following.abort();
  following = new AbortController();
  follow(following.signal);
});

// Assembles now, and again whenever the workspace has a new revision.
async function follow(signal) {
  const server = { url: form.server.value, token: form.token.value };
  const workspaceId = form.workspace.value;
  while (!signal.aborted) {
    try {
      for await (const _ of stream(server, "WorkspaceService/WatchWorkspace", { workspaceId }, signal)) await show(server);
    } catch (error) {
      if (signal.aborted) return;
      say(explained(error, server), true);
      // What the caller must change is not tried again.
      if (error instanceof PromptdError && error.code !== "unavailable") return;
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

async function show(server) {
  const turn = { user: { name: form.user.value }, ephemeralSystemPrompt: form.ephemeral.value };
  const answer = await call(server, "PromptService/AssemblePrompt", { workspaceId: form.workspace.value, turn });
  prompt.replaceChildren(...answer.messages.map(article));
  const findings = answer.findings?.length ?? 0;
  say(`${answer.size.chars} characters, ${findings} findings, revision ${answer.revision.slice(0, 8)}`);
}

function article({ name, content }) {
  const [box, heading, text] = ["article", "h2", "pre"].map((tag) => document.createElement(tag));
  heading.textContent = name;
  text.textContent = content;
  box.append(heading, text);
  return box;
}

function explained(error, { url }) {
  if (error instanceof PromptdError) return `${error.reason ?? error.code}: ${error.message}`;
  // A browser does not tell a page which of the two it is.
  return `no answer from ${url}: is promptd running, and is ${location.origin} in its grpc.web_origins?`;
}

function say(text, failed = false) {
  status.textContent = text;
  status.toggleAttribute("data-failed", failed);
}
