#!/usr/bin/env python3
"""One driver for many MiniWoB++ tasks, over three tools: `miniwob_generic.py PROGRAM PEERS`.

The driver knows the words of a task and what snapshots show; it acts by refs alone and has no code for
a single task. It prints the rewards and the characters of all answers. Called by scripts/miniwob.sh.
"""

import asyncio
import contextlib
import json
import os
import re
import statistics
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from mcp import Client
from mcp.client.stdio import StdioServerParameters

CHROMIUM = "/usr/lib/chromium/chromium"
FOLDER = Path("target/miniwob/miniwob/html")
SEEDS = [1, 2, 3]
TASKS = (
    "click-test click-test-2 click-test-transfer click-button click-button-sequence click-link click-option "
    "click-checkboxes click-checkboxes-large click-checkboxes-transfer click-tab click-tab-2 click-dialog click-dialog-2 "
    "click-collapsible choose-list enter-text enter-text-2 enter-password login-user navigate-tree "
    "unicode-test"
).split()
# Starts the episode with this seed and reports the verdict to the server, whatever tool is used. The
# time is unlimited, because the reward without the discount for time is compared.
EPISODE = """<script>addEventListener("load", () => {
  const tell = (what, text) => fetch(`/${what}`, { method: "POST", body: text, keepalive: true })
  const end = core.endEpisode
  core.endEpisode = (...verdict) => { end(...verdict); tell("verdict", String(WOB_RAW_REWARD_GLOBAL)) }
  core.EPISODE_MAX_TIME = 300000
  Math.seedrandom(%d)
  core.startEpisodeReal()
  tell("task", document.getElementById("query").textContent.replace(/\\s+/g, " ").trim())
})</script>"""
KINDS = {"html": "text/html; charset=utf-8", "js": "text/javascript", "css": "text/css", "png": "image/png"}


class Episode:
    """What the page of the current episode reported."""

    def __init__(self):
        self.task = asyncio.Event()
        self.verdict = asyncio.Event()
        self.words = ""
        self.reward = None


class Site:
    """Serves the pages and receives their reports."""

    def __init__(self, loop):
        self.episode = Episode()
        site = self

        class Pages(BaseHTTPRequestHandler):
            def do_GET(self):
                path, _, seed = self.path.lstrip("/").partition("?seed=")
                try:
                    body = (FOLDER / path).read_bytes()
                except OSError:
                    return self.send_error(404)
                if seed:
                    body = body.replace(b"</body>", (EPISODE % int(seed)).encode() + b"</body>")
                self.send_response(200)
                self.send_header("Content-Type", KINDS.get(path.rpartition(".")[2], "application/octet-stream"))
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self):
                text = self.rfile.read(int(self.headers["Content-Length"])).decode()
                loop.call_soon_threadsafe(site.reported, self.path, text)
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_arguments):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def reported(self, path, text):
        if path == "/task":
            self.episode.words = text
            self.episode.task.set()
        else:
            self.episode.reward = float(text)
            self.episode.verdict.set()


@dataclass
class Element:
    """An element of a snapshot with a ref."""

    ref: str
    role: str
    name: str
    states: set = field(default_factory=set)


def unquoted(text):
    return json.loads(f'"{text}"') if text else ""


QUOTED = r'"((?:[^"\\]|\\.)*)"'


class Telechir:
    """telechir's function for pages, over MCP."""

    ROLES = {"b": "button", "l": "link", "c": "checkbox", "r": "radio", "t": "textbox", "s": "combobox", "e": "generic"}
    # A ref, the role of an element of another kind, name, value, what it wants, states.
    STATES = "checked selected disabled required focused collapsed expanded readonly mixed current draggable".split()
    ELEMENT = re.compile(
        rf"([blcrtse])\d+(?: (?!(?:{'|'.join(STATES)}|to|of|in)\b)([a-z]+)(?= |$))?(?: {QUOTED})?(?:={QUOTED})?"
        rf"(?: (?:wants|of|to) {QUOTED})?((?: (?:{'|'.join(STATES)})\b)*)(?= |$|:)"
    )

    def __init__(self, call):
        self.call = call

    async def act(self, **arguments):
        text = await self.call("execute_browser", arguments)
        return json.loads(text).get("stdout", "")

    async def open(self, url):
        await self.act(action="navigate", url=url)

    async def snapshot(self):
        text = await self.act(action="snapshot")
        found = []
        for line in text.splitlines():
            at = 0
            while at < len(line):
                element = self.ELEMENT.match(line, at) if at == 0 or line[at - 1] == " " else None
                if element:
                    letter, role, name, _value, _wants, states = element.groups()
                    ref = re.match(r"\w+", element.group()).group()
                    found.append(Element(ref, role or self.ROLES[letter], unquoted(name), set(states.split())))
                    at = element.end()
                elif quote := re.compile(QUOTED).match(line, at):
                    at = quote.end()
                else:
                    at += 1
        return found

    async def click(self, element):
        await self.act(action="click", ref=element.ref)

    async def fill(self, element, text):
        await self.act(action="fill", ref=element.ref, value=text)

    async def select(self, element, texts):
        await self.act(action="fill", ref=element.ref, value=texts if len(texts) > 1 else texts[0])


