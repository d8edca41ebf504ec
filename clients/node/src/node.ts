/** promptd from Node. */
import { RoundRobin, type TlsOptions } from "./channels.js";
import { Client, type ClientOptions } from "./client.js";
import { refused } from "./errors.js";
import { Folder } from "./folder.js";
import type { LastGoodStore } from "./lastgood.js";
import { unknownNames } from "./convert.js";

/** How to reach the service, and how calls behave. */
export interface PromptdOptions extends ClientOptions {
  /** TLS: with the certificates that Node trusts, or with files. Default: none, unless an address begins with `https://`. */
  tls?: TlsOptions | boolean;
  /** How to speak. Default: `grpc`. */
  protocol?: "grpc" | "connect";
  /** The largest answer to take, in bytes. Default: 4 MiB, as the service's own limit. */
  maxAnswerBytes?: number;
  /** Serves an answer of before when the service cannot be reached: from memory (`new Memory()`), or from this folder. */
  lastGood?: LastGoodStore | string;
}

const MAX_ANSWER_BYTES = 4 * 1024 * 1024;
const OPTIONS = ["token", "timeoutMs", "tls", "protocol", "maxAnswerBytes", "lastGood"];

/** A client of one service. */
export class Promptd extends Client {
  /**
   * Opens no connection yet. `address` is host and port, a URL, or a list of them; a name is spread over all its addresses.
   * Throws `invalid_argument` for an address, an option or a file that cannot be used.
   */
  constructor(address: string | readonly string[], options: PromptdOptions = {}) {
    const unknown = unknownNames(options, OPTIONS, "the client's options");
    if (unknown.length) throw refused("Promptd", unknown);
    const { tls = false, protocol = "grpc", maxAnswerBytes = MAX_ANSWER_BYTES, lastGood } = options;
    const addresses = typeof address === "string" ? [address] : address;
    const store = typeof lastGood === "string" ? new Folder(lastGood) : lastGood;
    super(new RoundRobin(addresses, { tls, protocol, maxAnswerBytes }), options, store);
  }
}

export type { TlsOptions } from "./channels.js";
export { Folder } from "./folder.js";
export * from "./shared.js";
