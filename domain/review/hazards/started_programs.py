"""Programs that others start: in containers and environments, and on the files that a find lists."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from quorum.domain.replacing import replace
from quorum.domain.review.hazards.invocation import Invocation, drop_version, unwrap
from quorum.domain.review.hazards.starters import find_started_words, may_start

_PYTHONS = ("python", "pypy", "ipython")
_PYTHON = re.compile(r"(python|pypy|ipython)[0-9.]*")
_VAULTS = frozenset({"-a", "-p", "-f", "-e", "--env", "--app", "--exec-profile", "--role"})
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
    **dict.fromkeys([("oc", "exec"), ("oc", "rsh")], (frozenset({"-n", "-c"}), 1)),
    **dict.fromkeys([(name, "run") for name in ("poetry", "pipenv", "pdm", "hatch", "rye")], (frozenset(), 0)),
    **dict.fromkeys(
        [
            *((name, word) for name in ("npm", "pnpm", "yarn", "bun") for word in ("exec", "x", "dlx")),
            *((name, word) for name in ("npm", "pnpm", "yarn", "bun") for word in ("run", "run-script")),
            ("pipx", "run"),
        ],
        (frozenset({"-p", "--package", "--spec"}), 0),
    ),
    ("uv", "run"): (frozenset({"--with", "--python", "-p"}), 0),
    ("uv", "tool"): (frozenset({"--with", "--from", "--python", "-p"}), 1),
    **dict.fromkeys([(name, "exec") for name in ("bundle", "composer", "asdf", "rbenv")], (frozenset(), 0)),
    **dict.fromkeys([("composer", "run"), ("composer", "run-script")], (frozenset(), 0)),
    ("direnv", "exec"): (frozenset(), 1),
    ("conda", "run"): (frozenset({"-n", "-p"}), 0),
    **dict.fromkeys(
        [(name, "exec") for name in ("lxc", "incus", "multipass", "nvm", "chamber")], (frozenset({"--user"}), 1)
    ),
    **dict.fromkeys([("limactl", "shell"), ("distrobox", "enter"), ("colima", "ssh")], (frozenset({"-n"}), 1)),
    ("aws-vault", "exec"): (frozenset({"-d", "--duration", "--region"}), 1),
    **dict.fromkeys([("saml2aws", "exec"), ("teller", "run"), ("phase", "run")], (_VAULTS, 0)),
    **dict.fromkeys(
        [
            *((name, "run") for name in ("op", "doppler", "infisical", "toolbox", "devbox", "pixi", "volta")),
            *((name, "run") for name in ("mamba", "micromamba", "foreman", "heroku", "dotenv")),
            *((name, word) for name in ("mise", "rtx") for word in ("exec", "x")),
            ("adb", "shell"),
        ],
        (
            frozenset(
                {"-n", "-p", "-c", "--container", "--env-file", "--project", "--config", "-f", "-a", "--app"}
            ),
            0,
        ),
    ),
    ("git", "bisect"): (frozenset(), 1),
}
# A script of the project has mostly the name of the program that it runs, but may run anything.
_SCRIPTS = frozenset(
    (name, word) for name in ("npm", "pnpm", "yarn", "bun", "composer") for word in ("run", "run-script")
)
# These take a word that is no command of theirs for a script or a program. Commands of theirs that are called
# like a program are not.
_STARTS_BY_NAME = frozenset({"pnpm", "yarn", "bun"})
_OWN_COMMANDS = frozenset(
    {
        "env",
        "fetch",
        "import",
        "init",
        "install",
        "link",
        "patch",
        "remove",
        "rm",
        "set",
        "unlink",
        "workspaces",
    }
)
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
            "tsocks",
            "wsl",
            "dotenvx",
            "distrobox-enter",
            "cpulimit",
            "numactl",
        ),
        (frozenset(), 0),
    ),
    "envchain": (frozenset(), 1),
    **dict.fromkeys(
        ("xvfb-run", "srun", "mpirun", "mpiexec", "prun", "jsrun", "aprun", "torchrun"),
        (frozenset({"-n", "-np", "-N", "-s", "-p", "-c", "-t", "-e", "-A", "-J", "--host", "--hostfile"}), 0),
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


_RUN_SCRIPTS = frozenset({program for program, _ in _SCRIPTS})
_TAKES_VERSIONS = frozenset({"mise", "rtx"})
_STARTERS = frozenset({"docker", "podman", *_STARTS_WORDS, *(program for program, _ in _ENTERS)})
# Options of package managers, and words, that take a word, in front of their commands.
_LEADING_VALUES = {
    **dict.fromkeys(
        ("npm", "bun"), ("-C", "-F", "-w", "--cwd", "--dir", "--filter", "--prefix", "--workspace")
    ),
    "yarn": ("--cwd", "workspace", "workspaces", "--exclude", "--from", "--include", "-j", "--jobs"),
    "pnpm": ("-C", "-F", "--dir", "--filter", "--prefix"),
    "composer": ("-d", "--working-dir"),
    "poetry": ("-C", "-P", "--directory", "--project"),
    "uv": ("--directory", "--project", "--cache-dir"),
}

_OF_CONTAINERS = frozenset({"-H", "--host", "--context", "-c", "--config", "-l", "--log-level"})
_COMPOSE = frozenset({"-f", "--file", "-p", "--project-name", "--profile", "--env-file", "--project-directory"})
_VALUES_BEFORE_COMMAND = {
    "git": frozenset({"-c", "-C", "--git-dir", "--work-tree", "--namespace"}),
    "kubectl": frozenset({"-n", "--namespace", "--context", "--kubeconfig", "--cluster"}),
    **dict.fromkeys(("docker", "podman", "nerdctl"), _OF_CONTAINERS),
    **dict.fromkeys(("docker-compose", "podman-compose"), _COMPOSE),
}


def list_started(given: Invocation) -> Iterator[Invocation]:
    """The program itself, and each that it runs with the words behind it, here, in a container or elsewhere."""
    for run in unwrap(given):
        yield run
        started = _find_started(run)
        if started is not None and (started.arguments or not _starts_script(run)):
            yield from list_started(replace(started, wrappers=(*run.wrappers, run.program)))


def list_started_programs(given: Invocation) -> Iterator[Invocation]:
    """Each program that another one runs, without scripts of a project: these bear the name of a program, and
    may run anything."""
    for run in unwrap(given):
        if run is not given:
            yield run
        if not _starts_script(run) and (started := _find_started(run)) is not None:
            yield started
            yield from list_started_programs(started)


def _starts_script(run: Invocation) -> bool:
    """Whether what a program starts is a script of the project, which may be called like a program."""
    if run.program not in _RUN_SCRIPTS and run.program not in _STARTS_BY_NAME:
        return False
    command = _find_command(run)
    return command in _SCRIPTS or (run.program in _STARTS_BY_NAME and command not in _ENTERS)


def enter_started(run: Invocation) -> Invocation:
    """The program that another one starts in a container or in an environment, where its words name one."""
    for _ in range(3):
        if _starts_script(run) or (started := _find_started(run)) is None:
            words = skip_leading_options(run)
            if words is run.arguments:
                return run
            kept = words[1:] if words[:1] == ("compose",) else words
            leading = run.arguments[: len(run.arguments) - len(kept)]
            return replace(run, arguments=words, leading=tuple(each for each in leading if each != "compose"))
        run = started
    return run


# Rails 7, Django 5 and django-extensions, Laravel 10, Phoenix 1.7, WP-CLI 2.8, Drush 12
_CONSOLES = {
    **dict.fromkeys((("rails", "runner"), ("rails", "r")), ("ruby", "-e", "")),
    **dict.fromkeys((("manage.py", "shell"), ("manage.py", "shell_plus")), ("python", "-c", "-c --command")),
    ("django-admin", "shell"): ("python", "-c", "-c --command"),
    ("artisan", "tinker"): ("php", "-r", "--execute"),
    ("mix", "run"): ("elixir", "-e", "-e --eval"),
    ("mix", "eval"): ("elixir", "-e", ""),
    ("wp", "eval"): ("php", "-r", ""),
    **dict.fromkeys((("drush", each) for each in ("ev", "eval", "php-eval", "php:eval")), ("php", "-r", "")),
}
"""What runs the code in a word of a framework's console, and the options that it stands behind, if any."""
_WITH_SCRIPTS = frozenset({"python", "python3", "php", "ruby"})


