"""A server that fails as it is told, for what the real one cannot be made to do on demand."""

from concurrent.futures import ThreadPoolExecutor

import grpc
from google.protobuf import any_pb2, duration_pb2
from google.rpc import error_details_pb2, status_pb2

from promptd.v1 import promptd_pb2 as pb


class Fake:
    """Answers each call of AssemblePrompt by `answer(request, context, number of the call from 1)`."""

    def __init__(self, answer):
        self.calls = 0
        self.answer = answer

    def __enter__(self):
        self.server = grpc.server(ThreadPoolExecutor(4))
        handler = grpc.unary_unary_rpc_method_handler(self.handle, pb.AssemblePromptRequest.FromString, lambda one: one.SerializeToString())
        self.server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("promptd.v1.PromptService", {"AssemblePrompt": handler})])
        self.address = f"127.0.0.1:{self.server.add_insecure_port('127.0.0.1:0')}"
        self.server.start()
        return self

    def __exit__(self, *_):
        self.server.stop(None)

    def handle(self, request, context):
        self.calls += 1
        return self.answer(request, context, self.calls)


def overloaded(context, retry_seconds):
    """Fails as a server does that has too much to do."""
    status = status_pb2.Status(code=14, message="overloaded")
    retry = error_details_pb2.RetryInfo(retry_delay=duration_pb2.Duration(seconds=int(retry_seconds), nanos=int(retry_seconds % 1 * 1e9)))
    for detail in (error_details_pb2.ErrorInfo(reason="OVERLOADED", domain="promptd"), retry):
        packed = any_pb2.Any()
        packed.Pack(detail)
        status.details.append(packed)
    context.set_trailing_metadata([("grpc-status-details-bin", status.SerializeToString())])
    context.abort(grpc.StatusCode.UNAVAILABLE, "overloaded")
