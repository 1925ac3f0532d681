"""`quorum completion`: the script for a shell, and the answers that the script asks for."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path

from quorum.command_line.completion.candidates import Candidate, complete
from quorum.command_line.completion.partial_line import read_line


def print_script(shell: str) -> None:
    """Print the script for a shell."""
    script = resources.files("quorum.command_line.completion").joinpath(f"quorum.{shell}")
    sys.stdout.write(script.read_text(encoding="utf-8"))


def print_answer(line: str, wordbreaks: str) -> None:
    """Print what can follow on a line that was typed.

    The first line says what is offered: words, files or folders. Each further line is a word, and behind a tab
    what it means.
    """
    print("\n".join(_answer(line, wordbreaks)))


def _answer(line: str, wordbreaks: str) -> Iterator[str]:
    typed = read_line(line)
    if typed is None:
        yield "words"
        return
    found = complete(
        typed,
        {
            "models": _list_models,
            "session": _list_sessions,
            "resume": _list_sessions,
            "provider": _list_providers,
            "server": _list_servers,
        },
    )
    yield found.kind
    kept = max((typed.current.rfind(each) + 1 for each in wordbreaks), default=0)  # the shell has that already
    for each in found.candidates:
        yield f"{each.word[kept:]}\t{each.meaning}" if each.meaning else each.word[kept:]


def _list_models(given: argparse.Namespace, _current: str) -> Sequence[Candidate]:
    from quorum.infrastructure.completion.known_models import list_known_models
    from quorum.infrastructure.completion.known_sessions import list_known_sessions

    settings = _read_settings(given)
    used = (each.model for each in list_known_sessions(settings, os.environ))
    return [Candidate(model) for model in list_known_models(settings, tuple(dict.fromkeys(used)))]


def _list_providers(given: argparse.Namespace, _current: str) -> Sequence[Candidate]:
    from quorum.infrastructure.completion.known_models import list_known_providers

    return [Candidate(name) for name in list_known_providers(_read_settings(given))]


def _list_servers(given: argparse.Namespace, _current: str) -> Sequence[Candidate]:
    from quorum.infrastructure.completion.known_settings import list_known_servers

    return [Candidate(name) for name in list_known_servers(_read_settings(given))]


def _list_sessions(given: argparse.Namespace, current: str) -> Sequence[Candidate]:
    """The sessions of the folder, the latest first; those of all folders where it has none."""
    from quorum.infrastructure.completion.known_sessions import list_known_sessions

    folder = os.path.realpath(os.path.expanduser(getattr(given, "workdir", "")) or os.curdir)
    every = list_known_sessions(_read_settings(given), os.environ)
    here = [each for each in every if each.cwd == folder]
    found = [
        Candidate(each.id if len(current) > len(each.short_id) else each.short_id, each.title)
        for each in here or every
    ]
    return [*found, Candidate("latest", "the session of this folder used last")] if here else found


def _read_settings(given: argparse.Namespace) -> dict[str, object]:
    from quorum.infrastructure.completion.known_settings import read_own_settings

    named = getattr(given, "config_file", None)
    return dict(read_own_settings(os.environ, Path(os.path.expanduser(named)) if named else None))
