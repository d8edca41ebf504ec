// The call that the page makes, for a terminal and for programs: as docs/connect.md and the README have it.

/**
 * @typedef {object} Snippet
 * @property {string} id
 * @property {string} title
 * @property {string} addressLabel what kind of address it needs
 * @property {(origin: URL) => string} address the one to begin with
 * @property {(request: object, address: string, needsToken: boolean) => string} write
 */

/** @type {Snippet[]} */
export const SNIPPETS = [
  { id: "curl", title: "curl", addressLabel: "Address of the inspector, or of the service", address: (origin) => origin.origin, write: curl },
  { id: "python", title: "Python", addressLabel: "The service's gRPC address", address: (origin) => `${origin.hostname}:50051`, write: python },
  { id: "node", title: "Node", addressLabel: "Address of the inspector, or of the service", address: (origin) => origin.origin, write: node },
];

function curl(request, address, needsToken) {
  return [
    needsToken && "# PROMPTD_TOKEN: a token that may see this workspace",
    "curl -sS -H 'content-type: application/json' \\",
    needsToken && "  -H \"authorization: Bearer $PROMPTD_TOKEN\" \\",
    `  -d ${quoted(JSON.stringify(request))} \\`,
    `  ${quoted(`${address}/promptd.v1.PromptService/AssemblePrompt`)}`, "",
  ].filter((line) => line !== false).join("\n");
}

function python(request, address, needsToken) {
  return `# Stubs: pip install grpcio grpcio-tools; mkdir -p stubs
# python -m grpc_tools.protoc -Iproto --python_out=stubs --grpc_python_out=stubs proto/promptd/v1/promptd.proto
# Run it with PYTHONPATH=stubs. The address is that of the service itself, not of the inspector.
${needsToken ? "import os\n\n" : ""}import grpc
from google.protobuf import json_format
from promptd.v1 import promptd_pb2 as pb, promptd_pb2_grpc as services

request = json_format.ParseDict(${pythonLiteral(request)}, pb.AssemblePromptRequest())
channel = grpc.insecure_channel(${JSON.stringify(address)})
prompt = services.PromptServiceStub(channel).AssemblePrompt(request, timeout=5${needsToken ? ',\n    metadata=[("authorization", "Bearer " + os.environ["PROMPTD_TOKEN"])]' : ""})
print(prompt.rendered)
`;
}

function node(request, address, needsToken) {
  return `// Packages and stubs: npm install @connectrpc/connect @connectrpc/connect-node @bufbuild/protobuf @bufbuild/protoc-gen-es @bufbuild/buf
// npx buf generate proto --template \\
//   '{"version": "v2", "plugins": [{"local": "protoc-gen-es", "out": "stubs", "opt": ["target=js", "import_extension=js"]}]}'
// Save it as call.mjs.
import { fromJson } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { AssemblePromptRequestSchema, PromptService } from "./stubs/promptd/v1/promptd_pb.js";

const request = fromJson(AssemblePromptRequestSchema, ${JSON.stringify(request, null, 2)});
const transport = createConnectTransport({ baseUrl: ${JSON.stringify(address)}, httpVersion: "1.1", useBinaryFormat: false });
const prompts = createClient(PromptService, transport);
const prompt = await prompts.assemblePrompt(request, { timeoutMs: 5000${needsToken ? ", headers: { authorization: `Bearer ${process.env.PROMPTD_TOKEN}` }" : ""} });
console.log(prompt.rendered);
`;
}

// For a POSIX shell.
function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

const PYTHON_WORDS = { true: "True", false: "False", null: "None" };

// A JSON value as Python writes it; its strings are those of JSON.
function pythonLiteral(value, indent = "") {
  const inner = `${indent}    `;
  if (value === null || typeof value === "boolean") return PYTHON_WORDS[String(value)];
  if (typeof value !== "object") return JSON.stringify(value);
  const array = Array.isArray(value);
  const parts = array ? value.map((each) => pythonLiteral(each, inner)) : Object.entries(value).filter(([, each]) => each !== undefined).map(([key, each]) => `${JSON.stringify(key)}: ${pythonLiteral(each, inner)}`);
  const [open, close] = array ? "[]" : "{}";
  return parts.length ? `${open}\n${parts.map((part) => `${inner}${part},\n`).join("")}${indent}${close}` : open + close;
}
