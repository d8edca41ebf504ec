// Texts of files and profiles, as they are now: read when somebody asks for a place in them, and kept until the next save.

import { call } from "./rpc.js";
import { state } from "./state.js";

const LINE_END = /\r\n|\r|\n/g;

/** @type {Map<string, Promise<FileText>>} */
const held = new Map();

/**
 * A place that can be opened.
 * @typedef {object} Place
 * @property {string} [path] relative to the workspace, or with `skill` to its folder
 * @property {string} [skill] the skill's name
 * @property {string} [profile] the profile whose source is meant
 * @property {string} [section] of that profile
 * @property {string} [setting] the key of workspace.yaml that is meant
 * @property {number} [line] 1-based
 * @property {number} [column] 1-based
 * @property {[number, number]} [range] bytes of the file that are meant
 * @property {string} [sha256] of the file as the prompt has it
 * @property {string} [text] of the line that is meant, to find it in a file that was edited since
 */

/** A file's bytes as text, and the places in it. */
export class FileText {
  /** @param {string} path @param {Uint8Array} bytes @param {string} sha256 */
  constructor(path, bytes, sha256) {
    this.path = path;
    this.bytes = bytes;
    this.sha256 = sha256;
    const utf16 = bytes[0] === 0xff && bytes[1] === 0xfe ? "utf-16le" : bytes[0] === 0xfe && bytes[1] === 0xff ? "utf-16be" : null;
    this.decoder = new TextDecoder(utf16 ?? "utf-8", { ignoreBOM: true });
    this.text = this.decoder.decode(bytes);
    this.starts = [0, ...[...this.text.matchAll(LINE_END)].map((end) => end.index + end[0].length)];
  }

  /** The index in the text of a byte. @param {number} byte @returns {number} */
  indexOf(byte) {
    return this.decoder.decode(this.bytes.subarray(0, byte)).length;
  }

  /** @param {number} index in the text @returns {{line: number, column: number}} both 1-based, the column in characters */
  placeOf(index) {
    let [low, high] = [0, this.starts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.starts[middle] <= index) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: [...this.text.slice(this.starts[low], index)].length + 1 };
  }

  /** @param {number} line 1-based @returns {string} without its end */
  line(line) {
    return this.text.slice(this.starts[line - 1], this.starts[line] ?? this.text.length).replace(/(\r\n|\r|\n)$/, "");
  }
}

/** Reads a place's text. @param {Place} place @returns {Promise<FileText>} rejects with the RpcError of the call */
export function readText(place) {
  const key = JSON.stringify([state.workspaceId, place.skill ?? "", place.profile ?? "", place.path ?? ""]);
  if (!held.has(key)) {
    const read = place.profile ? readProfile(place) : place.skill ? readSkill(place) : readPath(place.path);
    held.set(key, read);
    read.catch(() => held.delete(key));
  }
  return held.get(key);
}

/** Forgets what was read: something was saved. */
export function forgetTexts() {
  held.clear();
}

/** Where a key of workspace.yaml or a section of a profile is written, as far as the text's layout shows it. @param {FileText} file @param {Place} place @returns {number} the line, or 0 */
export function lineOf(file, { setting, section }) {
  const lines = file.starts.map((_, index) => file.line(index + 1));
  if (section) return 1 + lines.findIndex((line) => /^\s*(- *\{? *)?id: *["']?/.test(line) && line.includes(section));
  let from = 0;
  let found = 0;
  for (const key of (setting ?? "").split(/[.[]/).filter((part) => part && !/^\d+\]$/.test(part))) {
    const at = lines.findIndex((line, index) => index >= from && line.replace(/^[\s-]+/, "").startsWith(`${key}:`));
    if (at < 0) break;
    [from, found] = [at + 1, at + 1];
  }
  return found;
}

function readPath(path) {
  const skill = /(?:^|\/)([^/]+)\/SKILL\.md$/.exec(path);
  return skill ? readSkillFile(path, skill[1]) : readDocument(path);
}

async function readDocument(path) {
  const { content, sha256 } = await call("WorkspaceService/ReadFile", { workspaceId: state.workspaceId, path });
  return new FileText(path, decoded(content), sha256);
}

// A skill's name is as a rule that of its folder; where it is not, the list of skills says which one lies there.
async function readSkillFile(path, folder) {
  try {
    const file = await readSkill({ skill: folder });
    if (file.path === path) return file;
  } catch (error) {
    if (error.code !== "not_found") throw error;
  }
  const { skills = [] } = await call("WorkspaceService/ListSkills", { workspaceId: state.workspaceId, pageSize: 1000 });
  for (const { name, location = "", shown } of skills) {
    if (!shown || name === folder || (location.startsWith("/") && !location.endsWith(`/${folder}/SKILL.md`))) continue;
    const file = await readSkill({ skill: name });
    if (file.path === path) return file;
  }
  return readDocument(path);
}

async function readSkill({ skill, path = "" }) {
  const file = path === "SKILL.md" || path.endsWith("/SKILL.md") ? "" : path;
  const answer = await call("WorkspaceService/ReadSkill", { workspaceId: state.workspaceId, name: skill, file });
  return new FileText(answer.path, decoded(answer.content), answer.sha256);
}

async function readProfile({ profile }) {
  const { profile: { source = "" } } = await call("ProfileService/GetProfile", { name: profile });
  return new FileText(`profile ${profile}`, new TextEncoder().encode(source), "");
}

function decoded(base64 = "") {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}
