from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.shell.command_spec import PathUse, Reading
from quorum.infrastructure.execution.shell.gate import ShellGate
from quorum.infrastructure.execution.shell.programs import SystemPrograms
from quorum.infrastructure.execution.shell.reach import OutOfReach, Reach
from tests.support.shell_gates import gate_for, judge


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = Path(os.path.realpath(tmp_path)) / "workspace"
    (root / "sub").mkdir(parents=True)
    for name in ("a", "sub/b", ".env"):
        (root / name).write_text("x")
    return root


def plant(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return program


async def test_the_paths_that_are_read_are_reported_with_links_followed(workspace: Path) -> None:
    (workspace / "link").symlink_to("sub")

    verdict = await judge("cat a link/b < a && ls sub", workspace)

    assert verdict.is_read_only
    assert verdict.paths_read == tuple(str(workspace / name) for name in ("a", "sub/b", "sub"))


async def test_the_paths_that_are_written_are_reported(workspace: Path) -> None:
    verdict = await judge("cat a > out.txt; ls sub >> sub/../log", workspace)

    assert not verdict.is_read_only
    assert verdict.reason == f"it writes {workspace / 'out.txt'}"
    assert verdict.paths_written == (str(workspace / "out.txt"), str(workspace / "log"))


async def test_what_leads_outside_is_reported_as_read_too(workspace: Path) -> None:
    verdict = await judge("cat ../elsewhere", workspace)

    assert verdict.paths_read == (str(workspace.parent / "elsewhere"),)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder in which `notes` leads to `real`, which holds the file `a`."""
    home = Path(os.path.realpath(tmp_path)) / "home-folder"
    (home / "real").mkdir(parents=True)
    (home / "real/a").write_text("a", encoding="utf-8")
    (home / "notes").symlink_to("real")
    monkeypatch.setenv("HOME", str(home))
    return home


@pytest.mark.parametrize(
    "command",
    [
        "cat ~/notes/a",
        "cat $HOME/notes/a",
        'cat ~/notes/a > "$X"',
        "grep x ~/notes/a $(date)",
        "cd ~/notes && cat a $Y",
        "cd && cd notes && cat ./a $Y",
        "cat ~/{other,notes}/a",
        "cat ~/{x,{y,notes}}/{a,b}",
        "for x in 1 2; do cat ~/notes/a; done",
        "for f in a b; do cat ~/notes/$f; done",
        "for d in ~/notes; do cat $d/a; done",
        "while read -r x; do cat ~/notes/a $x; done",
        "D=~/notes; cat $D/a",
        "D=$HOME/notes E=${D}/a; cat $E",
        "cat ~/notes/* $Y",
        "cat ~/no*s/[a-c]",
        "cat < ~/notes/a",
        "diff <(cat ~/notes/a) b",
        "echo $(cat ~/notes/a)",
        "bash -c 'cat ~/notes/a'",
        "python3 x.py --file=$HOME/notes/a",
        "curl -F file=@$HOME/notes/a $URL",
        "tar -C ~/notes -cf x.tar ./a $Y",
        "cat ${HOME:-/}/notes/a",
        "cat ~/notes/a 'unfinished",
        "env -C ~/notes cat a",
        "cd ~/notes && cp a /tmp/$X",
        "x=(~/notes/a b); cat ${x[0]}",
        "xargs cat <<< ~/notes/a",
        "echo $(< ~/notes/a)",
    ],
)
async def test_what_an_unclear_line_names_is_reported_as_read(
    command: str, workspace: Path, home: Path
) -> None:
    verdict = await judge(command, workspace)

    assert not verdict.is_read_only
    assert str(home / "real/a") in verdict.paths_read


@pytest.mark.parametrize("command", ["cat ~/notes/$Y", "cp -r ~/notes/$(date) .", "ls ~/notes/$Y/a"])
async def test_of_a_name_that_is_not_known_the_folder_is_reported(
    command: str, workspace: Path, home: Path
) -> None:
    assert str(home / "real") in (await judge(command, workspace)).paths_read


@pytest.mark.parametrize(
    "command",
    [
        "echo x > ~/notes/new",
        "cd ~/notes && echo $X > new",
        "for x in 1 2; do echo $x; done >> ~/{notes,y}/new",
        "while read x; do echo $x &> ~/notes/new; done",
        "D=~/notes; echo x >| $D/new",
        "(cd ~/notes; date) 2> ~/notes/new",
        "bash -c 'echo x > ~/notes/new'",
        "cat <<END > ~/notes/new\nx\nEND",
    ],
)
async def test_where_an_unclear_line_redirects_output_to_is_reported_as_written(
    command: str, workspace: Path, home: Path
) -> None:
    assert str(home / "real/new") in (await judge(command, workspace)).paths_written


async def test_neither_streams_nor_subcommands_are_reported_as_files(workspace: Path) -> None:
    verdict = await judge('npm run sub "$X" > /dev/null 2>&1; cat $X 3>&-', workspace)

    assert (verdict.paths_read, verdict.paths_written) == ((), ())


async def test_a_text_that_names_too_much_to_look_at_is_judged_all_the_same(workspace: Path) -> None:
    braces = "{a,b}" * 40
    folders = "".join(f"cd sub{place}; " for place in range(60))

    chain = " ".join(f"V{place}=$V{place + 1}$V{place + 2}" for place in range(400))
    verdict = await judge(f"{folders} cat {braces} /*/*/*/*/x $Y a; {chain}; cat $V0/x", workspace)

    assert str(workspace / "a") in verdict.paths_read


async def test_each_part_has_its_own_objection(workspace: Path) -> None:
    verdict = await judge("ls && rm x | sort -o y", workspace)

    assert [(part.command.name, part.objection is None) for part in verdict.parts] == [
        ("ls", True),
        ("rm", False),
        ("sort", False),
    ]
    assert [part.refused for part in verdict.parts] == [frozenset(), frozenset(), frozenset({"-o"})]
    assert verdict.reason == "rm is not known only to read"


async def test_an_opaque_command_says_why_and_shows_what_was_made_out(workspace: Path) -> None:
    verdict = await judge("while true; do rm x; done", workspace)

    assert verdict.unclear == "it has a loop"
    assert verdict.reason == "what it does is not known: it has a loop"
    assert [command.words for command in verdict.commands] == [("true",), ("rm", "x")]
    assert all(part.objection for part in verdict.parts)


async def test_a_program_of_the_workspace_is_not_taken_for_the_systems(workspace: Path) -> None:
    planted = plant(workspace / "bin", "ls")
    gate = gate_for(workspace, path=f"{workspace / 'bin'}:{os.defpath}")

    verdict = await gate.judge("ls", workspace)
    other = await gate.judge("cat a", workspace)

    assert str(planted) in verdict.reason
    assert not verdict.is_read_only
    assert other.is_read_only


async def test_a_program_from_a_folder_that_is_not_the_systems_is_asked_about(
    workspace: Path, tmp_path: Path
) -> None:
    plant(tmp_path / "own", "cat")

    verdict = await gate_for(workspace, path=f"{tmp_path / 'own'}:{os.defpath}").judge("cat a", workspace)

    assert not verdict.is_read_only


async def test_a_program_that_is_not_there_does_nothing(workspace: Path) -> None:
    verdict = await gate_for(workspace, path=str(workspace / "nowhere")).judge("rg x sub", workspace)

    assert verdict.is_read_only


async def test_the_folder_it_runs_in_is_where_paths_start(workspace: Path) -> None:
    inside = await judge("cat ../a", workspace, cwd=workspace / "sub")
    outside = await judge("cat ../../a", workspace, cwd=workspace / "sub")

    assert inside.is_read_only
    assert not outside.is_read_only


async def test_every_root_of_the_workspace_may_be_read(workspace: Path) -> None:
    other = workspace.parent / "other"
    other.mkdir()

    alone = await judge(f"ls {other}", workspace)
    both = await gate_for(workspace, other).judge(f"ls {other}", workspace)

    assert not alone.is_read_only
    assert both.is_read_only


def test_the_grammar_is_not_loaded_before_there_is_a_command() -> None:
    code = (
        "import sys, quorum.infrastructure.execution.shell.gate; assert 'tree_sitter' not in sys.modules; "
        "from quorum.infrastructure.execution.shell.parsing import parse; parse('ls'); "
        "assert 'tree_sitter' in sys.modules"
    )

    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stderr.decode()


async def test_many_judgements_at_once_are_the_same_as_one_by_one(workspace: Path) -> None:
    gate = gate_for(workspace)
    commands = ["ls -la", "rm x", "cat .env", "cat a | head -3", "echo $(id)", "grep -rn x sub"] * 10

    together = await asyncio.gather(*(gate.judge(command, workspace) for command in commands))

    assert [v.is_read_only for v in together] == [True, False, False, True, False, True] * 10


def test_only_so_many_files_are_looked_through(workspace: Path) -> None:
    for number in range(20):
        (workspace / "sub" / f"file{number}").touch()
    policy = PathPolicy(roots=(str(workspace),))
    use = PathUse("sub", Reading.ALL_BELOW)

    assert Reach(policy, most_entries=30).require_readable(use, str(workspace)) == str(workspace / "sub")
    with pytest.raises(OutOfReach, match="too many files"):
        Reach(policy, most_entries=15).require_readable(use, str(workspace))


def test_a_folder_that_was_looked_through_is_not_counted_again(workspace: Path) -> None:
    for number in range(20):
        (workspace / "sub" / f"file{number}").touch()
    reach = Reach(PathPolicy(roots=(str(workspace),)), most_entries=30)
    use = PathUse("sub", Reading.ALL_BELOW)

    paths = {reach.require_readable(use, str(workspace)) for _ in range(5)}

    assert paths == {str(workspace / "sub")}


async def test_a_folder_that_cannot_be_looked_into_is_asked_about(workspace: Path) -> None:
    # Longer than a path can be, by way of folders that are each allowed.
    deep = workspace
    descriptor = os.open(deep, os.O_RDONLY)
    try:
        for _ in range(20):
            os.mkdir("n" * 250, dir_fd=descriptor)
            below = os.open("n" * 250, os.O_RDONLY, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = below
    finally:
        os.close(descriptor)

    verdict = await judge("grep -r x " + "n" * 250, workspace)

    assert not verdict.is_read_only
    assert "cannot be looked into" in verdict.reason


@pytest.mark.parametrize("entry", ["{root}/.venv/bin", "{root}/not/there", "{link}", "tools", ""])
async def test_a_script_is_not_proved_while_the_workspace_can_put_programs_on_the_path(
    workspace: Path, tmp_path: Path, entry: str
) -> None:
    (tmp_path / "link").symlink_to(workspace / "sub")
    plant(tmp_path / "system", "egrep")
    shutil.copy(shutil.which("cat") or "", tmp_path / "system" / "cat")
    policy = PathPolicy(roots=(str(workspace),))
    system = str(workspace.parent / "system")
    entered = f"{system}:{entry.format(root=workspace, link=tmp_path / 'link')}"

    gates = {path: ShellGate(policy, SystemPrograms(path, policy, [system])) for path in (system, entered)}
    verdicts = {path: await gate.judge("egrep x a", workspace) for path, gate in gates.items()}

    assert verdicts[system].is_read_only
    assert not verdicts[entered].is_read_only
    assert "egrep is a script" in verdicts[entered].reason
    assert (await gates[entered].judge("cat a", workspace)).is_read_only
