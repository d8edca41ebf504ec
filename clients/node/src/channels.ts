/** Connections from Node: one to each address, by gRPC or Connect over HTTP/2, used in turn. */
import { lookup } from "node:dns/promises";
import { readFileSync } from "node:fs";
import { isIP } from "node:net";

import { createConnectTransport, createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";

import { urlOf } from "./address.js";
import type { Channel, Channels } from "./caller.js";
import { PromptdError } from "./errors.js";

/** How to speak TLS. */
export interface TlsOptions {
  /** File of the certificates to trust (PEM). Default: those that Node trusts. */
  caFile?: string;
  /** File of the client's certificate (PEM), where the server asks for one. */
  certFile?: string;
  /** File of its key (PEM). */
  keyFile?: string;
}

/** @internal */
export interface ChannelOptions {
  tls: TlsOptions | boolean;
  protocol: "grpc" | "connect";
  maxAnswerBytes: number;
}

/** How long an address that failed is passed over while there are others. */
const PASSED_OVER_MS = 5_000;
/** A connection that is used is asked so often whether it still lives, in milliseconds. */
const PING_MS = 20_000;

interface Address {
  url: string;
  ip: string;
}

/** A round-robin over every address of every name. @internal */
export class RoundRobin implements Channels {
  readonly address: string;
  readonly #urls: readonly string[];
  readonly #options: ChannelOptions;
  readonly #secrets: object;
  readonly #connections = new Map<string, Connection>();
  #ring: Promise<Connection[]> | undefined;
  #turn = 0;

  constructor(addresses: readonly string[], options: ChannelOptions) {
    this.address = addresses.join(", ");
    if (!addresses.length) throw new PromptdError("invalid_argument", "Promptd: there is no address to call; give at least one");
    this.#urls = addresses.map((address) => urlOf(address, options.tls !== false));
    this.#options = options;
    this.#secrets = typeof options.tls === "object" ? read(options.tls) : {};
  }

  async next(): Promise<Channel> {
    this.#ring ??= this.#resolve();
    const ring = await this.#ring.catch((error: unknown) => {
      this.#ring = undefined;
      throw error;
    });
    const from = this.#turn++ % ring.length;
    const order = [...ring.slice(from), ...ring.slice(0, from)];
    const connection = order.find((each) => each.usable()) ?? order[0]!;
    return {
      transport: connection.transport,
      served: (ok) => {
        connection.failedAt = ok ? undefined : performance.now();
        // A name may lead elsewhere by now.
        if (!ok) this.#ring = undefined;
        return !ok && ring.some((each) => each.usable());
      },
    };
  }

  close(): void {
    for (const { sessions } of this.#connections.values()) sessions.abort();
  }

  async #resolve(): Promise<Connection[]> {
    const addresses = (await Promise.all(this.#urls.map(resolve))).flat();
    return addresses.map((address) => {
      const key = `${address.url} ${address.ip}`;
      const connection = this.#connections.get(key) ?? new Connection(address, this.#options, this.#secrets);
      this.#connections.set(key, connection);
      return connection;
    });
  }
}

class Connection {
  readonly sessions: Http2SessionManager;
  readonly transport;
  failedAt: number | undefined;

  constructor({ url, ip }: Address, { protocol, maxAnswerBytes }: ChannelOptions, secrets: object) {
    // The name stays in the request, and in what TLS checks.
    const found = { address: ip, family: isIP(ip) };
    const lookup = (_name: string, { all }: { all?: boolean }, done: (error: null, ...found: unknown[]) => void) =>
      all ? done(null, [found]) : done(null, found.address, found.family);
    this.sessions = new Http2SessionManager(url, { pingIntervalMs: PING_MS }, { ...secrets, lookup } as object);
    const options = { baseUrl: url, sessionManager: this.sessions, readMaxBytes: maxAnswerBytes };
    this.transport =
      protocol === "grpc" ? createGrpcTransport(options) : createConnectTransport({ ...options, httpVersion: "2" });
  }

  usable(): boolean {
    return this.failedAt === undefined || performance.now() - this.failedAt > PASSED_OVER_MS;
  }
}

async function resolve(url: string): Promise<Address[]> {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, "");
  if (isIP(host)) return [{ url, ip: host }];
  const found = await lookup(host, { all: true });
  return found.map(({ address }) => ({ url, ip: address }));
}

function read({ caFile, certFile, keyFile }: TlsOptions): object {
  const file = (option: string, path: string | undefined) => {
    if (path === undefined) return {};
    try {
      return { [option]: readFileSync(path) };
    } catch (cause) {
      const words = cause instanceof Error ? cause.message : String(cause);
      throw new PromptdError("invalid_argument", `Promptd: \`tls.${option}File\` cannot be read: ${words}`, { cause });
    }
  };
  return { ...file("ca", caFile), ...file("cert", certFile), ...file("key", keyFile) };
}
