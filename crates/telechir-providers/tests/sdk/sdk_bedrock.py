"""botocore: Converse and agents, validated with the service models, including enumerations and patterns."""

import base64
import json
import re

import botocore.loaders
import botocore.model
import botocore.parsers
import botocore.validate
from botocore.awsrequest import HeadersDict
from botocore.exceptions import EventStreamError

import wire


def model(service):
    loaded = botocore.loaders.Loader().load_service_model(service, "service-2")
    return botocore.model.ServiceModel(loaded, service)


RUNTIME = model("bedrock-runtime")
AGENTS = model("bedrock-agent-runtime")
BUILD = model("bedrock-agent")
REQUEST = RUNTIME.operation_model("Converse").input_shape


def native(value, shape):
    """Converts base64 to the bytes that the SDK uses."""
    if getattr(shape, "is_document_type", False):
        return value
    if shape.type_name == "structure" and isinstance(value, dict):
        members = shape.members
        return {k: native(v, members[k]) if k in members else v for k, v in value.items()}
    if shape.type_name == "list" and isinstance(value, list):
        return [native(inner, shape.member) for inner in value]
    if shape.type_name == "map" and isinstance(value, dict):
        return {name: native(inner, shape.value) for name, inner in value.items()}
    if shape.type_name == "blob":
        return base64.b64decode(value, validate=True)
    return value


def strict(value, shape, place="$"):
    if getattr(shape, "is_document_type", False):
        return
    meta = shape.metadata
    if shape.type_name == "structure":
        for name, inner in value.items():
            if name not in shape.members:
                raise ValueError(f"{place}: unknown member {name}")
            strict(inner, shape.members[name], f"{place}.{name}")
        if getattr(shape, "is_tagged_union", False) and len(value) != 1:
            raise ValueError(f"{place}: one of {sorted(value)} only")
    elif shape.type_name == "list":
        for at, inner in enumerate(value):
            strict(inner, shape.member, f"{place}[{at}]")
    elif shape.type_name == "string":
        if shape.enum and value not in shape.enum:
            raise ValueError(f"{place}: {value!r} is none of {shape.enum}")
        if "pattern" in meta and not re.fullmatch(meta["pattern"], value):
            raise ValueError(f"{place}: {value!r} does not match {meta['pattern'][:120]}")
        if "max" in meta and len(value) > meta["max"]:
            raise ValueError(f"{place}: longer than {meta['max']}")


def check(document, shape):
    value = native(document, shape)
    report = botocore.validate.ParamValidator().validate(value, shape)
    if report.has_errors():
        raise ValueError(report.generate_report())
    strict(value, shape)


def history(document):
    if isinstance(document, list):
        document = {"messages": document}
    check({"modelId": "m", **document}, REQUEST)


def answers(items):
    history([{"role": "user", "content": items}])


def tools(tools):
    """Ordinary tools, with Anthropic's own tools beside them in the form of its SDK."""
    specs = [tool for tool in tools if "toolSpec" in tool]
    check({"modelId": "m", "toolConfig": {"tools": specs}}, REQUEST)


class Body:
    """A response body that arrives in pieces."""

    def __init__(self, pieces):
        self.pieces = pieces

    def stream(self, *_):
        yield from self.pieces

    def close(self):
        pass


def parsed(operation, body, kind="application/json"):
    parser = botocore.parsers.create_parser(operation.service_model.metadata["protocol"])
    response = {
        "status_code": 200,
        "headers": HeadersDict({"content-type": kind}),
        "body": body,
        "context": {"operation_name": operation.name},
    }
    return parser.parse(response, operation.output_shape)


def known(value, shape, place="$"):
    """The fields of a response that the service model lacks; the parser drops them."""
    if getattr(shape, "is_document_type", False) or value is None:
        return
    if shape.type_name == "structure" and isinstance(value, dict):
        for name, inner in value.items():
            if name not in shape.members:
                yield f"{place}.{name}"
            else:
                yield from known(inner, shape.members[name], f"{place}.{name}")
    elif shape.type_name == "list" and isinstance(value, list):
        for at, inner in enumerate(value):
            yield from known(inner, shape.member, f"{place}[{at}]")


