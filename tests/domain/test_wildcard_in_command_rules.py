"""What the `*` of a rule stands for: words that neither run programs nor have a file read that they name."""

import shlex

import pytest

from quorum.domain.calls.access import EXCLUSIVE
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.review.permission_rules import Answer, Rule, Subject, find_matching_rules
from quorum.domain.review.rule_offers import covers, find_failing_example, generate_candidates, judge_by_words
from quorum.domain.shell.command_line import CommandLine, SimpleCommand
from quorum.domain.shell.star_tables import PROGRAMS


def _line(text: str) -> CommandLine:
    return CommandLine((SimpleCommand(tuple(shlex.split(text))),))


def _rule(pattern: str) -> Rule:
    return Rule.parse(f"run_command({pattern})", Answer.ALLOW, "here")


def _covers(pattern: str, command: str) -> bool:
    return covers(_rule(pattern), command, _line, "/w")


@pytest.mark.parametrize(
    ("pattern", "command"),
    [
        ("git fetch *", "git fetch --upload-pack=x origin"),
        ("git fetch *", "git fetch --upload-p=x origin"),
        ("git fetch *", "git fetch origin --upload-pack x"),
        ("git fetch *", "git fetch ext::x"),
        ("git commit *", "git commit -F /etc/shadow"),
        ("git commit *", "git commit -aF /etc/shadow"),
        ("git commit *", "git commit -F/etc/shadow"),
        ("git commit *", "git commit --file=/etc/shadow"),
        ("git commit *", "git commit -m -F x"),
        ("git commit *", "git commit --trailer x=y"),
        ("git *", "git submodule foreach x"),
        ("git *", "git config alias.x !x"),
        ("git *", "git bisect run x"),
        ("git *", "git difftool x"),
        ("git *", "git rebase --exec x main"),
        ("git rebase *", "git rebase -x x main"),
        ("git p*", "git push --receive-pack=x"),
        ("/usr/bin/git fetch *", "/usr/bin/git fetch --upload-pack=x"),
        ("make *", "make --eval=x"),
        ("make *", "make -f /tmp/x"),
        ("make *", "make -kf/tmp/x"),
        ("make *", "make -C /tmp"),
        ("make *", "make SHELL=/tmp/x"),
        ("make *", "make -- SHELL=/tmp/x"),
        ("go test *", "go test -exec x ./..."),
        ("go test *", "go test -exec=x ./..."),
        ("go test *", "go test --exec=x ./..."),
        ("go test *", "go test -run -exec x"),
        ("go test *", "go test -- -exec=x"),
        ("go build *", "go build -toolexec=x"),
        ("go build *", "go build -ldflags=-extld=x"),
        ("go vet *", "go vet -vettool=x"),
        ("cargo test *", "cargo test --config target.x.runner='x'"),
        ("cargo clippy *", "cargo clippy -- -C linker=x"),
        ("pytest *", "pytest -p x"),
        ("pytest *", "pytest -qp x"),
        ("pytest *", "pytest -c /tmp/x"),
        ("pytest *", "pytest --rootdir=/tmp"),
        ("pytest *", "pytest @/tmp/x"),
        ("python -m pytest *", "python -m pytest -o addopts=x"),
        ("uv run pytest *", "uv run pytest -p x"),
        (".venv/bin/python -m pytest *", ".venv/bin/python -m pytest -p x"),
        (".venv/bin/python -m pytest *", ".venv/bin/python -m pytest -qp x"),
        (".venv/bin/python -m pytest *", ".venv/bin/python -m pytest --rootdir=/tmp -q"),
        (".venv/bin/python -m pytest *", ".venv/bin/python -m pytest -c /tmp/x"),
        (".venv/bin/python -m pytest *", ".venv/bin/python -m pytest -o addopts=x"),
        (".venv/bin/python -m pytest *", ".venv/bin/python -m pytest --junitxml=/tmp/x"),
        (".venv/bin/python -m mytool *", ".venv/bin/python -m mytool --load x"),
        (".venv/bin/python *", ".venv/bin/python -c x"),
        (".venv/bin/pytest *", ".venv/bin/pytest -p x"),
        ("uv run python -m pytest *", "uv run python -m pytest -p x"),
        ("scripts/pytest *", "scripts/pytest -k x"),
        ("mytool *", "mytool -qf x"),
        ("npm test *", "npm test --script-shell=x"),
        ("npm test *", "npm test -- --globalSetup=/tmp/x"),
        ("npm test *", "npm test -- -r /tmp/x"),
        ("npm run x *", "npm run x -- --config /tmp/x"),
        ("eslint *", "eslint -f /tmp/x ."),
        ("prettier *", "prettier --plugin=/tmp/x ."),
        ("mypy *", "mypy --python-executable=x ."),
        ("mvn test *", "mvn test org.x:y:1:run"),
        ("dotnet build *", "dotnet build /logger:x"),
        ("just build *", "just build 'x; y'"),
        ("mytool *", "mytool --exec x"),
        ("mytool *", "mytool -f /etc/shadow"),
        ("mytool *", "mytool --color=/etc/shadow"),
        ("mytool --l*", "mytool --load=x"),
        ("mytool * x", "mytool --load=y x"),
        ("bash *", "bash -c x"),
        ("python *", "python -c x"),
        ("./make *", "./make -k"),
        ("uniq *", "uniq x y"),
        ("uniq *", "uniq -c x y"),
        ("uniq *", "uniq -f 1 x y"),
        ("uniq *", "uniq -- x y"),
        ("uniq *", "uniq - y"),
        ("uniq x *", "uniq x y"),
        ("uniq *", "uniq x y z"),
        ("/usr/bin/uniq *", "/usr/bin/uniq x y"),
        ("un* *", "uniq x y"),
        ("hostname *", "hostname x"),
        ("date *", "date 12312359"),
        ("xxd *", "xxd -r x y"),
        ("pdftotext *", "pdftotext x y"),
        ("lz4 *", "lz4 x y"),
        ("objcopy *", "objcopy x y"),
    ],
)
def test_a_star_stands_for_no_option_or_operand_that_runs_programs_or_reads_files(
    pattern: str, command: str
) -> None:
    assert not _covers(pattern, command)


