#!/usr/bin/env python3
"""Sessions and viewers at one `telechir serve` that is killed under load: `server_soak.py TELECHIR FOLDER`.

Prints a table and exits with 1 if anything was lost, doubled or refused, or memory grew. Called by
scripts/server-soak.sh.
"""

import asyncio
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import aiohttp

TELECHIR, FOLDER = sys.argv[1], Path(sys.argv[2])
COUNTS = {kind: int(os.environ.get(f"{kind.upper()}S", count)) for kind, count in [("shell", 30), ("desktop", 10), ("browser", 10)]}
VIEWERS = int(os.environ.get("VIEWERS", "200"))
SECONDS = 60 * float(os.environ.get("MINUTES", "10"))
KILLS = int(os.environ.get("KILLS", "3"))
PORT = int(os.environ.get("PORT", "17878"))
URL = f"http://127.0.0.1:{PORT}"
# Viewers of one token share its limits.
TOKENS = 5
# Growth of memory from the second fifth of the time to the last that is not growth.
MEMORY_SLACK = 1.10
POLICY = """
[[shell]]
shell = "sandboxed"
redirection = true
verdict = "sandbox"
reason = "The sandbox holds it."

[[computer]]
actions = ["javascript"]
verdict = "allow"
reason = "A test."
"""
END = 6


def telechir(*arguments):
    return subprocess.run([TELECHIR, *arguments], check=True, capture_output=True, text=True).stdout


class Server:
    """The server and what is wrong."""

    def __init__(self):
        policy = FOLDER / "policy.toml"
        policy.write_text(POLICY)
        self.flags = ["--shell", "--desktop", "--browser", "--headless", "--policy", str(policy), "--listen", f"127.0.0.1:{PORT}"]
        self.flags += ["--max-sessions", "64", "--display", "800x600"]
        self.problems = []
        self.log = open(FOLDER / "log", "ab")
        self.start()

    def start(self):
        self.process = subprocess.Popen([TELECHIR, "serve", *self.flags], stderr=self.log)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.start()

    def problem(self, text):
        print(f"problem: {text}", file=sys.stderr)
        self.problems.append(text)


class Session:
    """A session and the worker that uses it."""

    def __init__(self, server, http, token, kind, number):
        self.server, self.http, self.kind = server, http, kind
        self.headers = {"Authorization": f"Bearer {token}"}
        self.name = f"{kind}-{number}"
        self.calls, self.written, self.times, self.again = 0, 0, [], 0

    async def request(self, method, path, body=None, headers=None):
        """The answer to a request that is sent again, unchanged, while the server is away."""
        was_cut = False
        while True:
            try:
                async with self.http.request(method, URL + path, json=body, headers={**self.headers, **(headers or {})}) as answer:
                    text = await answer.text()
                    if answer.status == 202:
                        path, method, body = answer.headers["Location"], "GET", None
                        headers = {"Prefer": "wait=30"}
                        continue
                    if answer.status >= 400:
                        self.server.problem(f"{self.name}: {method} {path}: {answer.status} {text[:200]}")
                    return text, was_cut
            except (aiohttp.ClientError, asyncio.TimeoutError, ConnectionError):
                was_cut = True
                self.again += 1
                await asyncio.sleep(0.2)

    async def open(self):
        body = {"devices": [self.kind], "name": self.name, "idle_seconds": 3600}
        text, _ = await self.request("POST", "/v1/sessions", body, {"Idempotency-Key": self.name})
        self.id = json.loads(text)["id"]

    async def call(self, tool, arguments):
        """Executes one call, once, whatever happens to the server."""
        self.calls += 1
        call = {"type": "tool_use", "id": f"{self.name}-{self.calls}", **tool, "input": arguments}
        body = {"type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use", "content": [call]}
        started = time.perf_counter()
        headers = {"Prefer": "wait=30", "Idempotency-Key": call["id"]}
        text, was_cut = await self.request("POST", f"/v1/sessions/{self.id}/anthropic-messages", body, headers)
        if '"is_error":true' in text.replace(" ", ""):
            self.server.problem(f"{self.name}: {text[:300]}")
        return text, None if was_cut else time.perf_counter() - started

    async def bash(self, command):
        return await self.call({"name": "bash"}, {"command": command})

    async def step(self):
        if self.kind == "shell":
            self.written += 1
            await self.bash(f"echo {self.written} >> written")
            _, duration = await self.bash("true")
            if duration is not None:
                self.times.append(duration)
        elif self.kind == "desktop":
            to = [random.randrange(10, 790), random.randrange(10, 590)]
            await self.call({"name": "mouse_move", "toolset_name": "computer"}, {"coordinate": to})
        else:
            colour = f"rgb({random.randrange(256)}, {random.randrange(256)}, {random.randrange(256)})"
            script = f"document.body.style.background = '{colour}'; 'painted'"
            await self.call({"name": "javascript_exec", "toolset_name": "browser"}, {"text": script})

    async def work(self, until):
        while time.monotonic() < until:
            await self.step()
            await asyncio.sleep(random.uniform(0.5, 1.5))

    async def check(self):
        """Each command ran exactly once, in order."""
        if self.kind != "shell":
            return
        text, _ = await self.bash("cat written | tr '\\n' ' '")
        expected = " ".join(str(number) for number in range(1, self.written + 1))
        if f"{expected} " not in text and f"{expected}\\n" not in text:
            self.server.problem(f"{self.name}: expected 1..{self.written}, found {text[:400]}")


