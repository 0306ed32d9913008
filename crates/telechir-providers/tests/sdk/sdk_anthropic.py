"""Anthropic's SDK: requests are typed dictionaries, made strict here."""

import sys
import typing
import warnings

import typing_extensions

import anthropic.types as types  # noqa: F401  loads what is made strict below
import anthropic.types.beta as beta
import pydantic
from anthropic.types.beta import message_create_params


# Some types allow more members and say so; that is right for those.
warnings.filterwarnings("ignore", message="TypedDict class")


def make_strict():
    """Unknown members are mistakes, and lists are read at once instead of when looked at."""
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
    """Every call is answered in the next message, once."""
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
    """A body behind InvokeModel: the model is in the path, version and betas are members, and
    older models take what the newest refuse."""
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


KINDS = {
    "history": history,
    "answers": answers,
    "tools": tools,
    "invoke.history": invoke,
    "invoke.answers": answers,
    "invoke.tools": tools,
}
