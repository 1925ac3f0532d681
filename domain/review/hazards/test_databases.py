"""Databases of tests, which the tools that fill them make anew."""

from __future__ import annotations

from quorum.domain.review.hazards.invocation import Invocation
from quorum.domain.shell.script import Script
from quorum.domain.text.pattern import compile_once

_PROGRAMS = frozenset({"rails", "rake", "bundle", "mix", "php", "artisan", "sail"})
_OF_TESTS = r"(RAILS|RACK|MIX|APP)_ENV=test(ing)?|--env(ironment)?=test(ing)?"
_ELSEWHERE = r"(?i)\w*(DATABASE|DB|URL|HOST|ENV)\w*=.*"


def uses_only_test_database(run: Invocation, script: Script) -> bool:
    """Whether a framework's own tool is told to work in its environment for tests, and of no other database.

    Each of them in the script has to be, unless a variable that stays says so.
    """
    if run.program not in _PROGRAMS or not {"bundle"}.issuperset(run.wrappers):
        return False
    stays = False
    for command in script.commands:
        given = [each for each in (*command.assignments, *command.words) if "=" in each]
        of_tests = [each for each in given if compile_once(_OF_TESTS).fullmatch(each)]
        if any(compile_once(_ELSEWHERE).fullmatch(each) for each in given if each not in of_tests):
            return False
        stays = stays or (bool(of_tests) and command.words[:1] in ((), ("export",)))
        uses = not _PROGRAMS.isdisjoint(word.rpartition("/")[2] for word in command.words)
        if uses and not (of_tests or stays):
            return False
    return True
