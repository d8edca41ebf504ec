/** The one type of error. */
import { Code, ConnectError } from "@connectrpc/connect";

import { BadRequestSchema, ErrorInfoSchema, PreconditionFailureSchema, RetryInfoSchema } from "./gen/google/rpc/error_details_pb.js";

/** The status of a call that failed, as gRPC names them. */
export type ErrorCode =
  | "canceled" | "unknown" | "invalid_argument" | "deadline_exceeded" | "not_found" | "already_exists" | "permission_denied"
  | "resource_exhausted" | "failed_precondition" | "aborted" | "out_of_range" | "unimplemented" | "internal" | "unavailable"
  | "data_loss" | "unauthenticated";

/** One thing that is wrong with a request, or that is in its way. */
export interface Violation {
  /** The field's path, such as `turn.time_zone`; of what is not a field, what it is about. */
  field: string;
  /** What is wrong. */
  description: string;
}

interface Facts {
  reason?: string;
  violations?: Violation[];
  retryAfterMs?: number | undefined;
  requestId?: string;
  cause?: unknown;
}

/** What every call of this package fails with. */
export class PromptdError extends Error {
  override readonly name = "PromptdError";
  /** The status. */
  readonly code: ErrorCode;
  /** The service's reason, such as `WORKSPACE_NOT_FOUND`. Empty: the error did not come from the service. */
  readonly reason: string;
  /** What is wrong, one by one. */
  readonly violations: readonly Violation[];
  /** When to try again, in milliseconds, where the service says so. */
  readonly retryAfterMs: number | undefined;
  /** The call's name in the server's log. Empty: none is known. */
  readonly requestId: string;

  /** @internal */
  constructor(code: ErrorCode, message: string, facts: Facts = {}) {
    super(message, { cause: facts.cause });
    this.code = code;
    this.reason = facts.reason ?? "";
    this.violations = facts.violations ?? [];
    this.retryAfterMs = facts.retryAfterMs;
    this.requestId = facts.requestId ?? "";
  }
}

/** The error of a request that is not sent, since the service would refuse it. @internal */
export function refused(call: string, violations: Violation[]): PromptdError {
  const faults = violations.map(({ field, description }) => (field ? `\`${field}\` ${description}` : description));
  return new PromptdError("invalid_argument", `${call}: ${faults.join("; ")}`, { reason: "INVALID_REQUEST", violations });
}

/** What is known of a call that failed. @internal */
export interface Attempted {
  call: string;
  address: string;
  timeoutMs: number | undefined;
  signal: AbortSignal | undefined;
  requestId: string;
}

/** Whatever a transport throws, as the one type. @internal */
export function failed(thrown: unknown, attempted: Attempted): PromptdError {
  if (thrown instanceof PromptdError) return thrown;
  const error = ConnectError.from(thrown);
  const [info] = error.findDetails(ErrorInfoSchema);
  if (!info) return unanswered(error, attempted);
  const [retry] = error.findDetails(RetryInfoSchema);
  const delay = retry?.retryDelay;
  const fields = error.findDetails(BadRequestSchema).flatMap((detail) => detail.fieldViolations);
  const conditions = error.findDetails(PreconditionFailureSchema).flatMap((detail) => detail.violations);
  return new PromptdError(codeOf(error.code), `${attempted.call}: ${error.rawMessage}`, {
    reason: info.reason,
    violations: [
      ...fields.map(({ field, description }) => ({ field, description })),
      ...conditions.map(({ subject, description }) => ({ field: subject, description })),
    ],
    retryAfterMs: delay && Number(delay.seconds) * 1000 + delay.nanos / 1e6,
    requestId: error.metadata.get("x-request-id") ?? attempted.requestId,
    cause: error,
  });
}

/** The error of a call that the service did not answer itself. */
function unanswered(error: ConnectError, { call, address, timeoutMs, signal, requestId }: Attempted): PromptdError {
  const facts = { cause: error, requestId };
  if (signal?.aborted) return new PromptdError("canceled", `${call}: canceled by the caller`, facts);
  switch (error.code) {
    case Code.DeadlineExceeded:
      return new PromptdError("deadline_exceeded", `${call}: ${address} did not answer in ${timeoutMs} ms; ` +
        "is it reachable, or must `timeoutMs` be longer?", facts);
    case Code.ResourceExhausted:
      return new PromptdError("resource_exhausted", `${call}: the answer is too large (${error.rawMessage}); set ` +
        "`referenceConversation` or `omitSections`, or raise the client's `maxAnswerBytes`", facts);
    case Code.Unavailable: case Code.Aborted: case Code.Canceled: case Code.Internal: case Code.Unknown:
      return new PromptdError("unavailable", `${call}: no promptd answers at ${address} (${rootOf(error)}); is this the ` +
        "address, with TLS or without? `promptd serve` starts one", facts);
    default:
      return new PromptdError(codeOf(error.code), `${call}: ${address} is not a promptd, or not one that has this call ` +
        `(${error.rawMessage})`, facts);
  }
}

/** The words of the first cause: `connect ECONNREFUSED 127.0.0.1:1`. */
function rootOf(error: Error): string {
  let root: Error = error;
  while (root.cause instanceof Error) root = root.cause;
  return (root instanceof ConnectError ? root.rawMessage : root.message).trim();
}

const codeOf = (code: Code) => Code[code].replace(/(?<=.)[A-Z]/g, "_$&").toLowerCase() as ErrorCode;
