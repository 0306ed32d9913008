#!/usr/bin/env python3
"""Compares MCP servers through the Python SDK and prints tables: `mcp_bench.py PROGRAM PEERS`.

The servers of a table take turns in the same run; the first round is not counted. Called by
scripts/mcp-bench.sh.
"""

import contextlib
import json
import os
import re
import statistics
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import anyio
import mcp_tasks
from mcp import Client
from mcp.client.stdio import StdioServerParameters

ROUNDS = int(os.environ.get("ROUNDS", "15"))
CHROMIUM = "/usr/lib/chromium/chromium"
PAGE = (
    "<!doctype html><title>Orders</title><button id=b onclick=\"n.textContent = +n.textContent + 1\">Add</button>"
    "<p id=n>0</p>" + "".join(f"<p><a href=#{i}>Order {i}</a> <input aria-label='Note {i}'></p>" for i in range(40))
)


class Pages(BaseHTTPRequestHandler):
    def do_GET(self):
        body = mcp_tasks.PAGES.get(self.path.split("?")[0], PAGE).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments):
        pass


class Server:
    """One MCP server: how it is started, and its calls for the same work."""

    def __init__(self, name, command, **calls):
        self.name = name
        self.command = command
        self.calls = calls

    def parameters(self, folder):
        environment = {
            "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
            "HOME": folder,
            "TMPDIR": folder,
            "XDG_RUNTIME_DIR": f"{folder}/run",
        }
        # For the servers that need a screen of the machine; telechir has its own.
        if display := os.environ.get("DISPLAY"):
            environment["DISPLAY"] = display
        return StdioServerParameters(command=self.command[0], args=self.command[1:], env=environment)

    def is_missing(self):
        # A Node server is named by its script.
        file = self.command[1] if "node" in Path(self.command[0]).name else self.command[0]
        return not Path(file).exists()


def servers(program, peers, policy, url, in_window=False):
    """The servers, their browsers headless or in a window."""
    headless = [] if in_window else ["--headless"]
    node = str(Path(sys.executable).parent / "node")
    modules = Path(peers, "node_modules")

    async def telechir_open(call):
        await call("execute_browser", {"action": "navigate", "url": url})

    async def telechir_snapshot(call):
        return await call("execute_browser", {"action": "snapshot"})

    async def telechir_ref(call):
        text = await telechir_snapshot(call)
        ref = re.search(r'\b([a-z]+\d+) \\?"Add', text).group(1)
        return ref

    async def telechir_click(call, ref):
        return await call("execute_gui", {"action": "click", "ref": ref})

    async def playwright_open(call):
        await call("browser_navigate", {"url": url})

    async def playwright_snapshot(call):
        return await call("browser_snapshot", {})

    async def playwright_ref(call):
        text = await playwright_snapshot(call)
        found = re.search(r'button "Add" \[ref=(\w+)\]', text)
        return found.group(1) if found else "e2"

    async def playwright_click(call, ref):
        clicked = await call("browser_click", {"element": "Add", "target": ref, "ref": ref})
        return clicked + await call("browser_take_screenshot", {})

    async def devtools_open(call):
        await call("new_page", {"url": url})

    async def devtools_snapshot(call):
        pages = await call("list_pages", {})
        page = int(re.findall(r"^(\d+):", pages, re.M)[-1])
        devtools.page = page
        return await call("take_snapshot", {"pageId": page})

    async def devtools_ref(call):
        text = await devtools_snapshot(call)
        return re.search(r'uid=(\S+) button "Add"', text).group(1)

    async def devtools_click(call, ref):
        clicked = await call("click", {"uid": ref, "pageId": devtools.page})
        return clicked + await call("take_screenshot", {"pageId": devtools.page})

    telechir = Server(
        "**telechir**",
        [program, "mcp", "--browser", *headless, "--shell", f"--policy={policy}"],
        tasks=mcp_tasks.Telechir,
        open=telechir_open,
        snapshot=telechir_snapshot,
        ref=telechir_ref,
        click=telechir_click,
    )
    playwright = Server(
        "Playwright MCP",
        [node, str(modules / "@playwright/mcp/cli.js"), *headless, "--isolated", "--no-sandbox"]
        + ["--executable-path", CHROMIUM],
        tasks=mcp_tasks.Playwright,
        open=playwright_open,
        snapshot=playwright_snapshot,
        ref=playwright_ref,
        click=playwright_click,
    )
    devtools = Server(
        "chrome-devtools-mcp",
        [node, str(modules / "chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js"), *headless]
        + ["--isolated", "--executablePath", CHROMIUM, "--chromeArg=--no-sandbox"],
        open=devtools_open,
        snapshot=devtools_snapshot,
        ref=devtools_ref,
        click=devtools_click,
    )
    commander = Server(
        "desktop-commander", [node, str(modules / "@wonderwhy-er/desktop-commander/dist/index.js")]
    )
    return telechir, playwright, devtools, commander