class TelechirInteractive(Telechir):
    """telechir with snapshots of interactive elements alone, one a line."""

    LINE = re.compile(rf"^(\S+)(?: {QUOTED})? \[(\w+)\](.*)$")

    async def snapshot(self):
        text = await self.act(action="snapshot", interactive_only=True)
        found = [self.LINE.match(line) for line in text.splitlines()]
        return [
            Element(line.group(3), line.group(1), unquoted(line.group(2)), set(re.sub(QUOTED, "", line.group(4)).split()))
            for line in found if line
        ]


# A line of the snapshots of Playwright MCP and agent-browser.
LINE = re.compile(rf"^\s*- '?([\w-]+)(?: {QUOTED})?(.*)$")


def in_lines(text):
    found = []
    for line in text.splitlines():
        element = LINE.match(line)
        ref = re.search(r"ref=(\w+)", line)
        if not element or not ref:
            continue
        role, name, rest = element.groups()
        content = re.search(r"\]'?: (.*)$", rest)
        name = unquoted(name) or (content.group(1).strip("\"'") if content else "")
        states = set(re.findall(r"\b(checked(?!=false)|selected(?!=false)|disabled|focused|expanded=\w+|active)\b", rest))
        if "expanded=false" in states:
            states.add("collapsed")
        found.append(Element(ref.group(1), role, name, states))
    return found


class Playwright:
    """Playwright MCP."""

    def __init__(self, call):
        self.call = call
        self.known = ""

    async def act(self, tool, **arguments):
        self.known = await self.call(tool, arguments)

    async def open(self, url):
        await self.act("browser_navigate", url=url)

    async def snapshot(self):
        # The answer to an action has a snapshot, too.
        if "[ref=" not in self.known:
            self.known = await self.call("browser_snapshot", {})
        found, self.known = in_lines(self.known), ""
        return found

    def target(self, element):
        return {"element": element.name or element.role, "target": element.ref, "ref": element.ref}

    async def click(self, element):
        await self.act("browser_click", **self.target(element))

    async def fill(self, element, text):
        await self.act("browser_type", text=text, **self.target(element))

    async def select(self, element, texts):
        await self.act("browser_select_option", values=texts, **self.target(element))


class AgentBrowser:
    """The command line of agent-browser."""

    FLAGS = ()

    def __init__(self, call):
        self.call = call

    async def open(self, url):
        await self.call("open", url)

    async def snapshot(self):
        return in_lines(await self.call("snapshot", *self.FLAGS))

    async def click(self, element):
        await self.call("click", f"@{element.ref}")

    async def fill(self, element, text):
        await self.call("fill", f"@{element.ref}", text)

    async def select(self, element, texts):
        await self.call("select", f"@{element.ref}", *texts)


class AgentBrowserInteractive(AgentBrowser):
    """agent-browser with snapshots of interactive elements alone."""

    FLAGS = ("-i",)


ORDINALS = {"first": 0, "1st": 0, "second": 1, "2nd": 1, "third": 2, "3rd": 2, "fourth": 3, "4th": 3, "5th": 4}
FIELDS = {"textbox", "searchbox", "password", "spinbutton"}
CHOICES = {"checkbox", "radio", "option", "switch"}
# What may show more of the page.
OPENERS = {"tab", "button", "link", "generic", "heading", "treeitem", "listitem"}
# The words of tasks for roles.
ROLE_WORDS = {
    "button": {"button"}, "link": {"link"}, "tab": {"tab", "link"}, "checkbox": {"checkbox"}, "radio": {"radio"},
    "textbox": FIELDS, "field": FIELDS, "dropdown": {"combobox"}, "list": {"listbox", "combobox"},
}
MAX_EXPLORED = 12


def words_of(text):
    return re.findall(r"[^\W_]+", text.lower())


def has_words(text, name):
    """Whether a name occurs in a text as whole words."""
    return bool(name) and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


