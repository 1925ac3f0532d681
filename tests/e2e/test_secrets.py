"""Secrets that are planted wherever a session meets some: on no disk of ours, in no output, in no log."""

from __future__ import annotations

import asyncio
import base64
import json
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.support.headless_run import Ended, configure, environment, run, run_quorum_now
from tests.support.quorum_rig import call, calling, vote
from tests.support.sse_server import Refuse, Reply, Say, ScriptedCall, SseServer

PLANTED = {
    "provider key": "q7Zrt9vX2m4kPwd3Ls8Y",
    "environment": "e1Zrt9vX/2m4k+Pwd3Ls8E",
    "header": "h1Zrt9vX2m4kPwd3Ls8H",
    "dotenv": "d1Zrt9vX2m4kPwd3Ls8D",
    "shape": "ghp" + "_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
    "assignment": "hunter22-and-more",
}
WORDS = [PLANTED[name] for name in ("provider key", "environment", "header", "dotenv", "shape")]
NOTES = "\n".join([*(f"known {word}" for word in WORDS), f"DB_PASSWORD={PLANTED['assignment']}"])


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / ".env").write_text(f"SESSION_SIGNING_KEY={PLANTED['dotenv']}\n", encoding="utf-8")
    (folder / "notes.txt").write_text(NOTES, encoding="utf-8")
    (folder / "long.txt").write_text("\n".join(f"{n} {NOTES}" for n in range(200)), encoding="utf-8")
    return folder


def the_environment(home: Path) -> dict[str, str]:
    return environment(
        home,
        PYTHON_KEYRING_BACKEND="keyring.backends.null.Keyring",
        MINE_KEY=PLANTED["provider key"],
        DEPLOY_TOKEN=PLANTED["environment"],
    )


def configure_the_server(home: Path, server: SseServer, *, review: str = "", more: str = "") -> None:
    configure(
        home,
        f'[models]\ndecision = "mine/scripted"\n{review}'
        '[providers.mine]\ntype = "openai-chat"\nmax_retries = 0\n'
        f'base_url = "{server.base_url}"\napi_key_env = "MINE_KEY"\n'
        f'headers = {{ "X-Auth" = "{PLANTED["header"]}" }}\n'
        '[tools.run_command]\nmax_output_bytes = 1024\nsandbox = "off"\n'
        f"{more}",
    )


async def carried_out(script: Sequence[Reply], home: Path, project: Path, *arguments: str) -> Ended:
    async with SseServer("openai-chat") as server:
        server.script += script
        configure_the_server(home, server)
        return await run(*arguments, "look around", cwd=project, env=the_environment(home))


def leaks(ended: Ended, home: Path) -> list[str]:
    """Where a planted secret, or what can be turned back into one, has come to rest."""
    places = {"stdout": ended.out.encode(), "stderr": ended.err.encode()}
    files = [file for file in (home / "state").rglob("*") if file.is_file()]
    places |= {str(file): file.read_bytes() for file in files}
    for file in files:
        if places[str(file)].startswith(b"SQLite format 3"):
            places |= unpacked(file)
    return [f"{name} in {place}" for place, data in places.items() for name, form in forms() if form in data]


def unpacked(database: Path) -> dict[str, bytes]:
    """Every value of every table that is compressed, as it was before."""
    found = {}
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            for number, row in enumerate(connection.execute(f'SELECT * FROM "{table}"')):
                for place, value in enumerate(row):
                    if isinstance(value, bytes):
                        with suppress(zlib.error):
                            found[f"{table} {number}.{place}"] = zlib.decompress(value)
    return found


def forms() -> Iterator[tuple[str, bytes]]:
    for name, value in PLANTED.items():
        yield name, value.encode()
        yield f"{name}, quoted", quote(value, safe="").encode()
        yield f"{name}, in JSON", json.dumps(value)[1:-1].replace("/", "\\/").encode()
        yield f"{name}, in hexadecimal", value.encode().hex().encode()
        yield f"{name}, in two bytes", value.encode("utf-16-le")
        if name != "assignment" and name != "shape":
            yield f"{name}, in base64", base64.b64encode(value.encode())[:-4]


