from __future__ import annotations

from pathlib import Path

import pytest

from quorum.domain.calls.summary import extract_text
from quorum.infrastructure.execution.commands.environment import (
    build_command_environment,
    compute_environment_delta,
)
from tests.infrastructure.commands.command_bench import RecordingControls, context_with, tool_in

PLAIN = {"PATH": "/usr/bin:/bin", "HOME": "/home/me", "LANG": "C.UTF-8"}


@pytest.mark.parametrize(
    "name",
    [
        "ANTHROPIC_API_KEY",
        "openai_api_key",
        "GITHUB_TOKEN",
        "CLIENT_SECRET",
        "AWS_SECRET_ACCESS_KEY",
        "OTEL_EXPORTER_OTLP_HEADERS",
        "AWS_ACCESS_KEY_ID",
        "PGPASSWORD",
        "STRIPE_KEY",
        "STRIPE_KEY_LIVE",
        "API_KEY_2",
        "KEY",
        "SECRET_KEY_BASE",
        "GITHUB_PAT",
        "NPM_AUTH",
        "DB_PASS",
        "MYSQL_PWD",
        "SSHPASS",
        "SENTRY_DSN",
        "AZURE_STORAGE_CONNECTION_STRING",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "ConnectionStrings__Db__Password",
        "SLACK_WEBHOOK_URL",
        "SESSION_COOKIE",
        "DEPLOY_CREDS",
        "MY_PROVIDER",
        "QUORUM_PROVIDERS__X__HEADERS",
        "LD_PRELOAD",
        "DYLD_INSERT_LIBRARIES",
        "BASH_ENV",
        "ENV",
        "SHELLOPTS",
        "POSIXLY_CORRECT",
        "_POSIX2_VERSION",
        "GREP_OPTIONS",
        "BASH_FUNC_ls%%",
        "GIT_DIR",
        "GIT_SSH_COMMAND",
        "GIT_EXTERNAL_DIFF",
        "GIT_CONFIG_COUNT",
    ],
)
def test_secrets_and_what_bends_programs_are_left_out(name: str) -> None:
    given = build_command_environment({**PLAIN, name: "x"}, ["MY_PROVIDER"])

    assert name not in given


@pytest.mark.parametrize(
    "value",
    [
        "postgres://me:hunter2@db.example.org/x",
        "redis://:hunter2@localhost:6379",
        "amqp://me:hun/ter2@localhost",
        "mongodb+srv://me:hunter2@cluster0.example.org",
        "Server=db;Database=x;User Id=me;Password=hunter2;",
        "host=db user=me password=hunter2",
        "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=aGVsbG8=;",
        "Endpoint=sb://x.example.org/;SharedAccessKeyName=a;SharedAccessKey=aGVsbG8=",
        "me:hunter2@tcp(db:3306)/x",
        "https://blob.example.org/x?sv=1&sig=aGVsbG8",
        "ghp_0123456789abcdefghijABCDEFGHIJ012345",
        "-----BEGIN PRIVATE KEY-----\n"
        + "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC" * 4
        + "\n-----END PRIVATE KEY-----",
    ],
)
def test_what_signs_in_somewhere_is_left_out_whatever_it_is_called(value: str) -> None:
    assert "DATABASE" not in build_command_environment({**PLAIN, "DATABASE": value}, [])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATABASE_URL", "postgres://localhost/x"),
        ("DATABASE_URL", "postgres://me@localhost:5432/x"),
        ("API_URL", "https://api.example.org/v1?page=2"),
        ("AWS_WEB_IDENTITY_TOKEN_FILE", "/var/run/token"),
        ("TOKENIZERS_PARALLELISM", "false"),
        ("KEYTIMEOUT", "1"),
        ("MONKEY", "x"),
        ("HTTPS_PROXY", "http://me:hunter2@proxy.example.org:3128"),
        ("https_proxy", "http://me:hunter2@proxy.example.org:3128"),
        ("LS_COLORS", "di=01;34:*.key=00;31"),
        ("PYTHONPATH", "/a:/b"),
        ("JAVA_OPTS", "-Xmx2g -Dfile.encoding=UTF-8"),
        ("MAKEFLAGS", "-j4 PREFIX=/usr"),
        ("NODE_OPTIONS", "--max-old-space-size=4096"),
        ("XDG_DATA_DIRS", "/usr/local/share:/usr/share"),
        ("SSH_AUTH_SOCK", "/tmp/agent"),
        ("SSH_CONNECTION", "10.0.0.1 5000 10.0.0.2 22"),
        ("HOST", "user@host:22"),
    ],
)
def test_what_is_no_secret_is_passed_on(name: str, value: str) -> None:
    assert build_command_environment({**PLAIN, name: value}, [])[name] == value


