// A first program, as a newcomer writes it: one call, printed. It starts its own server.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

import { Promptd } from "promptd";

const workspace = `example=${process.env.PROMPTD_ROOT}/workspace-example`;
const server = spawn(process.env.PROMPTD_BIN, ["serve", "--workspace", workspace, "--listen", "127.0.0.1:0"], {
  stdio: ["ignore", "pipe", "ignore"],
});
try {
  const [ready] = await once(createInterface({ input: server.stdout }), "line");
  const client = new Promptd(ready.split(" ").at(-1));
  const prompt = await client.assemble("example", { user: { name: "Dana" }, format: "openai-chat" });
  console.log(`${prompt.forOpenai().messages.length} messages, revision ${prompt.revision}`);
} finally {
  server.kill();
}