READS = [
    calling(
        call("c1", "read_file", path="notes.txt"),
        call("c2", "read_file", path="long.txt"),
        call("c3", "grep_search", pattern="known", path="."),
        call("c4", "run_command", command=f"cat long.txt long.txt; echo {PLANTED['environment']}"),
        call("c5", "write_file", path="copy.txt", content=NOTES),
        call("c6", "edit_file", path="notes.txt", old_text=PLANTED["dotenv"], new_text=PLANTED["header"]),
    ),
]


@pytest.mark.long
@pytest.mark.parametrize("form", ["stream-json", "json", "text"])
async def test_what_tools_say_and_models_repeat_reaches_no_record_and_no_output(
    form: str, tmp_path: Path, project: Path
) -> None:
    letters = [letter for word in WORDS for letter in f"<{word}> "]
    answer = Say(pieces=letters, reasoning=f"it holds {PLANTED['dotenv']}, and {PLANTED['shape']}")

    ended = await carried_out([*READS, answer], tmp_path, project, "--mode", "auto", "--output", form, "-v")

    assert ended.code == 0, ended.err
    assert (project / "copy.txt").read_text() == NOTES
    assert "[secret:DEPLOY_TOKEN]" in ended.out
    assert leaks(ended, tmp_path) == []


@pytest.mark.long
async def test_the_pieces_of_an_answer_add_up_to_the_masked_answer(tmp_path: Path, project: Path) -> None:
    letters = list(f"the key is {PLANTED['provider key']}, and that is all")

    ended = await carried_out([Say(pieces=letters)], tmp_path, project, "--output", "stream-json")

    said = "".join(line["text"] for line in ended.events if line["type"] == "text_delta")
    assert said.endswith("[secret:MINE_KEY], and that is all")
    assert ended.events[-1]["text"] == "the key is [secret:MINE_KEY], and that is all"
    assert leaks(ended, tmp_path) == []


@pytest.mark.long
async def test_what_a_provider_answers_in_its_anger_is_masked(tmp_path: Path, project: Path) -> None:
    refusal = Refuse(status=500, message=" ".join(f"<{word}>" for word in WORDS))

    ended = await carried_out([refusal], tmp_path, project, "--output", "stream-json", "-v")

    assert ended.code == 4
    assert leaks(ended, tmp_path) == []


@pytest.mark.long
async def test_a_prompt_with_a_secret_leaves_it_nowhere(tmp_path: Path, project: Path) -> None:
    async with SseServer("openai-chat") as server:
        server.script.append(Say(pieces=["fine"]))
        configure_the_server(tmp_path, server)
        prompt = f"deploy with {PLANTED['environment']} and {PLANTED['shape']}"
        ended = await run("--output", "stream-json", prompt, cwd=project, env=the_environment(tmp_path))
        sent = json.dumps(server.bodies[0], ensure_ascii=False)

    assert ended.code == 0
    assert PLANTED["environment"] in sent
    assert leaks(ended, tmp_path) == []


@pytest.mark.long
async def test_a_file_that_gets_its_secret_during_the_session_is_known_from_then_on(
    tmp_path: Path, project: Path
) -> None:
    script = [
        calling(call("c1", "write_file", path=".env.test", content=f"A_TOKEN={PLANTED['dotenv']}x9\n")),
        calling(call("c2", "read_file", path=".env.test")),
        Say(pieces=[f"it is {PLANTED['dotenv']}x9"]),
    ]

    ended = await carried_out(script, tmp_path, project, "--mode", "auto", "--output", "stream-json")

    assert leaks(ended, tmp_path) == []


