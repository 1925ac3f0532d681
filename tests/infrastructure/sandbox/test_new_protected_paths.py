"""Protected paths that a command makes in the sandbox, where a mount cannot stand in its way."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from pathlib import Path

import pytest

from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.text.output import Printed
from quorum.infrastructure.execution.sandbox.guarded_files import find_guarded
from quorum.infrastructure.execution.sandbox.new_protected_paths import ProtectedPathCheck
from tests.infrastructure.commands.command_bench import RecordingControls, context_with, run_out_of_time
from tests.infrastructure.sandbox.sandbox_bench import Household, a_repository, needs_bubblewrap

pytestmark = needs_bubblewrap


class _ReadyControls(RecordingControls):
    """Controls that know when the command has printed."""

    def __init__(self) -> None:
        super().__init__()
        self.ready = asyncio.Event()

    def report(self, shown: str | Printed) -> None:
        self.ready.set()


def protected_in(root: Path) -> list[str]:
    found = find_guarded([str(root.resolve())], PathPolicy(roots=(str(root.resolve()),)))
    return sorted(os.path.relpath(path, root.resolve()) for path in found.places)


@pytest.mark.parametrize(
    "command",
    [
        "touch AGENTS.md",
        "mkdir -p .github/workflows && echo x > .github/workflows/ci.yml && echo x > .github/CODEOWNERS",
        "mkdir -p deep/er && cd deep/er && git init -q && git config core.fsmonitor ./x",
        "echo 'export X=1' > .envrc",
        "ln -s elsewhere .vscode; echo x > elsewhere",
        "echo x > plain; ln plain CLAUDE.md; mv CLAUDE.md Claude.MD",
        "mkdir sub && touch sub/.mise.toml && chmod 555 sub",
        "mkdir .aws && mkdir .aws/.git && touch .aws/x.code-workspace",
        "mkdir .claude && touch .claude/CLAUDE.md && chmod 500 .claude",
        "mkdir -p gradle/wrapper node_modules/a && git init -q node_modules/a",
        "touch AGENTS.md & sleep 0.2; exit 7",
        "touch AGENTS.md; kill -9 $$",
    ],
)
async def test_what_nobody_was_asked_about_is_renamed_and_nothing_obeys_it(
    household: Household, command: str
) -> None:
    said = await household.run(command)

    assert protected_in(household.root) == []
    assert "were renamed, because nobody was asked about them" in said
    assert "set-aside-" in said


async def test_its_content_is_kept_under_the_new_name(household: Household) -> None:
    (household.root / "set-aside-AGENTS.md~1").write_text("older\n")

    said = await household.run("echo obey > AGENTS.md")

    assert f"{household.root}/AGENTS.md is now set-aside-AGENTS.md~2." in said
    assert (household.root / "set-aside-AGENTS.md~2").read_text() == "obey\n"
    assert (household.root / "set-aside-AGENTS.md~1").read_text() == "older\n"


async def test_a_folder_put_in_the_place_of_one_that_held_a_protected_file_is_searched(
    household: Household,
) -> None:
    household.write("src/project/sub/AGENTS.md", "mine\n")

    said = await household.run("mv sub moved; mkdir sub; echo obey > sub/AGENTS.md")

    assert f"{household.root}/sub/AGENTS.md is now" in said
    assert protected_in(household.root) == ["moved/AGENTS.md"]
    assert (household.root / "moved/AGENTS.md").read_text() == "mine\n"


async def test_a_link_that_was_protected_and_leads_elsewhere_now_is_renamed(household: Household) -> None:
    household.write("src/project/docs/a.md", "mine\n")
    (household.root / "AGENTS.md").symlink_to("docs/a.md")
    (household.root / "CLAUDE.md").symlink_to("not-there-yet")

    said = await household.run("mv docs away; mkdir docs; echo obey > docs/a.md; echo obey > CLAUDE.md")

    assert "AGENTS.md is now set-aside-AGENTS.md~1" in said
    assert "CLAUDE.md is now set-aside-CLAUDE.md~1" in said
    assert protected_in(household.root) == []


async def test_what_was_there_before_stays_where_it_is(household: Household) -> None:
    a_repository(household.root)
    household.write("src/project/.envrc", "mine\n")
    household.write("src/project/sub/AGENTS.md", "mine\n")
    (household.root / "CLAUDE.md").symlink_to("sub/AGENTS.md")
    before = protected_in(household.root)

    said = await household.run("mv sub moved; mv moved sub; echo x > new; git status --short")

    assert "renamed" not in said
    assert protected_in(household.root) == before


async def test_what_somebody_else_replaced_in_its_folder_meanwhile_stays(household: Household) -> None:
    file = household.write("src/project/AGENTS.md", "mine\n")
    policy = household.policy()
    check = ProtectedPathCheck(policy, find_guarded([str(household.root)], policy))
    (household.root / "edited").write_text("newer\n")
    (household.root / "edited").rename(file)

    assert check.finish(was_asked=False) == []
    assert file.read_text() == "newer\n"


async def test_a_protected_file_is_closed_under_its_second_name_too(household: Household) -> None:
    file = household.write("src/project/sub/AGENTS.md", "mine\n")
    os.link(file, household.root / "second")

    said = await household.run("echo obey > second; mkdir x; ln second x/AGENTS.md")

    assert "second: Read-only file system" in said
    assert file.read_text() == "mine\n"
    assert not (household.root / "x/AGENTS.md").exists()


async def test_a_freed_link_lends_its_number_to_nothing(household: Household) -> None:
    for number in range(50):
        (household.root / f"d{number}").mkdir()
        (household.root / f"d{number}/AGENTS.md").symlink_to("nowhere")

    await household.run("rm d*/AGENTS.md; for n in $(seq 50); do mkdir e$n; echo x > e$n/CLAUDE.md; done")

    assert protected_in(household.root) == []


@pytest.mark.long
async def test_it_is_renamed_where_the_time_is_up_or_the_call_is_cancelled(household: Household) -> None:
    running = household.run("touch AGENTS.md begun; sleep 60")
    said = await run_out_of_time(running, once=(household.root / "begun").exists)
    assert "were renamed, because nobody was asked" in said
    controls = _ReadyControls()
    given = {"command": "touch CLAUDE.md; echo ready; sleep 60"}
    running = asyncio.ensure_future(household.tool().execute(given, context_with(controls)))
    await controls.ready.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert protected_in(household.root) == []


async def test_a_part_of_an_opened_repository_that_runs_programs_is_renamed(household: Household) -> None:
    a_repository(household.root)
    shutil.rmtree(household.root / ".git/hooks")
    household.writable.append(str(household.root / ".git"))

    said = await household.run(
        "mkdir .git/hooks; echo evil > .git/hooks/pre-commit; echo ../x > .git/commondir"
    )

    assert re.search(r"\.git/hooks is now set-aside-hooks~1", said)
    assert not (household.root / ".git/hooks").exists()
    assert not (household.root / ".git/commondir").exists()


async def test_what_cannot_be_renamed_is_said(household: Household) -> None:
    policy = PathPolicy(roots=(str(household.root),), protected=("*gents*",))
    check = ProtectedPathCheck(policy, find_guarded([str(household.root)], policy))
    (household.root / "agents").touch()

    assert "could not be renamed" in check.finish(was_asked=False)[0]


async def test_a_folder_that_became_a_link_meanwhile_leads_to_nothing_outside(household: Household) -> None:
    mine = household.write("elsewhere/AGENTS.md", "mine\n")
    policy = household.policy()
    check = ProtectedPathCheck(policy, find_guarded([str(household.root)], policy))
    (household.root / "sub").symlink_to(mine.parent)

    with pytest.raises(OSError, match="sub"):
        check._rename(str(household.root / "sub" / "AGENTS.md"))

    assert mine.read_text() == "mine\n"
