/** How calls are retried and spread: what `examples/service_config.json` says, for libraries that cannot read it. */

/** The policy, in the form of gRPC's service config. */
export const SERVICE_CONFIG = {
  loadBalancingConfig: [{ round_robin: {} }],
  methodConfig: [
    {
      name: [
        { service: "promptd.v1.PromptService" },
        { service: "promptd.v1.WorkspaceService" },
        { service: "promptd.v1.ProfileService" },
        { service: "promptd.v1.SessionService" },
        { service: "promptd.v1.AdminService" },
      ],
      retryPolicy: {
        maxAttempts: 4,
        initialBackoff: "0.1s",
        maxBackoff: "2s",
        backoffMultiplier: 2,
        retryableStatusCodes: ["UNAVAILABLE"],
      },
    },
  ],
} as const;

const POLICY = SERVICE_CONFIG.methodConfig[0].retryPolicy;
const milliseconds = (duration: string) => Number.parseFloat(duration) * 1000;

/** The most attempts of a call, the first one included. */
export const MAX_ATTEMPTS: number = POLICY.maxAttempts;

/** How far a wait is from the policy's, so that clients do not come back all at once: up to a fifth. */
const JITTER = 0.2;

/** How long to wait after so many attempts, in milliseconds, at most `most`. */
export function backoffMs(attempts: number, most = milliseconds(POLICY.maxBackoff)): number {
  const wait = milliseconds(POLICY.initialBackoff) * POLICY.backoffMultiplier ** (attempts - 1);
  return Math.min(wait, most) * (1 - JITTER + Math.random() * 2 * JITTER);
}

/** Waits; sooner where the signal is aborted. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done);
    if (signal?.aborted) done();
  });
}
