"""A TCP proxy that hangs up on the first calls: what a client sees when a server dies under it."""

import socket
import threading

PREFACE = len(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
FRAME_HEADER = 9
HEADERS = 1


class Flaky:
    """Forwards to `port`, but closes each of the first `failures` connections as soon as a call begins on it."""

    def __init__(self, port, failures):
        self.port, self.failures, self.seen = port, failures, 0

    def __enter__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.listener.close()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.seen += 1
            server = socket.create_connection(("127.0.0.1", self.port))
            hang_up = self.seen <= self.failures
            threading.Thread(target=pump, args=(client, server, hang_up), daemon=True).start()
            threading.Thread(target=pump, args=(server, client, False), daemon=True).start()


def pump(source, sink, hang_up):
    """Copies bytes one way until either side ends, or until a call begins where `hang_up`."""
    seen = b""
    try:
        while data := source.recv(65536):
            seen = seen + data if hang_up else b""
            if hang_up and begins_a_call(seen):
                break
            sink.sendall(data)
    except OSError:
        pass
    for end in (source, sink):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def begins_a_call(sent):
    """Whether what a client sent so far has a HEADERS frame."""
    at = PREFACE
    while at + FRAME_HEADER <= len(sent):
        if sent[at + 3] == HEADERS:
            return True
        at += FRAME_HEADER + int.from_bytes(sent[at : at + 3])
    return False
