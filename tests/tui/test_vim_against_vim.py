"""The prompt's Vim modes against Vim itself, over random texts and commands."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from quorum.tui.vim.editor import VimEditor, VimMode
from quorum.tui.vim.motions import Buffer

VIM = shutil.which("vim")

_SCRIPT = r"""
set nocompatible nojoinspaces shiftwidth=4 expandtab noautoindent cpo-=_
let cases = json_decode(join(readfile("cases.json"), ""))
let results = []
for case in cases
  %delete _
  call setline(1, case.lines)
  for register in ['a', '-'] + map(range(10), 'string(v:val)')
    call setreg(register, [])
  endfor
  call cursor(case.row + 1, case.column + 1)
  let steps = []
  for keys in case.commands
    silent! execute "normal! " .. keys
    call add(steps, [join(getline(1, '$'), "\n"), line('.') - 1, max([0, col('.') - 1])])
  endfor
  call add(results, steps)
endfor
call writefile([json_encode(results)], "results.json")
qa!
"""

_PIECES = [*"ab.,(){}-'", "foo", "x_1", " ", "  ", '"']


def _a_text(draw: random.Random) -> list[str]:
    lines = draw.randint(2, 5)
    return [
        "" if draw.random() < 0.15 else "".join(draw.choices(_PIECES, k=draw.randint(1, 7)))
        for _ in range(lines)
    ]


def _count(draw: random.Random) -> str:
    return draw.choice(["", "", "", "", "2", "3"])


def _a_motion(draw: random.Random) -> str:
    motion = draw.choice([*"hjklwWbBeE0^$GfFtT}", "gg"])
    if motion in "fFtT":
        motion += draw.choice("ab.( ")
    return motion if motion == "0" else _count(draw) + motion


def _an_object(draw: random.Random) -> str:
    return draw.choice("ia") + draw.choice("wW\"'")


def _a_command(draw: random.Random) -> str:
    match draw.randrange(5):
        case 0:
            return _a_motion(draw)
        case 1:
            operator = draw.choice(["d", "y", "<", ">", "gu", "gU", "g~"])
            over = draw.choice([_a_motion(draw), operator[-1], _an_object(draw)])
            if len(operator) == 2 and over[-1] in "hbB0^":  # Vim changes a character where they do not move
                over = "w"
            register = draw.choice(["", "", '"a', '"A', '"_']) if operator in "dy" else ""
            return register + over.join((operator, ""))
        case 2:
            inserts = draw.choice(["i", "a", "I", "A", "o", "O"])
            return _count(draw) + inserts + draw.choice(["Q", "x y"]) + "\x1b"
        case 3:
            command = draw.choice(["x", "X", "D", "Y", "p", "P", "~", "rZ"])
            register = draw.choice(["", '"a', '"1']) if command in "pP" else ""
            return register + _count(draw) + command
        case _:
            selected = draw.choice(["", _a_motion(draw)])
            if selected.endswith("}"):
                selected = "e"
            return draw.choice("vV") + selected + draw.choice(["d", "y", "~", "u", "U", "J", "rZ", "D", "\x1b"])


def _pressed(editor: VimEditor, buffer: Buffer, keys: str) -> Buffer:
    for char in keys:
        if editor.mode is VimMode.INSERT:
            if char == "\x1b":
                buffer = editor.leave_insert(buffer)
            else:
                text, cursor = buffer.text, buffer.cursor
                buffer = Buffer(text[:cursor] + char + text[cursor:], cursor + 1)
        else:
            after = editor.press({"\x1b": "escape", " ": "space"}.get(char, char), buffer)
            buffer = after if isinstance(after, Buffer) else buffer
    return buffer


def _motion_fails(keys: str, buffer: Buffer) -> bool:
    editor = VimEditor(lambda _: None, lambda: "")
    editor.mode = VimMode.NORMAL
    return len(keys) > 2 and keys[1] != "r" and _pressed(editor, buffer, keys[:-1]).cursor == buffer.cursor


@pytest.mark.skipif(VIM is None, reason="Vim is not installed")
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_commands_do_what_they_do_in_vim(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    cases = []
    for _ in range(1_500):
        lines = _a_text(draw)
        row = draw.randrange(len(lines))
        column = draw.randrange(max(1, len(lines[row])))
        commands = ["iq\x1b", "yl", *(_a_command(draw) for _ in range(3))]
        cases.append({"lines": lines, "row": row, "column": column, "commands": commands})
    (tmp_path / "cases.json").write_text(json.dumps(cases))
    (tmp_path / "compare.vim").write_text(_SCRIPT)
    vim = [str(VIM), "-es", "-N", "-u", "NONE", "-i", "NONE", "-S", "compare.vim"]
    subprocess.run(vim, cwd=tmp_path, timeout=120, check=True)
    results = json.loads((tmp_path / "results.json").read_text())

    different = []
    for case, steps in zip(cases, results, strict=True):
        editor = VimEditor(lambda _: None, lambda: "")
        editor.mode = VimMode.NORMAL
        start = sum(len(line) + 1 for line in case["lines"][: case["row"]]) + case["column"]
        buffer = Buffer("\n".join(case["lines"]), start)
        for keys, expected in zip(case["commands"], steps, strict=True):
            before = buffer
            buffer = _pressed(editor, buffer, keys)
            at_word = before.text[before.cursor : before.cursor + 1].strip()
            if keys[-2:] in ("aw", "aW", "iw", "iW") and not at_word:
                break  # there Vim's objects reach into the next lines
            if keys[0] in "vV" and _motion_fails(keys, before):  # Vim drops the keys after it
                break
            row = buffer.text.count("\n", 0, buffer.cursor)
            if [buffer.text, row, buffer.cursor - buffer.find_line_start(buffer.cursor)] != expected:
                different.append((keys, before, expected, buffer))
                break
    assert different == []
