"""Servers in place of OpenAI's and Anthropic's models: each answers with planned tool calls and keeps
what it was sent."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# The tool calls of the model, one a turn; then it ends with a text.
PLAN = [
    ("execute_browser", {"action": "open_tab"}),
    ("observe_screen", {}),
    ("wait", {"seconds": 99}),
]
STEPS = ["page", "look", "mistake"]


class ModelServer:
    """Answers by `answer(number of results so far)` and collects results with `results(request)`."""

    def __init__(self, answer, results):
        self.requests = []
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                length = int(self.headers.get("Content-Length", 0))
                request = json.loads(self.rfile.read(length) or b"{}")
                if "stream" not in request:
                    # Counting tokens, telemetry and the like.
                    self.reply(b"{}", "application/json")
                    return
                model.requests.append(request)
                turn = len(results(request)) if offers_tools(request) else len(PLAN)
                events = "".join(
                    f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in answer(turn)
                )
                self.reply(events.encode(), "text/event-stream")

            def do_GET(self):
                self.reply(b'{"data": []}', "application/json")

            def do_HEAD(self):
                self.reply(b"", "text/plain")

            def reply(self, body, content_type):
                self.send_response(200)
                self.send_header("Content-Type", content_type)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_arguments):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.read = results
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def seen(self):
        """The blocks of each step, as the last request has them."""
        return max((self.read(request) for request in self.requests), key=len, default=[])

    def close(self):
        self.server.shutdown()


def offers_tools(request) -> bool:
    """Clients ask the model for titles and summaries, too; those requests have no tools."""
    return bool(request.get("tools"))


def openai() -> ModelServer:
    """The Responses API, streamed."""

    def answer(turn):
        identity = {"id": f"resp_{turn}", "object": "response", "status": "in_progress", "output": []}
        yield {"type": "response.created", "response": identity}
        if turn < len(PLAN):
            name, arguments = PLAN[turn]
            item = {
                "type": "function_call",
                "id": f"fc_{turn}",
                "call_id": f"call_{turn}",
                "namespace": "mcp__telechir",
                "name": name,
                "arguments": json.dumps(arguments),
                "status": "completed",
            }
        else:
            item = {
                "type": "message",
                "id": f"msg_{turn}",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": "Done.", "annotations": []}],
            }
        yield {"type": "response.output_item.added", "output_index": 0, "item": item}
        yield {"type": "response.output_item.done", "output_index": 0, "item": item}
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        yield {
            "type": "response.completed",
            "response": identity | {"status": "completed", "output": [item], "usage": usage},
        }

    def results(request):
        items = [item for item in request.get("input", []) if item.get("type") == "function_call_output"]
        return [blocks(item["output"]) for item in items]

    def blocks(output):
        if isinstance(output, str):
            return [{"type": "text", "text": output}]
        return [
            {"type": "image", "image_url": block["image_url"]}
            if block["type"] == "input_image"
            else {"type": "text", "text": block.get("text", "")}
            for block in output
        ]

    return ModelServer(answer, results)


def anthropic() -> ModelServer:
    """The Messages API, streamed."""

    def answer(turn):
        message = {
            "id": f"msg_{turn}",
            "type": "message",
            "role": "assistant",
            "model": "claude-fake",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
        yield {"type": "message_start", "message": message}
        if turn < len(PLAN):
            name, arguments = PLAN[turn]
            block = {"type": "tool_use", "id": f"toolu_{turn}", "name": f"mcp__telechir__{name}", "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
            reason = "tool_use"
        else:
            block = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": "Done."}
            reason = "end_turn"
        yield {"type": "content_block_start", "index": 0, "content_block": block}
        yield {"type": "content_block_delta", "index": 0, "delta": delta}
        yield {"type": "content_block_stop", "index": 0}
        yield {
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": None},
            "usage": {"output_tokens": 1},
        }
        yield {"type": "message_stop"}

    def results(request):
        found = []
        for message in request.get("messages", []):
            content = message["content"] if isinstance(message["content"], list) else []
            found += [block for block in content if block.get("type") == "tool_result"]
        return [blocks(block.get("content", "")) for block in found]

    def blocks(content):
        if isinstance(content, str):
            return [{"type": "text", "text": content}]
        return [
            {"type": "image", "base64": block["source"]["data"]}
            if block["type"] == "image"
            else {"type": "text", "text": block.get("text", "")}
            for block in content
        ]

    return ModelServer(answer, results)
