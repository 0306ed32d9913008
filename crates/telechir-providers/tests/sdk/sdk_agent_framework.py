"""Agent Framework: its classes decode the messages and encode them unchanged."""

import warnings

from agent_framework import ChatResponse, Content, Message

# Parts of the framework that are marked experimental.
warnings.simplefilter("ignore")


def same(before, after, path):
    """The framework replaces every exception by a fixed text; everything else must be equal."""
    for name in set(before) | set(after):
        if name == "exception" and name in before and name in after:
            continue
        if before.get(name) != after.get(name):
            raise ValueError(f"{path}.{name} is encoded differently")


def content(document, path):
    same(document, Content.from_dict(document).to_dict(), path)


def history(document):
    document = document.get("messages", [document]) if isinstance(document, dict) else document
    for at, message in enumerate(document):
        contents = message.get("contents")
        if contents is None:
            content(message, f"[{at}]")
            continue
        Message.from_dict(message)
        for number, inner in enumerate(contents):
            content(inner, f"[{at}].contents[{number}]")


def response(document):
    if "contents" in document:
        history(document)
        return
    ChatResponse.from_dict(document)
    history(document["messages"])


KINDS = {"history": history, "answers": history, "response": response}
