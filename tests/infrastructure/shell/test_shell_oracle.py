"""The judgement against the real bash: of a read-only command, bash runs what was read in it and no more."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.shell.read_only_commands import READ_ONLY_COMMANDS, SHELL_BUILTINS
from quorum.infrastructure.execution.shell.gate import ShellGate
from quorum.infrastructure.execution.shell.programs import SystemPrograms
from tests.support.examples import examples

BASH = shutil.which("bash")
if BASH is None:
    pytest.skip("bash is not installed here", allow_module_level=True)

OTHERS = ("rm", "touch", "sh", "xargs", "env", "sudo", "x", "a")
METACHARACTERS = [
    *";&|<>(){}[]*?!#~=$`'\"\\\n\t ^%@,:-",
    "&&",
    "||",
    "$(",
    "${",
    "<<",
    ">>",
    ">&",
    "|&",
    "2>&1",
    "\\\n",
]
FRAGMENTS = [
    *(
        "ls",
        "cat",
        "head",
        "echo",
        "grep",
        "pwd",
        "cd",
        "test",
        "-n",
        "-la",
        "-f",
        "--",
        "a",
        "b c",
        "sub",
        "/dev/null",
    ),
    *(
        "rm x",
        "touch y",
        "> z",
        "a=b",
        "$HOME",
        "~",
        "*",
        "'a b'",
        '"a b"',
        "\\(",
        " | ",
        " && ",
        " ; ",
        " || ",
        " ",
    ),
]
PLAIN = st.sampled_from(
    [
        "ls -la",
        "cat a",
        "head -n 3 'b c'",
        'echo "x;y"',
        "grep -e 'rm x' a",
        "pwd",
        "test -f a",
        "wc -l < a",
        "ls sub",
    ]
)
LINES = st.one_of(
    st.builds(
        lambda head, rest: head + "".join(rest),
        PLAIN,
        st.lists(st.sampled_from(METACHARACTERS + FRAGMENTS), max_size=8),
    ),
    st.builds(
        lambda parts: "".join(parts),
        st.lists(
            st.one_of(
                PLAIN, st.sampled_from([" && ", " || ", "; ", ";", " | ", "|", " 2>&1 ", " >/dev/null "])
            ),
            max_size=9,
        ),
    ),
)


@dataclass(frozen=True)
class Scene:
    """A folder to work in, programs that only tell how they were called, and the gate that trusts them."""

    cwd: Path
    programs: Path
    log: Path
    gate: ShellGate

    def run(self, command: str) -> list[tuple[str, ...]]:
        self.log.write_bytes(b"")
        subprocess.run(
            [BASH or "", "--noprofile", "--norc", "-c", "--", command],
            cwd=self.cwd,
            env={"PATH": str(self.programs), "LOG": str(self.log), "HOME": "/nowhere"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=30,
            check=False,
        )
        calls = self.log.read_bytes().decode().split("\1")[:-1]
        return [tuple(call.split("\2")[:-1]) for call in calls]

    def state(self) -> dict[str, bytes | None]:
        return {str(p): p.read_bytes() if p.is_file() else None for p in self.cwd.rglob("*")}


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    with tempfile.TemporaryDirectory() as name:
        root = Path(os.path.realpath(name))
        cwd, programs = root / "cwd", root / "programs"
        (cwd / "sub").mkdir(parents=True)
        programs.mkdir()
        for file in ("a", "b c", "sub/d"):
            (cwd / file).write_text("text\n")
        for program in {*READ_ONLY_COMMANDS, *OTHERS} - SHELL_BUILTINS:
            stub = programs / program
            # One line a call, written at once, so that calls of a pipe do not mix.
            stub.write_text(
                f'#!{BASH}\nprintf -v words \'%s\\2\' "${{0##*/}}" "$@"\nprintf \'%s\\1\' "$words" >> "$LOG"\n'
            )
            stub.chmod(0o755)
        policy = PathPolicy(roots=(str(cwd),))
        yield Scene(
            cwd,
            programs,
            root / "log",
            ShellGate(policy, SystemPrograms(str(programs), policy, [str(programs)])),
        )


@pytest.mark.long
@examples(400)
@given(LINES)
@example("ls 'a'\"b\"c | cat; head -n 3 'b c' 2>&1")
@example("cat a\\\nrm x")
@example("ls a\\;rm")
@example("echo a>z")
@example("ls -la 2>&1rm")
@example("cd sub && ls ; cat a")
@example("head -n 3 'b c'\\(")
@example("cat a2>/dev/null")
@example("cat >/dev/null'a'")
@example("cat a\\!b")
async def test_bash_runs_exactly_what_a_read_only_judgement_read_out_of_a_line(scene: Scene, line: str) -> None:
    verdict = await scene.gate.judge(line, scene.cwd)
    if not verdict.is_read_only:
        return
    before = scene.state()

    called = scene.run(line)

    judged = [command.words for command in verdict.commands]
    assert not Counter(called) - Counter(judged)
    first = verdict.commands[0]
    # One whose input is missing is not even started.
    assert first.name in SHELL_BUILTINS or any(r.only_reads for r in first.redirects) or first.words in called
    assert scene.state() == before


@examples(60)
@given(st.lists(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=10), max_size=4))
async def test_bash_passes_on_the_words_that_were_read(scene: Scene, words: list[str]) -> None:
    line = shlex.join(["head", "--", *words])
    verdict = await scene.gate.judge(line, scene.cwd)

    assert scene.run(line) == [command.words for command in verdict.commands]


async def test_the_stubs_tell_on_a_line_that_does_more(scene: Scene) -> None:
    assert scene.run("ls; rm x $(touch y)") == [("ls",), ("touch", "y"), ("rm", "x")]
