"""Summaries by llmock, a published mock of OpenAI's interface that runs as a process of its own and fails as it is told."""

import json
import re
import subprocess
import sys
import threading
import urllib.request

import pytest

from promptd import Promptd
from running import START_SECONDS, Server, until

# Of two neighbours none has a word of the other's.
TOPICS = [
    "The ferry waits at the pier until noon",
    "Knead dough, then bake bread with yeast and salt",
    "March's invoice is overdue by four weeks",
    "A nurse measured fever after surgery last night",
]
TURNS = 6
SAID = [[f"{topic} ({number})." for number in range(TURNS)] for topic in TOPICS]
# What the mock answers to every request for which nothing else is queued.
UNSCRIPTED = "Mock response from mock-1."
# With it the mock is asked for no summary of notes.
NOTES = {"notes_summary": "No notes."}


class Mock:
    """Runs for the length of a `with` block."""

    def __enter__(self):
        command = [sys.executable, "-m", "llmock.cli", "serve", "--port", "0", "--response-style", "static"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        late = threading.Timer(START_SECONDS, self.process.kill)
        late.start()
        log = ""
        while not (ready := re.search(r"running on (http://\S+)", log)):
            line = self.process.stderr.readline()
            assert line, f"llmock ended before it listened: {log}"
            log += line
        late.cancel()
        self.address = ready[1]
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait(START_SECONDS)
        self.process.stderr.close()

    def call(self, method, path, body=None):
        """What the mock's own interface for tests answers."""
        body = json.dumps(body).encode() if body else None
        request = urllib.request.Request(f"{self.address}/_llmock/{path}", body, method=method)
        with urllib.request.urlopen(request, timeout=START_SECONDS) as answer:
            return json.load(answer)

    def queue(self, *behaviors):
        """Of each kind the first one holds for the next request, as often as its `times` says."""
        self.call("POST", "scenario", {"behaviors": behaviors})

    def requests(self):
        """All that it was asked, the first one first."""
        return self.call("GET", "requests")["requests"]

    def asked(self):
        """The texts of those requests."""
        return ["\n".join(said["content"] for said in one["body"]["messages"]) for one in self.requests()]


@pytest.fixture(scope="module")
def process():
    with Mock() as running:
        yield running


@pytest.fixture
def mock(process):
    process.call("POST", "reset")
    return process


def memory(mock, messages, timeout="1m"):
    """Settings by which so many messages are divided at once, and a segment may be short."""
    segments = {"min_messages": messages, "min_segment_messages": 4, "min_segment_tokens": 20, "rollup_size": 3}
    summarise = {"url": f"{mock.address}/v1", "model": "mock-1", "timeout": timeout}
    return {"store": "memory", "segments": segments, "models": {"summarise": summarise}}


def messages(texts):
    return [{"id": text, "role": "user", "content": text} for text in texts]


def prompt(client, **inputs):
    """A turn whose window has room for a few messages, and all its text."""
    made = client.assemble("example", session_id="talk", profile="kern", inputs={"max_context_tokens": 150} | inputs)
    return made, "\n".join(message.content for message in made.messages)


def test_what_is_trimmed_is_in_the_prompt_as_the_mock_sums_it_up(mock):
    replies = [f"Summary number {number}." for number in range(5)]
    mock.queue(*({"type": "reply", "text": reply} for reply in replies))
    texts = [text for topic in SAID for text in topic]
    with Server(memory=memory(mock, len(texts))) as server, Promptd(server.address) as client:
        stored = client.conversations
        stored.append("example", "talk", messages([*texts, "Thank you."]))

        def tree():
            made = list(stored.segments("example", "talk"))
            return len(made) == 5 and all(one.state == "summarised" for one in made) and made

        segments = [one.segment for one in until(tree)]
        # One for each topic, and one above the first three.
        ranges = [(one.level, one.message_start, one.message_end) for one in segments]
        assert ranges == [(0, 0, 6), (0, 6, 12), (0, 12, 18), (0, 18, 24), (1, 0, 18)]

        # The answer to a request is the summary of what the request was about, and of that alone.
        answers = dict(zip(replies, mock.asked(), strict=True))
        assert {one.summary for one in segments} == set(replies)
        below = [one.summary for one in segments[:3]]
        for segment in segments:
            about = below if segment.level else texts[segment.message_start : segment.message_end]
            assert [one for one in [*texts, *below] if one in answers[segment.summary]] == about
        for request in mock.requests():
            assert (request["body"]["model"], request["status"]) == ("mock-1", 200)

        # What was made is seen from the next message on; with little room for summaries the one above three in their place.
        said = [*texts, "Thank you.", "And now?"]
        stored.append("example", "talk", messages(said[-1:]))
        for budget, shown in [(0.75, segments[:4]), (0.02, [segments[4], segments[3]])]:
            made, text = prompt(client, summary_budget=budget, **NOTES)
            window = made.conversation_window
            assert (window.summary_ids, window.uncovered) == ([one.id for one in shown], 0)
            assert {reply for reply in replies if reply in text} == {one.summary for one in shown}
            assert window.cut >= 18
            assert [one for one in said if one in text] == said[window.cut :]


@pytest.mark.parametrize(
    ("behavior", "fault"),
    [
        ({"type": "fail", "status": 500}, "the model's server answers 500"),
        # Longer than a first failure waits by itself.
        ({"type": "fail", "status": 429, "retry_after": 5}, "the model's server answers 429"),
        ({"type": "delay", "seconds": 4}, "the model did not answer within 2 s"),
        ({"type": "reply", "text": " "}, "the model's answer is empty"),
        ({"type": "reply", "text": "Too long. " * 100}, "the model's summary has 999 characters, its source "),
    ],
)
def test_a_fault_is_shown_and_the_summary_made_once_it_is_over(mock, behavior, fault):
    mock.queue(behavior | {"times": None})
    with Server(memory=memory(mock, TURNS, timeout="2s")) as server, Promptd(server.address) as client:
        stored = client.conversations
        stored.append("example", "talk", messages([*SAID[0], "Thank you."]))

        def only(is_it):
            made = list(stored.segments("example", "talk"))
            return len(made) == 1 and is_it(made[0]) and made[0]

        failed = until(lambda: only(lambda one: one.fault))
        assert failed.fault.startswith(fault)
        assert (failed.state, failed.segment.summary) == ("waiting", "")
        made, _ = prompt(client, **NOTES)
        assert made.conversation_window.uncovered > 0
        assert "CONVERSATION_UNCOVERED" in [finding.code for finding in made.findings]

        mock.call("DELETE", "scenario")
        summarised = until(lambda: only(lambda one: one.state == "summarised"))
        assert (summarised.segment.summary, summarised.fault) == (UNSCRIPTED, "")
        stored.append("example", "talk", messages(["And now?"]))
        made, text = prompt(client, **NOTES)
        assert made.conversation_window.uncovered == 0
        assert UNSCRIPTED in text

        # It was asked the same again, and no sooner than it wished.
        first, *again = mock.asked()
        assert again and set(again) == {first}
        assert mock.call("GET", "verdict")["findings"] == []


def test_notes_are_summed_up_for_the_next_message(mock):
    with Server(memory=memory(mock, TURNS)) as server, Promptd(server.address) as client:
        stored = client.conversations
        stored.append("example", "talk", messages(["Thank you."]))
        assert UNSCRIPTED not in prompt(client)[1]
        [summary] = until(lambda: stored.notes("example").summaries)
        stored.append("example", "talk", messages(["And now?"]))
        assert f"<notes_summary>\n{UNSCRIPTED}\n</notes_summary>" in prompt(client)[1]
        # All but the newest note, which prompts have whole.
        [asked] = mock.asked()
        notes = sorted(server.workspace.glob("notes/*.md"))
        assert [note for note in notes if note.read_text().strip() in asked] == notes[:-1]