@pytest.mark.long
async def test_commands_see_no_key(tmp_path: Path, project: Path) -> None:
    script = [calling(call("c1", "run_command", command="env | sort > seen.txt")), Say(pieces=["done"])]

    ended = await carried_out(script, tmp_path, project, "--mode", "auto")

    seen = (project / "seen.txt").read_text()
    assert ended.code == 0
    assert "PATH=" in seen
    assert [name for name, value in PLANTED.items() if value in seen] == []


# ------------------------------------------------------------------ wherever else one may turn up

HOOK_THAT_EDITS = f"""#!/bin/sh
echo 'on stderr {PLANTED["environment"]} {PLANTED["dotenv"]}' >&2
cat > /dev/null
printf '%s' '{{"decision": "continue", "arguments": {{"command": "echo {PLANTED["dotenv"]}"}}}}'
"""
HOOK_THAT_REFUSES = f"#!/bin/sh\necho 'no: {PLANTED['environment']} {PLANTED['dotenv']}' >&2\nexit 2\n"
HOOK_THAT_FAILS = HOOK_THAT_REFUSES.replace("exit 2", "exit 7")
TRUE = calling(call("c1", "run_command", command="true"))
SLOWLY = f"printf %s {PLANTED['dotenv'][:9]}; sleep 0.3; printf '%s\\n' {PLANTED['dotenv'][9:]}"
REMOVE_HIDDEN = "python3 -c 'import os; [os.remove(f) for f in os.listdir() if f[:2] == chr(46) + chr(101)]'"
ENCODED = "for how in 'base64' 'base64 -w0' 'od -An -tx1 -w60'; do $how plain.txt | tr -d ' '; done"
PLACES: dict[str, Sequence[Reply]] = {
    "progress in pieces": [calling(call("c1", "run_command", command=SLOWLY))],
    "encoded": [calling(call("c1", "run_command", command=ENCODED), call("c2", "read_file", path="wide.txt"))],
    "names of files": [
        calling(
            call("c1", "glob_search", pattern="**/*"),
            call("c2", "write_file", path=f"new-{PLANTED['dotenv']}.txt", content="x"),
            call(
                "c3",
                "run_command",
                command=f"mv old-* moved-{PLANTED['dotenv']}; ln -sfn {PLANTED['header']}2 l",
            ),
        )
    ],
    "former contents": [
        calling(
            call("c1", "edit_file", path="wide.txt", old_text="known", new_text="knew"),
            call("c2", "run_command", command=f"for each in *.txt; do echo >> $each; done; {REMOVE_HIDDEN}"),
        )
    ],
    "a custom tool": [calling(call("c1", "mine", word=PLANTED["environment"]))],
    "damaged calls": [
        calling(
            ScriptedCall("c1", "run_command", f'{{"command": "{PLANTED["dotenv"]}'),
            call("c2", f"no-{PLANTED['dotenv']}", x=PLANTED["header"]),
            call("c3", "update_plan", items=[{"text": PLANTED["dotenv"], "status": "pending"}]),
        )
    ],
}
# The guard would ask about the deletion that one of the places is about.
CUSTOM = """
[[guards]]
name = "destructive"
enabled = false

[tools.custom.mine]
description = "says it again"
command = ["sh", "-c", "echo $0; echo $0 >&2; exit 3", "{word}"]
parameters.word = { type = "string", description = "a word", required = true }
"""


def prepare(project: Path) -> None:
    """Lay out what the places above are about."""
    secret = PLANTED["dotenv"]
    (project / "plain.txt").write_text("x" * 41 + secret * 3 + "\n")
    (project / "wide.txt").write_bytes(f"known {secret}\n".encode("utf-16"))
    (project / f"old-{secret}").write_text("x")
    (project / "l").symlink_to(PLANTED["header"])


def printed(home: Path, project: Path, words: tuple[str, ...], stdin: str = "") -> Ended:
    """What `quorum` with these words prints."""
    ended = run_quorum_now(*words, cwd=project, env=the_environment(home), stdin=stdin)
    assert ended.code == 0, ended.err
    return ended


