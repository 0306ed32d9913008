"""Python libraries that do what telechir does: one question a line, `ok` or a reason back."""

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


class Pynput:
    def __init__(self):
        from pynput.mouse import Button, Controller

        self.button = Button.left
        self.mouse = Controller()

    def __call__(self, x, y):
        self.mouse.position = (int(x), int(y))
        self.mouse.click(self.button)


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
    """A bash behind pipes that is looked at every 0.2 s, as a well-known demo does."""

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
    "pynput": Pynput,
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
