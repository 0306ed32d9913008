#!/usr/bin/env python3
"""Compares ways to show a screen to a person and prints tables: `live_page.py TELECHIR PEERS FOLDER`.

The ways take turns in the same run. Called by scripts/live-page.sh.
"""

import asyncio
import contextlib
import json
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

import aiohttp
from aiohttp import web
from Xlib import X, display

TELECHIR, PEERS, FOLDER = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
CHANGES = int(os.environ.get("CHANGES", "60"))
# Changes of one way before it is the next one's turn.
TURN = 10
IDLE_SECONDS = 20
CHROMIUM = "/usr/lib/chromium/chromium"
AGENT_BROWSER = PEERS / "node_modules/agent-browser/bin/agent-browser-linux-x64"
POLICY = """
[[computer]]
display = "existing"
verdict = "allow"
reason = "A test."

[[url]]
host = ["127.0.0.1"]
verdict = "allow"
reason = "A test."

[[shell]]
shell = "sandboxed"
verdict = "sandbox"
reason = "A test."
"""
# Notes when a place near the middle of the largest canvas or image of the page has another colour.
WATCH = """
(() => {
  const copy = Object.assign(document.createElement('canvas'), {width: 1, height: 1});
  const one = copy.getContext('2d', {willReadFrequently: true});
  window.seen = [];
  let before = '';
  const look = () => {
    const shown = [...document.querySelectorAll('canvas, img')]
      .sort((a, b) => b.clientWidth * b.clientHeight - a.clientWidth * a.clientHeight)[0];
    const [width, height] = [shown?.naturalWidth ?? shown?.width, shown?.naturalHeight ?? shown?.height];
    if (width > 100) {
      // Beside the middle, where the pointer may be.
      one.drawImage(shown, width * 0.45, height * 0.45, 1, 1, 0, 0, 1, 1);
      // JPEG changes colours a little.
      const colour = [...one.getImageData(0, 0, 1, 1).data].slice(0, 3).map((part) => Math.round(part / 32)).join();
      if (colour !== before) seen.push([performance.timeOrigin + performance.now(), colour]);
      before = colour;
    }
    requestAnimationFrame(look);
  };
  look();
})()
"""
COLOURS = [(224, 32, 32), (32, 160, 32), (32, 64, 224), (224, 192, 32), (160, 32, 192)]


def bucket(colour):
    return ",".join(str(int(part / 32 + 0.5)) for part in colour)


# Chromium's own sandbox is for users other than root.
NOBODY = 65534
UNPRIVILEGED = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if os.getuid() == 0 else []


def unprivileged_folder(name):
    """A folder for programs that run as that user."""
    folder = FOLDER / name
    folder.mkdir(mode=0o700)
    if UNPRIVILEGED:
        os.chown(folder, NOBODY, NOBODY)
    return folder


