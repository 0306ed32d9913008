"""Measures a request with Anthropic's Python SDK; prints one line per round: seconds with the SDK,
seconds with its types.

The SDK: parses the JSON and calls `messages.create` with it, up to the transport, which responds
immediately instead of sending. Requests are dictionaries, which the SDK walks and serializes again.
Its types: validates the same bytes with pydantic, mostly in Rust; the SDK itself does not do that
with requests.
"""

import json
import sys
import time
import typing
import warnings

import httpx2
import pydantic

warnings.filterwarnings("ignore")
import anthropic
import anthropic.types.beta as types

ROUNDS = 12
ANSWER = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-5",
    "content": [{"type": "text", "text": "Done."}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 1},
}


class Transport:
    """Records the request and the time of sending."""

    def __call__(self, request):
        self.at = time.perf_counter()
        self.body = request.content
        return httpx2.Response(200, json=ANSWER)


def by_sdk(client, transport, data):
    start = time.perf_counter()
    client.beta.messages.create(**json.loads(data))
    assert len(transport.body) > len(data) * 0.9, "a picture was lost"
    return transport.at - start


def by_types(request, messages, data):
    start = time.perf_counter()
    parsed = request.validate_json(data)
    parsed["messages"] = messages.validate_python(parsed["messages"])
    dumped = request.dump_json(parsed)
    took = time.perf_counter() - start
    assert len(dumped) > len(data) * 0.9, "a picture was lost"
    return took


def main():
    data = sys.stdin.buffer.read()
    transport = Transport()
    inner = httpx2.Client(transport=httpx2.MockTransport(transport))
    client = anthropic.Anthropic(api_key="key", max_retries=0, http_client=inner)
    # The SDK types lists as iterables, which pydantic would validate lazily.
    for name, module in list(sys.modules.items()):
        if name.startswith("anthropic.types") and hasattr(module, "Iterable"):
            module.Iterable = typing.List
    messages = pydantic.TypeAdapter(typing.List[types.BetaMessageParam])
    request = pydantic.TypeAdapter(dict[str, typing.Any])
    for _ in range(ROUNDS):
        print(by_sdk(client, transport, data), by_types(request, messages, data))


main()
