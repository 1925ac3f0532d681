"""Where programs are found that quorum starts outside the sandbox: nowhere that a command may write.

All of quorum looks programs up here. The folders that commands may write are those of all sessions of this
process: what a command in one may write is no program for another.
"""

from __future__ import annotations

import errno
import os
import re
import shlex
import shutil
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from msgspec import Struct

from quorum.domain.replacing import replace
from quorum.domain.text.paths import is_below_any
from quorum.domain.text.pattern import compile_once

_writable: list[Sequence[str]] = []
_held_links: dict[str, HeldLink] = {}
_holding = threading.Lock()
_MOST_LINKS = 40
WORD_PARTS = re.compile(r"[\s=\"'`;|&<>(){},]+")
_OWN_NAME = "quorum"
_PACKAGE_RUNNERS = frozenset({"npx", "pnpx", "pnx", "bunx"})
_RUNNING_COMMANDS = {
    "npm": frozenset({"exec", "x"}),
    "pnpm": frozenset({"exec", "dlx"}),
    "pn": frozenset({"exec", "dlx"}),
    "yarn": frozenset({"dlx", "exec"}),
    "bun": frozenset({"x"}),
}
_STARTED_BY_RUNNERS = ("node", "sh", "bun")
_PNPM = ("pnpm", "pnpx", "pn", "pnx")
_BUN = ("bun", "bunx")
_BUN_CODE = frozenset({"-e", "--eval", "-p", "--print"})
# They name programs that are run before anything else, or where packages come from.
_SETTINGS_FILES = {
    **dict.fromkeys(_PNPM, (".npmrc", "pnpm-workspace.yaml")),
    **dict.fromkeys(_BUN, ("bunfig.toml",)),
    "yarn": (".yarnrc.yml", ".yarnrc"),
}
_RUNNER_SETTINGS = {
    **{name: {"npm_config_ignore_pnpmfile": "true"} for name in _PNPM},
    "yarn": {"YARN_IGNORE_PATH": "1"},
}
_NPM_SHELL = os.path.join(os.path.dirname(__file__), "npm_shell.sh")
_NAMING_OPTIONS = frozenset({"-p", "--package"})
_PACKAGE = r"(?:@[\w.~-]+/)?(\w[\w.~-]*)(?:@[^/]*)?"
_PYTHON = r"python[0-9.]*"
_PYTHON_OPTIONS_WITH_VALUE = "WX-"
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "fish"})
_COMMAND_ENDS = r"[|;&\n()]+"
# They start the program that they are given, behind such words.
_STARTS_OTHERS = frozenset(
    {
        *("env", "exec", "nice", "ionice", "nohup", "time", "timeout", "stdbuf", "setsid", "sudo", "doas"),
        *("uv", "poetry", "pipenv", "pdm", "hatch", "rye", "conda", "mise", "run", "x"),
    }
)
_OF_STARTER = r"-|\d|\w+="


