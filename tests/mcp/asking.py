"""A caller who is not to see everything, and what its answers tell it all the same."""

import contextlib
import json

from worlds import MARK

INTERNAL_ERROR = -32603


class Asking:
    """A caller with a view of a world: each answer is searched for what the view must not see. `faults` are what was found."""

    def __init__(self, world, view, caller, host_path):
        self.world, self.view, self.caller, self.host_path = world, view, caller, host_path
        self.hidden = world.hidden_from(view)
        self.faults = []

    def check(self, holds, kind, *what):
        if not holds:
            caller = f"{type(self.caller).__name__} {self.caller.revision}"
            self.faults.append((kind, " ".join([self.view, caller, *map(str, what)])[:1500]))

    def ask(self, method, params=None):
        answer = self.caller.call(method, params)
        # What the request itself names is not news.
        named = set(MARK.findall(json.dumps(params)))
        self.search(answer.text, named, f"{method} {params}")
        if answer.failed and answer.message:
            self.check(answer.message["error"]["code"] != INTERNAL_ERROR, "internal error", method, params, answer.text)
        if self.host_path in answer.text:
            self.check(
                self.world.settings["expose_paths"] and method == "prompts/get", "path of the host", method, params, answer.text
            )
        return answer

    def search(self, text, named, what):
        found = {mark for mark in MARK.findall(in_clear(text)) if mark in self.hidden} - named
        self.check(not found, "shown", found, "by", what, text)

    def pages(self, method, key):
        items, cursor = [], {}
        while True:
            result = self.ask(method, cursor).result
            items += result[key]
            if "nextCursor" not in result:
                return items
            cursor = {"cursor": result["nextCursor"]}

    def refused(self, method, params):
        """That what is hidden, and what does not exist, are refused with the same words."""
        answer = self.ask(method, params)
        self.check(answer.failed or answer.result.get("isError"), "not refused", method, params, answer.text)
        twin = self.ask(method, json.loads(self.world.twin(json.dumps(params), self.view)))
        told = self.world.twin(comparable(answer), self.view)
        self.check(told == comparable(twin), "told that it exists by", method, params, answer.text, "and for another", twin.text)
        return answer


def in_clear(text):
    """The text, and what is written in hexadecimal in it, such as in cursors."""
    plain = []
    for word in text.replace('"', " ").split():
        with contextlib.suppress(ValueError):
            plain.append(bytes.fromhex(word.partition("-")[2] or word).decode(errors="replace"))
    return " ".join([text, *plain])


def comparable(answer):
    message = dict(answer.message or {})
    message.pop("id", None)
    return json.dumps([answer.status, message, answer.text if not answer.message else ""])