@contextlib.contextmanager
def own_folder():
    """For the files of one server; programs of another user can enter it."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o755)
        os.mkdir(f"{folder}/run", 0o700)
        yield folder


def memory_of(pid):
    """Resident kilobytes of a process and its descendants, and those that only they have written."""
    children = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
                children.setdefault(int(fields[1]), []).append(int(entry.name))
            except OSError:
                continue
    resident, own, left = 0, 0, [pid]
    while left:
        each = left.pop()
        left += children.get(each, [])
        try:
            rollup = Path(f"/proc/{each}/smaps_rollup").read_text()
        except OSError:
            continue
        size = dict(re.findall(r"^(\w+):\s+(\d+) kB", rollup, re.MULTILINE))
        resident += int(size.get("Rss", 0))
        own += int(size.get("Private_Dirty", 0))
    return resident, own


def child_of_this_process():
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[1]) == os.getpid() and fields[0] != "Z":
                return int(entry.name)
    return None


def call_of(client):
    async def call(tool, arguments):
        result = await client.call_tool(tool, arguments, read_timeout_seconds=60)
        text = "".join(getattr(block, "text", "") for block in result.content)
        if result.is_error:
            raise RuntimeError(f"{tool}: {text[:300]}")
        return text

    return call


async def cold_start(server):
    with own_folder() as folder:
        started = time.monotonic()
        async with Client(server.parameters(folder)) as client:
            tools = (await client.list_tools()).tools
            took = time.monotonic() - started
            memory = memory_of(child_of_this_process())
    size = len(json.dumps([tool.model_dump(by_alias=True, exclude_none=True) for tool in tools]))
    return took * 1000, memory, len(tools), size


def row(cells):
    print(f"| {' | '.join(str(cell) for cell in cells)} |", flush=True)


def milliseconds(values, base):
    median = statistics.median(values)
    return f"{median:.1f} ms", f"{median / base:.1f}"


START_REMARK = """
Memory before the first session: the resident set, and what the processes have written themselves. The \
rest of telechir's is its program file in the page cache, which all its processes share: 9 MB of code, of \
which the kernel maps 16 pages with each page that is used, and 2 MB of constants. Half of what it has \
written are pointers of its constants that the loader sets (0.8 MB) and the main thread's stack. The goal \
of 12 MB would need the code of the start beside each other in the file, or no address randomisation."""


async def start_table(contestants):
    print("## Start\n\n| server | first `tools/list` | ratio | memory then | of it written | tools | their JSON |\n|---|---|---|---|---|---|---|")
    found = {server.name: [] for server in contestants if not server.is_missing()}
    for _ in range(ROUNDS):
        for server in contestants:
            if server.name in found:
                try:
                    found[server.name].append(await cold_start(server))
                except BaseException as error:
                    print(f"{server.name}: {error!r}", file=sys.stderr)
                    del found[server.name]
    base = statistics.median(each[0] for each in next(iter(found.values()))[1:])
    for server in contestants:
        if server.name not in found:
            row([server.name, "**missing**", "", "", "", "", ""])
            continue
        samples = found[server.name][1:]
        took, ratio = milliseconds([each[0] for each in samples], base)
        resident, own = (statistics.median(each[1][part] for each in samples) / 1024 for part in (0, 1))
        row([server.name, took, ratio, f"{resident:.1f} MB", f"{own:.1f} MB", samples[0][2], f"{samples[0][3]:,} bytes"])
    print(START_REMARK)


async def browser_tables(contestants, title):
    figures = {}

    async def measure(server, turns):
        """Runs in lockstep with the others: a round of each, then the next."""
        with own_folder() as folder:
            async with Client(server.parameters(folder)) as client:
                call = call_of(client)
                await server.calls["open"](call)
                ref = await server.calls["ref"](call)
                clicks, snapshots, characters = [], [], 0
                for turn in range(ROUNDS):
                    async with turns:
                        started = time.monotonic()
                        text = await server.calls["click"](call, ref)
                        clicked = time.monotonic()
                        snapshot = await server.calls["snapshot"](call)
                        done = time.monotonic()
                    if turn:
                        clicks.append((clicked - started) * 1000)
                        snapshots.append((done - clicked) * 1000)
                        characters += len(text) + len(snapshot)
                    ref = await server.calls["ref"](call)
                figures[server.name] = clicks, snapshots, characters // len(clicks)

    async def guarded(server, turns):
        try:
            await measure(server, turns)
        except BaseException as error:
            print(f"{server.name}: {error!r}", file=sys.stderr)

    turns = anyio.Lock()
    async with anyio.create_task_group() as group:
        for server in contestants:
            if not server.is_missing():
                group.start_soon(guarded, server, turns)
    print(f"\n## {title}\n\n| server | click, settled, screenshot | ratio | snapshot | ratio | characters of both |\n|---|---|---|---|---|---|")
    first = figures[contestants[0].name]
    click, snapshot = statistics.median(first[0]), statistics.median(first[1])
    for server in contestants:
        if server.name not in figures:
            row([server.name, "**missing**", "", "", "", ""])
            continue
        clicks, snapshots, characters = figures[server.name]
        row([server.name, *milliseconds(clicks, click), *milliseconds(snapshots, snapshot), f"{characters:,}"])


async def task_table(contestants, url):
    """The characters of all results of the same tasks."""
    base = url.rstrip("/")
    found = {}
    for server in contestants:
        if server.is_missing():
            continue
        with own_folder() as folder:
            try:
                async with Client(server.parameters(folder)) as client:
                    call = call_of(client)
                    done = [
                        await mcp_tasks.count(server.calls["tasks"], call, base, task) for task in mcp_tasks.TASKS
                    ]
                    found[server.name] = done
            except BaseException as error:
                print(f"{server.name}: {error!r}", file=sys.stderr)
    print(
        f"\n## {len(mcp_tasks.TASKS)} tasks\n\nForms, a shop, tables and dialogs on local pages, by the refs in the "
        "answers.\n\n| server | characters of all results | ratio | largest task |\n|---|---|---|---|"
    )
    base = sum(found[contestants[0].name])
    for server in contestants:
        if server.name not in found:
            row([server.name, "**missing**", "", ""])
            continue
        done = found[server.name]
        row([server.name, f"{sum(done):,}", f"{sum(done) / base:.1f}", f"{max(done):,}"])


async def command_table(telechir, commander):
    figures = {}
    for server, tool, arguments in [
        (telechir, "execute_cli", {"command": "true"}),
        (commander, "start_process", {"command": "true", "timeout_ms": 5000}),
    ]:
        if server.is_missing():
            continue
        with own_folder() as folder:
            try:
                async with Client(server.parameters(folder)) as client:
                    call = call_of(client)
                    samples = []
                    for _ in range(ROUNDS):
                        started = time.monotonic()
                        await call(tool, arguments)
                        samples.append((time.monotonic() - started) * 1000)
                    figures[server.name] = samples[1:]
            except BaseException as error:
                print(f"{server.name}: {error!r}", file=sys.stderr)
    print("\n## The command `true`\n\n| server | time | ratio |\n|---|---|---|")
    base = statistics.median(figures[telechir.name])
    for server in [telechir, commander]:
        cells = milliseconds(figures[server.name], base) if server.name in figures else ("**missing**", "")
        row([server.name, *cells])


async def main():
    program, peers = sys.argv[1:]
    pages = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=pages.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        policy = Path(folder, "policy.toml")
        policy.write_text("[[url]]\nhost = ['127.0.0.1']\nverdict = 'allow'\nreason = 'The page.'\n")
        url = f"http://127.0.0.1:{pages.server_address[1]}/"
        telechir, playwright, devtools, commander = servers(program, peers, policy, url)
        load = " ".join(Path("/proc/loadavg").read_text().split()[:3])
        build = "a debug build" if "debug" in Path(program).parts else "a release build"
        print(
            "# MCP servers compared\n\n"
            "Written by `scripts/mcp-bench.sh`. All calls go through the Python SDK in the same run; the "
            "servers take turns, and the first round is not counted. Medians; a ratio is to telechir's. A "
            "server that cannot be run is **missing**.\n\n"
            f"telechir is {build}; {os.cpu_count()} cores, load {load} before the run, {ROUNDS - 1} rounds.\n"
        )
        await start_table([telechir, playwright, devtools, commander])
        await browser_tables([telechir, playwright, devtools], "A page, headless")
        in_window = servers(program, peers, policy, url, in_window=True)
        await browser_tables(in_window[:3], "A page, in a window")
        await task_table([telechir, playwright], url)
        await command_table(telechir, commander)


if __name__ == "__main__":
    anyio.run(main)
