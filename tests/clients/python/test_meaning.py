"""A real embedding model, WordLlama, behind a server with OpenAI's interface: what the service makes of its vectors."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import wordllama

from promptd import Promptd
from running import Server, until

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
# Each message has three sentences of its topic.
TEXTS = [
    " ".join(topic[(at + step) % len(topic)] for step in (0, 3, 6)) for topic in TOPICS for at in range(len(topic))
]
BOUNDS = [len(topic) * number for number, topic in enumerate(TOPICS)]


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
    """The settings of the model."""
    # The weights are the package's own: nothing is fetched.
    folder = Path(wordllama.__file__).parent
    loaded = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("WordLlama", (Embeddings,), {"model": loaded}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield {"url": f"http://127.0.0.1:{server.server_port}/v1", "model": "wordllama"}
    server.shutdown()


def memory(**settings):
    """Settings by which the whole text is divided at once, and a segment may be short."""
    segments = {"min_messages": len(TEXTS), "min_segment_messages": 4, "min_segment_tokens": 20}
    models = {name: value for name, value in settings.items() if name == "embed"}
    distance = {name: value for name, value in settings.items() if name == "topic_distance"}
    return {"store": "memory", "segments": segments | distance, "models": models}


def said(texts):
    return [{"id": str(number), "role": "user", "content": text} for number, text in enumerate(texts)]


def bounds(**settings):
    """Where the segments begin that the text is divided into."""
    with Server(memory=memory(**settings)) as server, Promptd(server.address) as client:
        stored = client.conversations
        stored.append("example", "topics", said([*TEXTS, "Thank you."]))
        segments = until(lambda: list(stored.segments("example", "topics")))
        return [segment.segment.message_start for segment in segments]


def test_segments_begin_where_another_topic_does(model):
    # WordLlama's vectors of five messages are nearer to each other than those of larger models.
    by_model, by_words = bounds(embed=model, topic_distance=0.11), bounds()
    print(f"topics begin at {BOUNDS}, segments by the model at {by_model}, by words at {by_words}")
    assert len(by_model) == len(BOUNDS)
    assert all(abs(found - begins) <= 1 for found, begins in zip(by_model, BOUNDS))


def test_a_paraphrase_is_found_by_its_meaning_alone(model):
    texts = [text for topic in TOPICS for text in topic]
    found = []
    for settings in ({"embed": model}, {}):
        with Server(memory=memory(**settings)) as server, Promptd(server.address) as client:
            stored = client.conversations
            stored.append("example", "said", said(texts))
            until(lambda: stored.stats("example").vectors == len(texts))
            answer = stored.recall("example", "physician requested radiography", min_similarity=0.3)
            assert answer.vector_fault == ""
            found.append([one.message.message.content for one in answer.messages])
    assert found == [["The doctor ordered an x-ray of the broken wrist."], []]
