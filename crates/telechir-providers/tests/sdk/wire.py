"""Parses streams of the vectors without any SDK."""

import base64
import json


def frames(document):
    """The bytes of a stream of frames, as separate pieces."""
    if "bytes_base64" in document:
        return [base64.b64decode(document["bytes_base64"])]
    return [base64.b64decode(frame) for frame in document["frames"]]


def raw(document):
    """The bytes of server-sent events, if the document has them."""
    if isinstance(document, dict) and "raw" in document:
        return document["raw"].encode()
    if isinstance(document, dict) and "bytes_base64" in document:
        return base64.b64decode(document["bytes_base64"])
    return None


def named_events(document):
    """Pairs of an event's name (or None) and its data, without the end marker."""
    text = raw(document)
    if text is None:
        events = document["events"] if isinstance(document, dict) else document
        for event in events:
            if "data" in event and "event" in event:
                yield event["event"], event["data"]
            else:
                yield None, event
        return
    if text.lstrip().startswith(b"["):
        yield from ((None, event) for event in json.loads(text))
        return
    name, data = None, []
    for line in text.decode().splitlines() + [""]:
        if line.startswith("event:"):
            name = line.removeprefix("event:").strip()
        elif line.startswith("data:"):
            data.append(line.removeprefix("data:").strip())
        elif not line and data:
            joined = "\n".join(data)
            if joined != "[DONE]":
                yield name, json.loads(joined)
            name, data = None, []


def events(document):
    return [data for _, data in named_events(document)]


def extras(value, place=""):
    """Fields that an SDK keeps without a type for them, and unknown variants."""
    if isinstance(value, (list, tuple)):
        for at, inner in enumerate(value):
            yield from extras(inner, f"{place}[{at}]")
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from extras(inner, f"{place}.{name}")
    elif hasattr(type(value), "model_fields"):
        for name in value.model_extra or {}:
            yield f"{place}.{name}"
        if getattr(value, "is_unknown", False) or type(value).__name__.startswith("Unknown"):
            yield f"{place}: no known variant"
        for name in type(value).model_fields:
            yield from extras(getattr(value, name), f"{place}.{name}")


def refuse(found):
    found = list(found)
    if found:
        raise ValueError(f"members that the SDK does not know: {found}")