class Driver:
    """Does what a task says, clause by clause."""

    def __init__(self, tool, is_over):
        self.tool = tool
        self.is_over = is_over
        # The last snapshot: read again only if it lacks what is looked for.
        self.known = []

    async def read(self):
        self.known = await self.tool.snapshot()
        return self.known

    async def having(self, is_wanted):
        """A snapshot with such an element, if there is one."""
        has_one = any(is_wanted(element) for element in self.known)
        return self.known if has_one else await self.read()

    async def solve(self, task):
        # The parts between quotation marks are kept whole.
        quotes = re.findall(r'"([^"]*)"', task)
        masked = re.sub(r'"[^"]*"', "\u0001", task)
        at = 0
        clauses = re.split(r",? (?:and then|then|and)(?= (?:click|press|hit|find|close|select|choose)\b)|(?<=[\w\u0001])\. |, to (?=find)", masked)
        for clause in clauses:
            own = quotes[at : at + clause.count("\u0001")]
            at += len(own)
            if self.is_over():
                return
            await self.follow(clause.strip(" ."), own)

    async def follow(self, clause, quotes):
        verb = (words_of(clause) or [""])[0]
        if verb in {"enter", "type"} or (quotes and verb == "use" and "enter" in clause):
            await self.enter(clause, quotes)
        elif verb in {"select", "choose", "check"}:
            await self.choose(clause, quotes)
        elif quotes or verb in {"click", "press", "hit", "close", "expand", "focus"}:
            await self.press(clause, quotes)

    async def enter(self, clause, quotes):
        elements = await self.having(lambda element: element.role in FIELDS)
        fields = [element for element in elements if element.role in FIELDS]
        before = clause.split("\u0001")
        for at, text in enumerate(quotes):
            if "upper case" in clause:
                text = text.upper()
            if "lower case" in clause:
                text = text.lower()
            if "both" in clause or "all" in words_of(clause):
                chosen = fields
            else:
                context = set(words_of(before[at]))
                named = [one for one in fields if context & set(words_of(f"{one.name} {one.role}"))]
                chosen = (named or fields[min(at, len(fields) - 1) :])[:1]
            for one in chosen:
                await self.tool.fill(one, text)

    async def choose(self, clause, quotes):
        elements = await self.having(lambda element: element.role in CHOICES | {"combobox", "listbox"})
        wanted = quotes or re.split(r", ", re.sub(r" (?:from|in) the .*$", "", clause.split(" ", 1)[1]))
        lists = [element for element in elements if element.role in {"combobox", "listbox"}]
        options = [element for element in elements if element.role in CHOICES and element.name]
        chosen = [one for one in options if one.name in wanted or has_words(clause, one.name)]
        if chosen and not (lists and all(one.role == "option" for one in chosen)):
            for one in chosen:
                if not one.states & {"checked", "selected"}:
                    await self.tool.click(one)
        elif lists:
            await self.tool.select(lists[0], wanted)

    def targets(self, elements, clause, quotes):
        """The elements that a clause means, best first."""
        words = words_of(clause)
        roles = set().union(*(ROLE_WORDS.get(word.rstrip("s"), set()) for word in words))
        usable = [one for one in elements if one.role not in {"heading", "paragraph", "text", "StaticText", "cell"}]
        if quotes:
            # A cross closes, whatever draws it.
            if quotes == ["x"]:
                quotes = ["x", "close", "\u00d7"]
            exact = [one for one in usable if one.name.strip() in quotes]
            exact += [one for one in usable if one.name.strip().lower() in {quote.lower() for quote in quotes} and one not in exact]
        else:
            text = clause.lower()
            exact = [one for one in usable if len(one.name) > 1 and has_words(text, one.name.lower())]
            exact.sort(key=lambda one: -len(one.name))
        exact.sort(key=lambda one: (bool(roles) and one.role not in roles, one.role in CHOICES))
        if exact or quotes:
            return exact
        place = next((ORDINALS[word] for word in words if word in ORDINALS), 0)
        of_role = [one for one in usable if one.role in roles]
        return of_role[place:]

    async def press(self, clause, quotes):
        """Clicks what the clause means; what is not shown is looked for behind what opens."""
        explored = set()
        elements = self.known or await self.read()
        if not self.targets(elements, clause, quotes):
            elements = await self.read()
        for _ in range(MAX_EXPLORED):
            found = self.targets(elements, clause, quotes)
            if found and clause.lower().startswith("expand") and "collapsed" not in found[0].states:
                found = []
            if found:
                return await self.tool.click(found[0])
            openers = [
                one for one in elements
                if one.role in OPENERS and (one.role, one.name) not in explored and not one.states & {"selected", "disabled"}
                and (one.role == "tab" or not one.states & {"expanded", "expanded=true"})
                and words_of(one.name) not in (["submit"], ["ok"], ["cancel"])
            ]
            openers.sort(key=lambda one: ("collapsed" not in one.states, one.role != "tab", not one.name))
            if not openers or self.is_over():
                return
            explored.add((openers[0].role, openers[0].name))
            await self.tool.click(openers[0])
            elements = await self.read()
            if clause.lower().startswith("expand"):
                return


