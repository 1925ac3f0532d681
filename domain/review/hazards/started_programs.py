"""Programs that others start: in containers and environments, and on the files that a find lists."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from quorum.domain.replacing import replace
from quorum.domain.review.hazards.invocation import Invocation, unwrap
from quorum.domain.review.hazards.program_table import skip_leading_options

_PYTHONS = ("python", "pypy", "ipython")
_PYTHON = re.compile(r"(python|pypy|ipython)[0-9.]*")
_ENTERS: dict[tuple[str, str], tuple[frozenset[str], int]] = {
    **dict.fromkeys(
        [(name, word) for name in ("docker", "podman", "nerdctl") for word in ("exec", "run")],
        (
            frozenset(
                {
                    "-e",
                    "-u",
                    "-w",
                    "--env",
                    "--user",
                    "--workdir",
                    "-v",
                    "--volume",
                    "--name",
                    "-p",
                    "--network",
                    "--net",
                    "--entrypoint",
                    "--mount",
                    "-h",
                    "-m",
                    "--env-file",
                    "--platform",
                    "-l",
                    "--label",
                }
            ),
            1,
        ),
    ),
    **dict.fromkeys(
        [("docker-compose", "exec"), ("docker-compose", "run")],
        (frozenset({"-e", "-u", "-w", "-v", "-p", "--env", "--user", "--workdir", "--volume", "--name"}), 1),
    ),
    ("kubectl", "exec"): (frozenset({"-n", "-c", "--namespace", "--container"}), 1),
    ("oc", "exec"): (frozenset({"-n", "-c"}), 1),
    ("poetry", "run"): (frozenset(), 0),
    **dict.fromkeys(
        [("npm", "exec"), ("pnpm", "dlx"), ("pnpm", "exec"), ("yarn", "dlx"), ("bun", "x"), ("pipx", "run")],
        (frozenset({"-p", "--package", "--spec"}), 0),
    ),
    ("uv", "run"): (frozenset({"--with", "--python", "-p"}), 0),
    ("pipenv", "run"): (frozenset(), 0),
    ("bundle", "exec"): (frozenset(), 0),
    ("direnv", "exec"): (frozenset(), 1),
    ("conda", "run"): (frozenset({"-n", "-p"}), 0),
    ("lxc", "exec"): (frozenset(), 1),
    ("git", "bisect"): (frozenset(), 1),
}
_STARTS_WORDS: dict[str, tuple[frozenset[str], int]] = {
    **dict.fromkeys(
        (
            "rlwrap",
            "unbuffer",
            "torsocks",
            "torify",
            "fakeroot",
            "proot",
            "eatmydata",
            "dbus-run-session",
            "catchsegv",
            "valgrind",
            "runcon",
            "setarch",
            "linux64",
            "screen",
            "tsocks",
            "cpulimit",
            "numactl",
        ),
        (frozenset(), 0),
    ),
    **dict.fromkeys(
        (
            "proxychains",
            "proxychains4",
            "firejail",
            "systemd-run",
            "start-stop-daemon",
            "setpriv",
            "chrt",
            "choom",
            "daemonize",
            "timelimit",
            "systemd-nspawn",
        ),
        (frozenset({"-f", "--on-calendar", "--unit", "-D"}), 0),
    ),
}


_STARTERS = frozenset({"docker", "podman", *_STARTS_WORDS, *(program for program, _ in _ENTERS)})
# Options of package managers that take a word, in front of their commands.
_LEADING_VALUES = {
    **dict.fromkeys(
        ("npm", "pnpm", "yarn", "bun"),
        ("-C", "-F", "-w", "--cwd", "--dir", "--filter", "--prefix", "--workspace"),
    ),
    "poetry": ("-C", "-P", "--directory", "--project"),
    "uv": ("--directory", "--project", "--cache-dir"),
}


def list_started(given: Invocation) -> Iterator[Invocation]:
    """The program itself, and each that it runs with the words behind it, here, in a container or elsewhere."""
    for run in unwrap(given):
        yield run
        if (started := _find_started(run)) is not None:
            yield from list_started(replace(started, wrappers=(*run.wrappers, run.program)))


def enter_started(run: Invocation) -> Invocation:
    """The program that another one starts in a container or in an environment, where its words name one."""
    for _ in range(3):
        if (started := _find_started(run)) is None:
            words = skip_leading_options(run)
            return run if words is run.arguments else replace(run, arguments=words)
        run = started
    return run


def _find_started(run: Invocation) -> Invocation | None:
    if run.program not in _STARTERS and not run.program.startswith(_PYTHONS):
        return None
    words = skip_leading_options(run)
    if words[:1] == ("compose",) and run.program in ("docker", "podman"):
        run = replace(run, program="docker-compose", arguments=words[1:])
        words = run.arguments
    if (
        _PYTHON.fullmatch(run.program)
        and "-m" in words[:-1]
        and words[words.index("-m") + 1] in ("pip", "pytest", "venv", "build", "twine", "pipx", "uv")
    ):
        words = words[words.index("-m") + 1 :]
    elif run.program in _STARTS_WORDS:
        words = _skip(words, *_STARTS_WORDS[run.program])
    else:
        command, *rest = skip_values(run.program, words) or ("",)
        if (run.program, command) not in _ENTERS:
            return None
        words = _skip(tuple(rest), *_ENTERS[run.program, command])
    return replace(run, program=words[0].rpartition("/")[2], arguments=tuple(words[1:])) if words else None


def skip_values(program: str, words: Sequence[str]) -> Sequence[str]:
    """The words of a program from its command on."""
    place = 0
    while place < len(words) and words[place].startswith("-"):
        place += 2 if words[place] in _LEADING_VALUES.get(program, ()) else 1
    return words[place:]


def _skip(words: tuple[str, ...], with_value: Iterable[str], leading: int) -> tuple[str, ...]:
    place = 0
    while place < len(words):
        if words[place] == "--":
            place += 1
            break
        if not words[place].startswith("-"):
            if not leading:
                break
            leading -= 1
            place += 1
            continue
        place += 2 if words[place] in with_value else 1
    return words[place:]


def list_found(run: Invocation) -> tuple[str, ...]:
    """The paths that a find lists, as patterns."""
    roots: list[str] = []
    for word in run.arguments:
        if word.startswith(("-", "(", "!")):
            break
        roots.append(word.rstrip("/"))
    names = [*run.find_values("-name", "-iname")]
    paths = [*run.find_values("-path", "-ipath", "-wholename")]
    return (*(f"{root}/{name}" for root in roots or ["."] for name in names), *paths)[:20]