def response(document):
    """The parser accepts it, required fields are present, and nothing is dropped."""
    operation = RUNTIME.operation_model("Converse")
    read = parsed(operation, json.dumps(document).encode())
    read.pop("ResponseMetadata")
    report = botocore.validate.ParamValidator().validate(read, operation.output_shape)
    if report.has_errors():
        raise ValueError(report.generate_report())
    wire.refuse(known(document, operation.output_shape))


def events_of(operation, document):
    kind = "application/vnd.amazon.eventstream"
    read = parsed(operation, Body(wire.frames(document)), kind)
    shapes = operation.output_shape.members
    name = next(name for name, shape in shapes.items() if shape.serialization.get("eventstream") or shape.is_eventstream)
    for event in read[name]:
        yield event, shapes[name]


def stream_of(operation):
    def stream(document):
        count = 0
        try:
            for event, shape in events_of(operation, document):
                count += 1
                ((name, value),) = event.items()
                report = botocore.validate.ParamValidator().validate(value, shape.members[name])
                if report.has_errors():
                    raise ValueError(report.generate_report())
        except EventStreamError:
            return  # an exception in a stream: the SDK raises it
        if not count:
            raise ValueError("there is no event in it")

    return stream


def invoke_stream(document):
    """Frames validated by botocore, payloads by the types of the model's vendor."""
    import sdk_anthropic

    events = []
    try:
        for event, _ in events_of(RUNTIME.operation_model("InvokeModelWithResponseStream"), document):
            inner = json.loads(event["chunk"]["bytes"])
            inner.pop("amazon-bedrock-invocationMetrics", None)
            events.append(inner)
    except EventStreamError:
        return
    sdk_anthropic.stream(events)


def request(body):
    history(body)
    extra = body.get("additionalModelRequestFields", {})
    if extra.get("tools"):
        import sdk_anthropic

        sdk_anthropic.tools(extra["tools"])


STATE = AGENTS.shape_for("SessionState")
INLINE_STATE = AGENTS.shape_for("InlineSessionState")


def agent_answers(document):
    """The `sessionState` of requests to a stored and to an inline agent."""
    state = document
    if isinstance(document, list) and all("returnControlInvocationResults" not in one for one in document):
        state = {"invocationId": "i", "returnControlInvocationResults": document}
    for one in state if isinstance(state, list) else [state]:
        check(one, STATE)
        check(one, INLINE_STATE)


INLINE_REQUEST = AGENTS.operation_model("InvokeInlineAgent").input_shape
INLINE = {
    "foundationModel": "anthropic.claude-3-7-sonnet-20250219-v1:0",
    "instruction": "Do what the person asks for, on the screen and in the shell.",
    "sessionId": "sess-1",
}
AGENT = {"agentId": "AGENT12345", "agentAliasId": "TSTALIASID", "sessionId": "sess-1"}


def agent_history(document):
    """Alternating requests and responses."""
    document = document if isinstance(document, list) else [document]
    for item in document:
        if "completion" in item or "returnControl" in item or "invocationInputs" in item:
            agent_response(item)
        elif "inlineSessionState" in item:
            check({**INLINE, **item}, INLINE_REQUEST)
        else:
            check({**AGENT, **item}, AGENTS.operation_model("InvokeAgent").input_shape)


def agent_response(document):
    if "invocationInputs" in document:
        document = {"returnControl": document}
    stream = AGENTS.operation_model("InvokeAgent").output_shape.members["completion"]
    for event in document.get("completion", [document]):
        ((name, value),) = event.items()
        check(value, stream.members[name])


def agent_tools(tools):
    """Action groups of a stored and of an inline agent."""
    kept = {"agentId": "AGENT12345", "agentVersion": "DRAFT"}
    for tool in tools:
        check({**kept, **tool}, BUILD.operation_model("CreateAgentActionGroup").input_shape)
    groups = [{k: v for k, v in tool.items() if k != "actionGroupState"} for tool in tools]
    check({**INLINE, "actionGroups": groups}, INLINE_REQUEST)


KINDS = {
    "request": request,
    "history": history,
    "answers": answers,
    "tools": tools,
    "response": response,
    "stream": stream_of(RUNTIME.operation_model("ConverseStream")),
    "invoke.stream": invoke_stream,
    "agents.history": agent_history,
    "agents.answers": agent_answers,
    "agents.tools": agent_tools,
    "agents.response": agent_response,
    "agents.stream": stream_of(AGENTS.operation_model("InvokeAgent")),
}
