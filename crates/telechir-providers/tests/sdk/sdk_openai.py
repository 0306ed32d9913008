"""OpenAI's SDK: the Responses API and chat completions."""

import typing

# Validates lists eagerly; a text is not a list.
_iterable, typing.Iterable = typing.Iterable, typing.List

import pydantic
from openai.types.chat import (
    ChatCompletion,
    ChatCompletionChunk,
    ChatCompletionMessageParam,
    ChatCompletionToolParam,
)
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from openai.types.responses import Response, ResponseOutputItem, ResponseStreamEvent
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming
from openai.types.responses.response_input_item_param import ResponseInputItemParam
from openai.types.responses.tool_param import ToolParam

typing.Iterable = _iterable

import wire

ITEM = pydantic.TypeAdapter(ResponseInputItemParam)
TOOL = pydantic.TypeAdapter(ToolParam)
MESSAGE = pydantic.TypeAdapter(ChatCompletionMessageParam)
FUNCTION = pydantic.TypeAdapter(ChatCompletionToolParam)


def plain(value):
    if isinstance(value, pydantic.BaseModel):
        return {name: plain(getattr(value, name)) for name in value.model_fields_set}
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    return value


def unknown(given, known, place=""):
    """Fields that the SDK's type lacks."""
    if isinstance(given, dict) and isinstance(known, dict):
        for name, value in given.items():
            if name in known:
                yield from unknown(value, known[name], f"{place}.{name}")
            else:
                yield f"{place}.{name}"
    elif isinstance(given, list) and isinstance(known, list):
        for at, (one, other) in enumerate(zip(given, known)):
            yield from unknown(one, other, f"{place}[{at}]")


def check(adapter, document, allowed=()):
    value = adapter.validate_json(json_of(document))
    found = [place for place in unknown(document, plain(value)) if place not in allowed]
    if found:
        raise ValueError(f"members that the SDK does not know: {found}")


def json_of(document):
    import json

    return json.dumps(document)


def items(document):
    if isinstance(document, dict):
        document = document.get("input", [document])
    for item in document if isinstance(document, list) else []:
        # The live API accepts `detail` on a screenshot, which the SDK's type lacks.
        check(ITEM, item, allowed=(".output.detail",))


def tools(tools):
    for tool in tools:
        check(TOOL, tool)


def chat(document):
    for message in messages_of(document):
        check(MESSAGE, message)


def functions(tools):
    for tool in tools:
        check(FUNCTION, tool)


KINDS = {
    "history": items,
    "answers": items,
    "tools": tools,
    "chat.history": chat,
    "chat.answers": chat,
    "chat.tools": functions,
}

# Images inside a result, which OpenAI's own type rejects and other chat completions servers accept.
def inline(document):
    chat([without_images(message) for message in messages_of(document)])


def messages_of(document):
    if isinstance(document, dict):
        return document.get("messages", [document])
    return document


def without_images(message):
    content = message.get("content")
    if message["role"] != "tool" or not isinstance(content, list):
        return message
    return {**message, "content": [part for part in content if part["type"] == "text"]}


RESPONSE = pydantic.TypeAdapter(Response)
OUTPUT_ITEM = pydantic.TypeAdapter(ResponseOutputItem)
EVENT = pydantic.TypeAdapter(ResponseStreamEvent)
REQUEST = pydantic.TypeAdapter(ResponseCreateParamsNonStreaming)
COMPLETION = pydantic.TypeAdapter(ChatCompletion)
CHUNK = pydantic.TypeAdapter(ChatCompletionChunk)
CHAT_REQUEST = pydantic.TypeAdapter(CompletionCreateParamsNonStreaming)


def read(adapter, document):
    """What the service sends: valid, and without fields that the type lacks."""
    wire.refuse(wire.extras(adapter.validate_json(json_of(document), strict=True)))


def output_items(document):
    for item in document if isinstance(document, list) else [document]:
        read(OUTPUT_ITEM, item)


def stream(document):
    for event in wire.events(document):
        read(EVENT, event)


def chat_stream(document):
    for event in wire.events(document):
        read(CHUNK, event)


def inline_request(body):
    body["messages"] = [without_images(message) for message in body["messages"]]
    check(CHAT_REQUEST, body)


KINDS |= {
    "request": lambda body: check(REQUEST, body),
    "response": lambda document: read(RESPONSE, document),
    "output_items": output_items,
    "stream": stream,
    "chat.request": lambda body: check(CHAT_REQUEST, body),
    "chat.response": lambda document: read(COMPLETION, document),
    "chat.stream": chat_stream,
    "inline.request": inline_request,
}
KINDS |= {"inline.history": inline, "inline.answers": inline, "inline.tools": functions}