@dataclass
class Result:
    rewards: list
    characters: list


async def episode(tool, site, counted, task, seed):
    site.episode = Episode()
    counted[0] = 0
    with contextlib.suppress(Exception):
        await tool.open(f"{site.url}/miniwob/{task}.html?seed={seed}")
        await asyncio.wait_for(site.episode.task.wait(), 10)
        await asyncio.wait_for(Driver(tool, site.episode.verdict.is_set).solve(site.episode.words), 60)
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(site.episode.verdict.wait(), 1)
    if os.environ.get("VERBOSE"):
        print(type(tool).__name__, task, seed, site.episode.words, site.episode.reward, counted[0], file=sys.stderr)
    reward = site.episode.reward
    return (0 if reward is None else reward), counted[0]


async def play(kind, call, site, counted):
    results = {}
    tool = kind(call)
    for task in TASKS:
        done = [await episode(tool, site, counted, task, seed) for seed in SEEDS]
        results[task] = Result([each[0] for each in done], [each[1] for each in done])
    return results


async def over_mcp(kind, command, site):
    counted = [0]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o755)
        os.mkdir(f"{folder}/run", 0o700)
        environment = {
            "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
            "HOME": folder, "TMPDIR": folder, "XDG_RUNTIME_DIR": f"{folder}/run",
        }
        parameters = StdioServerParameters(command=command[0], args=command[1:], env=environment)
        async with Client(parameters) as client:

            async def call(tool, arguments):
                result = await client.call_tool(tool, arguments, read_timeout_seconds=60)
                text = "".join(getattr(block, "text", "") for block in result.content)
                counted[0] += len(text)
                if result.is_error:
                    raise RuntimeError(text)
                return text

            return await play(kind, call, site, counted)


async def over_cli(kind, program, site):
    counted = [0]
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "AGENT_BROWSER_EXECUTABLE_PATH": CHROMIUM,
        "AGENT_BROWSER_SESSION": f"miniwob-{os.getpid()}",
    }
    if os.getuid() == 0:
        environment["AGENT_BROWSER_ARGS"] = "--no-sandbox"

    async def call(*arguments):
        process = await asyncio.create_subprocess_exec(
            program, *arguments, env=environment,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )
        text = (await process.communicate())[0].decode()
        counted[0] += len(text)
        return text

    try:
        return await play(kind, call, site, counted)
    finally:
        await call("close")


async def main():
    program, peers = sys.argv[1:]
    site = Site(asyncio.get_running_loop())
    modules = Path(peers, "node_modules")
    node = str(Path(sys.executable).parent / "node")
    no_sandbox = ["--no-sandbox"] if os.getuid() == 0 else []
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        policy = Path(folder, "policy.toml")
        policy.write_text("[[url]]\nhost = ['127.0.0.1']\nverdict = 'allow'\nreason = 'The page.'\n")
        telechir = [program, "mcp", "--browser", "--headless", f"--policy={policy}"]
        playwright = [node, str(modules / "@playwright/mcp/cli.js"), "--headless", "--isolated", *no_sandbox]
        agent_browser = str(modules / ".bin/agent-browser")
        tools = {
            "telechir": lambda: over_mcp(Telechir, telechir, site),
            "telechir `interactive`": lambda: over_mcp(TelechirInteractive, telechir, site),
            "Playwright MCP": lambda: over_mcp(Playwright, [*playwright, "--executable-path", CHROMIUM], site),
            "agent-browser": lambda: over_cli(AgentBrowser, agent_browser, site),
            "agent-browser `-i`": lambda: over_cli(AgentBrowserInteractive, agent_browser, site),
        }
        for name, run in tools.items():
            # ONLY: the tools to run, by a part of their names.
            if os.environ.get("ONLY", "") in name:
                found[name] = await run()
    print(f"{len(TASKS)} tasks with seeds {', '.join(map(str, SEEDS))}; mean of the rewards, and characters of all answers in an episode (median).\n")
    print(f"| task | {' | '.join(found)} |\n|---|{'---|' * len(found)}")
    for task in TASKS:
        cells = [f"{statistics.mean(each[task].rewards):.2f}, {statistics.median(each[task].characters):,.0f}" for each in found.values()]
        print(f"| {task} | {' | '.join(cells)} |")
    for title, mean in [("mean reward", lambda one: f"{statistics.mean(sum((each.rewards for each in one), [])):.2f}"),
                        ("characters of all episodes", lambda one: f"{sum(sum(each.characters) for each in one):,}")]:
        print(f"| **{title}** | {' | '.join(mean(list(each.values())) for each in found.values())} |")


asyncio.run(main())