SHOWING = (
    ("sessions", "list", "--json"),
    ("sessions", "show", "latest"),
    *(("sessions", "export", "latest", "--format", form) for form in ("md", "json", "html", "canonical")),
)


@pytest.mark.long
@pytest.mark.parametrize("words", [("config", "show"), ("keys", "list")])
async def test_what_is_shown_of_settings_and_keys_holds_no_secret(
    words: tuple[str, ...], tmp_path: Path, project: Path
) -> None:
    prepare(project)
    async with SseServer("openai-chat") as server:
        configure_the_server(tmp_path, server, more=CUSTOM)
    shown = await asyncio.to_thread(printed, tmp_path, project, words)

    assert shown.out
    assert leaks(shown, tmp_path) == []


@pytest.mark.long
@pytest.mark.parametrize("script", PLACES.values(), ids=PLACES)
async def test_no_place_where_a_secret_turns_up_keeps_it(
    script: Sequence[Reply], tmp_path: Path, project: Path
) -> None:
    prepare(project)
    async with SseServer("openai-chat") as server:
        server.script = [*script, Say(pieces=["done"])]
        configure_the_server(tmp_path, server, more=CUSTOM)
        env = {**the_environment(tmp_path), "OPENAI_LOG": "debug", "PYTHONASYNCIODEBUG": "1"}
        ended = await run("--mode", "auto", "--output", "stream-json", "-v", "go", cwd=project, env=env)

    assert ended.code == 0, ended.err
    assert leaks(ended, tmp_path) == []
    for words in SHOWING:
        assert leaks(await asyncio.to_thread(printed, tmp_path, project, words), tmp_path) == []


@pytest.mark.long
@pytest.mark.parametrize("hook", [HOOK_THAT_EDITS, HOOK_THAT_REFUSES, HOOK_THAT_FAILS])
async def test_what_hooks_say_and_put_into_calls_is_masked(hook: str, tmp_path: Path, project: Path) -> None:
    program = tmp_path / "hook"
    program.write_text(hook)
    program.chmod(0o755)
    more = f'[[hooks]]\nname = "h"\nevent = "before_tool_call"\ncommand = ["{program}"]\n'
    async with SseServer("openai-chat") as server:
        server.script = [TRUE, Say(pieces=["done"])]
        configure_the_server(tmp_path, server, more=more)
        ended = await run(
            *("--mode", "auto", "--output", "stream-json", "-v", "go"),
            cwd=project,
            env=the_environment(tmp_path),
        )

    assert "[secret:" in ended.out
    assert leaks(ended, tmp_path) == []


@pytest.mark.long
async def test_what_reviewers_quote_is_masked(tmp_path: Path, project: Path) -> None:
    quoting = vote("approve", reason=f"for {PLANTED['dotenv']}", objection=f"but {PLANTED['shape']}")
    async with SseServer("openai-chat") as server, SseServer("openai-chat") as reviewer:
        server.script = [
            calling(call("c1", "write_file", path="a.txt", content=PLANTED["header"])),
            Say(pieces=["done"]),
        ]
        reviewer.script = [quoting]
        configure_the_server(
            tmp_path,
            server,
            review='review = ["r/scripted"]\n',
            more=f'[providers.r]\ntype = "openai-chat"\nbase_url = "{reviewer.base_url}"\nmax_retries = 0\n',
        )
        ended = await run(
            *("--mode", "quorum", "--output", "stream-json", "go"), cwd=project, env=the_environment(tmp_path)
        )

    assert (project / "a.txt").read_text() == PLANTED["header"]
    assert "for [secret:SESSION_SIGNING_KEY]" in ended.out
    assert leaks(ended, tmp_path) == []


# ------------------------------------------------------------------ secrets that nobody knew of


