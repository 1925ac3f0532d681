"""`quorum keys`, as a person types it and as a script calls it, with keyrings of our own."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pexpect
import pytest

from tests.support.headless_run import QUORUM, configure, environment, run
from tests.support.sse_server import Say, SseServer

ROOT = Path(__file__).parents[2]
KEY = "q7Zrt9vX2m4kPwd3Ls8Y"
KEYRINGS = "tests.infrastructure.secrets.keyrings"


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return environment(
        tmp_path,
        PYTHON_KEYRING_BACKEND=f"{KEYRINGS}.FileKeyring",
        PYTHONPATH=str(ROOT),
        KEYRING_TEST_FILE=str(tmp_path / "entries.json"),
    )


def keys(*arguments: str, env: Mapping[str, str], stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [QUORUM, "keys", *arguments],
        cwd=env["HOME"],
        env=dict(env),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.long
def test_a_key_from_stdin_is_kept_listed_and_removed_and_never_printed(env: dict[str, str]) -> None:
    ended = [
        keys("set", "anthropic", env=env, stdin=f"{KEY}\n"),
        keys("list", env={**env, "OPENAI_API_KEY": KEY}),
        keys("remove", "anthropic", env=env),
        keys("remove", "anthropic", env=env),
        keys("list", env=env),
    ]

    assert [(one.returncode, one.stdout) for one in ended[:1]] == [
        (0, "stored the key for anthropic in the keyring\n")
    ]
    assert "anthropic: keyring\n" in ended[1].stdout
    assert "openai: environment variable OPENAI_API_KEY\n" in ended[1].stdout
    assert ended[2].returncode == 0
    assert (ended[3].returncode, ended[3].stderr) == (2, "quorum: the keyring holds no key for anthropic\n")
    assert "anthropic: no key: ANTHROPIC_API_KEY is not set, and the keyring has none\n" in ended[4].stdout
    assert KEY not in "".join(one.stdout + one.stderr for one in ended)
    assert json.loads(Path(env["KEYRING_TEST_FILE"]).read_text()) == {}


@pytest.mark.long
def test_a_key_that_is_typed_is_not_shown(env: dict[str, str]) -> None:
    child = pexpect.spawn(
        str(QUORUM),
        ["keys", "set", "anthropic"],
        env={**env, "TERM": "xterm"},
        cwd=env["HOME"],
        encoding="utf-8",
    )
    shown = ""
    child.expect(r"Key for anthropic \(not shown\): ")
    child.sendline(KEY)
    child.expect(pexpect.EOF)
    shown += child.before
    child.close()

    assert child.exitstatus == 0
    assert "stored the key for anthropic" in shown
    assert KEY not in shown
    assert json.loads(Path(env["KEYRING_TEST_FILE"]).read_text()) == {"quorum/anthropic": KEY}


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    ("arguments", "stdin", "expected"),
    [
        (("set", "anthropc"), KEY, "there is no provider anthropc; did you mean anthropic?"),
        (("set", "anthropic"), "", "no key was given; type it, or give it as one line on stdin"),
        (("set", "anthropic"), "with blanks\n", "that holds characters that no key has; copy the key again"),
        (
            ("set", "offline"),
            KEY,
            "the provider offline is set up to want no key; name the variable of one with",
        ),
    ],
)
def test_what_cannot_be_kept_is_refused_with_the_remedy(
    arguments: tuple[str, ...], stdin: str, expected: str, env: dict[str, str]
) -> None:
    ended = keys(*arguments, env=env, stdin=stdin)

    assert ended.returncode == 2
    assert ended.stderr.startswith(f"quorum: {expected}")
    assert not Path(env["KEYRING_TEST_FILE"]).exists()


@pytest.mark.long
@pytest.mark.parametrize(
    ("backend", "expected"),
    [
        ("keyring.backends.fail.Keyring", "this machine has no keyring that keeps keys; install one"),
        ("keyring.backends.null.Keyring", "this machine has no keyring that keeps keys; install one"),
        (
            f"{KEYRINGS}.LockedKeyring",
            "the keyring cannot be used: Failed to unlock the collection!; unlock it",
        ),
        (f"{KEYRINGS}.BrokenKeyring", "the keyring cannot be used: org.freedesktop.DBus.Error"),
        ("no.such.Provider", "the keyring cannot be used: "),
    ],
)
def test_a_keyring_that_does_not_work_is_one_sentence_and_no_traceback(
    backend: str, expected: str, env: dict[str, str]
) -> None:
    ended = keys("set", "anthropic", env={**env, "PYTHON_KEYRING_BACKEND": backend}, stdin=KEY)

    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith(f"quorum: {expected}")
    assert ended.stderr.count("\n") == 1


@pytest.mark.long
async def test_a_stored_key_is_sent_to_its_provider_and_to_no_other(
    tmp_path: Path, env: dict[str, str]
) -> None:
    async with SseServer("openai-chat") as server:
        server.script.append(Say(pieces=["hello"]))
        configure(
            tmp_path,
            '[models]\ndecision = "mine/m"\n[providers.mine]\ntype = "openai-chat"\nmax_retries = 0\n'
            f'base_url = "{server.base_url}"\napi_key_env = "MINE_KEY"\n',
        )
        keys("set", "mine", env=env, stdin=KEY)
        with_key = await run("hello", cwd=tmp_path, env=env)
        without = await run("hello", "-m", "anthropic/m", cwd=tmp_path, env=env)

    assert (with_key.code, with_key.out) == (0, "hello\n")
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert without.code == 2
    assert "store the key with `quorum keys set anthropic`" in without.err
