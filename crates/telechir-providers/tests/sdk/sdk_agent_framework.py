"""Agent Framework: its own classes read the messages and write them again as they came."""

import warnings

from agent_framework import ChatResponse, Content, Message

# Members of the framework that it calls experimental.
warnings.simplefilter("ignore")


def same(before, after, place):
    """The framework writes a fixed word for every exception; all else must be the same."""
    for name in set(before) | set(after):
        if name == "exception" and name in before and name in after:
            continue
        if before.get(name) != after.get(name):
            raise ValueError(f"{place}.{name} comes back as another")


def content(document, place):
    same(document, Content.from_dict(document).to_dict(), place)


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