class Chromium:
    """A person's browser."""

    async def open(self, http, url):
        profile = unprivileged_folder(f"person-{time.monotonic_ns()}")
        flags = ["--headless=new", "--remote-debugging-port=0", "--window-size=1400,1000", f"--user-data-dir={profile}"]
        command = [*UNPRIVILEGED, CHROMIUM, *flags, "about:blank"]
        variables = {**os.environ, "HOME": str(profile)}
        self.process = await asyncio.create_subprocess_exec(*command, env=variables, stderr=asyncio.subprocess.PIPE)
        while True:
            line = (await self.process.stderr.readline()).decode()
            if found := re.search(r"listening on (ws://\S+)", line):
                break
        self.reading = asyncio.create_task(self.drain())
        self.socket = await http.ws_connect(found[1], max_msg_size=0)
        self.number, self.target = 0, None
        created = await self.command("Target.createTarget", url=url)
        attached = await self.command("Target.attachToTarget", targetId=created["targetId"], flatten=True)
        self.target = attached["sessionId"]
        return self

    async def drain(self):
        while await self.process.stderr.readline():
            pass

    async def command(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.target:
            message["sessionId"] = self.target
        await self.socket.send_json(message)
        while True:
            answer = await self.socket.receive_json()
            if answer.get("id") == self.number:
                return answer.get("result", {})

    async def script(self, expression):
        result = await self.command("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        return result.get("result", {}).get("value")

    async def wait(self, expression, seconds=60):
        end = time.monotonic() + seconds
        while not await self.script(expression):
            if time.monotonic() > end:
                raise TimeoutError(f"{expression}: {await self.script('document.body.innerText')}")
            await asyncio.sleep(0.1)

    async def close(self):
        self.process.kill()
        await self.process.wait()


class Painted:
    """A display whose screen changes when it is told to."""

    def __init__(self):
        self.name = ":" + str(next(n for n in range(190, 290) if not Path(f"/tmp/.X11-unix/X{n}").exists()))
        self.server = subprocess.Popen(["Xvfb", self.name, "-screen", "0", "1280x800x24", "-ac", "-nolisten", "tcp"], stderr=subprocess.DEVNULL)
        for _ in range(100):
            with contextlib.suppress(Exception):
                self.display = display.Display(self.name)
                break
            time.sleep(0.1)
        root = self.display.screen().root
        self.window = root.create_window(440, 300, 400, 200, 0, 24, X.InputOutput, X.CopyFromParent, override_redirect=True)
        self.context = self.window.create_gc()
        self.window.map()
        self.display.sync()

    async def change(self, colour):
        red, green, blue = colour
        self.context.change(foreground=red << 16 | green << 8 | blue)
        at = time.time() * 1000
        self.window.fill_rectangle(self.context, 0, 0, 400, 200)
        self.display.flush()
        return at


class Page:
    """A page that changes when it is told to, and says when."""

    def __init__(self):
        self.waiting, self.changed = asyncio.Queue(), asyncio.Queue()

    async def serve(self, port):
        app = web.Application()
        app.add_routes([web.get("/", self.page), web.get("/next", self.next), web.get("/changed", self.done)])
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port).start()
        self.url = f"http://127.0.0.1:{port}/"
        return self

    async def page(self, _):
        script = """(async () => { for (;;) {
            const colour = await (await fetch('/next')).text();
            document.body.style.background = colour;
            fetch(`/changed?at=${performance.timeOrigin + performance.now()}`);
        } })()"""
        return web.Response(text=f"<!doctype html><body style='height: 100vh; margin: 0'><script>{script}</script>", content_type="text/html")

    async def next(self, _):
        return web.Response(text=await self.waiting.get())

    async def done(self, request):
        await self.changed.put(float(request.query["at"]))
        return web.Response(text="")

    async def change(self, colour):
        await self.waiting.put(f"rgb{colour}")
        return await asyncio.wait_for(self.changed.get(), 30)


class Way:
    """A way to show a screen: the person's browser, what changes, and the processes that serve it."""

    def __init__(self, name, browser, source, serving):
        self.name, self.browser, self.source, self.serving = name, browser, source, serving
        self.times, self.missed = [], 0

    async def turn(self):
        for n in range(TURN):
            await self.browser.script("window.seen.length = 0")
            colour = COLOURS[(len(self.times) + self.missed) % len(COLOURS)]
            at = await self.source.change(colour)
            end = time.monotonic() + 5
            while True:
                seen = await self.browser.script("JSON.stringify(window.seen)")
                shown = [when for when, what in json.loads(seen) if what == bucket(colour)]
                if shown:
                    self.times.append(shown[0] - at)
                    break
                if time.monotonic() > end:
                    self.missed += 1
                    break
                await asyncio.sleep(0.05)
            # Not in step with anything that repeats.
            await asyncio.sleep(0.2 + (n * 37 % 100) / 500)

    async def idle(self):
        """The share of a core that serving takes while nothing changes."""
        before = sum(map(cpu_seconds, self.serving()))
        await asyncio.sleep(IDLE_SECONDS)
        return (sum(map(cpu_seconds, self.serving())) - before) / IDLE_SECONDS


def cpu_seconds(pid):
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def private_mib(pid):
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Private_")) / 1024


def telechir(*arguments, stdin=""):
    return subprocess.run([TELECHIR, *arguments], input=stdin, check=True, capture_output=True, text=True).stdout


def host_of(name):
    return next(row["pid"] for row in json.loads(telechir("sessions", "list", "--json")) if row["name"] == name)


def start_session(name, *flags):
    look = {"type": "tool_use", "id": "look", "name": "screenshot", "input": {}, "toolset_name": "browser" if "--browser" in flags[0] else "computer"}
    response = {"type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use", "content": [look]}
    policy = f"--policy={FOLDER / 'policy.toml'}"
    telechir("exec", "--dialect=anthropic-messages", "--session", name, policy, *flags, stdin=json.dumps(response))


async def view(http, session, source, name):
    page = await asyncio.create_subprocess_exec(TELECHIR, "view", session, "--listen=127.0.0.1:0", stdout=asyncio.subprocess.PIPE)
    url = (await page.stdout.readline()).decode().strip()
    browser = await Chromium().open(http, url)
    await browser.wait("document.querySelector('.session canvas')?.hidden === false")
    host = host_of(session)
    return Way(name, browser, source, lambda: [page.pid, host]), page


async def novnc(http, painted):
    vnc, proxy = 15987, 15988
    flags = ["-display", painted.name, "-rfbport", str(vnc), "-localhost", "-forever", "-shared", "-nopw", "-quiet"]
    server = subprocess.Popen(["x11vnc", *flags], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    bridge = subprocess.Popen(["websockify", "--web=/usr/share/novnc", f"127.0.0.1:{proxy}", f"127.0.0.1:{vnc}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    await asyncio.sleep(3)
    browser = await Chromium().open(http, f"http://127.0.0.1:{proxy}/vnc_lite.html")
    await browser.wait("document.querySelector('canvas')?.width > 100")
    serving = lambda: [server.pid, bridge.pid, *children(bridge.pid)]
    return Way("noVNC over x11vnc", browser, painted, serving), [server, bridge]


def children(pid):
    with contextlib.suppress(OSError):
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def named(part):
    found = []
    for process in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            if part.encode() in (process / "cmdline").read_bytes().split(b"\0")[0]:
                found.append(int(process.name))
    return found


async def dashboard(http, page):
    home = str(unprivileged_folder("agent-browser"))
    variables = {**os.environ, "AGENT_BROWSER_EXECUTABLE_PATH": CHROMIUM, "HOME": home, "XDG_RUNTIME_DIR": home}
    run = lambda *arguments: subprocess.run([*UNPRIVILEGED, AGENT_BROWSER, *arguments], env=variables, check=True, capture_output=True, timeout=90)
    await asyncio.to_thread(run, "open", page.url)
    await asyncio.to_thread(run, "dashboard", "start", "--port", "14848")
    browser = await Chromium().open(http, "http://127.0.0.1:14848/")
    largest = "Math.max(...[...document.querySelectorAll('canvas, img')].map((one) => one.naturalWidth ?? one.width))"
    await browser.wait(f"{largest} > 300")
    serving = lambda: named("agent-browser")
    return Way("agent-browser's dashboard", browser, page, serving), lambda: (run("dashboard", "stop"), run("close"))


async def stuck_viewers(http):
    """Calls of a session with and without viewers that take no update, in turns; and its memory."""
    tokens = {role: telechir("tokens", "new", role).strip() for role in ("agent", "viewer")}
    server = await asyncio.create_subprocess_exec(TELECHIR, "serve", "--desktop", "--shell", f"--policy={FOLDER / 'policy.toml'}", "--listen=127.0.0.1:0", "--start-app=xterm", stderr=asyncio.subprocess.PIPE)
    while not (found := re.search(r"http://[0-9.:]+", (await server.stderr.readline()).decode())):
        pass
    url, agent = found[0], {"Authorization": f"Bearer {tokens['agent']}"}
    async with http.post(f"{url}/v1/sessions", json={"devices": ["desktop", "shell"]}, headers=agent) as answer:
        session = (await answer.json())["id"]
    number = 0

    async def calls():
        nonlocal number
        times = []
        for _ in range(15):
            number += 1
            contents = [
                {"type": "tool_use", "id": f"m{number}", "name": "mouse_move", "toolset_name": "computer", "input": {"coordinate": [100 + number % 300, 100]}},
                {"type": "tool_use", "id": f"b{number}", "name": "bash", "input": {"command": "true"}},
            ]
            body = {"type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use", "content": contents}
            started = time.perf_counter()
            async with http.post(f"{url}/v1/sessions/{session}/anthropic-messages", json=body, headers=agent) as answer:
                await answer.read()
            times.append(time.perf_counter() - started)
        return times

    async def stuck():
        async with http.post(f"{url}/v1/tickets", headers={"Authorization": f"Bearer {tokens['viewer']}"}) as answer:
            ticket = (await answer.json())["ticket"]
        async with http.post(f"{url}/view/session", json={"ticket": ticket}, headers={"Origin": url}) as answer:
            key, cookie = (await answer.json())["key"], answer.headers["Set-Cookie"].split(";")[0]
        path = f"{url}/view/sessions/{session}/screen"
        return await http.ws_connect(path, protocols=["telechir.screen", f"telechir.key.{key}"], headers={"Origin": url, "Cookie": cookie})

    await calls()
    host, alone, watched = host_of(session), [], []
    before = private_mib(host)
    for _ in range(6):
        alone += await calls()
        sockets = [await stuck() for _ in range(10)]
        watched += await calls()
        for socket in sockets:
            await socket.close()
    after = private_mib(host)
    async with http.delete(f"{url}/v1/sessions/{session}", headers=agent) as answer:
        await answer.read()
    server.terminate()
    await server.wait()
    return statistics.median(alone) * 1000, statistics.median(watched) * 1000, before, after


async def main():
    # Its users reach their own folders in it.
    FOLDER.chmod(0o711)
    (FOLDER / "policy.toml").write_text(POLICY)
    painted, page, other = Painted(), await Page().serve(15990), await Page().serve(15991)
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=120)) as http:
        await asyncio.to_thread(start_session, "desk", f"--desktop={painted.name}")
        # The page is served meanwhile.
        await asyncio.to_thread(start_session, "page", f"--browser={page.url}", "--headless", "--display=1280x800")
        desktop, first = await view(http, "desk", painted, "telechir, desktop")
        headless, second = await view(http, "page", page, "telechir, browser without a window")
        vnc, programs = await novnc(http, painted)
        peer, stop_peer = await dashboard(http, other)
        ways = [desktop, vnc, headless, peer]
        for way in ways:
            await way.browser.script(WATCH)
        await asyncio.sleep(1)
        for _ in range(CHANGES // TURN):
            for way in ways:
                await way.turn()
        shares = {}
        for way in ways:
            shares[way] = await way.idle()
        for way in ways:
            await way.browser.close()
        for program in (first, second):
            program.terminate()
            await program.wait()
        await asyncio.to_thread(stop_peer)
        for program in programs:
            program.terminate()
        for name in ("desk", "page"):
            telechir("sessions", "close", name)
        stuck = await stuck_viewers(http)
    painted.server.terminate()
    report(ways, shares, stuck)


def report(ways, shares, stuck):
    version = lambda package: subprocess.run(["dpkg-query", "-W", "-f=${Version}", package], capture_output=True, text=True).stdout or "missing"
    peer = json.loads((PEERS / "node_modules/agent-browser/package.json").read_text())["version"]
    load = " ".join(Path("/proc/loadavg").read_text().split()[:3])
    print(f"{os.cpu_count()} cores, load {load} afterwards; telechir built as {os.environ.get('PROFILE', 'release')}. noVNC {version('novnc')}, x11vnc {version('x11vnc')}, websockify {version('websockify')}, agent-browser {peer}, Chromium {version('chromium')}.\n")
    print("| | median | p90 | changes | not shown in 5 s | share of a core while nothing changes |\n|---|---|---|---|---|---|")
    for way in ways:
        times = sorted(way.times) or [float("nan")]
        print(f"| {way.name} | {statistics.median(times):.0f} ms | {times[int(len(times) * 0.9)]:.0f} ms | {len(way.times)} | {way.missed} | {shares[way] * 100:.1f} % |")
    median = {way: statistics.median(way.times or [float("nan")]) for way in ways}
    desktop, vnc, headless, peer = ways
    print(f"\nBeside each other: the desktop takes {median[desktop] / median[vnc]:.2f} times as long as noVNC, the browser {median[headless] / median[peer]:.2f} times as long as the dashboard.")
    alone, watched, before, after = stuck
    print(f"\nTen viewers that never take an update: a call takes {watched:.1f} ms beside them and {alone:.1f} ms without ({(watched / alone - 1) * 100:+.1f} %, medians of 90 in turns); the session host has {before:.1f} MiB before the first and {after:.1f} MiB after the last.")


asyncio.run(main())
