// The official TypeScript SDK against a server: `node typescript.mjs SETTING`, JSON with `url` or `command` and `args`, the
// `mode` of negotiation, and the `workspace`, a folder in which it edits a file. Any fault ends it with an error.

import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { z } from 'zod'

const { url, command, args, mode, workspace } = JSON.parse(process.argv[2])
const rules = 'workspace://example/AGENTS.md'
const tides = 'skill://example/tide-window/SKILL.md'
const anything = z.looseObject({})
const METHOD_NOT_FOUND = -32601

const transport = () => (url ? new StreamableHTTPClientTransport(new URL(url)) : new StdioClientTransport({ command, args }))
const connect = async (mode) => {
  const client = new Client({ name: 'tests', version: '1' }, { versionNegotiation: { mode } })
  await client.connect(transport())
  return client
}
const client = await connect(mode)
const uncached = { cacheMode: 'bypass' }
const extension = (method, params) => client.request({ method, params }, anything)

assert.equal(client.getNegotiatedProtocolVersion(), mode === 'legacy' ? '2025-11-25' : '2026-07-28')
assert.equal(client.getServerVersion().name, 'promptd')

const { skills } = await extension('skills/list', {})
assert.deepEqual(skills.map((skill) => skill.frontmatter.name), ['berth-allocation', 'harbour-dues', 'radio-log', 'storm-watch', 'tide-window'])
assert.deepEqual((await extension('skills/get', { uri: tides })).skill, skills.at(-1))
const folder = await extension('resources/directory/read', { uri: tides.replace('/SKILL.md', '') })
assert.deepEqual(folder.resources.map((resource) => resource.name), ['SKILL.md', 'scripts'])
for (const skill of skills) {
  for (const file of skill.resources) {
    const { contents } = await client.readResource({ uri: file.uri })
    assert.equal(Buffer.byteLength(contents[0].text), file.size, file.uri)
  }
}

const { resources } = await client.listResources()
assert.ok(resources.some((resource) => resource.uri === rules) && resources.some((resource) => resource.uri === tides))
const { prompts } = await client.listPrompts()
assert.ok(prompts.find((prompt) => prompt.name === 'five-layer').arguments.some((argument) => argument.name === 'turn.user.name'))
const prompt = await client.getPrompt({ name: 'five-layer', arguments: { 'turn.user.name': 'Skipper Ahmed', 'turn.now': '2026-02-27T09:30:00Z' } })
const text = prompt.messages.map((message) => message.content.text).join('\n')
assert.ok(text.includes('Skipper Ahmed') && text.includes('2026-02-27T10:30') && text.includes('tide-window'), text)

const { tools } = await client.listTools()
assert.deepEqual(tools.map((tool) => tool.name).sort(), ['findings', 'read_skill'])
const findings = await client.callTool({ name: 'findings', arguments: {} })
assert.equal(findings.structuredContent.workspace, 'example')
const read = await client.callTool({ name: 'read_skill', arguments: { name: 'tide-window', file: 'scripts/window.py' } })
assert.equal(read.content[0].text, await readFile(join(workspace, 'skills/tide-window/scripts/window.py'), 'utf8'))

// An edit, told by a subscription. 2025-11-25 has none over HTTP without a session: there another client is told.
const witness = url && mode === 'legacy' ? await connect('auto') : client
const told = new Promise((resolve) => witness.setNotificationHandler('notifications/resources/updated', resolve))
if (witness !== client) {
  await assert.rejects(client.request({ method: 'resources/subscribe', params: { uri: rules } }), { code: METHOD_NOT_FOUND })
}
if (mode === 'legacy' && witness === client) {
  await client.subscribeResource({ uri: rules })
} else {
  const subscription = await witness.listen({ resourceSubscriptions: [rules] })
  assert.deepEqual(subscription.honoredFilter.resourceSubscriptions, [rules])
}
const edited = '# Rules\n\nThe quay is closed.\n'
await writeFile(join(workspace, 'AGENTS.md'), edited)
assert.equal((await told).params.uri, rules)
assert.equal((await client.readResource({ uri: rules }, uncached)).contents[0].text, edited)

await client.close()
if (witness !== client) await witness.close()
