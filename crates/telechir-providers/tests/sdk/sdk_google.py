"""Google's SDK: generateContent (rejects unknown fields) and Interactions."""

import json

import pydantic
from google.genai import types
from google.genai._gaos.types import interactions

import wire


def check(kind, document):
    return pydantic.TypeAdapter(kind).validate_json(json.dumps(document))


def contents(document):
    document = document["contents"] if isinstance(document, dict) else document
    check(list[types.Content], document)


def answers(parts):
    contents([{"role": "user", "parts": parts}])


def tools(tools):
    check(list[types.Tool], tools)


def unknown(value, place=""):
    """Fields and variants that the SDK keeps without a type for them."""
    if isinstance(value, pydantic.BaseModel):
        for name in value.model_extra or {}:
            yield f"{place}.{name}"
        if getattr(value, "is_unknown", False):
            yield f"{place}: no known variant"
        for name in type(value).model_fields:
            yield from unknown(getattr(value, name), f"{place}.{name}")
    elif isinstance(value, (list, tuple)):
        for at, inner in enumerate(value):
            yield from unknown(inner, f"{place}[{at}]")


# In recorded traffic or required by the service, although the SDK has no field for it.
UNTYPED = {"object", "signature", "safety_acknowledgement"}


def steps(document):
    if isinstance(document, dict):
        # A request; its input may be a list of contents.
        found = [
            place
            for place in unknown(check(interactions.CreateModelInteraction, document))
            if ".result" not in place and place.rsplit(".", 1)[-1] not in UNTYPED
        ]
        if found:
            raise ValueError(f"members that the SDK does not know: {found}")
        return
    for at, step in enumerate(document):
        found = [
            place
            for place in unknown(check(interactions.Step, step))
            if ".result" not in place and place.rsplit(".", 1)[-1] not in UNTYPED
        ]
        if found:
            raise ValueError(f"[{at}] members that the SDK does not know: {found}")


def step_tools(tools):
    for tool in tools:
        found = list(unknown(check(interactions.Tool, tool)))
        if found:
            raise ValueError(f"members that the SDK does not know: {found}")


PARTS_OF_REQUEST = {
    "contents": list[types.Content],
    "tools": list[types.Tool],
    "toolConfig": types.ToolConfig,
    "systemInstruction": types.Content,
    "generationConfig": types.GenerationConfig,
    "safetySettings": list[types.SafetySetting],
    "store": bool,
}


def request(body):
    for name, value in body.items():
        if name not in PARTS_OF_REQUEST:
            raise ValueError(f"a request has no member {name}")
        check(PARTS_OF_REQUEST[name], value)


def stream(document):
    """An error inside a stream is not a response; the SDK raises it."""
    for event in wire.events(document):
        if "error" not in event:
            check(types.GenerateContentResponse, event)


def typed(kind, document):
    found = unknown(check(kind, document))
    wire.refuse(
        place
        for place in found
        if ".result" not in place and place.rsplit(".", 1)[-1] not in UNTYPED
    )


def step_stream(document):
    for event in wire.events(document):
        typed(interactions.InteractionSSEEvent, event)


KINDS = {
    "request": request,
    "response": lambda document: check(types.GenerateContentResponse, document),
    "stream": stream,
    "steps.request": lambda body: typed(interactions.CreateModelInteraction, body),
    "steps.response": lambda document: typed(interactions.Interaction, document),
    "steps.stream": step_stream,
    "steps.history": steps,
    "steps.answers": steps,
    "steps.tools": step_tools,
    "history": contents,
    "answers": answers,
    "tools": tools,
}