@pytest.mark.parametrize(
    "name", ["GIT_AUTHOR_NAME", "GIT_COMMITTER_EMAIL", "VIRTUAL_ENV", "SSH_AUTH_SOCK", "CI"]
)
def test_the_rest_is_passed_on(name: str) -> None:
    assert build_command_environment({**PLAIN, name: "x"}, [])[name] == "x"


def test_nothing_pages_prompts_or_opens_an_editor() -> None:
    given = build_command_environment({**PLAIN, "PAGER": "less", "TERM": "xterm"}, [])

    assert given["PAGER"] == given["GIT_PAGER"] == "cat"
    assert given["GIT_EDITOR"] == "true"
    assert given["GIT_TERMINAL_PROMPT"] == "0"
    assert given["TERM"] == "dumb"


def test_relative_entries_of_the_search_path_are_dropped() -> None:
    assert build_command_environment({"PATH": ".::/usr/bin:bin"}, [])["PATH"] == "/usr/bin"


def test_the_delta_names_what_is_removed_and_gives_what_is_added() -> None:
    inherited = {**PLAIN, "TERM": "dumb", "GITHUB_TOKEN": "ghp_x"}
    delta = compute_environment_delta(inherited, build_command_environment(inherited, []))

    assert delta == {
        "GITHUB_TOKEN": None,
        "GIT_EDITOR": "true",
        "GIT_PAGER": "cat",
        "GIT_TERMINAL_PROMPT": "0",
        "PAGER": "cat",
    }


async def test_a_command_sees_exactly_that_environment_and_a_marker(tmp_path: Path) -> None:
    tool = tool_in(tmp_path, inherited={**PLAIN, "OPENAI_API_KEY": "sk-x", "ODD": "a\nb=c"})

    output = await tool.execute(
        {"command": "exec env -0 | tr '\\0\\n' '\\n '"}, context_with(RecordingControls())
    )
    result = extract_text(output)

    seen = dict(line.split("=", 1) for line in result.splitlines()[:-1])
    markers = [name for name in seen if name.startswith("QUORUM_COMMAND_")]
    added_by_the_shell = {"PWD", "SHLVL", "_", "OLDPWD"}
    assert len(markers) == 1
    assert {name: seen[name] for name in seen.keys() - added_by_the_shell - {*markers}} == {
        **PLAIN,
        "ODD": "a b=c",
        "GIT_EDITOR": "true",
        "GIT_PAGER": "cat",
        "GIT_TERMINAL_PROMPT": "0",
        "PAGER": "cat",
        "TERM": "dumb",
    }


async def test_the_warden_holds_no_secret_the_command_could_read(tmp_path: Path) -> None:
    tool = tool_in(tmp_path, inherited={**PLAIN, "OPENAI_API_KEY": "sk-x"})

    output = await tool.execute(
        {"command": "tr '\\0' '\\n' </proc/$PPID/environ | grep -c KEY"}, context_with(RecordingControls())
    )
    result = extract_text(output)

    assert result == "0\nexit code 1"
