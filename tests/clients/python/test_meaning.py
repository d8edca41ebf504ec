"""A real embedding model, WordLlama, behind a server with OpenAI's interface: what the service makes of its vectors."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from wordllama import WordLlama

from promptd import Promptd
from running import Server

PATIENCE_SECONDS = 60

# What was talked about, one topic after the other; of two neighbours none names the other's things.
TOPICS = [
    [
        "The ferry leaves the harbour at seven in the morning.", "Is the pilot boat back at the pier yet?",
        "The captain asked for a berth near the lighthouse.", "A storm from the west will raise the waves tonight.",
        "The tug towed the freighter into the dock.", "We need new ropes to moor the sailing ship.",
        "The tide is lowest an hour after noon.", "Two fishing boats are anchored outside the breakwater.",
        "The cargo ship waits at sea for a free quay.", "The crew repaired the mast and the sails.",
    ],
    [
        "Knead the dough for ten minutes, until it is smooth.", "How much yeast do I need for two loaves of bread?",
        "Mix the flour with water and a pinch of salt.", "Let it rise under a towel in a warm kitchen.",
        "Bake the rolls in a hot oven until the crust is brown.", "Butter and sugar make the cake sweeter.",
        "The recipe asks for three eggs and a cup of milk.", "Can I replace the butter with olive oil?",
        "Sprinkle the cookies with cinnamon before baking.", "The sourdough starter must be fed every day.",
    ],
    [
        "The invoice of March has not been paid by the customer.", "When is the tax return due this year?",
        "The bank charges interest on the overdraft.", "Book the rent as an expense of the company.",
        "The auditor wants to see the receipts of last quarter.", "Our revenue grew, but so did the costs.",
        "Transfer the salaries on the last day of the month.", "The loan must be repaid within five years.",
        "What is the balance of the savings account?", "Shareholders will receive a dividend in June.",
    ],
    [
        "The patient has had a fever since Monday.", "Take the tablets twice a day, after a meal.",
        "The nurse measured a blood pressure that is too high.", "Does the wound still hurt when you walk?",
        "The doctor ordered an x-ray of the broken wrist.", "An infection of the lungs needs antibiotics.",
        "The surgeon will operate on the knee next week.", "Are you allergic to penicillin?",
        "The vaccine protects against the flu in winter.", "She was discharged from the hospital on Friday.",
    ],
]
TEXTS = [text for topic in TOPICS for text in topic]
BOUNDS = {len(topic) * number for number, topic in enumerate(TOPICS)}


class Embeddings(BaseHTTPRequestHandler):
    """`POST /v1/embeddings`."""

    protocol_version = "HTTP/1.1"
    model = None

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        vectors = self.model.embed(asked["input"], norm=True).tolist()
        data = [{"object": "embedding", "index": index, "embedding": vector} for index, vector in enumerate(vectors)]
        body = json.dumps({"object": "list", "model": asked["model"], "data": data}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def model():
    """Where the model's server is."""
    # The weights are the package's own: nothing is fetched.
    handler = type("WordLlamaEmbeddings", (Embeddings,), {"model": WordLlama.load(disable_download=True)})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield {"url": f"http://127.0.0.1:{server.server_port}/v1", "model": "wordllama"}
    server.shutdown()


def memory(embed):
    """Settings that divide the whole text at once."""
    segments = {"min_messages": len(TEXTS), "min_segment_messages": 4, "min_segment_tokens": 20, "topic_distance": DISTANCE}
    return {"store": "memory", "segments": segments, "models": {"embed": embed}}


def said(number, text):
    return {"id": str(number), "role": "user", "content": text}


def until(look):
    """What `look` gives, once it is something."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not (seen := look()):
        assert time.monotonic() < end
        time.sleep(0.1)
    return seen


def bounds(client):
    """Where the segments begin that the text is divided into."""
    stored = client.conversations
    texts = [*TEXTS, "Thank you."]
    stored.append("example", "topics", [said(number, text) for number, text in enumerate(texts)])
    segments = until(lambda: list(stored.segments("example", "topics")))
    return {segment.segment.message_start for segment in segments}


def agreement(found):
    """The harmonic mean of how many of the found bounds are right and of how many right ones are found."""
    return 2 * len(found & BOUNDS) / (len(found) + len(BOUNDS))
