/** promptd from a web page. Set `grpc.web_origins` of the service to the page's origin. */
import { createConnectTransport } from "@connectrpc/connect-web";

import { urlOf } from "./address.js";
import type { Channel, Channels } from "./caller.js";
import { Client, type ClientOptions } from "./client.js";
import { unknownNames } from "./convert.js";
import { refused } from "./errors.js";
import type { LastGoodStore } from "./lastgood.js";

/** How to reach the service, and how calls behave. */
export interface PromptdOptions extends ClientOptions {
  /** Serves an answer of before when the service cannot be reached: `new Memory()`. */
  lastGood?: LastGoodStore;
}

const OPTIONS = ["token", "timeoutMs", "lastGood"];

/** A client of one service, by Connect with JSON. */
export class Promptd extends Client {
  /** `address` is a URL, or host and port. Throws `invalid_argument` for one that cannot be used, and for an unknown option. */
  constructor(address: string, options: PromptdOptions = {}) {
    const unknown = unknownNames(options, OPTIONS, "the client's options");
    if (unknown.length) throw refused("Promptd", unknown);
    super(new Web(address), options, options.lastGood);
  }
}

/** The browser keeps the connections. */
class Web implements Channels {
  readonly address: string;
  readonly #channel: Channel;

  constructor(address: string) {
    this.address = address;
    this.#channel = { transport: createConnectTransport({ baseUrl: urlOf(address, false) }), served: () => false };
  }

  async next(): Promise<Channel> {
    return this.#channel;
  }

  close(): void {}
}

export * from "./shared.js";
