"""Anthropic's SDK: requests are typed dictionaries, made strict here."""

import json
import sys
import typing
import warnings

import httpx2
import typing_extensions

import anthropic.types as types
import anthropic.types.beta as beta
import pydantic
from anthropic.lib.streaming._beta_messages import accumulate_event
from anthropic.types.beta import message_create_params

import wire


# Some types explicitly allow additional fields.
warnings.filterwarnings("ignore", message="TypedDict class")


def make_strict():
    """Makes unknown fields errors and validates lists eagerly."""
    for name, module in list(sys.modules.items()):
        if not name.startswith("anthropic.types"):
            continue
        for value in list(vars(module).values()):
            if isinstance(value, type) and typing_extensions.is_typeddict(value):
                config = dict(getattr(value, "__pydantic_config__", {}) or {})
                config.setdefault("extra", "forbid")
                config["arbitrary_types_allowed"] = True
                value.__pydantic_config__ = config
        for lazy in ("Iterable", "SequenceNotStr"):
            if hasattr(module, lazy):
                setattr(module, lazy, typing.List)


make_strict()
REQUEST = pydantic.TypeAdapter(message_create_params.MessageCreateParamsNonStreaming)
TOOL = pydantic.TypeAdapter(beta.BetaToolUnionParam)


def check_pairs(messages):
    """Every call has exactly one result in the next message."""
    for at, message in enumerate(messages):
        content = message["content"] if isinstance(message["content"], list) else []
        calls = [block["id"] for block in content if block["type"] == "tool_use"]
        if not calls:
            continue
        following = messages[at + 1]["content"] if at + 1 < len(messages) else []
        answers = [block["tool_use_id"] for block in following if block["type"] == "tool_result"]
        if at + 1 < len(messages) and sorted(calls) != sorted(answers):
            raise ValueError(f"messages[{at}]: {calls} are answered by {answers}")


def history(document):
    if isinstance(document, list):
        document = {"messages": document}
    body = {"model": "claude-opus-5-5", "max_tokens": 1, **document}
    body.pop("stream", None)
    REQUEST.validate_python(body)
    check_pairs(body["messages"])


def invoke(document):
    """A body for InvokeModel: the model is in the path, version and betas are fields, and older
    models accept what the newest reject."""
    if isinstance(document, dict):
        document = dict(document)
        for member in ("anthropic_version", "anthropic_beta", "temperature", "top_p", "top_k"):
            document.pop(member, None)
    history(document)


def answers(items):
    history([{"role": "user", "content": items}])


def tools(tools):
    for tool in tools:
        TOOL.validate_python(tool)


RESPONSE = pydantic.TypeAdapter(beta.BetaMessage)
EVENT = pydantic.TypeAdapter(beta.BetaRawMessageStreamEvent)
ERROR = pydantic.TypeAdapter(types.shared.ErrorResponse)


def response(document):
    wire.refuse(wire.extras(RESPONSE.validate_python(document)))


def stream(document):
    """Each event separately, and all of them with the SDK's accumulator."""
    snapshot, buffers = None, {}
    for event in wire.events(document):
        if event["type"] == "ping":
            continue
        if event["type"] == "error":
            ERROR.validate_python(event)
            return
        read = EVENT.validate_python(event)
        wire.refuse(wire.extras(read))
        snapshot = accumulate_event(
            event=read, current_snapshot=snapshot, json_bufs=buffers, request_headers=httpx2.Headers()
        )
    expected = document.get("expect") if isinstance(document, dict) else None
    if expected is not None:
        summed = json.loads(snapshot.model_dump_json(by_alias=True, exclude_none=True))
        if without_nulls(summed) != without_nulls(expected):
            raise ValueError(f"the SDK adds it up to another message: {summed}")


def without_nulls(value):
    if isinstance(value, dict):
        kept = {name: without_nulls(inner) for name, inner in value.items() if inner is not None}
        kept.pop("parsed_output", None)
        return kept
    if isinstance(value, list):
        return [without_nulls(inner) for inner in value]
    return value


def request(body):
    """A complete request of a conversation."""
    streaming = message_create_params.MessageCreateParamsStreaming
    kind = pydantic.TypeAdapter(streaming) if body.get("stream") else REQUEST
    kind.validate_python(body)
    check_pairs(body["messages"])


def invoke_request(body):
    body = {**body, "model": "claude-opus-4-6"}
    if body.pop("anthropic_version") != "bedrock-2023-05-31":
        raise ValueError("a version of the body that is not known")
    body["betas"] = body.pop("anthropic_beta", [])
    request(body)


def invoke_response(document):
    document = dict(document)
    document.pop("amazon-bedrock-invocationMetrics", None)
    response(document)


KINDS = {
    "request": request,
    "response": response,
    "stream": stream,
    "invoke.request": invoke_request,
    "invoke.response": invoke_response,
    "history": history,
    "answers": answers,
    "tools": tools,
    "invoke.history": invoke,
    "invoke.answers": answers,
    "invoke.tools": tools,
}
