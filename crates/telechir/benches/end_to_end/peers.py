"""Python libraries to compare with telechir: one request per line; replies `ok` or an error."""

import asyncio
import json
import os
import pty
import subprocess
import sys
import time


class Mss:
    def __init__(self):
        import mss
        import mss.tools

        self.tools = mss.tools
        self.grabber = mss.MSS()
        self.screen = self.grabber.monitors[0]

    def __call__(self, path=None):
        shot = self.grabber.grab(self.screen)
        png = self.tools.to_png(shot.rgb, shot.size)
        assert len(png) > 100
        if path:
            with open(path, "wb") as file:
                file.write(png)


class Pyscreeze:
    """The library that pyautogui uses for screenshots."""

    def __init__(self):
        import io

        import pyscreeze

        self.take = pyscreeze.screenshot
        self.file = io.BytesIO
        self()

    def __call__(self):
        file = self.file()
        self.take().save(file, "PNG")
        assert file.tell() > 100


class Pynput:
    def __init__(self):
        from pynput.mouse import Button, Controller

        self.button = Button.left
        self.mouse = Controller()

    def __call__(self, x, y):
        self.mouse.position = (int(x), int(y))
        self.mouse.click(self.button)


class PynputText:
    def __init__(self):
        from pynput.keyboard import Controller

        self.keyboard = Controller()

    def __call__(self, text=""):
        self.keyboard.type(bytes.fromhex(text).decode())


class CuaDriver:
    """The program of the cua-driver package, as a long-running MCP server."""

    def __init__(self):
        program = os.path.join(os.path.dirname(sys.executable), "cua-driver")
        home = {**os.environ, "HOME": os.getcwd()}
        silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run([program, "telemetry", "disable"], check=True, env=home, **silent)
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.server = subprocess.Popen([program, "mcp"], env=home, text=True, **pipes)
        self.count = 0
        client = {"name": "bench", "version": "1"}
        self.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
        self.tell({"method": "notifications/initialized"})

    def tell(self, message):
        self.server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.server.stdin.flush()

    def ask(self, method, **params):
        self.count += 1
        self.tell({"id": self.count, "method": method, "params": params})
        for line in self.server.stdout:
            answer = json.loads(line)
            if answer.get("id") == self.count:
                break
        else:
            raise RuntimeError("cua-driver ended")
        result = answer.get("result")
        if result is None or result.get("isError"):
            raise RuntimeError(json.dumps(answer)[:300])

    def __call__(self, text=""):
        if text:
            text = bytes.fromhex(text).decode()
            self.ask("tools/call", name="type_text", arguments={"text": text, "scope": "desktop"})


class Pty:
    def __init__(self):
        pid, self.terminal = pty.fork()
        if pid == 0:
            os.execv("/bin/bash", ["bash", "--norc", "--noprofile"])
        os.write(self.terminal, b"stty -echo; PS1=; PS2=\n")
        self()

    def __call__(self):
        os.write(self.terminal, b"true; printf 'e%s\\n' nd\n")
        seen = b""
        while b"end\r\n" not in seen:
            seen += os.read(self.terminal, 65536)


class LocalShellTool:
    def __init__(self):
        from agent_framework_tools.shell import LocalShellTool

        self.loop = asyncio.new_event_loop()
        self.tool = LocalShellTool(approval_mode="never_require", acknowledge_unsafe=True)
        self()

    def __call__(self):
        result = self.loop.run_until_complete(self.tool.run("true"))
        assert result.exit_code == 0


class Polling:
    """A bash behind pipes that is polled every 0.2 s, as in a well-known demo."""

    def __init__(self):
        self.bash = subprocess.Popen(["/bin/bash"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        os.set_blocking(self.bash.stdout.fileno(), False)

    def __call__(self):
        self.bash.stdin.write(b"true; echo its-end\n")
        self.bash.stdin.flush()
        seen = b""
        while b"its-end\n" not in seen:
            time.sleep(0.2)
            seen += self.bash.stdout.read() or b""


class Json:
    def __init__(self):
        with open("history.json", "rb") as file:
            self.text = file.read()

    def __call__(self):
        assert len(json.loads(self.text)) > 0


KINDS = {
    "mss": Mss,
    "pyscreeze": Pyscreeze,
    "pynput": Pynput,
    "pynput-text": PynputText,
    "cua-driver-text": CuaDriver,
    "pty": Pty,
    "local-shell-tool": LocalShellTool,
    "polling": Polling,
    "json": Json,
}
made = {}
for line in sys.stdin:
    name, *words = line.split()
    try:
        if name not in made:
            made[name] = KINDS[name]()
        made[name](*words)
        answer = "ok"
    except Exception as error:
        answer = f"{type(error).__name__}: {error}".replace("\n", " ")
    print(answer, flush=True)
