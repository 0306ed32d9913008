"""Parses a request into the types of Anthropic's SDK and dumps it again; prints seconds a round."""

import sys
import time
import typing
import warnings

import pydantic

warnings.filterwarnings("ignore")
import anthropic.types.beta as types

# The SDK types lists as iterables, which pydantic would read only when they are used.
for name, module in list(sys.modules.items()):
    if name.startswith("anthropic.types") and hasattr(module, "Iterable"):
        module.Iterable = typing.List

adapter = pydantic.TypeAdapter(typing.List[types.BetaMessageParam])
request = pydantic.TypeAdapter(dict[str, typing.Any])
data = sys.stdin.buffer.read()
for _ in range(12):
    start = time.perf_counter()
    parsed = request.validate_json(data)
    parsed["messages"] = adapter.validate_python(parsed["messages"])
    dumped = request.dump_json(parsed)
    took = time.perf_counter() - start
    assert len(dumped) > len(data) * 0.9, "a picture was lost"
    print(took)
