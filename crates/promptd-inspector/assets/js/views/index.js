// The views, in the order of their tabs.

import { view as prompt } from "./prompt.js";
import { view as compare } from "./compare.js";
import { view as findings } from "./findings.js";
import { view as skills } from "./skills.js";
import { view as profiles } from "./profiles.js";
import { view as history } from "./history.js";
import { view as sessions } from "./sessions.js";
import { view as segments } from "./segments.js";
import { view as notes } from "./notes.js";
import { view as recall } from "./recall.js";
import { view as context } from "./context.js";
import { view as sent } from "./sent.js";
import { view as reply } from "./reply.js";
import { view as workspaces } from "./workspaces.js";

export const views = [prompt, compare, findings, skills, profiles, history, sessions, segments, notes, recall, context, sent, reply, workspaces];
