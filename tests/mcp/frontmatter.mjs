// Compares front matter with what the npm package `yaml` reads, which is what clients have. Standard input: JSON, by address the
// text of a SKILL.md and its front matter as the server lists it. Standard output: JSON, a sentence for each that differs.

import { isDeepStrictEqual } from 'node:util'
import { text } from 'node:stream/consumers'
import { parse } from 'yaml'

const MARKED = /^\uFEFF?---\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/

function fault({ text, frontmatter }) {
  const marked = MARKED.exec(text)
  if (!marked) return 'no front matter'
  let own
  try {
    own = parse(marked[1])
  } catch (error) {
    // Repaired: name and description are all that can be compared.
    const kept = Object.keys(frontmatter).sort().join()
    return kept === 'description,name' ? null : `unreadable (${error.message}), yet it lists ${kept}`
  }
  // As the server sends it: JSON has no other numbers.
  own = JSON.parse(JSON.stringify(own))
  if (isDeepStrictEqual(own, frontmatter)) return null
  return `${JSON.stringify(frontmatter)} is listed, but it has ${JSON.stringify(own)}`
}

const skills = JSON.parse(await text(process.stdin))
const faults = Object.entries(skills).map(([uri, skill]) => [uri, fault(skill)])
console.log(JSON.stringify(Object.fromEntries(faults.filter(([, fault]) => fault))))
