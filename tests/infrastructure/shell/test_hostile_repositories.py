"""Repositories that try to have something run by whoever looks at them, with the real git."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import pytest

from quorum.infrastructure.execution.shell.gate import READ_ONLY_ENVIRONMENT
from tests.infrastructure.shell.repository_bench import git, mark_of, run_as_judged
from tests.support.shell_gates import judge

if shutil.which("git") is None:
    pytest.skip("git is not installed here", allow_module_level=True)

LOOKING = [
    "git status",
    "git status --short --branch",
    "git diff",
    "git diff --cached --stat",
    "git log --oneline -5",
    "git log -p -2 -- a.txt",
    "git show HEAD",
    "git show HEAD:a.txt",
    "git branch --list",
    "git branch -a -vv",
    "git rev-parse --show-toplevel",
    "git ls-files",
    "git blame a.txt",
    "git grep -n line",
    "git tag -l 'v*'",
    "git remote -v",
    "git stash list",
    "git --no-pager log -3 --format='%h %s'",
    "git -C sub status",
    "git describe --always",
    "git diff HEAD~1 -- a.txt",
    "git log main..HEAD",
]

# Settings by which a repository has a program run: each writes a mark when that happens.
HOSTILE_SETTINGS = {
    "core.pager": "{script}",
    "pager.status": "{script}",
    "core.sshCommand": "{script}",
    "core.attributesFile": "x",
    "core.excludesFile": "/etc/passwd",
    "core.worktree": "/",
    "diff.external": "{script}",
    "diff.evil.textconv": "{script}",
    "diff.evil.command": "{script}",
    "filter.evil.clean": "{script}",
    "filter.evil.process": "{script}",
    "filter.evil.smudge": "{script}",
    "gpg.program": "{script}",
    "log.diffMerges": "remerge",
    "format.pretty": "%G?",
    "mailmap.file": "/etc/passwd",
    "include.path": "x",
    "includeIf.gitdir:/.path": "x",
    "remote.origin.uploadpack": "{script}",
    "remote.origin.vcs": "x",
    "submodule.sub.update": "!{script}",
    "trailer.x.command": "{script}",
    "interactive.diffFilter": "{script}",
    "uploadpack.packObjectsHook": "{script}",
    "unheard.command": "{script}",
    "unheard.of.hookScript": "{script}",
    "branch.main.helper": "{script}",
}

HOOKS = (
    *("applypatch-msg", "commit-msg", "fsmonitor-watchman", "post-applypatch", "post-checkout", "post-commit"),
    *("post-index-change", "post-merge", "post-rewrite", "pre-auto-gc", "pre-commit", "pre-merge-commit"),
    *("pre-push", "pre-rebase", "reference-transaction", "update"),
)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in folder.rglob("*") if p.is_file() and not p.is_symlink()}


@pytest.mark.long(after=4)
@pytest.mark.parametrize("command", LOOKING)
async def test_looking_at_a_plain_repository_is_read_only_and_changes_nothing(
    command: str, repository: Path
) -> None:
    before = contents(repository)

    verdict = await judge(command, repository)
    done = run_as_judged(command, repository, verdict.environment)

    assert verdict.is_read_only, verdict.reason
    assert done.returncode == 0, done.stderr
    assert contents(repository) == before


@pytest.mark.long(after=6)
@pytest.mark.parametrize(("setting", "value"), HOSTILE_SETTINGS.items())
async def test_a_setting_that_may_run_something_is_asked_about(
    setting: str, value: str, repository: Path
) -> None:
    git(repository, "config", setting, value.format(script=repository.parent / "script"))

    verdicts = [await judge(command, repository) for command in LOOKING]

    assert not any(verdict.is_read_only for verdict in verdicts)
    assert all(".git/config" in verdict.reason for verdict in verdicts)


@pytest.mark.parametrize(
    "text",
    [
        "[core] fsmonitor = ./x\n",
        "[core]\n\tbare = \\\n\tfsmonitor = ./x\n",
        "[diff.evil]\n\ttextconv = ./x\n",
        "[unheard.evil]\n\tof = ./x\n",
        "[unheard] of = 1\n",
        '[diff "evil"]\n\talgorithm = x\n',
        "\ufeff[core]\n",
        "[core\n",
        "no section = 1\n",
        "# a\rfsmonitor = ./x\n[core]\n\x0bfsmonitor = ./x\n",
        "[core]\n\tpager\n",
    ],
)
async def test_settings_written_in_odd_ways_are_asked_about(text: str, repository: Path) -> None:
    (repository / ".git" / "config").write_text(text, encoding="utf-8", newline="")

    verdict = await judge("git status", repository)

    assert not verdict.is_read_only


async def test_the_settings_of_a_usual_clone_are_harmless(repository: Path) -> None:
    git(repository, "remote", "add", "origin", "https://example.org/x.git")
    git(repository, "config", "branch.main.remote", "origin")
    git(repository, "config", "branch.main.merge", "refs/heads/main")
    git(repository, "config", "user.email", "someone@example.org")
    git(repository, "config", "submodule.active", ".")

    verdict = await judge("git status && git log --oneline | head -3", repository)

    assert verdict.is_read_only, verdict.reason


@pytest.mark.parametrize(
    ("setting", "value"),
    {
        "blame.ignoreRevsFile": ".git-blame-ignore-revs",
        "log.showSignature": "true",
        "merge.evil.driver": "{script}",
        "branch.main.mergeOptions": "-s evil",
        "branch.main.vscode-merge-base": "origin/main",
        "branch.main.gk-associated-issues": "[]",
        "branch.main.quorumBase": "0123",
        "gitflow.prefix.feature": "feature/",
        "gitflow.path.hooks": ".git/hooks",
        "gitlens.defaultRemote": "origin",
        "gui.geometry": "10x10+0+0 1 1",
        "safe.directory": "*",
        "dvc.cache": "x",
        "codespace.name": "x",
        "column.ui": "auto",
        "commit.template": ".gitmessage",
        "gpg.format": "ssh",
        "help.autocorrect": "1",
        "git-town.main-branch": "main",
        "svn-remote.svn.url": "https://example.org/x",
        "lfs.https://example.org/x.access": "basic",
    }.items(),
)
async def test_settings_of_other_programs_and_unused_ones_are_harmless_and_run_nothing(
    setting: str, value: str, repository: Path
) -> None:
    (repository / ".git-blame-ignore-revs").touch()
    git(repository, "config", setting, value.format(script=repository.parent / "script"))

    for command in ("git status", "git log -1 -p", "git blame a.txt"):
        verdict = await judge(command, repository)
        assert verdict.is_read_only, verdict.reason
        run_as_judged(command, repository, verdict.environment)

    assert not mark_of(repository).exists()


async def test_a_file_that_blame_is_told_to_read_is_not_printed(repository: Path) -> None:
    (repository / ".env").write_text("TOKEN=1\n")
    (repository / ".git-blame-ignore-revs").symlink_to(".env")

    for file in (".env", "../outside", ".git-blame-ignore-revs"):
        git(repository, "config", "blame.ignoreRevsFile", file)
        assert not (await judge("git blame a.txt", repository)).is_read_only


@pytest.mark.parametrize("setting", ["core.fsmonitor", "filter.evil.clean", "diff.evil.textconv"])
async def test_the_attacks_of_these_tests_are_real(setting: str, repository: Path) -> None:
    (repository / ".gitattributes").write_text("*.txt filter=evil diff=evil\n")
    os.utime(repository / "a.txt", (0, 0))

    git(repository, "-c", f"{setting}={repository.parent / 'script'}", "diff")

    assert mark_of(repository).exists()


async def test_the_environment_alone_keeps_monitors_and_hooks_from_running(repository: Path) -> None:
    script = repository.parent / "script"
    git(repository, "config", "core.fsmonitor", str(script))
    (repository / ".git" / "hooks").mkdir(exist_ok=True)
    shutil.copy(script, repository / ".git" / "hooks" / "post-index-change")

    for command in LOOKING:
        run_as_judged(command, repository, READ_ONLY_ENVIRONMENT)

    assert not mark_of(repository).exists()


@pytest.mark.long
async def test_settings_that_are_switched_off_or_unused_run_nothing(repository: Path) -> None:
    script = repository.parent / "script"
    for name in HOOKS:
        target = repository / "hooks" / name
        target.parent.mkdir(exist_ok=True)
        shutil.copy(script, target)
    settings = {
        "core.repositoryformatversion": "1",
        "core.fsmonitor": str(script),
        "core.hooksPath": "hooks",
        "core.editor": str(script),
        "alias.status": f"!{script}",
        "alias.log": f"!{script}",
        "credential.helper": f"!{script}",
        "credential.https://example.org.helper": f"!{script}",
        "remote.origin.url": "https://example.org/x",
        "remote.origin.promisor": "true",
        "extensions.partialClone": "origin",
        f"url.ext::{script} %S .insteadOf": "https://example.org/",
        "submodule.x.ignore": "none",
        "maintenance.auto": "true",
        "feature.experimental": "true",
    }
    for key, value in settings.items():
        git(repository, "config", key, value)
    os.utime(repository / "a.txt", (0, 0))
    # Git would fetch what is missing from where the settings say.
    missing = git(repository, "rev-parse", "HEAD:a.txt").strip()
    (repository / ".git" / "objects" / missing[:2] / missing[2:]).unlink()

    # What is named by its hash is asked about, as it may be the content of any file.
    asked = f"git show {missing}"
    for command in (*LOOKING, "git show HEAD~1 -- a.txt", asked):
        verdict = await judge(command, repository)
        if command != "git remote -v":
            assert verdict.is_read_only is (command != asked), (command, verdict.reason)
        run_as_judged(command, repository, verdict.environment or READ_ONLY_ENVIRONMENT)

    assert not mark_of(repository).exists()


@pytest.mark.long
async def test_hooks_attributes_and_ignore_files_run_nothing(repository: Path) -> None:
    script = repository.parent / "script"
    for name in HOOKS:
        shutil.copy(script, repository / ".git" / "hooks" / name)
    (repository / ".gitattributes").write_text("* filter=evil diff=evil merge=evil ident export-subst\n")
    (repository / ".git" / "info" / "attributes").write_text("* filter=evil diff=evil\n")
    (repository / ".gitignore").write_text("!$(touch mark)\n`touch mark`\n")
    os.utime(repository / "a.txt", (0, 0))

    for command in LOOKING:
        verdict = await judge(command, repository)
        assert verdict.is_read_only, verdict.reason
        run_as_judged(command, repository, verdict.environment)

    assert not mark_of(repository).exists()


async def test_a_submodule_is_not_entered_unasked(repository: Path, tmp_path: Path) -> None:
    other = repository / "module"
    shutil.copytree(repository / ".git", other / ".git")
    git(repository, "-c", "advice.addEmbeddedRepo=false", "add", "module")
    git(other, "config", "core.fsmonitor", str(tmp_path / "script"))

    status = await judge("git status", repository)
    history = await judge("git log --oneline", repository)

    assert "submodule" in status.reason
    assert not status.is_read_only
    assert history.is_read_only, history.reason


@pytest.mark.parametrize("command", ["git diff", "git show", "git log -p", "git grep x"])
async def test_contents_are_not_shown_unasked_where_something_sensitive_is_tracked(
    command: str, repository: Path
) -> None:
    (repository / "sub" / ".env").write_text("TOKEN=1")
    git(repository, "add", "-f", "sub/.env")

    contents_verdict = await judge(command, repository)
    names_verdict = await judge("git status && git log --stat", repository)

    assert not contents_verdict.is_read_only
    assert ".env" in contents_verdict.reason
    assert names_verdict.is_read_only, names_verdict.reason


@pytest.mark.parametrize(
    "command",
    [
        "git log -G^TOKEN",
        "git log --format=%h -STOKEN -n 1",
        "git log -1 -G x --pickaxe-regex",
        "git log --raw",
        "git grep -c TOKEN",
        "git grep -q TOKEN HEAD",
        "git ls-files -s",
        "git ls-tree -r HEAD",
    ],
)
async def test_nothing_is_told_by_which_a_sensitive_content_can_be_guessed(
    command: str, repository: Path
) -> None:
    (repository / "sub" / ".env").write_text("TOKEN=1")
    (repository / "plain").mkdir()
    (repository / "plain" / "b.txt").write_text("b")
    git(repository, "add", "-f", ".")

    whole = await judge(command, repository)
    limited = await judge(f"{command} -- plain", repository)

    assert not whole.is_read_only
    assert limited.is_read_only, limited.reason


@pytest.mark.parametrize("command", ["git log -G^TOKEN", "git log -5 -STOKEN", "git grep -q TOKEN HEAD"])
async def test_a_choice_by_contents_among_former_commits_is_asked_about(command: str, repository: Path) -> None:
    verdict = await judge(command, repository)

    assert not verdict.is_read_only
    assert "history" in verdict.reason


@pytest.mark.parametrize("version", ["2", "3", "4"])
async def test_every_version_of_the_index_is_understood(version: str, repository: Path) -> None:
    names = [f"folder{i % 7}/file{i}.txt" for i in range(60)] + ["folder1/.env"]
    for name in names:
        (repository / name).parent.mkdir(exist_ok=True)
        (repository / name).write_text("x")
    git(repository, "add", "-f", ".")
    git(repository, "add", "-f", "-N", "folder1/.env")
    git(repository, "update-index", "--index-version", version)

    verdict = await judge("git diff", repository)

    assert verdict.reason == f"git may show {repository / 'folder1' / '.env'}, which is sensitive"


@pytest.mark.parametrize("damage", [b"", b"DIRC", b"DIRC\0\0\0\2\0\0\0\1", b"x" * 200])
async def test_a_damaged_index_is_asked_about(damage: bytes, repository: Path) -> None:
    (repository / ".git" / "index").write_bytes(damage)

    verdict = await judge("git status", repository)

    assert not verdict.is_read_only
    assert "index" in verdict.reason


async def test_a_split_index_is_asked_about(repository: Path) -> None:
    git(repository, "update-index", "--split-index")

    verdict = await judge("git status", repository)

    assert not verdict.is_read_only


async def test_a_linked_working_tree_is_judged_by_the_settings_it_shares(
    repository: Path, tmp_path: Path
) -> None:
    linked = tmp_path / "linked"
    git(repository, "worktree", "add", "-q", str(linked))

    before = await judge("git status", linked)
    git(repository, "config", "core.sshCommand", "x")
    after = await judge("git status", linked)

    assert before.is_read_only, before.reason
    assert not after.is_read_only


async def test_a_folder_made_up_as_a_bare_repository_is_asked_about(repository: Path) -> None:
    trap = repository / "trap"
    shutil.copytree(repository / ".git", trap)
    git(trap, "config", "core.fsmonitor", "x")

    for command, cwd in (
        ("git status", trap),
        ("git -C trap status", repository),
        ("cd trap && git log", repository),
    ):
        verdict = await judge(command, repository, cwd=cwd)
        assert not verdict.is_read_only


async def test_a_bare_repository_whose_parts_lie_elsewhere_is_asked_about(repository: Path) -> None:
    trap = repository / "trap"
    shutil.copytree(repository / ".git", trap / "parts")
    (trap / "HEAD").write_text("ref: refs/heads/main\n")
    (trap / "commondir").write_text("parts\n")
    git(trap / "parts", "config", "core.bare", "true")
    git(trap / "parts", "config", "diff.evil.textconv", f"{repository.parent / 'script'} <")
    (trap / "parts" / "info" / "attributes").write_text("* diff=evil\n")

    verdict = await judge("git -C trap show", repository)
    run_as_judged("git -C trap show", repository, READ_ONLY_ENVIRONMENT)

    assert mark_of(repository).exists()
    assert "bare repository" in verdict.reason


@pytest.mark.parametrize("head", [None, "ref: elsewhere\n", "ref: refs/heads/main\n"])
async def test_what_git_passes_over_does_not_hide_the_repository_above_it(
    head: str | None, repository: Path
) -> None:
    (repository / ".env").write_text("secret\n")
    git(repository, "add", ".env")
    git(repository, "commit", "-q", "-m", "x")
    (repository / "sub" / ".git").mkdir()
    if head is not None:
        (repository / "sub" / ".git" / "HEAD").write_text(head)

    verdict = await judge("git -C sub show", repository)

    assert "secret" in run_as_judged("git -C sub show", repository, READ_ONLY_ENVIRONMENT).stdout
    assert not verdict.is_read_only


@pytest.mark.parametrize("way", ["file", "link", "commondir", "linked objects", "linked folder", "alternates"])
async def test_another_repository_is_not_shown_by_way_of_this_one(
    way: str, repository: Path, tmp_path: Path
) -> None:
    theirs = repository / ".git"
    trap = tmp_path / "trap"
    trap.mkdir()
    git(trap, "init", "-q", "-b", "main")
    ours = trap / ".git"
    shutil.copytree(theirs / "refs", ours / "refs", dirs_exist_ok=True)
    match way:
        case "file":
            shutil.rmtree(ours)
            ours.write_text(f"gitdir: {theirs}\n")
        case "link":
            shutil.rmtree(ours)
            ours.symlink_to(theirs)
        case "commondir":
            (ours / "commondir").write_text(f"{theirs}\n")
        case "linked objects":
            shutil.rmtree(ours / "objects")
            (ours / "objects").symlink_to(theirs / "objects")
        case "linked folder":
            for folder in (theirs / "objects").glob("??"):
                (ours / "objects" / folder.name).symlink_to(folder)
        case "alternates":
            (ours / "objects" / "info" / "alternates").write_text(f"{theirs / 'objects'}\n")

    verdict = await judge("git show HEAD:a.txt", trap)

    assert "line" in run_as_judged("git show HEAD:a.txt", trap, READ_ONLY_ENVIRONMENT).stdout
    assert not verdict.is_read_only


async def test_a_linked_working_tree_shows_its_contents(repository: Path, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    git(repository, "worktree", "add", "-q", str(linked))

    verdict = await judge("git show HEAD", linked)

    assert verdict.is_read_only, verdict.reason


async def test_a_working_tree_cannot_claim_to_be_linked(repository: Path, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    feigned = trap / "feigned" / "worktrees" / "x"
    feigned.mkdir(parents=True)
    (trap / ".git").write_text(f"gitdir: {feigned}\n")
    (feigned / "gitdir").write_text(f"{trap / '.git'}\n")
    (feigned / "commondir").write_text(f"{repository / '.git'}\n")
    (feigned / "HEAD").write_text("ref: refs/heads/main\n")

    verdict = await judge("git show HEAD:a.txt", trap)

    assert "line" in run_as_judged("git show HEAD:a.txt", trap, READ_ONLY_ENVIRONMENT).stdout
    assert not verdict.is_read_only


async def test_a_tracked_folder_that_became_a_link_is_not_searched(repository: Path, tmp_path: Path) -> None:
    shutil.rmtree(repository / "sub")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "b.txt").write_text("secret\n")
    (repository / "sub").symlink_to("../elsewhere")

    verdict = await judge("git grep -n secret", repository)

    assert "secret" in run_as_judged("git grep -n secret", repository, READ_ONLY_ENVIRONMENT).stdout
    assert "symbolic link" in verdict.reason


@pytest.mark.parametrize("command", ["git diff", "git status", "git grep -n secret"])
async def test_an_index_that_names_files_outside_is_asked_about(command: str, repository: Path) -> None:
    (repository.parent / "c.txt").write_text("secret\n")
    (repository / "in").mkdir()
    (repository / "in" / "c.txt").write_text("plain\n")
    git(repository, "add", "in")
    index = repository / ".git" / "index"
    data = index.read_bytes()[:-20].replace(b"in/c.txt", b"../c.txt")
    index.write_bytes(data + hashlib.sha1(data, usedforsecurity=False).digest())

    verdict = await judge(command, repository)

    assert not verdict.is_read_only


async def test_a_pipe_in_place_of_the_settings_does_not_block(repository: Path) -> None:
    (repository / ".git" / "config").unlink()
    os.mkfifo(repository / ".git" / "config")

    verdict = await judge("git status", repository)

    assert not verdict.is_read_only


async def test_files_outside_the_workspace_are_not_shown_unasked(repository: Path) -> None:
    verdict = await judge("git diff", repository / "sub")

    assert "outside the workspace" in verdict.reason


async def test_git_does_not_compare_files_where_there_is_no_repository(tmp_path: Path) -> None:
    verdict = await judge("git diff a b", tmp_path)

    assert not verdict.is_read_only
