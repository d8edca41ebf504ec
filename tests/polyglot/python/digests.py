"""The digests of an answer, computed again from its texts and reports as docs/rules.md says, under "Revisions and digests"."""

import hashlib

from promptd.v1 import promptd_pb2 as pb


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def of_message(prompt, index):
    """A message's digest, as bytes."""
    message = prompt.messages[index]
    role = pb.Role.Name(message.role).removeprefix("ROLE_").lower()
    return of_text(role, message.name, pieces(message, sections(prompt, "message_index", index)))


def of_card(prompt, index):
    """A card's digest, as bytes."""
    card = prompt.cards[index]
    return of_text("system", card.name, pieces(card, sections(prompt, "card_index", index)))


def of_prompt(prompt):
    """The prompt's digest, as bytes."""
    messages = [of_message(prompt, index) for index in range(len(prompt.messages))]
    return sha256(*messages, *(of_card(prompt, index) for index in range(len(prompt.cards))))


def stable_front(prompt):
    """How many messages and bytes the stable front has, and its digest as bytes."""
    size, digests, before_a_gap = 0, [], set()
    for section in prompt.sections:
        is_shown = section.HasField("message_index") or section.HasField("card_index")
        if not is_shown and section.stability == pb.STABILITY_VOLATILE:
            break
        before_a_gap.add(section.id)
    for index, message in enumerate(prompt.messages):
        if message.HasField("conversation_index"):
            break
        own = sections(prompt, "message_index", index)
        held = [s.stability == pb.STABILITY_STABLE and s.id in before_a_gap for s in own]
        stable = held.index(False) if False in held else len(own)
        if stable < len(own):
            size += own[stable - 1].byte_end if stable else 0
            return index, size, sha256(*digests, *pieces(message, own)[:stable])
        size += len(message.content.encode())
        digests.append(of_message(prompt, index))
    return len(digests), size, sha256(*digests)


def sections(prompt, holder, index):
    """The reports of what has text in a message or card, in order."""
    return [s for s in prompt.sections if s.HasField(holder) and getattr(s, holder) == index]


def pieces(message, own):
    """The digests of the pieces of a text: each ends with a section, and one of the conversation is whole."""
    content = message.content.encode()
    conversation = isinstance(message, pb.PromptMessage) and message.HasField("conversation_index")
    ends = [len(content)] if conversation else [section.byte_end for section in own]
    assert ends == sorted(ends) and ends[-1] == len(content)
    return [sha256(content[start:end]) for start, end in zip([0, *ends], ends)]


def of_text(role, name, pieces):
    return sha256(f"{role}\n{name}\n".encode(), *pieces)
