import { PromptdError } from "./errors.js";

/** The URL of an address: of `host:port`, or of a URL, which says itself whether by TLS. @internal */
export function urlOf(address: string, tls: boolean): string {
  const whole = /^https?:\/\//.test(address) ? address : `${tls ? "https" : "http"}://${address}`;
  if (typeof address === "string" && URL.canParse(whole) && new URL(whole).hostname) return whole.replace(/\/+$/, "");
  throw new PromptdError("invalid_argument", `Promptd: ${JSON.stringify(address)} is not an address; give host and port, such ` +
    'as "127.0.0.1:50051"');
}
