"""Performs tasks in real programs by `telechir do` and prints a table of what was done.

    tasks.py TELECHIR [TASK...]        RUNS: repetitions of each task [default: 10]
                                       SECONDS: limit of a task [default: 30]
                                       TRACE=1: print each step and its answer

A task is a function. Its steps name elements by words, or by refs that telechir has answered; it
reads answers, never pixels, and has no coordinates. Its end state is read from the files. See
benchmarks/tasks.md. Exit code 1 if a task was not done.
"""

import csv
import io
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
import zlib

TELECHIR = sys.argv[1]
RUNS = int(os.environ.get("RUNS", "10"))
TRACE = os.environ.get("TRACE") == "1"
SECONDS = float(os.environ.get("SECONDS", "30"))
ROOT = tempfile.mkdtemp(prefix="tasks-")
SESSION = f"tasks-{os.getpid()}"
CRASHES = ["Document Recovery", "has crashed", "crash report", "Crash Reporter"]


class NotDone(Exception):
    """A step was refused, or the end state is another one."""


def call(*arguments):
    """One step, as it is typed; its exit code and answer."""
    command = [TELECHIR, "do", "--session", SESSION, *arguments]
    begun = time.monotonic()
    ran = subprocess.run(command, capture_output=True, text=True, timeout=90)
    if TRACE:
        took = f"{time.monotonic() - begun:.1f} s"
        print(f"[{took}] do", *arguments, "\n" + ran.stdout + ran.stderr, file=sys.stderr, flush=True)
    return ran.returncode, ran.stdout + ran.stderr


def do(*arguments):
    code, answer = call(*arguments)
    if code != 0:
        raise NotDone(f"{' '.join(arguments)}: {answer.strip()}")
    return answer


