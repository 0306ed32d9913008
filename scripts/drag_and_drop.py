"""Drags twenty times in real programs, by `telechir do`, and prints a table of what landed.

Called by drag-and-drop.sh with the path of the binary; names of programs after it limit the run to
these. Files are dragged by their places in the window, cells of a spreadsheet by their names; what
landed is read from the folder, from the window's title or from the cells.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

TELECHIR = sys.argv[1]
RUNS = int(os.environ.get("DRAGS", "20"))
ROOT = tempfile.mkdtemp(prefix="drag-and-drop-")
SESSION = f"drags-{os.getpid()}"
PAGE = """<title>drops 0</title><body style="margin:0">
<div draggable=true style="position:absolute;left:20px;top:20px;width:200px;height:100px;background:red"
  ondragstart="event.dataTransfer.setData('text/plain','x')">drag</div>
<div style="position:absolute;left:400px;top:20px;width:300px;height:300px;background:blue"
  ondragover="event.preventDefault()"
  ondrop="event.preventDefault();window.n=-~window.n;document.title='drops '+n">drop</div>"""


def do(*arguments):
    command = [TELECHIR, "do", "--session", SESSION, *arguments]
    return subprocess.run(command, capture_output=True, text=True).stdout


def action(**members):
    return do("action", json.dumps(members))


def wait_until(condition, seconds=4.0):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def begin(program, title):
    """Starts a program on a new desktop whose workspace has files and a folder."""
    do("close")
    workspace = os.path.join(ROOT, program)
    shutil.rmtree(workspace, ignore_errors=True)
    os.makedirs(os.path.join(workspace, "target"))
    for number in range(RUNS + 1):
        with open(os.path.join(workspace, f"f{number:02}.txt"), "w") as file:
            file.write("x")
    with open(os.path.join(workspace, "page.html"), "w") as file:
        file.write(PAGE)
    subprocess.run(["chmod", "-R", "a+rwX", ROOT], check=True)
    do("--desktop", "--workspace", workspace, "--policy", "trust-sandbox", "app", program)
    if not wait_until(lambda: title in do("window"), 60):
        sys.exit(f"{program} shows no window {title!r}: {do('window')}")
    time.sleep(5)
    return workspace


def row(what, outcomes, times):
    times.sort()
    median = times[len(times) // 2] * 1000
    print(f"| {what} | {sum(outcomes)} of {len(outcomes)} | {median:.0f} ms |", flush=True)


def drags(what, start, end, before, landed):
    """Drags RUNS times; `before` returns what `landed` compares with."""
    outcomes, times = [], []
    for _ in range(RUNS):
        state = before()
        started = time.monotonic()
        do("drag", start, end)
        times.append(time.monotonic() - started)
        outcomes.append(wait_until(lambda: landed(state)))
        if not outcomes[-1]:
            do("key", "Escape")
        time.sleep(0.3)
    row(what, outcomes, times)


def files(program, name, title, onto_folder, into_window):
    workspace = begin(program, title)
    target = os.path.join(workspace, "target")
    count = lambda: len(os.listdir(target))
    grown = lambda state: count() > state
    action(action="place_window", window="w1", region=[0, 0, 620, 700])
    time.sleep(1)
    drags(f"{name}, file onto folder", *onto_folder, count, grown)

    workspace = begin(program, title)
    target = os.path.join(workspace, "target")
    action(action="place_window", window="w1", region=[0, 0, 620, 700])
    do("key", "ctrl+n")
    wait_until(lambda: "w2 " in do("window"))
    action(action="place_window", window="w2", region=[640, 0, 1270, 700])
    do("key", "ctrl+l")
    do("key", "ctrl+a")
    do("type", f"{target}\n")
    time.sleep(1)
    drags(f"{name}, file into another window", *into_window, count, grown)


def firefox():
    workspace = begin("firefox-esr", "Firefox")
    do("key", "ctrl+l")
    do("type", f"file://{workspace}/page.html\n")
    action(action="place_window", window="w1", region=[0, 0, 1200, 780])
    wait_until(lambda: "drops 0" in do("window"), 20)

    def drops():
        found = re.search(r"drops (\d+)", do("window"))
        return int(found[1]) if found else -1

    drags("Firefox, element of a page", "120,180", "550,280", drops, lambda state: drops() > state)


def calc():
    begin("libreoffice-calc", "Untitled 1")
    wait_until(lambda: "Tip of the Day" in do("window"), 60)
    do("click", "OK")
    do("type", "x\ty\n1\t2\n")

    def is_at(cell):
        return lambda: f'cell "{cell}"' in do("find", "x").split("value=\"x\"")[0]

    def select_one():
        do("click", "D9")

    # The field beside the formula has the name of the selected range.
    selected = lambda _: 'value="A1:B2"' in do("find", "textbox A1:B2")
    drags("LibreOffice, range of cells selected", "A1", "B2", select_one, selected)

    # What is selected is moved by a drag: there and back again.
    outcomes, times = [], []
    for number in range(RUNS):
        start, end = [("A1", "D5"), ("D5", "A1")][number % 2]
        started = time.monotonic()
        do("drag", start, end)
        times.append(time.monotonic() - started)
        outcomes.append(wait_until(is_at(end), 10))
    row("LibreOffice, selected cells moved", outcomes, times)


PROGRAMS = {
    "thunar": lambda: files(
        "thunar", "Thunar", "Thunar", ("298,130", "216,130"), ("298,130", "1000,500")
    ),
    "pcmanfm": lambda: files(
        "pcmanfm", "PCManFM", "pcmanfm", ("301,115", "207,115"), ("301,115", "1000,500")
    ),
    "firefox": firefox,
    "calc": calc,
}
try:
    print("| drag | landed | median time |\n|---|---|---|")
    for program in sys.argv[2:] or PROGRAMS:
        PROGRAMS[program]()
finally:
    do("close")
    shutil.rmtree(ROOT, ignore_errors=True)
