// The prompt of the state's workspace, profile, revision and turn: assembled again whenever one of them changes.

import { isAbort } from "../errors.js";
import { call } from "../rpc.js";
import { state, update } from "../state.js";

const TYPING_MS = 150;
const AGAIN_MS = 2_000; // after a call that could not be answered now
const LATE_MS = 1_000; // after which the prompt on the page is marked as an older one
const INPUTS = ["workspaceId", "profile", "revision", "tokenEncoding", "turn"];

let control = new AbortController();
let timer = 0;

/** Assembles the prompt now; an earlier call that is under way no longer counts. The answer is `state.prompt`. */
export async function assemble() {
  clearTimeout(timer);
  control.abort();
  control = new AbortController();
  const { signal } = control;
  const { workspaceId, profile, revision, turn, tokenEncoding } = state;
  if (!workspaceId) return;
  const held = heldContents(state.prompt);
  const ifNoneMatch = [...held.keys()];
  const late = setTimeout(() => update({ promptLate: true }), LATE_MS);
  signal.addEventListener("abort", () => clearTimeout(late));
  try {
    const prompt = await call("PromptService/AssemblePrompt",
      { workspaceId, profile, revision, turn, tokenEncoding, includeSpans: true, ifNoneMatch }, { signal });
    if (!signal.aborted) update({ prompt: filled(prompt, held), promptError: null, promptLate: false });
  } catch (error) {
    if (isAbort(error) || signal.aborted) return;
    update({ promptError: error, promptLate: false });
    if (error.code === "unavailable") timer = setTimeout(assemble, AGAIN_MS);
  } finally {
    clearTimeout(late);
  }
}

/** Assembles it again where these changes of the state bear on it; a turn that is being typed a moment later. @param {string[]} keys */
export function follow(keys) {
  const changed = INPUTS.filter((key) => keys.includes(key));
  const back = keys.includes("live") && state.live === "connected" && state.promptError !== null;
  if (changed.length === 0 && !back) return;
  if (changed.length > 1 || changed[0] !== "turn") return assemble();
  clearTimeout(timer);
  timer = setTimeout(assemble, TYPING_MS);
}

// What is on the page already need not be sent again: its digest is sent instead.
function heldContents(prompt) {
  const held = [...(prompt?.messages ?? []), ...(prompt?.cards ?? [])];
  return new Map(held.filter((each) => each.content).map((each) => [each.digest, each.content]));
}

function filled(prompt, held) {
  const fill = (each) => ({ ...each, content: each.notModified ? held.get(each.digest) : each.content ?? "" });
  return { ...prompt, messages: (prompt.messages ?? []).map(fill), cards: (prompt.cards ?? []).map(fill), sections: prompt.sections ?? [], findings: prompt.findings ?? [] };
}