@pytest.mark.long
async def test_what_a_model_makes_up_for_a_sensitive_file_is_on_no_record(
    tmp_path: Path, project: Path
) -> None:
    made_up = {"DB_PASS": "hunter-of-old", "SALT": "plain.word-1", "REDIS_PASS": "third_value"}
    script = [
        calling(
            call("c1", "write_file", path=".env.test", content=f"DB_PASS={made_up['DB_PASS']}\n"),
            call(
                "c2", "edit_file", path=".env", old_text="SESSION", new_text=f"SALT={made_up['SALT']}\nSESSION"
            ),
            call("c3", "run_command", command=f"echo 'REDIS_PASS={made_up['REDIS_PASS']}' > some.env"),
        ),
        Say(pieces=[" ".join(made_up.values())]),
    ]

    ended = await carried_out(script, tmp_path, project, "--mode", "auto", "--output", "json")

    assert ended.report["text"] == "[secret:DB_PASS] [secret:SALT] [secret:REDIS_PASS]"
    record = b"".join(file.read_bytes() for file in (tmp_path / "state").rglob("*") if file.is_file())
    assert [value for value in made_up.values() if value.encode() in record] == []


@pytest.mark.long
async def test_a_record_that_holds_what_is_known_to_be_a_secret_by_now_says_so_and_how_to_take_it_out(
    tmp_path: Path, project: Path
) -> None:
    late = "late-q2W3e4R5t6Y7u8"
    async with SseServer("openai-chat") as server:
        server.script = [calling(call("c1", "run_command", command=f"echo {late}")), Say(pieces=[late])]
        configure_the_server(tmp_path, server)
        env = the_environment(tmp_path)
        first = await run("--mode", "auto", "--output", "json", f"say {late}", cwd=project, env=env)
        (project / ".env.late").write_text(f"LATE_TOKEN={late}\n")
        server.script = [Say(pieces=["fine"]), Say(pieces=["fine"])]
        resumed = await run("--continue", "--output", "stream-json", "more", cwd=project, env=env)
        sent = json.dumps(server.bodies[-1])
        session = first.report["session_id"]
        redacted = await asyncio.to_thread(
            printed, tmp_path, project, ("sessions", "redact", session, "-"), late
        )
        again = await run("--continue", "--output", "stream-json", "more", cwd=project, env=env)

    assert late in first.out
    assert "hold what was not known to be a secret then ([secret:LATE_TOKEN])" in resumed.err
    assert f"`quorum sessions redact {session} -`" in resumed.err
    assert late not in resumed.out + resumed.err
    assert late in sent  # the model goes on from what it was told
    assert "taken out of" in redacted.err
    assert "not known to be a secret" not in again.err
    assert late.encode() not in (tmp_path / "state/quorum/ledger.sqlite").read_bytes()


@pytest.mark.long
async def test_a_model_that_goes_on_from_a_record_cannot_write_the_words_for_the_values_unasked(
    tmp_path: Path, project: Path
) -> None:
    async with SseServer("openai-chat") as server:
        server.script = [calling(call("c1", "read_file", path="notes.txt")), Say(pieces=["read"])]
        configure_the_server(tmp_path, server)
        env = the_environment(tmp_path)
        await run("--mode", "auto", "--output", "json", "read the notes", cwd=project, env=env)
        server.script = [
            calling(
                call("c2", "write_file", path="copy.txt", content="known [secret:MINE_KEY]\n"),
                call("c3", "run_command", command="deploy --with '[secret:DEPLOY_TOKEN]'"),
                call("c4", "write_file", path="other.txt", content="plain"),
            ),
            Say(pieces=["done"]),
        ]
        words = ("--continue", "--mode", "auto", "--output", "stream-json", "copy")
        ended = await run(*words, cwd=project, env=env)

    decisions = {record["call_id"]: record["decision"] for record in ended.events[-1]["calls"]}
    assert decisions == {"c2": "needs_approval", "c3": "needs_approval", "c4": "allowed"}
    assert not (project / "copy.txt").exists()
    assert "such a word stands in a record where a secret was" in ended.out
