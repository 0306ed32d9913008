"""Mistral's SDK: conversations and chat. It silently drops unknown fields; here they are errors."""

import json

import mistralai.client.models as models
import pydantic

import wire


def unknown(given, model, place=""):
    if isinstance(model, pydantic.BaseModel) and isinstance(given, dict):
        if type(model).__name__.startswith("Unknown"):
            yield f"{place}: no known variant"
            return
        fields = {}
        for name, field in type(model).model_fields.items():
            fields[name] = fields[field.alias or name] = name
        for name, value in given.items():
            if name in fields:
                yield from unknown(value, getattr(model, fields[name]), f"{place}.{name}")
            elif value is not None:
                yield f"{place}.{name}"
    elif isinstance(given, list) and isinstance(model, list):
        for at, (one, other) in enumerate(zip(given, model)):
            yield from unknown(one, other, f"{place}[{at}]")


def check(kind, document):
    value = pydantic.TypeAdapter(kind).validate_json(json.dumps(document))
    found = list(unknown(document, value))
    if found:
        raise ValueError(f"members that the SDK does not know: {found}")


ENTRIES = {
    "message.input": models.MessageInputEntry,
    "message.output": models.MessageOutputEntry,
    "tool.execution": models.ToolExecutionEntry,
    "function.call": models.FunctionCallEntry,
    "function.result": models.FunctionResultEntry,
    "agent.handoff": models.AgentHandoffEntry,
}


def entries(document):
    document = document.get("inputs", document) if isinstance(document, dict) else document
    for entry in document if isinstance(document, list) else []:
        check(ENTRIES[entry["type"]], entry)


def entry_tools(tools):
    check(list[models.AgentTool], tools)


def chat(document):
    if isinstance(document, list):
        document = {"messages": document}
    check(models.ChatCompletionRequest, {"model": "mistral-large-latest", **document})


def chat_tools(tools):
    chat({"messages": [{"role": "user", "content": "go"}], "tools": tools})


EVENTS = {
    "conversation.response.started": models.ResponseStartedEvent,
    "conversation.response.done": models.ResponseDoneEvent,
    "conversation.response.error": models.ResponseErrorEvent,
    "message.output.delta": models.MessageOutputEvent,
    "tool.execution.started": models.ToolExecutionStartedEvent,
    "tool.execution.delta": models.ToolExecutionDeltaEvent,
    "tool.execution.done": models.ToolExecutionDoneEvent,
    "function.call.delta": models.FunctionCallEvent,
    "agent.handoff.started": models.AgentHandoffStartedEvent,
    "agent.handoff.done": models.AgentHandoffDoneEvent,
}


def conversation_request(body):
    """Entries are validated by their own type below."""
    check(models.ConversationRequest, {**body, "inputs": "go"})
    entries(body)


def response(document):
    check(models.ConversationResponse, {**document, "outputs": []})
    entries(document["outputs"])


def stream(document):
    for _, event in wire.named_events(document):
        check(EVENTS[event["type"]], event)


def chat_stream(document):
    for event in wire.events(document):
        check(models.CompletionChunk, event)


KINDS = {
    "request": conversation_request,
    "response": response,
    "stream": stream,
    "chat.request": lambda body: check(models.ChatCompletionRequest, body),
    "chat.response": lambda document: check(models.ChatCompletionResponse, document),
    "chat.stream": chat_stream,
    "history": entries,
    "answers": entries,
    "tools": entry_tools,
    "chat.history": chat,
    "chat.answers": chat,
    "chat.tools": chat_tools,
}