class Viewer:
    """A person who looks at a session: at its screen, or at its events."""

    def __init__(self, server, http, token, session, manner):
        self.server, self.http, self.session, self.manner = server, http, session, manner
        self.token = token
        self.updates, self.rows = 0, []

    async def watch(self, until):
        while time.monotonic() < until:
            try:
                left = max(until - time.monotonic(), 0.1)
                await asyncio.wait_for(self.events() if self.manner == "events" else self.screen(), left)
            except (aiohttp.ClientError, asyncio.TimeoutError, ConnectionError):
                pass
            if time.monotonic() < until:
                await asyncio.sleep(random.uniform(0.2, 1.0))

    async def events(self):
        headers = {"Authorization": f"Bearer {self.token}"}
        path = f"{URL}/v1/sessions/{self.session.id}/events"
        if self.rows:
            headers["Last-Event-ID"] = str(self.rows[-1])
        else:
            path += "?from=1"
        async with self.http.get(path, headers=headers, timeout=aiohttp.ClientTimeout(total=None)) as answer:
            if answer.status != 200:
                return self.server.problem(f"events of {self.session.name}: {answer.status}")
            async for line in answer.content:
                if line.startswith(b"id: "):
                    self.rows.append(int(line[4:]))

    async def screen(self):
        headers = {"Authorization": f"Bearer {self.token}"}
        async with self.http.post(f"{URL}/v1/tickets", headers=headers) as answer:
            ticket = (await answer.json())["ticket"]
        async with self.http.post(f"{URL}/view/session", json={"ticket": ticket}, headers={"Origin": URL}) as answer:
            key = (await answer.json())["key"]
            cookie = answer.headers["Set-Cookie"].split(";")[0]
        path = f"{URL}/view/sessions/{self.session.id}/screen"
        protocols = ["telechir.screen", f"telechir.key.{key}"]
        headers = {"Origin": URL, "Cookie": cookie}
        async with self.http.ws_connect(path, protocols=protocols, headers=headers, max_msg_size=0) as socket:
            if self.manner == "silent":
                await socket.receive()
                return
            await socket.send_json({"grant": 1})
            async for message in socket:
                if message.type == aiohttp.WSMsgType.BINARY and message.data[0] == END:
                    self.updates += 1
                    await asyncio.sleep(0 if self.manner == "eager" else 2)
                    await socket.send_json({"grant": 1})

    async def check(self):
        """The events that arrived are those of the recording, each once."""
        if self.manner != "events" or not self.rows:
            return
        headers = {"Authorization": f"Bearer {self.token}"}
        expected, last = [], self.rows[-1]
        path = f"{URL}/v1/sessions/{self.session.id}/events?from=1"
        async with self.http.get(path, headers=headers) as answer:
            async for line in answer.content:
                if line.startswith(b"id: "):
                    expected.append(int(line[4:]))
                    if expected[-1] >= last:
                        break
        if self.rows != expected:
            lost = len(set(expected) - set(self.rows))
            self.server.problem(f"events of {self.session.name}: {lost} lost, {len(self.rows) - len(set(self.rows))} doubled")