def _enter_console(run: Invocation) -> Invocation | None:
    """The interpreter of the code that the console of a framework is given in a word."""
    name, *words = (run.program, *run.arguments)
    if name in _WITH_SCRIPTS and words:
        name, *words = (words[0].rpartition("/")[2], *words[1:])
    console = _CONSOLES.get((name, words[0])) if words else None
    if console is None:
        return None
    program, option, named = console
    if named:
        code = next(replace(run, arguments=tuple(words)).find_values(*named.split()), "")
    else:
        code = next(iter(_skip(tuple(words[1:]), ("-e", "--environment", "--url", "--path"), 0)), "")
    return _start(run, (program, option, code)) if " " in code or "(" in code or "." in code[:-4] else None


def _find_started(run: Invocation) -> Invocation | None:
    if (console := _enter_console(run)) is not None:
        return console
    if run.program not in _STARTERS and not run.program.startswith(_PYTHONS):
        is_script = run.wrappers and run.wrappers[-1] in _RUN_SCRIPTS  # its own words stand behind it
        if is_script or not may_start(run.program):
            return None
        return _start(run, find_started_words(run.program, run.arguments))
    words = skip_leading_options(run)
    if words[:1] == ("compose",) and run.program in ("docker", "podman"):
        run = replace(run, program="docker-compose", arguments=words[1:])
        words = run.arguments
    elif words[:1] == ("container",) and run.program in ("docker", "podman"):
        words = words[1:]
    if (
        _PYTHON.fullmatch(run.program)
        and "-m" in words[:-1]
        and words[words.index("-m") + 1] in ("pip", "pytest", "venv", "build", "twine", "pipx", "uv")
    ):
        words = words[words.index("-m") + 1 :]
    elif run.program in _STARTS_WORDS:
        words = tuple(find_started_words(run.program, words)) or _skip(words, *_STARTS_WORDS[run.program])
    else:
        words = _list_started_words(run.program, words) or tuple(find_started_words(run.program, words))
    return _start(run, words)


