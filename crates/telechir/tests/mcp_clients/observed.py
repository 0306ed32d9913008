"""The calls that every client makes, and what it received, as one JSON object on stdout."""

import json
import os

# What the user answers, in order: a client can accept with a value, or decline.
ANSWERS = [("accept", {"answer": "yes"}), ("decline", None)]


def environment() -> dict[str, str]:
    """Most clients pass only some variables on."""
    names = ["PATH", "HOME", "TMPDIR", "XDG_RUNTIME_DIR"]
    return {name: os.environ[name] for name in names if name in os.environ}


class Observed:
    """`call` returns the content blocks and whether the result is an error."""

    def __init__(self, protocol=None):
        self.protocol = protocol
        self.tools = []
        self.results = {}

    async def run(self, call, has_user):
        steps = [
            ("page", "execute_browser", {"action": "open_tab"}),
            ("look", "observe_screen", {}),
            ("mistake", "wait", {"seconds": 99}),
            ("asked", "execute_cli", {"command": "echo approved"}),
        ]
        if has_user:
            steps.append(("declined", "execute_cli", {"command": "echo declined"}))
        for step, tool, arguments in steps:
            blocks, is_error = await call(tool, arguments)
            self.results[step] = {"blocks": blocks, "is_error": is_error}

    def print(self):
        print(json.dumps({"protocol": self.protocol, "tools": self.tools, "results": self.results}))