def resident(pid):
    """Private memory of a process in MiB; 0 if it is gone."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Private_")) / 1024


def children():
    listed = json.loads(telechir("sessions", "list", "--json"))
    return {session["name"]: session.get("pid") for session in listed}


async def measure(server, samples, until):
    """Memory of the server and of all session hosts, by time."""
    hosts = children()
    while time.monotonic() < until:
        samples.append((resident(server.process.pid), sum(resident(pid) for pid in hosts.values() if pid)))
        await asyncio.sleep(min(SECONDS / 60, 10))


async def kill(server, until):
    pause = SECONDS / (KILLS + 1)
    for _ in range(KILLS):
        await asyncio.sleep(pause)
        server.kill()


def percentile(values, share):
    return sorted(values)[min(int(len(values) * share), len(values) - 1)] if values else float("nan")


def fifth(samples, part, column):
    size = max(len(samples) // 5, 1)
    some = [sample[column] for sample in samples[part * size : (part + 1) * size]]
    return statistics.median(some) if some else float("nan")


async def main():
    server = Server()
    agents = [telechir("tokens", "new", "agent", "--name", "worker").strip() for _ in range(2)]
    tokens = [telechir("tokens", "new", "viewer", "--name", f"wall-{n}").strip() for n in range(TOKENS)]
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=300)) as http:
        sessions = [Session(server, http, agents[0], kind, n) for kind, count in COUNTS.items() for n in range(count)]
        starting = time.perf_counter()
        for at in range(0, len(sessions), 5):
            await asyncio.gather(*(session.open() for session in sessions[at : at + 5]))
        opened = time.perf_counter() - starting
        hosts = children()
        screens = [session for session in sessions if session.kind != "shell"]
        viewers = []
        for n in range(VIEWERS):
            # A third each: screens as they change, events, and people who are slow or do not read.
            manner = ["eager", "events", ["slow", "silent"][n // 3 % 2]][n % 3] if screens else "events"
            session = random.choice(sessions if manner == "events" else screens)
            viewers.append(Viewer(server, http, tokens[n % TOKENS], session, manner))
        until = time.monotonic() + SECONDS
        samples = []
        workers = [session.work(until) for session in sessions] + [viewer.watch(until) for viewer in viewers]
        await asyncio.gather(*workers, measure(server, samples, until), kill(server, until))
        await asyncio.gather(*(session.check() for session in sessions))
        for viewer in viewers:
            await viewer.check()
        after = children()
        for name, pid in hosts.items():
            if after.get(name) != pid:
                server.problem(f"session {name} was lost")
        for session in sessions:
            await session.request("DELETE", f"/v1/sessions/{session.id}")
    server.process.terminate()
    server.process.wait()
    report(server, sessions, viewers, samples, opened)


def report(server, sessions, viewers, samples, opened):
    times = [ms * 1000 for session in sessions for ms in session.times]
    calls = sum(session.calls for session in sessions)
    # The server is new after each kill: only its sessions can grow over the whole time.
    (early, late) = (fifth(samples, 1, 1), fifth(samples, 4, 1))
    if late > early * MEMORY_SLACK + 20:
        server.problem(f"the session hosts grew from {early:.0f} to {late:.0f} MiB")
    kinds = ", ".join(f"{count} {kind}s" for kind, count in COUNTS.items())
    watching = {manner: sum(viewer.manner == manner for viewer in viewers) for manner in ("eager", "slow", "silent", "events")}
    rows = [
        ("sessions", f"{kinds}, opened in {opened:.0f} s"),
        ("viewers", ", ".join(f"{count} {manner}" for manner, count in watching.items())),
        ("time", f"{SECONDS:.0f} s, the server killed {KILLS} times"),
        ("calls", f"{calls}, {sum(session.again for session in sessions)} requests sent again"),
        ("`true` of a shell", f"median {percentile(times, 0.5):.0f} ms, p99 {percentile(times, 0.99):.0f} ms, {len(times)} calls"),
        ("updates of screens", f"{sum(viewer.updates for viewer in viewers)}"),
        ("events read", f"{sum(len(viewer.rows) for viewer in viewers)}"),
        ("memory of the session hosts", f"{early:.0f} MiB, at the end {late:.0f} MiB"),
        ("memory of the server", f"{fifth(samples, 1, 0):.0f} MiB, at the end {fifth(samples, 4, 0):.0f} MiB, at most {max(sample[0] for sample in samples):.0f} MiB"),
        ("lost, doubled or refused", str(len(server.problems))),
    ]
    load = Path("/proc/loadavg").read_text().split()[:3]
    profile = os.environ.get("PROFILE", "release")
    print(f"{os.cpu_count()} cores, load {' '.join(load)} afterwards; telechir built as {profile}.\n")
    print("| | |\n|---|---|")
    for name, value in rows:
        print(f"| {name} | {value} |")
    sys.exit(1 if server.problems else 0)


asyncio.run(main())