def _start(run: Invocation, words: Sequence[str]) -> Invocation | None:
    if not words:
        return None
    return replace(run, program=drop_version(words[0].rpartition("/")[2]), arguments=tuple(words[1:]))


def _find_command(run: Invocation) -> tuple[str, str]:
    return run.program, next(iter(skip_values(run.program, run.arguments)), "")


def _list_started_words(program: str, words: tuple[str, ...]) -> tuple[str, ...]:
    """What a program starts whose command says so: its name and its words; empty where it starts none."""
    command, *rest = skip_values(program, words) or ("",)
    if (program, command) not in _ENTERS:
        is_named = program in _STARTS_BY_NAME and command not in _OWN_COMMANDS
        return (command, *rest) if command and is_named else ()
    with_value, leading = _ENTERS[program, command]
    if program in _TAKES_VERSIONS and "--" in rest:
        return tuple(rest[rest.index("--") + 1 :])
    return _skip(tuple(rest), with_value.union(_LEADING_VALUES.get(program, ())), leading)


def drop_started_words(run: Invocation) -> tuple[str, ...]:
    """The arguments of a program; of one that starts another here, those up to the name of that. The words left
    out are judged as those of the started program, by `list_started`.
    """
    words = skip_leading_options(run)
    if _ENTERS.get(_find_command(run), (None, 1))[1]:
        return words
    started = _list_started_words(run.program, words)
    return words[: len(words) - max(len(started) - 1, 0)]


def skip_leading_options(run: Invocation) -> tuple[str, ...]:
    """The arguments of a program; without the options in front of its command, where they may stand there."""
    with_value = _VALUES_BEFORE_COMMAND.get(run.program)
    if with_value is None:
        return run.arguments
    rest = _skip_options(run.arguments, with_value)
    if rest[:1] == ("compose",):
        return ("compose", *_skip_options(rest[1:], _VALUES_BEFORE_COMMAND["docker-compose"]))
    return rest


def _skip_options(words: tuple[str, ...], with_value: frozenset[str]) -> tuple[str, ...]:
    start = 0
    while start < len(words) and words[start].startswith("-"):
        start += 2 if words[start] in with_value else 1
    return words[start:]


def skip_values(program: str, words: Sequence[str]) -> Sequence[str]:
    """The words of a program from its command on."""
    place = 0
    with_value = _LEADING_VALUES.get(program, ())
    while place < len(words) and (words[place].startswith("-") or words[place] in with_value):
        place += 2 if words[place] in with_value else 1
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
