// The google.rpc error details of a failed call, by type.
import assert from "node:assert/strict";

import protobuf from "protobufjs";

const { root } = protobuf.parse(
  `syntax = "proto3";
  package google.rpc;
  message Any { string type_url = 1; bytes value = 2; }
  message Status { int32 code = 1; string message = 2; repeated Any details = 3; }
  message ErrorInfo { string reason = 1; string domain = 2; map<string, string> metadata = 3; }
  message Duration { int64 seconds = 1; int32 nanos = 2; }
  message RetryInfo { Duration retry_delay = 1; }
  message BadRequest {
    message FieldViolation { string field = 1; string description = 2; }
    repeated FieldViolation field_violations = 1;
  }
  message PreconditionFailure {
    message Violation { string type = 1; string subject = 2; string description = 3; }
    repeated Violation violations = 1;
  }
  message ResourceInfo { string resource_type = 1; string resource_name = 2; string owner = 3; string description = 4; }`,
  { keepCase: true },
);

export function details(error) {
  const [encoded] = error.metadata.get("grpc-status-details-bin");
  assert.ok(encoded, "the error has no details");
  const found = {};
  for (const { type_url, value } of root.lookupType("google.rpc.Status").decode(encoded).details) {
    const name = type_url.replace("type.googleapis.com/google.rpc.", "");
    assert.ok(!(name in found), `two details of type ${name}`);
    found[name] = root.lookupType(`google.rpc.${name}`).decode(value);
  }
  return found;
}
