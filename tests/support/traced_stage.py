"""A temporary workspace in which bash runs command lines under strace, and what runs do besides reading."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.shell.command_line import ShellVerdict, SimpleCommand
from quorum.domain.shell.read_only_commands import READ_ONLY_COMMANDS
from quorum.infrastructure.execution.commands.environment import build_command_environment
from quorum.infrastructure.execution.shell.gate import ShellGate
from quorum.infrastructure.execution.shell.programs import PROGRAM_FOLDERS, SystemPrograms

CANARY = "canary-7f3a"
_CHANGING = re.findall(
    r"\w+",
    "creat unlink unlinkat rename renameat renameat2 mkdir mkdirat rmdir link linkat symlink symlinkat chmod "
    "fchmod fchmodat fchmodat2 chown lchown fchown fchownat truncate ftruncate utime utimes utimensat mknod "
    "mknodat setxattr lsetxattr fsetxattr removexattr mount umount2 bind kill sethostname clock_settime",
)
_WATCHED = ",".join(f"?{call}" for call in ("execve", "execveat", "open", "openat", "openat2", *_CHANGING))
_CALL = re.compile(r"(?P<pid>\d+) +(?P<name>\w+)\((?P<rest>.*)\) += (?P<value>-?\d+)(?:<(?P<path>.*)>)?")
_UNFINISHED = re.compile(r"(?P<pid>\d+) +(?P<text>.*) <unfinished \.\.\.>")
_RESUMED = re.compile(r"(?P<pid>\d+) +<\.\.\. \w+ resumed>(?P<text>.*)")
_WRITING = re.compile(r"\bO_(?:WRONLY|RDWR|CREAT|TRUNC|APPEND|TMPFILE)\b")
# They keep input that they cannot go back in, or that is large, in a temporary file until they end.
_KEEPS_INPUT = frozenset({"sort", "tac"})
_ANYBODY_WRITES = frozenset({"/dev/null", "/dev/tty"})
# What programs of the system read for themselves: libraries, locales, names of users, the state of the machine.
_SYSTEM = (
    *("/usr/", "/lib", "/etc/", "/proc/", "/sys/", "/dev/null", "/dev/tty", "/dev/urandom", "/var/lib/"),
    *("/run/", "pipe:["),
)
_NOT_SYSTEM = re.compile(r"/etc/g?shadow|/proc/(?:self|\d+)/(?:environ|mem|fd|root|cwd)")
# xargs looks which files it has open, to close them for what it runs; lscpu of util-linux goes through the
# processes, whose kernel or names tell what it runs on.
_LOOKED_THROUGH = {"xargs": re.compile(r"/proc/\d+/fd"), "lscpu": re.compile(r"/proc")}
_HELPERS: Mapping[str, Collection[str]] = {
    "egrep": ("sh", "dash", "bash", "grep"),
    "fgrep": ("sh", "dash", "bash", "grep"),
    "which": ("sh", "dash", "bash", "which.debianutils"),
}


@dataclass(frozen=True)
class Run:
    """What one line did. `opened` has the program, the path, and whether it was for writing."""

    executed: tuple[str, ...]
    opened: tuple[tuple[str, str, bool], ...]
    changes: tuple[tuple[str, str], ...]
    has_ended: bool
    output: str


def why_no_tracing() -> str | None:
    """Why lines cannot be traced on this machine; None where they can."""
    missing = next((name for name in ("bash", "strace") if shutil.which(name) is None), None)
    if missing is not None:
        return f"{missing} is not installed here"
    tried = subprocess.run(["strace", "-o", os.devnull, "true"], capture_output=True, timeout=30, check=False)
    return None if tried.returncode == 0 else f"strace cannot trace here: {tried.stderr.decode().strip()}"


class TracedStage:
    """The folders, the gate that judges lines in them, and bash to run them.

    Beside the workspace are a home folder and another folder, whose files hold the canary, as the sensitive
    files of the workspace do. With `is_planted`, PATH begins with a folder of programs in the workspace.
    """

    def __init__(self, root: Path, *, is_planted: bool, is_posix: bool) -> None:
        self._root = Path(os.path.realpath(root))
        self.workspace = self._root / "workspace"
        self._is_planted = is_planted
        self._is_posix = is_posix
        self._policy = PathPolicy(roots=(str(self.workspace),))
        self._system = {os.path.realpath(folder) for folder in PROGRAM_FOLDERS}
        self._build()
        path = self._environment({})["PATH"]
        self.gate = ShellGate(self._policy, SystemPrograms(path, self._policy))

    def violations(self, line: str, verdict: ShellVerdict, *, timeout_secs: float = 30) -> list[str]:
        """What a line did that its judgement excludes. The folders are built anew where it changed them."""
        before = self._state()
        run = self.run(line, verdict.environment, timeout_secs=timeout_secs)
        found = list(self._found(run, {name for command in verdict.commands for name in _programs(command)}))
        if self._state() != before:
            found.append("the folders are not what they were")
            self._build()
        return found

    def run(self, line: str, environment: Mapping[str, str], *, timeout_secs: float) -> Run:
        """Run a line as the tool for commands would, without a sandbox."""
        log = self._root / "trace"
        process = subprocess.Popen(
            # Only calls that succeed, with the paths behind descriptors and long texts in full.
            [
                *(
                    "strace",
                    "-f",
                    "-qq",
                    "-y",
                    "-z",
                    "-s",
                    "4096",
                    "-e",
                    f"trace={_WATCHED}",
                    "-e",
                    "signal=none",
                ),
                *("-o", str(log), "--", "bash", "--noprofile", "--norc", "-c", "--", line),
            ],
            cwd=self.workspace,
            env=self._environment(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        has_ended = True
        try:
            output = process.communicate(timeout=timeout_secs)[0]
        except subprocess.TimeoutExpired:
            has_ended = False
            os.killpg(process.pid, signal.SIGKILL)
            output = process.communicate()[0]
        return _read(log.read_text(errors="replace"), has_ended, output.decode(errors="replace"))

    def _found(self, run: Run, names: Collection[str]) -> Iterator[str]:
        allowed = {*names, *(helper for name in names for helper in _HELPERS.get(name, ()))}
        # The first is the shell itself.
        for program in run.executed[1:]:
            folder, name = os.path.split(program)
            if os.path.realpath(folder) not in self._system or name not in allowed:
                yield f"it started {program}"
        for program, path, writes in run.opened:
            if writes and path not in _ANYBODY_WRITES and not self._is_kept_input(program, path):
                yield f"it opened {path} for writing"
            elif not writes and not self._may_read(program, path):
                yield f"it opened {path}"
        for program, change in run.changes:
            if not self._is_kept_input(program, change.partition('"')[2]):
                yield f"it called {change}"
        if not run.has_ended:
            yield "it did not end"
        if CANARY in run.output:
            yield "it printed what it must not read"

    def _is_kept_input(self, program: str, path: str) -> bool:
        return program in _KEEPS_INPUT and path.startswith(f"{self._root}/tmp/")

    def _may_read(self, program: str, path: str) -> bool:
        looked_through = _LOOKED_THROUGH.get(program)
        if self._is_kept_input(program, path) or (looked_through and looked_through.fullmatch(path)):
            return True
        if not self._policy.is_inside(path):
            return path.startswith(_SYSTEM) and not _NOT_SYSTEM.search(path)
        if os.path.isdir(path) or program == "git":
            return True
        return not self._policy.is_sensitive(path) and not path.endswith(".git/config")

    def _environment(self, added: Mapping[str, str]) -> dict[str, str]:
        path = os.pathsep.join(folder for folder in PROGRAM_FOLDERS if os.path.isdir(folder))
        inherited = {
            "PATH": f"{self.workspace}/.venv/bin:{path}" if self._is_planted else path,
            "TMPDIR": str(self._root / "tmp"),
            "HOME": str(self._root / "home"),
            "LC_ALL": "C",
            "SETTING": CANARY,
            **({"POSIXLY_CORRECT": "1"} if self._is_posix else {}),
        }
        return {**build_command_environment(inherited, ()), **added}

    def _build(self) -> None:
        for name in ("workspace", "home", "outside"):
            shutil.rmtree(self._root / name, ignore_errors=True)
        (self._root / "tmp").mkdir(exist_ok=True)
        for folder in ("home", "outside"):
            for name in ("a", "x.py", "secret", ".bash_history", "sub/d", "b c"):
                _write(self._root / folder / name, f"{CANARY} KEY x\n")
        root = self.workspace
        for name in ("a", "b c", "x.py", "sub/d", "plain/b", "hidden/a", "revealed/a", "gitfile/a", "-v", "=a"):
            _write(root / name, "x one\ny two\nKEY\n")
        # What xargs would take apart, and what it would not.
        for name in ("words/a link_out", "words/-d", "words/x.py", "clean/x.py", "clean/sub/y", "clean/-v"):
            _write(root / name, "x one\ny two\nKEY\n")
        _write(root / "c.json", '{"a": 1}\n')
        for name in (".env", "sub/key.pem", "hidden/.env", "revealed/.env", "gitfile/.env"):
            _write(root / name, f"KEY x={CANARY}\n")
        self._link()
        self._plant()
        self._make_repository()

    def _link(self) -> None:
        root = self.workspace
        (root / "0").mkdir()
        (root / "dash").mkdir()
        links = dict.fromkeys(("link_out", "-", "-l", "-e", "-r", "+1", "--", "12"), "../outside/secret")
        links |= {
            "link_dir": "../outside",
            "link_env": ".env",
            "dash/-": "../../outside/secret",
            "2": "../outside",
            "(": "../outside",
            "!": "../outside",
        }
        for name, target in links.items():
            (root / name).symlink_to(target)
        os.mkfifo(root / "a_pipe")

    def _plant(self) -> None:
        for name in ("grep", "ls", "cat", "sed", "sort", "git", "rg", "test", "sh", "type", "printf"):
            program = self.workspace / ".venv" / "bin" / name
            _write(program, "#!/bin/sh\n: > pwn\n")
            program.chmod(0o755)

    def _make_repository(self) -> None:
        root = self.workspace
        _write(root / "revealed" / ".gitignore", "\ufeff!.env\n!.env\n")
        _write(root / "gitfile" / ".git", f"gitdir: {root}/shared/one\n")
        _write(root / "shared" / "one" / "commondir", "../two\n")
        _write(root / "shared" / "two" / "info" / "exclude", "!.env\n")
        if shutil.which("git") is None:
            return
        author = ["-c", "user.name=n", "-c", "user.email=n@example.org"]
        for words in (
            ["init", "-q", "-b", "main"],
            ["remote", "add", "origin", f"https://x:{CANARY}@example.org/a"],
            ["add", "a", "b c", "x.py", "plain"],
            [*author, "commit", "-q", "-m", "first"],
        ):
            subprocess.run(["git", *words], cwd=root, env=self._environment({}), check=True, timeout=300)

    def _state(self) -> dict[str, tuple[int, int, int]]:
        state = {}
        for folder in ("workspace", "home", "outside"):
            for path in (self._root / folder).rglob("*"):
                found = path.lstat()
                state[str(path)] = (found.st_mode, found.st_size, found.st_mtime_ns)
        return state


def _programs(command: SimpleCommand) -> Iterator[str]:
    """The programs that a command names, those that it is to run among them."""
    words = command.words
    yield os.path.basename(command.name)
    yield from (word for option, word in pairwise(words) if option in ("-exec", "command"))
    if "xargs" in map(os.path.basename, words):
        # Any of its words may be the one that it runs.
        yield from ("echo", *(word for word in words if word in READ_ONLY_COMMANDS))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _read(log: str, has_ended: bool, output: str) -> Run:
    programs: dict[str, str] = {}
    executed: list[str] = []
    opened: list[tuple[str, str, bool]] = []
    changes: list[tuple[str, str]] = []
    for line in _whole_lines(log):
        call = _CALL.match(line)
        if call is None:
            continue
        if call["name"].startswith("exec"):
            program = call["rest"].split('"')[1]
            programs[call["pid"]] = os.path.basename(program)
            executed.append(program)
        elif call["name"].startswith("open"):
            # Nothing can be read through such a descriptor.
            if "O_PATH" in call["rest"]:
                continue
            writes = _WRITING.search(call["rest"]) is not None
            opened.append((programs.get(call["pid"], "bash"), call["path"] or "", writes))
        elif not (call["name"] == "kill" and call["rest"].startswith(f"{call['pid']},")):
            # What ends itself by a signal changes nothing.
            changes.append((programs.get(call["pid"], "bash"), f"{call['name']}({call['rest']})"))
    return Run(tuple(executed), tuple(opened), tuple(changes), has_ended, output)


def _whole_lines(log: str) -> Iterator[str]:
    """Calls during which another process was noticed are put together again."""
    begun: dict[str, str] = {}
    for line in log.splitlines():
        if unfinished := _UNFINISHED.match(line):
            begun[unfinished["pid"]] = unfinished["text"]
        elif resumed := _RESUMED.match(line):
            yield f"{resumed['pid']} {begun.pop(resumed['pid'], '')}{resumed['text']}"
        else:
            yield line