# Interpreters look for code in these folders, or are given it in these options.
_CODE_FOLDERS = frozenset(
    {
        *("PYTHONPATH", "PYTHONHOME", "NODE_PATH", "RUBYLIB", "GEM_PATH", "GEM_HOME", "PERL5LIB", "PERLLIB"),
        *("CLASSPATH", "R_LIBS", "R_LIBS_USER"),
    }
)
_CODE_OPTIONS = frozenset(
    {
        *("NODE_OPTIONS", "BUN_OPTIONS", "RUBYOPT", "PERL5OPT", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"),
        *("_JAVA_OPTIONS", "BASH_ENV", "ENV", "PYTHONSTARTUP", "LUA_INIT", "LUA_PATH", "LUA_CPATH"),
    }
)
_CODE_ENDINGS = (".js", ".cjs", ".mjs", ".ts", ".py", ".rb", ".pl", ".pm", ".lua", ".jar", ".sh")
# Node and Bun look for such a package in the folder that they are started in.
_LOADS_BY_NAME = r"(?:\A|\s)(?:-r|--require|--import|--(?:experimental-)?loader|--preload)[=\s]+[^\s/]"
_OPTION_ENDS = r"[\s=,;:@]+|(?<=-[A-Za-z])(?=[./])"


def note_writable(folders: Sequence[str]) -> None:
    """Look no program up in these canonical folders from now on, nor in what is added to them later."""
    if not any(known is folders or tuple(known) == tuple(folders) for known in _writable):
        _writable.append(folders)


class HeldLink(Struct, frozen=True):
    """A link as it was before the first of the running commands that could replace it, and how many run."""

    text: str
    real: str
    commands: int = 0


def hold_links(paths: Iterable[str]) -> Callable[[], None]:
    """Start nothing by one of these links that is not as it is now, until what is returned is called.

    A command that may replace them is about to run, and others may run already. Looks at files.
    """
    held: list[str] = []
    with _holding:
        for path in dict.fromkeys(paths):
            if path not in _held_links:
                with suppress(OSError):  # somebody has removed it since it was found
                    _held_links[path] = HeldLink(os.readlink(path), os.path.realpath(path))
            if path in _held_links:
                _held_links[path] = _count(_held_links[path], 1)
                held.append(path)

    def release() -> None:
        with _holding:
            while held:
                link = _count(_held_links[path := held.pop()], -1)
                if link.commands:
                    _held_links[path] = link
                else:
                    del _held_links[path]

    return release


def _count(link: HeldLink, change: int) -> HeldLink:
    return replace(link, commands=link.commands + change)


def _find_changed_link(words: Sequence[str], folder: str) -> str | None:
    """The first held link that is another by now, on the way to what the words name in a folder."""
    if not _held_links:
        return None
    places = (place for named in _list_named(words, folder) for place in _follow_held(named))
    return next((place for place in places if not _is_unchanged(place)), None)


def _list_named(words: Sequence[str], folder: str) -> Iterator[str]:
    """The paths that words may name, also within a word, and the modules that Python is to run."""
    parts = (part for word in words for part in (word, *WORD_PARTS.split(word)) if "\0" not in part)
    yield from (os.path.normpath(os.path.join(folder, os.path.expanduser(part))) for part in parts)
    for module in list_python_modules(words):
        place = os.path.join(folder, module.partition(".")[0])
        yield from (place, f"{place}.py")


def _follow_held(path: str) -> Iterator[str]:
    with suppress(OSError):  # a loop of links
        yield from (place for place in follow_path(path) if place in _held_links)


def _is_unchanged(path: str) -> bool:
    link = _held_links.get(path)
    try:
        return link is None or os.readlink(path) == link.text
    except OSError:  # it is gone, or no link any more
        return False


def _resolve_held(word: str, folder: str) -> str:
    """What a word that names a path by held links led to before the commands began: it cannot be replaced."""
    path = os.path.normpath(os.path.join(folder, word)) if _held_links and word else ""
    place = next(_follow_held(path), None) if path else None
    link = _held_links.get(place) if place is not None else None
    if place is None or link is None or not is_below_any(path, (place,)):
        return word
    return link.real + path.removeprefix(place)


def find_program(name: str, path: str | None, more: Sequence[str] = ()) -> str | None:
    """The absolute path of a program by its name on `path`, as PATH is written; links in it are kept.

    None where there is none, or only one that a command may write or lead elsewhere; `more` are folders in
    which they may, beside those that are known. An absolute path is taken as it is: somebody chose it. Looks at
    files.
    """
    if "/" in name:
        is_named = os.path.isabs(name) and _find_changed_link((name,), "/") is None
        return shutil.which(name) if is_named else None
    closed = _list_writable(more)
    found = (shutil.which(name, path=entry) for entry in _list_entries(path, closed))
    return next((each for each in found if each is not None and not _leads_through(each, closed)), None)


def filter_path(path: str | None, more: Sequence[str] = ()) -> str:
    """`path` without its relative entries and those that lie where a command may write, or lead through there.

    Programs that are started outside the sandbox get this one: they look others up.
    """
    return os.pathsep.join(_list_entries(path, _list_writable(more)))


def filter_environment(environment: Mapping[str, str], more: Sequence[str] = ()) -> dict[str, str]:
    """The same environment with such a PATH, and so with other variables by which interpreters find code."""
    closed = _list_writable(more)
    kept = {name: _filter_variable(name, value, closed) for name, value in environment.items()}
    code = _CODE_FOLDERS | _CODE_OPTIONS
    kept = {name: value for name, value in kept.items() if value or name not in code or not environment[name]}
    return {**kept, "PATH": filter_path(environment.get("PATH"), more)}


def _filter_variable(name: str, value: str, closed: Sequence[str]) -> str:
    if name in _CODE_FOLDERS:
        return os.pathsep.join(_list_entries(value, closed))
    if name in _CODE_OPTIONS and (
        compile_once(_LOADS_BY_NAME).search(value) is not None
        or any(
            _leads_through(part, closed) if os.path.isabs(part) else "/" in part or part.endswith(_CODE_ENDINGS)
            for part in compile_once(_OPTION_ENDS).split(value)
        )
    ):
        return ""
    return value


def find_local_package(words: Sequence[str], folder: str, more: Sequence[str] = ()) -> str | None:
    """What a runner of packages, as `npx`, would start in a folder in place of an installed package.

    It looks into `node_modules` there and above, also for what runs the package, and for settings that name
    programs; None where it finds none that a command may write. Of any words also a link that a running command
    has replaced.
    """
    if changed := _find_changed_link(words, folder):
        return changed
    closed, names = _list_writable(more), list(_list_packages(words))
    if not names and not _is_bun_with_script_elsewhere(words):
        return None
    programs = (*(program for _, program in names), *_STARTED_BY_RUNNERS) if names else ()
    places = [os.path.join("node_modules", package) for package, _ in names]
    places += [os.path.join("node_modules/.bin", program) for program in programs]
    places += _SETTINGS_FILES.get(os.path.basename(words[0]), ())
    above = os.path.realpath(folder)
    while _leads_through(above, closed):
        for place in places:
            if os.path.lexists(path := os.path.join(above, place)):
                return path
        above = os.path.dirname(above)
    return None


def _explain_changed(path: str) -> str:
    return (
        f"the link {path} has changed while a command runs that may have replaced it, so nothing is started by "
        "it outside the sandbox; look at it, and try again once that command has ended"
    )


def explain_local_package(words: Sequence[str], path: str) -> str:
    """Why such a package is not started, one clause."""
    if path in _held_links:
        return _explain_changed(path)
    return (
        f"{os.path.basename(words[0])} would start or obey {path}, where commands of a session may write, and "
        "outside the sandbox; name that program by its absolute path, or one that is installed elsewhere"
    )


def pin_runner(words: Sequence[str], program: str, folder: str) -> tuple[tuple[str, ...], dict[str, str]]:
    """The words to start a program with, found at `program`, and the variables that it needs besides.

    They keep a runner from programs, settings and modules of the folder that it is started in, also from those
    that are put there later. `npx` would take packages from there and above, what `package.json` names, and
    options of node from `.npmrc`: it gets its own folder for that, and a shell that takes `node_modules/.bin`
    of there off PATH. `python -m` and `python -c` would take any module there.
    """
    pinned, *rest = _pin_words(words, program)
    return (pinned, *(_resolve_held(word, folder) for word in rest)), _select_runner_settings(
        words, program, folder
    )


def _pin_words(words: Sequence[str], program: str) -> tuple[str, ...]:
    is_pinned = _is_of_npm(words) and not _is_installed_beside(words, program)
    return (program, *(("--prefix", os.path.dirname(program)) if is_pinned else ()), *words[1:])


def _is_of_npm(words: Sequence[str]) -> bool:
    return _is_package_runner(words) and os.path.basename(words[0]) in ("npx", "npm")


def _is_installed_beside(words: Sequence[str], program: str) -> bool:
    """Whether npm finds it installed for all folders, where with a folder of its own it would fetch it."""
    operands = (word for word in words[1:] if not word.startswith("-") and word not in ("exec", "x"))
    name = next(operands, "")
    return "/" not in name and shutil.which(name, path=os.path.dirname(program)) is not None


def _select_runner_settings(words: Sequence[str], program: str, folder: str) -> dict[str, str]:
    if _is_of_npm(words):
        settings = {"npm_config_script_shell": _NPM_SHELL}
        # Where something has to be fetched, npm 11 fails with it.
        return settings | ({"npm_config_location": "global"} if _is_installed_beside(words, program) else {})
    if _is_package_runner(words):
        return _RUNNER_SETTINGS.get(os.path.basename(words[0]), {})
    code = list(_list_python_code(words))
    is_of_folder = any(module and _is_module_in(folder, module) for module in code)
    return {"PYTHONSAFEPATH": "1"} if code and not is_of_folder else {}


def _is_module_in(folder: str, module: str) -> bool:
    place = os.path.join(folder, module.partition(".")[0])
    return os.path.lexists(place) or os.path.lexists(f"{place}.py")


def list_python_modules(words: Sequence[str]) -> tuple[str, ...]:
    """The modules that Python is to run by their names, also behind other programs and in text for a shell."""
    return tuple(filter(None, _list_python_code(words)))


def _list_python_code(words: Sequence[str]) -> Iterator[str]:
    """Such modules, and an empty text for code that is given as text: Python looks for what that imports in the
    folder that it is started in."""
    words = list(words)
    while words and (os.path.basename(words[0]) in _STARTS_OTHERS or compile_once(_OF_STARTER).match(words[0])):
        words.pop(0)
    program = os.path.basename(words[0]) if words else ""
    if program in _SHELLS:
        for command in (
            part for text in words[1:] for part in compile_once(_COMMAND_ENDS).split(text) if " " in text
        ):
            yield from _list_python_code([word.strip("'\"") for word in command.split()])
    elif compile_once(_PYTHON).fullmatch(program):
        yield from _read_python_options(words[1:])


def _read_python_options(words: Sequence[str]) -> Iterator[str]:
    rest = list(words)
    while rest:
        option = rest.pop(0)
        if option == "-":
            break
        if not option.startswith("-"):
            return  # a script: Python looks in the folder of that
        for place, letter in enumerate(option[1:], start=2):
            if letter in "cm":
                yield "" if letter == "c" else option[place:] or "".join(rest[:1])
                return
            if letter in _PYTHON_OPTIONS_WITH_VALUE:
                rest = rest if option[place:] else rest[1:]
                break
    yield ""


def _is_package_runner(words: Sequence[str]) -> bool:
    runner = os.path.basename(words[0]) if words else ""
    return runner in _PACKAGE_RUNNERS or bool(
        _RUNNING_COMMANDS.get(runner, frozenset()).intersection(words[1:2])
    )


def _is_bun_with_script_elsewhere(words: Sequence[str]) -> bool:
    """Whether Bun is to run code that is no part of the folder: it loads modules that settings there name."""
    if not words or os.path.basename(words[0]) != "bun":
        return False
    operands = (word for word in words[1:] if not word.startswith("-") and word != "run")
    return not _BUN_CODE.isdisjoint(words[1:]) or os.path.isabs(next(operands, ""))


def _list_packages(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The packages that a runner is given, each with the usual name of its program."""
    if not _is_package_runner(words):
        return
    rest = list(words[1 if os.path.basename(words[0]) in _PACKAGE_RUNNERS else 2 :])
    named: list[str] = []
    while rest:
        option, equals, value = rest.pop(0).partition("=")
        if option in _NAMING_OPTIONS:
            named.append(value if equals else "".join(rest[:1]))
            rest = rest if equals else rest[1:]
        elif not option.startswith("-"):
            named.append(option + equals + value)
            break
    for name in named:
        if match := compile_once(_PACKAGE).fullmatch(name):
            package = name[: match.end(1)]
            yield package, match[1]


def select_loader_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """What an interpreter may need to start at all, without folders of libraries that a command may write."""
    given = {name: value for name, value in environment.items() if name.startswith(("LD_", "DYLD_"))}
    return {name: filter_path(value) if name.endswith("PATH") else value for name, value in given.items()}


def explain_missing(name: str, path: str | None, more: Sequence[str] = ()) -> str:
    """Why `find_program` finds none, one clause."""
    if "/" in name and not os.path.isabs(name):
        return f"{name} is a relative path, which leads elsewhere in every folder; name it by its absolute path"
    if (changed := _find_changed_link((name,), "/")) is not None:
        return _explain_changed(changed)
    if "/" in name:
        return f"there is no program at {name}; correct its path"
    entries = (path if path is not None else os.defpath).split(os.pathsep)
    passed = [each for entry in entries if (each := shutil.which(name, path=entry or os.curdir)) is not None]
    if not passed:
        return f"there is no program {name} on PATH; install it, or name it by its absolute path"
    return (
        f"{name} was found only at {passed[0]}, where commands of a session may write, so it is not started "
        "outside the sandbox; install it elsewhere, or name it by its absolute path"
    )


def find_as_shell_does(name: str, path: str | None) -> str | None:
    """What a command's shell would run for a name or path, wherever it lies. It is not to be started."""
    return shutil.which(name, path=path)


def _list_writable(more: Sequence[str]) -> list[str]:
    known = [folder for folders in (*_writable, more) for folder in folders]
    if not known:  # no session yet: it would be in the folder that the process is in
        with suppress(FileNotFoundError):  # which was deleted, and then holds nothing
            known = [os.getcwd()]
    return [folder for folder in map(os.path.realpath, known) if folder != "/"]


def _list_entries(path: str | None, closed: Sequence[str]) -> Iterator[str]:
    for entry in (path if path is not None else os.defpath).split(os.pathsep):
        if os.path.isabs(entry) and not _leads_through(entry, closed):
            yield entry


def _leads_through(path: str, folders: Sequence[str]) -> bool:
    """Whether a path, or a link on the way to what it means, lies in one of these folders."""
    try:
        return any(is_below_any(place, folders) for place in follow_path(path))
    except OSError:
        return True


def follow_path(path: str, is_link: Callable[[str], bool] = os.path.islink) -> Iterator[str]:
    """The places that an absolute path leads through: folders, links, and what these lead through in turn.

    Raises OSError where there are too many links. Looks at files.
    """
    reached, waiting, links = "/", path.split("/")[::-1], 0
    while waiting:
        name = waiting.pop()
        if name in ("", os.curdir):
            continue
        reached = os.path.dirname(reached) if name == os.pardir else os.path.join(reached, name)
        yield reached
        if is_link(reached):
            links += 1
            if links > _MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            target = os.readlink(reached)
            reached = "/" if target.startswith("/") else os.path.dirname(reached)
            waiting += target.split("/")[::-1]


def find_own_command() -> str:
    """`name_own_command` of this process, by its own PATH."""
    return name_own_command(sys.argv[0] if sys.argv else "", os.environ.get("PATH"))


def name_own_command(started_as: str, path: str | None) -> str:
    """How the person starts this program again in the folder where it runs: `quorum` if that is what the name
    means on PATH, else the path by which it was started, ready to be pasted. Looks at files."""
    try:
        own, folder = os.path.abspath(started_as), os.getcwd()
    except FileNotFoundError:  # the folder was deleted: no path from it means anything
        return _OWN_NAME
    if os.path.basename(own) != _OWN_NAME or not os.path.isfile(own):
        return _OWN_NAME
    found = shutil.which(_OWN_NAME, path=path)
    if found is not None and os.path.realpath(found) == os.path.realpath(own):
        return _OWN_NAME
    if not is_below_any(own, (folder,)):
        return shlex.quote(own)
    below = os.path.relpath(own, folder)
    return shlex.quote(below if "/" in below else f"./{below}")
