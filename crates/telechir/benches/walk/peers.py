"""Python libraries that do what telechir does: one question a line, `ok` or a reason back."""

import json
import os
import pty
import sys


class Mss:
    def __init__(self):
        import mss
        import mss.tools

        self.tools = mss.tools
        self.grabber = mss.MSS()
        self.screen = self.grabber.monitors[0]

    def __call__(self):
        shot = self.grabber.grab(self.screen)
        assert len(self.tools.to_png(shot.rgb, shot.size)) > 100


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


class Json:
    def __init__(self):
        with open("history.json", "rb") as file:
            self.text = file.read()

    def __call__(self):
        assert len(json.loads(self.text)) > 0


KINDS = {"mss": Mss, "pynput": Pynput, "pty": Pty, "json": Json}
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
