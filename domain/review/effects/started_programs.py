"""Programs that others start: in containers and environments, and on the files that a find lists."""

from __future__ import annotations

import re
from collections.abc import Iterable

from quorum.domain.replacing import replace
from quorum.domain.review.hazards.invocation import Invocation
from quorum.domain.review.hazards.program_table import skip_leading_options

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
    ("docker-compose", "exec"): (frozenset({"-e", "-u", "-w"}), 1),
    ("kubectl", "exec"): (frozenset({"-n", "-c", "--namespace", "--container"}), 1),
    ("oc", "exec"): (frozenset({"-n", "-c"}), 1),
    ("poetry", "run"): (frozenset(), 0),
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


def enter_started(run: Invocation) -> Invocation:
    """The program that another one starts in a container or in an environment, where its words name one."""
    for _ in range(3):
        if (arguments := skip_leading_options(run)) != run.arguments:
            run = replace(run, arguments=arguments)
        if (
            _PYTHON.fullmatch(run.program)
            and "-m" in run.arguments[:-1]
            and run.arguments[run.arguments.index("-m") + 1]
            in ("pip", "pytest", "venv", "build", "twine", "pipx", "uv")
        ):
            words = run.arguments[run.arguments.index("-m") + 1 :]
        elif run.program in _STARTS_WORDS:
            with_value, leading = _STARTS_WORDS[run.program]
            words = _skip(run.arguments, with_value, leading)
        else:
            place = next((place for place, word in enumerate(run.arguments) if not word.startswith("-")), None)
            key = (run.program, run.arguments[place]) if place is not None else (run.program, "")
            if place is None or key not in _ENTERS:
                return run
            with_value, leading = _ENTERS[key]
            words = _skip(run.arguments[place + 1 :], with_value, leading)
        if not words:
            return run
        run = replace(run, program=words[0].rpartition("/")[2], arguments=words[1:])
    return run


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
