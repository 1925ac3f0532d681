"""Globs, loops, wrappers and languages: what is proved read-only of them, and what is asked about."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from quorum.domain.calls.access import EXCLUSIVE
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.review.permission_rules import Answer, Rule, Subject, find_matching_rules
from tests.infrastructure.shell.repository_bench import git
from tests.support.shell_gates import judge

READ_ONLY = [
    "cat *.py",
    "grep -n x *.py sub/*.txt",
    "wc -l */*.txt",
    "echo *",
    "cat *.nothing",
    "grep -rn x --include=*.py linked/in",
    "ls\ncat a.py # first\n\n# then\nhead b.py",
    'for f in a.py b.py; do echo "== $f"; head -3 $f; done',
    'for f in a.py b.py\ndo\n  wc -l "$f"\ndone | sort',
    'for f in *.py; do echo "--- $f ---"; wc -l $f; done | sort',
    'for f in sub/*.txt a.py; do wc -l < "$f"; done',
    "cd sub && for f in *.txt; do head -3 $f; done",
    'for f in *.nothing; do cat "$f"; done',
    'for f in ./*.py; do for g in sub/*.txt; do diff "$f" "$g"; done; done',
    'ls nowhere; echo $? "code: $?"',
    "ls &>/dev/null",
    "LC_ALL=C sort a.py",
    "/bin/ls -l",
    "command cat a.py",
    "command -v cat",
    "find sub -name '*.txt' -exec grep -n x {} \\;",
    "find sub linked/in -type f -exec head -3 {} +",
    "find . -name '*.py' -exec wc -l {} + -exec cat {} \\;",
    "find sub -name '*.txt' | xargs wc -l",
    "find . -name '*.py' | sort | head -20 | xargs grep -n x",
    "find sub \\( -name '*.txt' -o -name '*.md' \\) 2>/dev/null | grep -v d.txt | xargs -r -n 1 head -3",
    "find blank sub -type f -print0 | xargs -0 grep -n x --",
    "find . -name '*.py' -print | xargs -I{} head -1 {}",
    "find sub | xargs -I {} -P2 ls -l {}",
    "grep -rl x sub | xargs grep -n x",
    "grep -rlZ --include=*.txt x sub blank | xargs -0 cat",
    "rg -l x sub | xargs wc -l",
    "rg --files sub | xargs -d '\\n' cat",
    "cat a.py | xargs",
    "ls | xargs -n1 basename",
    "cat a.py | xargs -I{} echo 'x {}'",
    "grep -R x linked/in",
    "grep -R x linked --include=*.py",
    "awk '{print $1, NR}' a.py",
    "awk -F: -v x=1 'NR==1{n+=$2} END{print n+x}' a.py",
    "gcc --version; make --version",
    "cat '.env.example'",
]
ASKED = [
    # Names that are no paths, or options.
    "grep *.py .env.example",
    "head -n *.py",
    "find . -name *.py",
    "uniq *.py",
    "sort dash/* ; cd dash && sort *",
    "cd dash && cat *",
    "printf *.py",
    "cd *",
    "rm *.py",
    "git diff *.py",
    "cat > *.py",
    # What they stand for must not be read.
    "cat secret/*",
    "cat linked/*",
    "cat ../*",
    "ls /etc/*",
    "cat .e*",
    "cat .*/config",
    "cd linked && cat *",
    "cat [a]*",
    # Loops.
    "for f in a.py .env; do cat $f; done",
    "for f in a.py; do rm $f; done",
    "for f in *.nothing; do cat $f; done",
    "for f in *.py; do rm $f; done",
    "for f in *.py; do $f; done",
    "for f in tools/*; do $f; done",
    "for f in *.py; do cat x > $f; done",
    "for f in *.py; do grep $f .env.example; done",
    "for f in *.py; do head -n $f; done",
    "for f in *.py; do awk $f; done",
    "for f in *.py; do sort -o$f a.py; done",
    "for f in *.py; do find $f -name x; done",
    "for f in sub/*; do cd $f; done",
    "for f in su*; do command cd $f; cat c.txt; done",
    "for f in *; do ls; cd sub; done",
    "for f in *; do cat $f; done; cat $f",
    "for f in secret/*; do cat $f; done",
    "for f in linked/*; do cat $f; done",
    'for f in linked/*; do wc -l < "$f"; done',
    "for f in ../*; do cat $f; done",
    "for f in /etc/*; do cat $f; done",
    "for f in .e*; do cat $f; done",
    'for f in dash/*; do ls; done; cd dash && for f in *; do cat "$f"; done',
    "cd dash && for f in *; do cat -- $f; done",
    "cd sub; for f in *; do cat $f; done; cd ../linked; for f in *; do cat $f; done",
    "for f in blank/*; do cat $f; done",
    "for f in letters/?; do cat $f; done",
    "rm a.py; for f in *.py; do cat $f; done",
    "for f in a.py; do cat $f > x; done",
    "for LD_PRELOAD in ./x.so; do ls; done",
    "for http_proxy in x; do ls; done",
    "for f in a.py; do for f in .env; do true; done; cat $f; done",
    "for f in a.py; do $f; done",
    "for f in -o; do sort $f x; done",
    "cat $?",
    "ls > $?",
    # Lines.
    "ls\nrm a.py",
    "ls # \\\nrm a.py",
    "cat <<E\n$(id)\nE",
    # Variables that programs go by.
    "PATH=. ls",
    "GIT_PAGER=./x git log",
    "LANG=../../x ls",
    "TZ=/etc/passwd date",
    # Programs.
    "/nowhere/ls",
    "./ls",
    "command rm a.py",
    "command -p ls a.py -x",
    "/bin/sh -c ls",
    "make",
    "make --version -f a.py",
    "perl -e 1 --version",
    # What find runs.
    "find . -exec cat {} +",
    "find . -exec rm {} +",
    "find sub -exec sh -c 'cat {}' \\;",
    "find sub -exec uniq {} +",
    "find sub -exec grep {} a.py \\;",
    "find sub -exec grep -r x {} \\;",
    "find sub -exec printf {} \\;",
    "find sub -exec cat x{} \\;",
    "find sub -exec find {} -delete \\;",
    "find sub -exec sort -o {} a.py \\;",
    "find sub -exec cat .env \\;",
    "find . -name '*.py' -exec diff {} +",
    "find sub -name -exec cat {} + -delete",
    "find sub -execdir cat {} +",
    "find sub -ok cat {} \\;",
    "find sub -exec cat",
    "find . -name '*.py' -o -exec cat {} +",
    "find . ! -name '*.py' -exec cat {} +",
    "find . -exec cat {} + -name '*.py'",
    "find linked -exec cat {} +",
    # What xargs runs, and on what.
    "xargs cat",
    "xargs cat < a.py",
    "ls | xargs cat",
    "cat a.py | xargs wc -l",
    "echo .env | xargs cat",
    "find sub | xargs rm",
    "find sub | xargs sh -c x",
    "find sub | xargs grep",
    "find sub | xargs grep -r x",
    "find sub | xargs head -n",
    "find sub | xargs uniq",
    "find sub | xargs sort -o",
    "find sub | xargs cat .env",
    "find sub | xargs cat {}",
    "find sub | xargs -I{} cat x{}",
    "find sub | xargs -I{} -n 1 cat {}",
    "find sub | xargs -I% cat %",
    "cd braces && find sub | xargs -I{} cat {}",
    "find sub | xargs -a a.py cat",
    "find sub | xargs -p cat",
    "find sub | xargs -E x cat",
    "find sub | xargs -n cat",
    "find sub | xargs xargs cat",
    "find sub | xargs git diff --",
    "find sub | xargs awk",
    "find sub | xargs awk '{print}' -v",
    "find sub; xargs cat",
    "find sub || xargs cat",
    "find sub | xargs cat | xargs cat",
    "for f in a.py; do find sub; done | xargs cat",
    "find sub > x | xargs cat",
    "find sub 2>&1 | xargs cat",
    "find sub | sort < a.py | xargs cat",
    "find sub | sort a.py | xargs cat",
    "find sub | head -c 5 | xargs cat",
    "find sub | grep -n x | xargs cat",
    "find sub | grep x - | xargs cat",
    "find sub | grep x -v | xargs cat",
    "find sub | sed -n 1p | xargs cat",
    "find sub | cat | xargs -0 cat",
    "find sub | xargs -0 cat",
    "find sub -print0 | xargs cat",
    "find sub -print0 | xargs -0 -d '\\n' cat",
    "find sub -print0 | sort | xargs -0 cat",
    "find sub -printf x | xargs cat",
    "find sub -ls | xargs cat",
    "find . -print -name '*.py' | xargs cat",
    "find . -name '*.py' -o -print | xargs cat",
    "find . | xargs cat",
    "find blank | xargs cat",
    "find linked | xargs cat",
    "find -- -x | xargs cat",
    "find 'blank/a ..' | xargs cat",
    "grep -rl x | xargs cat",
    "grep -rl x . | xargs cat",
    "grep -r x sub | xargs cat",
    "grep -r x sub -l | xargs cat",
    "grep -rlZ x sub | xargs cat",
    "grep -rlc x sub | xargs cat",
    "grep -rl -f a.py sub | xargs cat",
    "rg -l x | xargs cat",
    "rg -L x sub | xargs cat",
    "rg x sub | xargs cat",
    "ls | xargs --show-limits",
    # What files of the workspace steer.
    "go version",
    "go env GOPATH",
    "go list ./...",
    "cargo --version",
    "npm ls",
    "npm --version",
    # Links that lead out of what is searched.
    "grep -R x linked",
    "grep -R x .",
    # Programs of awk.
    "awk 'BEGIN{system(\"touch x\")}'",
    "awk '{print > \"x\"}' a.py",
    "awk '{print | \"sh\"}' a.py",
    "awk 'BEGIN{while ((getline l < \".env\") ) print l}'",
    "awk 'BEGIN{for (k in ENVIRON) print ENVIRON[k]}'",
    "awk 'BEGIN{ARGV[1]=\".env\"; ARGC=2} {print}'",
    "awk 'BEGIN{sys\\\ntem(\"touch x\")}'",
    'awk \'BEGIN{f="sys" "tem"; @f("touch x")}\'',
    "awk -f a.py",
    "awk -v ARGC=3 '{print}' a.py",
    "awk '{print}' .env",
    "awk '{print}' ../outside",
]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = Path(os.path.realpath(tmp_path)) / "workspace"
    (root.parent / "outside").parent.mkdir(exist_ok=True)
    for name in (
        "a.py",
        "b.py",
        "sub/c.txt",
        "sub/d.txt",
        "secret/.x",
        "secret/key.pem",
        ".env",
        ".env.example",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x\n")
    for name in ("linked/in/f.txt", "dash/-o", "dash/a", "tools/ls", "blank/a ..", "letters/é"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x\n")
    (root.parent / "outside").write_text("secret")
    (root / "linked" / "out").symlink_to("../../outside")
    (root / "braces").mkdir()
    (root / "braces" / "{}").symlink_to("../../outside")
    (root / "linked" / "in" / "again").symlink_to("f.txt")
    return root


@pytest.mark.parametrize("command", READ_ONLY)
async def test_what_the_shell_expands_is_proved_by_what_it_stands_for(command: str, workspace: Path) -> None:
    verdict = await judge(command, workspace)

    assert verdict.is_read_only, verdict.reason
    assert verdict.unclear is None


@pytest.mark.long(after=21)
@pytest.mark.parametrize("command", ASKED)
async def test_what_may_do_more_than_read_is_asked_about(command: str, workspace: Path) -> None:
    verdict = await judge(command, workspace)

    assert not verdict.is_read_only
    assert not verdict.environment


async def test_the_parts_of_a_proved_glob_are_the_words_that_programs_get(workspace: Path) -> None:
    verdict = await judge("cat *.py", workspace)
    subject = Subject(
        tool="run_command", risk=RiskLevel.HIGH, access=EXCLUSIVE, command="cat *.py", shell=verdict
    )
    rule = Rule.parse("run_command(cat * b.py)", Answer.ASK, "test")

    assert [part.command.words for part in verdict.parts] == [("cat", "a.py", "b.py")]
    assert find_matching_rules([rule], subject, [str(workspace)]) == (rule,)


@pytest.mark.parametrize("command", ["rm *.py", "for f in a.py; do rm $f; done", "LC_ALL=C rm a.py"])
async def test_what_is_expanded_is_opaque_to_rules_unless_it_is_proved(command: str, workspace: Path) -> None:
    verdict = await judge(command, workspace)
    subject = Subject(tool="run_command", risk=RiskLevel.HIGH, access=EXCLUSIVE, command=command, shell=verdict)
    allow = Rule.parse("run_command(rm **)", Answer.ALLOW, "test")
    rules = [Rule.parse(f"run_command({text})", Answer.DENY, "test") for text in ("rm *", "shred *")]

    assert verdict.unclear is not None
    assert find_matching_rules([allow, *rules], subject, [str(workspace)]) == (rules[0],)


async def test_a_command_of_several_lines_is_covered_line_by_line(workspace: Path) -> None:
    command = "cd sub # there\npytest -q"
    verdict = await judge(command, workspace)
    subject = Subject(tool="run_command", risk=RiskLevel.HIGH, access=EXCLUSIVE, command=command, shell=verdict)
    rules = [Rule.parse(f"run_command({text})", Answer.ALLOW, "test") for text in ("read-only", "pytest *")]

    assert len(find_matching_rules(rules, subject, [str(workspace)])) == 2


# ---------------------------------------------------------------- contents of a repository, limited by paths


@pytest.mark.parametrize(
    "command",
    [
        "git diff -- a.txt",
        "git diff a.txt",
        "git diff HEAD -- a.txt",
        "git show HEAD:a.txt",
        "git show HEAD -- a.txt",
        "git log -p -- a.txt",
        "git log -p a.txt",
        "git blame a.txt",
        "git grep -n line -- a.txt",
    ],
)
async def test_contents_are_shown_unasked_where_paths_keep_out_what_is_sensitive(
    command: str, repository: Path
) -> None:
    (repository / "sub" / ".env").write_text("TOKEN=1")
    git(repository, "add", "-f", "sub/.env")

    verdict = await judge(command, repository)

    assert verdict.is_read_only, verdict.reason


@pytest.mark.parametrize(
    "command",
    [
        "git diff -- sub",
        "git diff -- . a.txt",
        "git diff HEAD",
        "git diff main",
        "git show HEAD:a.txt HEAD",
        "git show HEAD:sub",
        "git show HEAD:sub/.env",
        "git log --follow -p a.txt",
        "git grep line",
        "git diff -- ':/'",
        "git diff -- '*'",
        "cd .git && git diff a.txt",
    ],
)
async def test_contents_are_asked_about_where_paths_do_not_keep_out_what_is_sensitive(
    command: str, repository: Path
) -> None:
    (repository / "sub" / ".env").write_text("TOKEN=1")
    git(repository, "add", "-f", "sub/.env")

    verdict = await judge(command, repository)

    assert not verdict.is_read_only


@pytest.mark.parametrize(
    "command",
    [
        "git show {blob} -- a.txt",
        "git show {blob} a.txt",
        "git show {short} -- a.txt",
        "git show x-g{short} -- a.txt",
        "git diff {blob} a.txt",
        "git diff {blob} {other} -- a.txt",
        "git diff HEAD..{blob} -- a.txt",
        "git show ^{blob} -- a.txt",
        "git show {blob}^0 -- a.txt",
        "git grep TOKEN {blob} -- a.txt",
        "git grep TOKEN HEAD:sub -- a.txt",
        "git show HEAD:a.txt {blob}",
        "git show HEAD:sub -- a.txt",
        # A folder by its hash hides the names above what is sensitive in it.
        "git show {folder}:hosts.yml",
    ],
)
async def test_paths_do_not_limit_contents_that_are_named_by_their_hash(command: str, repository: Path) -> None:
    (repository / "sub" / ".env").write_text("TOKEN=1")
    (repository / ".config" / "gh").mkdir(parents=True)
    (repository / ".config" / "gh" / "hosts.yml").write_text("TOKEN=1")
    git(repository, "add", "-f", "sub/.env", ".config")
    folder = git(repository, "rev-parse", git(repository, "write-tree").strip() + ":.config/gh").strip()
    blob = git(repository, "rev-parse", ":sub/.env").strip()
    other = git(repository, "rev-parse", "HEAD:a.txt").strip()

    verdict = await judge(command.format(blob=blob, short=blob[:7], other=other, folder=folder), repository)

    assert not verdict.is_read_only


@pytest.mark.parametrize(
    "command",
    [
        *(
            "git log -p -1 -n 1000",
            "git log -p -2 --max-count=1000",
            "git log -1 -pn1000",
            "git log -p -1 -200",
        ),
        *("git log -p --author -1", "git show --all", "git show HEAD~1..HEAD", "git show ^HEAD~1 HEAD"),
        *(
            "git show HEAD^-5",
            "git show --walk-reflogs",
            "git show -50",
            "git show -n3 --diff-filter=D",
            "git show " + "HEAD " * 10,
        ),
    ],
)
async def test_a_history_is_not_shown_unasked_for_a_limit_that_does_not_hold_or_a_range(
    repository: Path, command: str
) -> None:
    assert "history" in (await judge(command, repository)).reason


@pytest.mark.parametrize("command", ["git log -p -n3", "git log -p -2 --oneline", "git show HEAD HEAD~1"])
async def test_a_few_commits_are_shown_unasked(repository: Path, command: str) -> None:
    assert (await judge(command, repository)).is_read_only


async def test_a_whole_history_is_not_shown_unasked(repository: Path) -> None:
    whole = await judge("git log --all -p", repository)
    one = await judge("git log -1 -p", repository)
    names = await judge("git log --all --stat", repository)

    assert "history" in whole.reason
    assert not whole.is_read_only
    assert one.is_read_only, one.reason
    assert names.is_read_only, names.reason


async def test_below_the_top_of_a_repository_files_of_the_workspace_are_shown_unasked(repository: Path) -> None:
    inside = repository / "sub"

    limited = await judge("git diff b.txt && git log -p -- b.txt && git diff -- .", inside)

    assert limited.is_read_only, limited.reason
    for command in ("git diff", "git diff -- ../a.txt", "git show HEAD:a.txt", "git diff HEAD"):
        assert not (await judge(command, inside)).is_read_only, command


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("core.hooksPath", ".husky"),
        ("core.fsmonitor", "true"),
        ("core.editor", "vim"),
        ("alias.st", "status"),
        ("http.https://example.org/.sslVerify", "true"),
        ("url.git@example.org:.insteadOf", "https://example.org/"),
        ("maintenance.auto", "false"),
        ("feature.manyFiles", "false"),
        ("credential.helper", "store"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.partialclonefilter", "blob:none"),
        ("blame.showEmail", "true"),
    ],
)
async def test_settings_that_reading_never_uses_are_not_asked_about(
    key: str, value: str, repository: Path
) -> None:
    git(repository, "config", key, value)

    verdict = await judge("git status && git diff", repository)

    assert verdict.is_read_only, verdict.reason


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("filter.x.clean", "./x"),
        ("diff.x.textconv", "./x"),
        ("include.path", "x"),
        ("core.sshCommand", "./x"),
        ("core.attributesFile", "x"),
        ("blame.ignoreRevsFile", "../secret"),
        ("format.pretty", "%GG"),
        ("remote.origin.uploadpack", "./x"),
        ("core.worktree", ".."),
    ],
)
async def test_settings_that_may_run_or_read_something_else_are_asked_about(
    key: str, value: str, repository: Path
) -> None:
    git(repository, "config", key, value)

    verdict = await judge("git status", repository)

    assert not verdict.is_read_only


@pytest.mark.parametrize("key", ["http.extraHeader", "alias.x", "credential.helper"])
async def test_a_search_through_settings_that_may_hold_tokens_is_asked_about(
    key: str, repository: Path
) -> None:
    git(repository, "config", key, "Authorization: Basic eDp5")

    verdict = await judge("grep -r x .git", repository)

    assert not verdict.is_read_only


@pytest.mark.parametrize(
    "command", ["shred >/dev/null -u a.py", "shred 2>&1 -u a.py | cat", "{ shred <<E -u a.py\nx\nE\n}"]
)
async def test_words_behind_a_redirection_are_matched_by_rules(command: str, workspace: Path) -> None:
    verdict = await judge(command, workspace)
    subject = Subject(tool="run_command", risk=RiskLevel.HIGH, access=EXCLUSIVE, command=command, shell=verdict)
    deny = Rule.parse("run_command(shred -u *)", Answer.DENY, "test")

    assert find_matching_rules([deny], subject, [str(workspace)]) == (deny,)


# ------------------------------------------------- files of commits that the working tree holds no longer


@pytest.fixture
def left(repository: Path) -> Path:
    """A repository in whose first commits a sensitive file stands that was removed since."""
    (repository / "sub" / ".env").write_text("TOKEN=1")
    git(repository, "add", "-f", "sub/.env")
    git(repository, "commit", "-q", "-m", "feat: with", "sub/.env")
    git(repository, "branch", "kept")
    git(repository, "tag", "-a", "-m", "old", "old")
    git(repository, "tag", "folder", "HEAD:sub")
    git(repository, "rm", "-q", "sub/.env")
    git(repository, "commit", "-q", "-m", "without")
    (repository / "a.txt").write_text("more\n")
    git(repository, "commit", "-q", "-m", "last", "a.txt")
    return repository


@pytest.mark.parametrize(
    "command",
    [
        *(
            "git show HEAD~1",
            "git show HEAD~2",
            "git show old",
            "git show HEAD HEAD~1",
            "git show HEAD~1 -- sub",
        ),
        *("git diff HEAD~1 old", "git diff old", "git diff old..HEAD", "git diff HEAD~2 sub"),
        *("git diff --cached old", "git log -p -2", "git log -p -1 --skip=1", "git log -p -1 HEAD~1"),
        *("git log -p -- sub", "git log -p sub", "git log -G TOKEN -- sub", "git log -p -1 --diff-filter=D"),
        *("git log -p -1 --author=x --grep=without", "git log -p --graph -2", "git log -p --reverse -3"),
        *("git log --raw", "git log --raw -3", "git log -p -2 --oneline -S TOKEN -- sub"),
        *("git ls-tree -r old", "git ls-tree old sub/", "git ls-tree old:sub", "git grep TOKEN old -- sub"),
        *("git show {blob}", "git show {blob} HEAD", "git diff {blob} HEAD:a.txt", "git diff old:sub HEAD:sub"),
        *("git show folder:.env", "git show folder:b.txt", "git diff folder:b.txt HEAD:a.txt"),
        *("git show {tree}", "git ls-tree {tree}", "git grep TOKEN old:sub -- sub", "git show 'old^{{tree}}'"),
        # A colon in braces belongs to the name of a commit.
        *("git show 'HEAD^{{/feat: with}}'", "git show 'kept@{{2037-01-01 10:00:00}}'"),
        *("git show 'HEAD^{{/feat: with}}:sub/.env'", "git show 'HEAD^{{/{{x: }}feat}}' HEAD:a.txt"),
        *("git log -p -1 'HEAD^{{/feat: with}}'", "git show 'HEAD^{{/feat: with}}..HEAD'"),
        # git looks for a hash at the end of a path, too.
        *(
            "git show HEAD:a-g{blob}",
            "git show 'HEAD:sub/a-g{blob}^{{}}'",
            "git diff HEAD:a-g{blob} HEAD:a.txt",
        ),
    ],
)
async def test_a_sensitive_file_of_a_commit_is_not_shown_unasked(command: str, left: Path) -> None:
    names = {"blob": git(left, "rev-parse", "old:sub/.env"), "tree": git(left, "rev-parse", "old:sub")}

    verdict = await judge(command.format(**{name: found.strip() for name, found in names.items()}), left)

    assert not verdict.is_read_only


@pytest.mark.parametrize(
    "command",
    [
        *("git show", "git show HEAD", "git show HEAD~3", "git show HEAD~1 -- a.txt", "git show old:a.txt"),
        *(
            "git show old:sub",
            "git diff HEAD",
            "git diff HEAD~1 HEAD",
            "git diff HEAD~3..HEAD",
            "git diff --cached",
        ),
        *("git diff old a.txt", "git log -p -1", "git log -p -1 --stat --graph", "git log -p -- a.txt"),
        *(
            "git log -p --pretty=fuller -U5 -n1",
            "git log --oneline -1 -p --word-diff=color",
            "git ls-tree -r HEAD",
        ),
        *("git log --raw -1", "git log --stat", "git log --name-status -3", "git grep -n line HEAD -- sub"),
        *(
            "git ls-tree old a.txt",
            "git blame old -- a.txt",
            "git diff HEAD:a.txt HEAD~3:a.txt",
            "git diff HEAD~3 sub",
        ),
        *(
            "git show --name-only HEAD",
            "git show -s HEAD",
            "git show 'HEAD~3^{{commit}}' --stat",
            "git status -s",
        ),
        *("git show 'HEAD^{{/feat: with}}:a.txt'", "git show 'HEAD^{{/feat: with}}:sub'"),
        *("git log -1 'HEAD^{{/feat: with}}'", "git show 'kept@{{2037-01-01 10:00:00}}:a.txt'"),
        *("git show 'HEAD^!'", "git log -p -1 --reverse", "git diff --merge-base HEAD~1", "git grep line"),
    ],
)
async def test_commits_without_sensitive_files_are_shown_unasked(command: str, left: Path) -> None:
    verdict = await judge(command.format(), left)

    assert verdict.is_read_only, verdict.reason


async def test_a_revision_of_several_lines_is_named_as_the_reason(left: Path) -> None:
    verdict = await judge("git show 'HEAD^{/feat:\nwith}'", left)

    assert "several lines" in verdict.reason


async def test_a_sensitive_file_that_is_no_longer_in_the_index_is_not_shown_unasked(repository: Path) -> None:
    (repository / ".env").write_text("TOKEN=1")
    git(repository, "add", "-f", ".env")
    git(repository, "commit", "-q", "-m", "with")
    git(repository, "rm", "-q", "--cached", ".env")

    for command in ("git diff --cached", "git diff HEAD", "git status --porcelain=v2"):
        assert ".env" in (await judge(command, repository)).reason, command
    assert (await judge("git diff && git status --porcelain", repository)).is_read_only


async def test_what_is_stashed_is_judged_by_its_names(repository: Path) -> None:
    (repository / ".env").write_text("TOKEN=1")
    git(repository, "stash", "-q", "--include-untracked")

    assert not (await judge("git show stash^3", repository)).is_read_only
    assert not (await judge("git diff stash^1 stash^3", repository)).is_read_only
    assert (await judge("git show stash^2", repository)).is_read_only