@pytest.mark.parametrize(
    ("pattern", "command"),
    [
        ("git fetch *", "git fetch --prune origin main"),
        ("git commit *", "git commit -am 'a message' --amend"),
        ("git commit *", "git commit --message='-F x'"),
        ("git *", "git push --force-with-lease origin main"),
        ("git lfs *", "git lfs pull"),
        ("make *", "make -j4 -k all check"),
        ("go test *", "go test -race -run=TestX -count 1 ./..."),
        ("cargo test *", "cargo test --release name -- --nocapture"),
        ("pytest *", "pytest -xvs -k 'a or b' tests/test_a.py::test_b"),
        ("python -m pytest *", "python -m pytest -q --maxfail=1"),
        (".venv/bin/python -m pytest *", ".venv/bin/python -m pytest -q"),
        (".venv/bin/python -m pytest *", ".venv/bin/python -m pytest tests/test_a.py -xvs -k 'a or b'"),
        ("venv/bin/python3.12 -m pytest *", "venv/bin/python3.12 -m pytest -q"),
        ("/opt/app/.venv/bin/python -m pytest *", "/opt/app/.venv/bin/python -m pytest -q"),
        (".venv/bin/pytest *", ".venv/bin/pytest -q --maxfail=1"),
        ("node_modules/.bin/jest *", "node_modules/.bin/jest --runInBand src"),
        ("uv run python -m pytest *", "uv run python -m pytest -q"),
        ("poetry run pytest *", "poetry run pytest -q"),
        ("mytool *", "mytool -q a"),
        ("npm test *", "npm test -- --watch=false -x"),
        ("npm run test:unit *", "npm run test:unit -- -t 'a name'"),
        ("npx jest *", "npx jest --runInBand src"),
        ("mytool *", "mytool a b --verbose"),
        ("mytool --load=* *", "mytool --load=x a"),
        ("mytool -f x *", "mytool -f x a"),
        ("mytool **", "mytool --exec x"),
        ("git fetch **", "git fetch --upload-pack=x"),
        ("git log **", "git log --output=x"),
        ("uniq *", "uniq x"),
        ("uniq -c *", "uniq -c x"),
        ("date *", "date +%s"),
        ("uniq * y", "uniq x y"),
        ("uniq **", "uniq x y"),
        ("xxd *", "xxd -l 16 x"),
    ],
)
def test_a_star_stands_for_what_is_used_every_day_and_for_options_that_the_rule_names(
    pattern: str, command: str
) -> None:
    assert _covers(pattern, command)


