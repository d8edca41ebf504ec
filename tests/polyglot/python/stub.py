"""A server that keeps what the SDKs of the providers send, and answers each as its provider would."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# By the end of the path.
ANSWERS = {
    "/chat/completions": {
        "id": "1", "object": "chat.completion", "created": 0, "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "ok"}}],
    },
    "/responses": {"id": "1", "object": "response", "created_at": 0, "model": "m", "status": "completed", "output": []},
    "/v1/messages": {
        "id": "1", "type": "message", "role": "assistant", "model": "m", "content": [{"type": "text", "text": "ok"}],
        "stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
    },
    ":generateContent": {"candidates": [{"content": {"role": "model", "parts": [{"text": "ok"}]}}]},
    "/converse": {
        "output": {"message": {"role": "assistant", "content": [{"text": "ok"}]}}, "stopReason": "end_turn",
        "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}, "metrics": {"latencyMs": 1},
    },
}


class Stub:
    """Listens on a free port for the length of a `with` block."""

    def __enter__(self):
        self.bodies = []
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                stub.bodies.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
                answers = [answer for end, answer in ANSWERS.items() if self.path.endswith(end)]
                body = json.dumps(answers[0] if answers else {"error": self.path}).encode()
                self.send_response(200 if answers else 404)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def received(self):
        """The one body that has come since it was last asked."""
        [body], self.bodies = self.bodies, []
        return body
