// A sub-agent: its own name, a task for this turn alone, and fewer skills than its parent.
//
//   node subagent.mjs "Find a berth for an 82 m vessel, draught 4.6 m." --skills "berth-*"
import { parseArgs } from "node:util";

import { Promptd, PromptdError } from "promptd";

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    skills: { type: "string", multiple: true, default: ["*"] },
    workspace: { type: "string", default: "example" },
    address: { type: "string", default: "127.0.0.1:50051" },
  },
});
const client = new Promptd(values.address);
try {
  const prompt = await client.assemble(values.workspace, {
    agent: { id: "berth-clerk", name: "Berth clerk" },
    // The scope comes last, and is not kept in any history.
    ephemeralSystemPrompt: `You work on one task and report back to your caller. Task: ${positionals[0]}`,
    // A filter only narrows: a skill that the workspace hides stays hidden.
    skillFilter: { allowlist: { globs: values.skills } },
    // Nobody reads a sub-agent's warnings, so a loss is an error: the long runbook is left out, and the rest must be whole.
    contextFiles: ["AGENTS.md", "SOUL.md", "IDENTITY.md"],
    strict: true,
  });
  for (const { name, content, ephemeral } of prompt.messages)
    console.log(`${name}: ${content.length} characters, ${ephemeral ? "this turn only" : "kept"}`);
  console.log(prompt.messages.at(-1).content);
} catch (error) {
  if (!(error instanceof PromptdError)) throw error;
  console.error(`${error.code}: ${error.message}`);
  process.exitCode = 1;
}
client.close();