DANGEROUS = [
    *("--upload-pack=x", "--exec=x", "--exec x", "--eval=x", "--eval x", "--file=/etc/shadow", "--rcfile=x"),
    *("--config=x", "--config x", "--config-file=x", "--plugin=x", "--require x", "--import=x", "--loader x"),
    *("--init-script x", "--script-shell=x", "--rootdir=/tmp", "--output=x", "--load-plugins=x"),
    *(
        "--manifest-path=x",
        "--pathspec-from-file=x",
        "--python-executable x",
        "--node-options=x",
        "--prefix /tmp",
    ),
    *("-- --config=/tmp/x", "-- --require /tmp/x", "-- --exec x", "--directory=/tmp", "@/tmp/x"),
]
# One letter means something else in each program: these are the ones that run programs or read files.
LETTERS = {
    "cargo": ["-Z x", "-C /tmp"],
    "ctest": ["-S x", "-D x", "-SP x"],
    "eslint": ["-c x", "-f x"],
    "git": ["-F x", "-S", "-c x", "-C x", "-t/etc/shadow x", "ext::x"],
    "go": ["-exec x", "-exec=x", "-toolexec x", "-vettool=x", "-o x", "-C /tmp", "-modfile=x", "-overlay x"],
    "gradle": ["-I x", "-b x", "-p /tmp", "-Dx=y", "-g /tmp"],
    "jest": ["-c x"],
    "make": ["-f x", "-C /tmp", "-I /tmp", "-E x", "-kE x", "SHELL=x"],
    "mvn": ["-f x", "-s x", "-gs x", "-Dexec=x", "a:b:1:c"],
    "ninja": ["-C /tmp", "-f x", "-t x"],
    "nox": ["-f x"],
    "phpunit": ["-c x", "-d x=y"],
    "pytest": ["-p x", "-c x", "-o x=y", "-W error::x.Y"],
    "rspec": ["-r x", "-f x", "-I /tmp", "-O x"],
    "rubocop": ["-r x", "-f x", "-c x"],
    "tox": ["-c x", "-x a=b"],
    "tsc": ["-p /tmp"],
}
# Where such words mean something harmless: an operand that is a path, a flag, the scope of a package.
DIFFERENT = {
    "git add": {"ext::x"},
    "git commit": {"ext::x"},
    "git show-ref": {"ext::x"},
    "git fetch": {"-t/etc/shadow x", "@/tmp/x"},
    "cargo tree": {"--prefix /tmp"},
    **{f"npm {sub}": {"@/tmp/x"} for sub in ("ls", "outdated", "test")},
    **{f"pnpm {sub}": {"@/tmp/x"} for sub in ("list", "outdated", "test")},
    "yarn test": {"@/tmp/x"},
}


@pytest.mark.parametrize(
    "names", [names for names, table in PROGRAMS.items() if table.is_proposed], ids=" ".join
)
def test_no_rule_that_is_proposed_covers_a_word_that_runs_a_program_or_reads_a_file(
    names: tuple[str, ...],
) -> None:
    command = " ".join(names)
    subject = Subject(
        tool="run_command",
        risk=RiskLevel.HIGH,
        access=EXCLUSIVE,
        command=command,
        shell=judge_by_words(_line(command)),
    )
    proposed = [
        Rule.parse(text, Answer.ALLOW, "here") for text in generate_candidates(subject, ("/w",)) if "*" in text
    ]
    assert [rule.pattern for rule in proposed] == [f"{command} *"]

    tried = {*DANGEROUS, *LETTERS.get(names[0], ())} - DIFFERENT.get(command, set())

    assert {words for words in tried if covers(proposed[0], f"{command} {words}", _line, "/w")} == set()


def test_no_rule_is_proposed_for_a_program_that_writes_to_its_second_operand() -> None:
    for command in ("uniq x", "uniq x y", "xxd x y"):
        shell = judge_by_words(_line(command))
        subject = Subject(
            tool="run_command", risk=RiskLevel.HIGH, access=EXCLUSIVE, command=command, shell=shell
        )
        assert [text for text in generate_candidates(subject, ("/w",)) if "*" in text] == []


def test_a_saved_rule_whose_example_is_no_longer_covered_is_kept_and_the_call_asked_about() -> None:
    rule, example = _rule("git fetch *"), "git fetch --upload-pack=x"

    assert find_failing_example(rule, [example], [], _line, "/w") is None
    shell = judge_by_words(_line(example))
    call = Subject(tool="run_command", risk=RiskLevel.HIGH, access=EXCLUSIVE, command=example, shell=shell)
    assert find_matching_rules([rule], call, ("/w",)) == ()


def test_a_saved_rule_fails_an_example_that_never_fitted_its_words() -> None:
    assert find_failing_example(_rule("git fetch *"), ["git pull x"], [], _line, "/w") is not None