def wait(what, condition, seconds=20.0):
    """Asks again until the answer is as expected."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise NotDone(f"no {what}")
        time.sleep(0.1)


def window(title, seconds=20.0):
    """Waits for a window with this in its title."""
    return wait(f"window {title!r}", lambda: title in do("window"), seconds)


def no_window(title):
    return wait(f"end of the window {title!r}", lambda: title not in do("window"))


def element(words, role=None, **members):
    """Waits for an element in view, and returns its ref."""

    def found():
        matches = []
        for line in do("find", words or role).splitlines():
            match = re.match(r'\s*(\S+)(?: "(.*?)")? \[(e\d+)\](.*)', line)
            if match and "hidden" not in match[4] and role in (None, match[1]):
                name = (match[2] or "").lower().strip(" :.")
                if words.lower() in name:
                    matches.append((name != words.lower(), match[3]))
        # The same name before a longer one.
        return min(matches, key=lambda match: match[0])[1] if matches else None

    return wait(f"{role or 'element'} {words!r}", found, **members)


def start(program, title, seconds=60.0):
    do("app", program)
    window(title, seconds)


class Workspace:
    """The folder of a task: its Home."""

    def __init__(self, name):
        self.path = os.path.join(ROOT, name)
        shutil.rmtree(self.path, ignore_errors=True)
        os.makedirs(self.path)
        os.chmod(ROOT, 0o755)
        os.chmod(self.path, 0o777)

    def at(self, name):
        return os.path.join(self.path, name)

    def folder(self, name):
        os.makedirs(self.at(name))
        os.chmod(self.at(name), 0o777)

    def write(self, name, content):
        with open(self.at(name), "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        os.chmod(self.at(name), 0o666)

    def read(self, name):
        try:
            with open(self.at(name), "rb") as file:
                return file.read()
        except OSError:
            return b""

    def names(self, folder="."):
        listed = os.listdir(self.at(folder))
        return sorted(name for name in listed if not name.startswith("."))

    def until(self, name, content):
        """Waits until a file has this content, with or without a line break at its end."""
        wanted = content.encode().rstrip(b"\n")
        try:
            wait(name, lambda: self.read(name).rstrip(b"\n") == wanted)
        except NotDone:
            raise NotDone(f"{name} has {self.read(name)[:200]!r}") from None


def png(width, height, pixel):
    rows = b"".join(
        b"\0" + b"".join(bytes(pixel(x, y)) for x in range(width)) for y in range(height)
    )

    def chunk(kind, data):
        checked = kind + data
        return struct.pack(">I", len(data)) + checked + struct.pack(">I", zlib.crc32(checked))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def png_size(data):
    return struct.unpack(">II", data[16:24]) if data[:8] == b"\x89PNG\r\n\x1a\n" else None


def png_colors(data):
    """The colors of an 8-bit PNG with one of the plain filters; empty if it is none."""
    if png_size(data) is None:
        return set()
    width, _ = png_size(data)
    body, at = b"", 8
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        if data[at + 4 : at + 8] == b"IDAT":
            body += data[at + 8 : at + 8 + length]
        at += length + 12
    size = {0: 1, 2: 3, 4: 2, 6: 4}[data[25]]
    raw, colors, above = zlib.decompress(body), set(), bytearray(width * size)
    for start in range(0, len(raw), width * size + 1):
        kind, row = raw[start], bytearray(raw[start + 1 : start + 1 + width * size])
        for x, value in enumerate(row):
            a = row[x - size] if x >= size else 0
            b, c = above[x], above[x - size] if x >= size else 0
            near = min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]
            row[x] = (value + (0, a, b, (a + b) // 2, near)[kind]) & 255
        colors |= {bytes(row[x : x + size]) for x in range(0, len(row), size)}
        above = row
    return colors


def replace(space):
    space.write("letter.txt", "Dear Mr Smith,\n\nMrs Smith wrote to us.\n\nSmith & Sons\n")
    yield start("mousepad", "Mousepad")
    do("key", "ctrl+o")
    do("double-click", element("letter.txt", "cell"))
    window("letter.txt")
    do("click", "Find and Replace...")
    do("type", element("Search for", "combobox"), "Smith", "--clear")
    do("type", element("Replace with", "combobox"), "Jones", "--clear")
    do("check", element("Replace all in", "checkbox"))
    do("click", element("Replace All", "button"))
    do("click", element("Close", "button"))
    do("key", "ctrl+s")
    space.until("letter.txt", "Dear Mr Jones,\n\nMrs Jones wrote to us.\n\nJones & Sons\n")


def save_as(space):
    space.folder("notes")
    yield start("mousepad", "Mousepad")
    do("type", "milk\nbread\nbutter\n")
    do("click", "Save As...")
    do("double-click", element("notes", "cell"))
    do("type", element("Name", "textbox"), "today.txt", "--clear")
    do("click", element("Save", "button"))
    window("today.txt")
    space.until("notes/today.txt", "milk\nbread\nbutter\n")


def sum_(space):
    yield start("gnome-calculator", "Calculator")
    do("type", "37*43+19.5\n")
    wait("result", lambda: "1610.5" in do("read"))
    do("key", "ctrl+c")
    start("mousepad", "Mousepad")
    do("key", "ctrl+v")
    do("click", "Save As...")
    do("type", element("Name", "textbox"), "sum.txt", "--clear")
    do("click", element("Save", "button"))
    window("sum.txt")
    space.until("sum.txt", "1610.5")


def history(space):
    yield start("speedcrunch", "SpeedCrunch")
    for expression in ["6*7", "2^10", "sqrt(144)"]:
        do("type", f"{expression}\n")
    do("click", element("Session", "menuitem"))
    do("click", element("Export", "menuitem"))
    do("click", element("Plain text", "menuitem"))
    do("type", element("File name", "textbox"), "session.txt", "--clear")
    do("click", element("Save", "button"))
    wait("results", lambda: all(
        number in space.read("session.txt") for number in (b"42", b"1024", b"12")
    ))


def settings(space):
    yield start("mousepad", "Mousepad")
    do("click", "Preferences...")
    do("click", element("Editor", "tab"))
    do("fill", element("", "spinbutton"), "3")
    do("select", element("Insert Tabs", "combobox"), "Insert Spaces")
    do("key", "Escape")
    no_window("Preferences")
    do("key", "Tab")
    do("type", "indented")
    do("click", "Save As...")
    do("type", element("Name", "textbox"), "text.txt", "--clear")
    do("click", element("Save", "button"))
    window("text.txt")
    space.until("text.txt", "   indented")


def rename(space):
    for number in range(1, 6):
        space.write(f"scan{number}.txt", f"{number}")
    yield start("thunar", "Thunar")
    do("key", "ctrl+a")
    do("key", "F2")
    window("Rename Multiple Files")
    do("select", element("Insert / Overwrite", "combobox"), "Search & Replace")
    do("type", element("Search For", "textbox"), "scan", "--clear")
    do("type", element("Replace With", "textbox"), "invoice", "--clear")
    wait("new names", lambda: "invoice5.txt" in do("read"))
    do("click", element("Apply", "button"))
    wanted = [f"invoice{number}.txt" for number in range(1, 6)]
    wait("new names", lambda: [n for n in space.names() if n in wanted] == wanted)
    if any(name.startswith("scan") for name in space.names()):
        raise NotDone(f"{space.names()}")


PAGE = """<!doctype html><meta charset=utf-8><title>Prices</title><table>
<tr><td>Pen<td>2<tr><td>Book<td>12<tr><td>Lamp<td>35</table>"""


def table(space):
    space.write("prices.html", PAGE)
    yield start("firefox-esr", "Firefox")
    do("key", "ctrl+l")
    do("type", f"file://{space.at('prices.html')}\n")
    window("Prices")
    do("click", element("Pen", "cell"))
    do("key", "ctrl+a")
    do("key", "ctrl+c")
    start("gnumeric", "Gnumeric")
    do("key", "ctrl+v")
    do("click", "Export as CSV File...")
    do("type", element("Name", "textbox"), "prices.csv", "--clear")
    do("click", element("Save", "button"))
    rows = [["Pen", "2"], ["Book", "12"], ["Lamp", "35"]]
    wait("rows", lambda: list(csv.reader(space.read("prices.csv").decode().split())) == rows)


def drawing(space):
    yield start("drawing", "Drawing")
    window("class \"Drawing\", dialog")
    do("click", element("No", "button"))
    listed = do("window")
    corners = re.search(r'class "Drawing", \[(\d+), (\d+), (\d+), (\d+)\]', listed)
    left, top, right, bottom = (int(number) for number in corners.groups())

    def point(across, down):
        """A point of the canvas, which is no element, by the window that telechir listed."""
        across, down = left + (right - left) * across, top + (bottom - top) * down
        return f"{across:.0f},{down:.0f}"

    do("drag", point(0.4, 0.4), point(0.7, 0.6))
    do("drag", point(0.7, 0.4), point(0.4, 0.6))
    do("key", "ctrl+s")
    do("type", element("Name", "textbox"), "lines.png", "--clear")
    do("click", element("Save", "button"))
    window("lines.png")
    wait("picture", lambda: len(png_colors(space.read("lines.png"))) > 1)


def archive(space):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, text in [("one.txt", b"first"), ("two.txt", b"second")]:
            member = tarfile.TarInfo(name)
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text))
    space.write("pair.tar.gz", packed.getvalue())
    space.folder("out")
    yield start("xarchiver", "xarchiver")
    do("key", "ctrl+o")
    do("double-click", element("pair.tar.gz", "cell"))
    element("two.txt", "cell")
    do("click", element("Extract", "button"))
    window("Extract files")
    do("fill", element("", "textbox"), space.at("out"))
    do("uncheck", element("Ensure a containing directory", "checkbox"))
    do("click", element("Extract", "button"))
    space.until("out/one.txt", "first")
    space.until("out/two.txt", "second")


def context_menu(space):
    space.write("draft.txt", "a")
    space.write("other.txt", "b")
    yield start("thunar", "Thunar")
    do("key", "ctrl+2")
    do("right-click", element("draft.txt", "cell"))
    do("click", element("Rename", "menuitem"))
    window("Rename")
    do("key", "ctrl+a")
    do("type", "final.txt\n")
    wait("new name", lambda: "final.txt" in space.names() and "draft.txt" not in space.names())
    space.until("final.txt", "a")


def drag(space):
    space.folder("target")
    space.write("moved.txt", "m")
    yield start("thunar", "Thunar")
    do("key", "ctrl+2")
    element("target", "cell")
    do("key", "ctrl+n")
    window("w2 ")
    do("double-click", element("target", "cell"))
    listed = window("target - Thunar") and do("window")
    corners = dict(re.findall(r'(w\d) .*?\[(.*?)\]', listed))
    _, top, _, bottom = (int(number) for number in corners["w1"].split(", "))
    edge = int(corners["w2"].split(", ")[2])
    region = [edge, top, edge + 600, bottom]
    do("action", json.dumps({"action": "place_window", "window": "w1", "region": region}))
    do("drag", element("moved.txt", "cell"), element("Details view", "directorypane"))
    wait("moved file", lambda: space.names("target") == ["moved.txt"])
    if "moved.txt" in space.names():
        raise NotDone("the file is in both folders")


def sort(space):
    space.write("list.txt", "pear\napple\nfig\nbanana\n")
    yield start("featherpad", "FeatherPad")
    do("key", "ctrl+o")
    do("double-click", element("list.txt", "cell"))
    window("list.txt")
    do("key", "ctrl+a")
    do("click", element("Edit", "menuitem"))
    do("click", element("Sort Lines", "menuitem"))
    do("key", "ctrl+s")
    wanted = ["apple", "banana", "fig", "pear"]
    wait("sorted lines", lambda: space.read("list.txt").decode().split() == wanted)


def lines(space):
    space.write("text.txt", "one\ntwo\nthree\nfour\n")
    yield start("gedit", "gedit")
    do("key", "ctrl+o")
    do("double-click", element("text.txt", "cell"))
    window("text.txt")
    do("key", "ctrl+i")
    do("type", "3\n")
    do("key", "ctrl+d")
    do("key", "ctrl+shift+s")
    do("type", element("Name", "textbox"), "short.txt", "--clear")
    do("click", element("Save", "button"))
    window("short.txt")
    space.until("short.txt", "one\ntwo\nfour\n")
    space.until("text.txt", "one\ntwo\nthree\nfour\n")


def close_tip():
    window("Tip of the Day")
    do("click", element("OK", "button"))


def save_document(name, button):
    """In LibreOffice, which asks about formats of others; `button` answers that."""
    do("key", "ctrl+shift+s")
    do("type", element("Name", "textbox"), name, "--clear")
    do("click", element("Save", "button"))
    window("Confirm File Format")
    do("click", element(button, "button"))


def sheet(space):
    yield start("libreoffice-calc", "Untitled 1")
    close_tip()
    do("type", "Item\tPrice\nPen\t2\nBook\t12\n")
    do("type", element("A4", "cell"), "Sum")
    do("type", element("B4", "cell"), "=SUM(B2:B3)\n")
    do("drag", element("A1", "cell"), element("B3", "cell"))
    do("click", element("Chart", "button"))
    window("Chart Type")
    do("click", element("Finish", "button"))
    # The chart is edited, then selected, then neither.
    do("key", "Escape")
    do("key", "Escape")
    save_document("prices.xlsx", "Use Excel")
    window("prices.xlsx")
    save_document("prices.csv", "Use Text CSV")
    window("Export Text File")
    do("click", element("OK", "button"))
    window("prices.csv")
    rows = [["Item", "Price"], ["Pen", "2"], ["Book", "12"], ["Sum", "14"]]
    wait("rows", lambda: list(csv.reader(space.read("prices.csv").decode().split())) == rows)
    with zipfile.ZipFile(io.BytesIO(space.read("prices.xlsx"))) as book:
        cells = book.read("xl/worksheets/sheet1.xml").decode()
        if "SUM(B2:B3)" not in cells or "xl/charts/chart1.xml" not in book.namelist():
            raise NotDone(f"no formula or no chart: {book.namelist()}")


def letter(space):
    yield start("libreoffice-writer", "Untitled 1")
    close_tip()
    do("key", "ctrl+1")
    do("type", "Invitation\nWe meet on Monday.")
    save_document("letter.docx", "Use Word")
    window("letter.docx")
    do("click", element("Export Directly as PDF", "button"))
    do("type", element("Name", "textbox"), "letter.pdf", "--clear")
    do("click", element("Export", "button"))
    wait("PDF", lambda: space.read("letter.pdf").rstrip().endswith(b"%%EOF"))
    with zipfile.ZipFile(io.BytesIO(space.read("letter.docx"))) as document:
        text = document.read("word/document.xml").decode()
    if "Invitation" not in text or "We meet on Monday." not in text or "Heading1" not in text:
        raise NotDone("the DOCX lacks a text or the heading")


def picture(space):
    """GIMP is a GTK 2 program without elements: keys, and words that telechir recognizes."""
    space.write("small.png", png(40, 30, lambda x, y: (x * 6, y * 8, 90)))
    yield start("gimp", "GNU Image Manipulation Program")
    do("key", "ctrl+o")
    window("Open Image")
    # The place of the file dialog that has the name of the workspace.
    wait("place", lambda: call("click", "picture")[0] == 0)
    for _ in range(3):
        code, answer = call("double-click", "small.png")
        points = re.findall(r"at (\d+,\d+)", answer)
        if code != 0 and points:
            # The preview has its name, too: telechir answers with both points.
            do("double-click", points[0])
        try:
            window("small", 3)
            break
        except NotDone:
            # It was the preview, or nothing was drawn yet.
            continue
    window("small")
    do("key", "alt+i")
    do("key", "s")
    window("Scale Image")
    do("key", "ctrl+a")
    do("type", "80\t")
    do("key", "alt+s")
    no_window("Scale Image")
    do("key", "ctrl+shift+e")
    window("Export Image")
    do("key", "ctrl+a")
    do("type", f"{space.at('large.png')}\n")
    window("Export Image as PNG")
    do("key", "alt+e")
    wait("picture", lambda: png_size(space.read("large.png")) == (80, 60))


TASKS = {
    "replace": replace,
    "save-as": save_as,
    "sum": sum_,
    "history": history,
    "settings": settings,
    "rename": rename,
    "drawing": drawing,
    "table": table,
    "archive": archive,
    "context-menu": context_menu,
    "drag": drag,
    "sort": sort,
    "lines": lines,
    "sheet": sheet,
    "letter": letter,
    "picture": picture,
}


def perform(name):
    """Performs a task on a new desktop; the seconds it took, or an exception."""
    space = Workspace(name)
    steps = TASKS[name](space)
    try:
        do("--desktop", "--workspace", space.path, "--policy", "trust-sandbox", "wait", "0")
        # Up to the first window.
        next(steps)
        begun = time.monotonic()
        next(steps, None)
        seconds = time.monotonic() - begun
        listed = do("window")
        for crash in CRASHES:
            if crash.lower() in listed.lower():
                raise NotDone(f"a program crashed: {listed}")
        if seconds > SECONDS:
            raise NotDone(f"it took {seconds:.1f} s")
        return seconds
    finally:
        do("close")


def main():
    names = sys.argv[2:] or list(TASKS)
    failed = 0
    print("| task | done | median | longest |\n|---|---|---|---|", flush=True)
    for name in names:
        times = []
        for _ in range(RUNS):
            try:
                times.append(perform(name))
            except (NotDone, subprocess.TimeoutExpired) as why:
                failed += 1
                print(f"{name}: {why}", file=sys.stderr, flush=True)
        times.sort()
        figures = "| |"
        if times:
            figures = f"{times[len(times) // 2]:.1f} s | {times[-1]:.1f} s |"
        print(f"| `{name}` | {len(times)} of {RUNS} | {figures}", flush=True)
    return failed


try:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    FAILED = main()
finally:
    call("close")
    shutil.rmtree(ROOT, ignore_errors=True)
sys.exit(1 if FAILED else 0)
