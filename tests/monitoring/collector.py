"""A collector that keeps what it gets, and can be told to hang."""

import queue
import threading
from concurrent.futures import ThreadPoolExecutor

import grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as pb
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc as services
from ports import free_port

WAIT_SECONDS = 20


class Collector(services.TraceServiceServicer):
    """Runs for the length of a `with` block, and again at the same port after `stop`."""

    def __init__(self):
        self.port = free_port()
        self.spans = queue.Queue()
        self.raw = []
        self.metadata = []
        self.answers = threading.Event()
        self.answers.set()

    def Export(self, request, context):  # noqa: N802, the contract's name
        self.answers.wait()
        self.raw.append(request.SerializeToString())
        self.metadata = [tuple(pair) for pair in context.invocation_metadata()]
        for resource in request.resource_spans:
            names = {pair.key: pair.value.string_value for pair in resource.resource.attributes}
            for scope in resource.scope_spans:
                for span in scope.spans:
                    self.spans.put((names, span))
        return pb.ExportTraceServiceResponse()

    def start(self):
        self.server = grpc.server(ThreadPoolExecutor(4))
        services.add_TraceServiceServicer_to_server(self, self.server)
        self.server.add_insecure_port(f"127.0.0.1:{self.port}")
        self.server.start()

    def stop(self):
        self.server.stop(grace=None).wait()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.answers.set()
        self.stop()

    def next(self):
        """The next span, and its resource's attributes."""
        return self.spans.get(timeout=WAIT_SECONDS)
