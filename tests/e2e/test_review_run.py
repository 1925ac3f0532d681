"""`quorum review`: what comes out of it, its exit codes, and what survives an interruption."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from quorum.headless.stream_schema import build_stream_schema
from tests.support.quorum_rig import call, calling
from tests.support.review_rig import finding, git, make_repository, report, review_rig, synthesise, trial, write
from tests.support.sse_server import Hang, Refuse, Reply, Say
from tests.support.terminal import ENTER, ESCAPE, Terminal

STREAM = Draft202012Validator(build_stream_schema())
RECORD = Draft202012Validator(json.loads(Path("docs/code-review.schema.json").read_text(encoding="utf-8")))
DOWN = Refuse(status=500, message="down")
SECRET = "q7Zk2mX9vB4nT8wL1rP6"
BUG = finding("app.py", 2, "the sign is wrong", suggestion="add")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = make_repository(tmp_path / "project", {"app.py": "def add(a, b):\n    return a + b\n"})
    write(folder, {"app.py": "def add(a, b):\n    return a - b\n"})
    return folder


def scripts() -> dict[str, list[Reply]]:
    return {
        "a": [report("reject", BUG)],
        "b": [report("reject"), trial(F1="confirmed")],
        "mod": [synthesise("repair the sign")],
    }


@pytest.mark.long
async def test_a_rejected_change_is_exit_1_and_printed_with_its_findings(tmp_path: Path, project: Path) -> None:
    async with review_rig(tmp_path / "home", scripts()) as rig:
        ended = await rig.run(project, "review")
    assert ended.code == 1, ended.err
    assert ended.out.startswith("**Not approved** · the uncommitted changes (majority)\n\n- a/scripted rejects")
    assert "## Conclusion\n\nrepair the sign\n" in ended.out
    assert "### F1 high · `app.py:2`\n\nthe sign is wrong\n" in ended.out
    assert "- b/scripted: confirmed. seen" in ended.out
    assert rig.requests == {"a": 1, "b": 2, "mod": 1}


@pytest.mark.long
async def test_an_approved_change_is_exit_0_and_asks_no_more_than_the_reviewers(
    tmp_path: Path, project: Path
) -> None:
    given: dict[str, list[Reply]] = {"a": [report("approve")], "b": [report("approve")], "mod": []}
    async with review_rig(tmp_path / "home", given) as rig:
        ended = await rig.run(project, "review", "--format", "json")
    assert ended.code == 0, ended.err
    RECORD.validate(ended.report)
    assert (ended.report["approved"], ended.report["findings"]) == (True, [])
    assert [vote["model"] for vote in ended.report["votes"]] == ["a/scripted", "b/scripted"]


def follow_a_finding(project: Path, home: Path) -> None:
    """Review in the app, open the place of the finding, in the pager and in an editor, and go back."""
    editor = project.parent / "editor"
    editor.write_text(f'#!/bin/sh\nprintf "%s" "$*" > {project.parent}/edited\n', encoding="utf-8")
    editor.chmod(0o755)
    variables = {"EDITOR": str(editor)}
    with Terminal(project, home, rows=24, columns=80, arguments=[], variables=variables) as terminal:
        terminal.wait_for("mod/scripted")
        terminal.submit("/review")
        terminal.wait_for("repair the sign")
        with terminal.fresh():
            terminal.submit("/findings")
            terminal.wait_for("F1 high app.py:2 · confirmed")
        with terminal.fresh():
            terminal.type(ENTER)
            terminal.wait_for("return a - b")
            terminal.wait_for("lines 1–2 of 2")
        with terminal.fresh():
            terminal.type(ESCAPE)
            terminal.wait_for("F1 high app.py:2")
        terminal.type("e")
        deadline = time.monotonic() + 120
        while not (edited := project.parent / "edited").exists() or not edited.read_text(encoding="utf-8"):
            assert time.monotonic() < deadline, terminal.painted[-2000:]
            time.sleep(0.05)
        (project / "app.py").unlink()
        with terminal.fresh():
            terminal.type(ENTER)
            terminal.wait_for("app.py: no such file or folder")
    assert edited.read_text(encoding="utf-8") == f"+2 {project.resolve()}/app.py"


@pytest.mark.long
async def test_in_the_app_a_finding_opens_its_place(tmp_path: Path, project: Path) -> None:
    async with review_rig(tmp_path / "home", scripts()):
        await asyncio.to_thread(follow_a_finding, project, tmp_path / "home")


@pytest.mark.long
async def test_sensitive_files_are_named_and_secrets_masked_before_anything_is_sent(
    tmp_path: Path, project: Path
) -> None:
    write(project, {".env": f"API_TOKEN={SECRET}\n", "app.py": f"# one\nTOKEN = '{SECRET}'\nx = 1\n"})
    looking = calling(call("c1", "read_file", path="app.py"), call("c2", "read_file", path=".env"))
    wrong = finding("app.py", 3, "x is unused")
    given: dict[str, list[Reply]] = {
        "a": [looking, report("reject", wrong)],
        "b": [report("reject"), trial(F1="confirmed")],
    }
    async with review_rig(tmp_path / "home", given | {"mod": [synthesise("repair it")]}) as rig:
        ended = await rig.run(project, "review", "--format", "sarif")
        sent = {name: json.dumps(server.bodies, ensure_ascii=False) for name, server in rig.servers.items()}
    assert ended.code == 1, ended.err
    for text in (*sent.values(), ended.out, ended.err):
        assert SECRET not in text
    assert "=== .env · added (not shown: it is a sensitive file)" in sent["a"]
    assert "2 +TOKEN = '[secret:API_TOKEN]'" in sent["b"]
    assert "3 +x = 1" in sent["b"]
    told = ".env is not shown to reviewers: it is a sensitive file"
    assert told in ended.err
    run = ended.report["runs"][0]
    assert told in [each["message"]["text"] for each in run["invocations"][0]["toolExecutionNotifications"]]
    assert run["results"][0]["locations"][0]["physicalLocation"]["region"] == {"startLine": 3}


@pytest.mark.long
async def test_json_and_markdown_name_what_was_not_shown(tmp_path: Path, project: Path) -> None:
    write(project, {".env": f"API_TOKEN={SECRET}\n"})
    given: dict[str, list[Reply]] = {"a": [report("approve")], "b": [report("approve")], "mod": []}
    async with review_rig(tmp_path / "home", given) as rig:
        ended = await rig.run(project, "review", "--format", "json")
        for name in ("a", "b"):
            rig.servers[name].script = [report("approve")]
        read = await rig.run(project, "review")
    RECORD.validate(ended.report)
    assert ended.report["sensitive_files"] == [".env"]
    assert "- .env is not shown to reviewers: it is a sensitive file\n" in read.out


@pytest.mark.long
async def test_json_has_votes_findings_and_what_became_of_them(tmp_path: Path, project: Path) -> None:
    async with review_rig(tmp_path / "home", scripts()) as rig:
        ended = await rig.run(project, "review", "--format", "json", "--focus", "the sign")
    RECORD.validate(ended.report)
    assert ended.report["verdict"] == "rejected"
    (found,) = ended.report["findings"]
    assert (found["file"], found["line"], found["standing"]) == ("app.py", 2, "confirmed")
    assert found["reviewers"] == ["a/scripted"]
    assert found["trials"] == [{"model": "b/scripted", "ruling": "confirmed", "reason": "seen"}]
    assert ended.report["conclusion"] == "repair the sign"
    asked = json.dumps(rig.servers["a"].bodies[0])
    assert "the sign" in asked
    assert "2 +    return a - b" in asked


@pytest.mark.long
async def test_code_hosts_get_sarif_and_annotations(tmp_path: Path, project: Path) -> None:
    async with review_rig(tmp_path / "home", scripts()) as rig:
        annotated = await rig.run(project, "review", "--format", "github")
        for name, replies in scripts().items():
            rig.servers[name].script = list(replies)
        scanned = await rig.run(project, "review", "--format", "sarif")
    assert (annotated.code, scanned.code) == (1, 1)
    verdict, found = annotated.out.splitlines()
    assert verdict.startswith("::error title=quorum review::")
    assert found == "::error file=app.py,line=2,title=high%2C confirmed::the sign is wrong%0A%0Aadd"
    assert scanned.report["runs"][0]["results"][0]["ruleId"] == "quorum/correctness"


@pytest.mark.long
async def test_the_stream_has_each_step(tmp_path: Path, project: Path) -> None:
    async with review_rig(tmp_path / "home", scripts()) as rig:
        ended = await rig.run(project, "review", "--format", "stream-json")
    for line in ended.events:
        STREAM.validate(line)
    types = [line["type"] for line in ended.events]
    assert types.count("part_reviewed") == 2
    assert {"findings_tried", "change_reviewed", "panel_concluded"} <= set(types)


@pytest.mark.long
async def test_nothing_to_review_and_unusable_input_are_exit_2(tmp_path: Path, project: Path) -> None:
    git(project, "checkout", "-q", "app.py")
    async with review_rig(tmp_path / "home", scripts()) as rig:
        clean = await rig.run(project, "review")
        absent = await rig.run(project, "review", "--range", "main..nowhere")
        (project / "no.diff").write_text("hello\n", encoding="utf-8")
        prose = await rig.run(project, "review", "--diff", "no.diff")
        both = await rig.run(project, "review", "--diff", "no.diff", "--pr", "1")
        assert sum(rig.requests.values()) == 0
    assert [ended.code for ended in (clean, absent, prose, both)] == [2, 2, 2, 2]
    assert "there is nothing to review in the uncommitted changes" in clean.err
    assert "there is no commit nowhere" in absent.err
    assert "this is no unified diff" in prose.err


@pytest.mark.long
async def test_without_any_answer_the_exit_code_is_4(tmp_path: Path, project: Path) -> None:
    async with review_rig(tmp_path / "home", {"a": [DOWN], "b": [Hang("reset")], "mod": []}) as rig:
        ended = await rig.run(project, "review", "--format", "json")
    assert ended.code == 4
    RECORD.validate(ended.report)
    assert ended.report["error"].startswith("no reviewer answered: a/scripted: ")


@pytest.mark.long
async def test_a_reviewer_that_is_down_can_approve_nothing(tmp_path: Path, project: Path) -> None:
    given: dict[str, list[Reply]] = {"a": [report("approve")], "b": [DOWN], "mod": []}
    async with review_rig(tmp_path / "home", given) as rig:
        ended = await rig.run(project, "review", "--format", "json")
    assert ended.code == 1
    assert ended.report["verdict"] == "unclear"
    assert [vote["verdict"] for vote in ended.report["votes"]] == ["approve", "model_error"]


@pytest.mark.long
async def test_with_two_of_three_reviewers_down_what_the_third_found_stands_untried(
    tmp_path: Path, project: Path
) -> None:
    given: dict[str, list[Reply]] = {"a": [report("reject", BUG)], "b": [DOWN], "c": [DOWN], "mod": [DOWN]}
    async with review_rig(tmp_path / "home", given) as rig:
        ended = await rig.run(project, "review", "--format", "json")
    assert ended.code == 1, ended.err
    RECORD.validate(ended.report)
    assert ended.report["verdict"] == "unclear"
    assert [vote["verdict"] for vote in ended.report["votes"]] == ["reject", "model_error", "model_error"]
    (found,) = ended.report["findings"]
    assert (found["file"], found["line"], found["reviewers"]) == ("app.py", 2, ["a/scripted"])
    assert found["standing"] not in ("confirmed", "refuted")


@pytest.mark.long
async def test_a_diff_from_stdin_is_reviewed_without_a_repository(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "a.diff").write_text("--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-one\n+two\n", encoding="utf-8")
    given: dict[str, list[Reply]] = {"a": [report("approve")], "b": [report("approve")], "mod": []}
    async with review_rig(tmp_path / "home", given) as rig:
        ended = await rig.run(folder, "review", "--diff", "a.diff", "--format", "json")
        tools = [tool["function"]["name"] for tool in rig.servers["a"].bodies[0]["tools"]]
    assert ended.code == 0, ended.err
    assert tools == ["report_findings"]
    assert any("is not here" in notice for notice in ended.report["notices"])


@pytest.mark.long
async def test_reviewers_look_at_the_repository_as_it_is_with_the_change(tmp_path: Path, project: Path) -> None:
    looking = calling(call("c1", "read_file", path="app.py"), call("c2", "read_file", path="/etc/passwd"))
    given = scripts() | {"a": [looking, report("reject", BUG)]}
    async with review_rig(tmp_path / "home", given) as rig:
        ended = await rig.run(project, "review", "--format", "stream-json")
        results = [m for m in rig.servers["a"].bodies[1]["messages"] if m["role"] == "tool"]
    assert ended.code == 1, ended.err
    assert "return a - b" in results[0]["content"]
    assert "root:" not in results[1]["content"]
    looks = [line for line in ended.events if line["type"] == "reviewer_looked"]
    assert sorted(look["outcome"] == "ok" for look in looks) == [False, True]


@pytest.mark.long
@pytest.mark.parametrize("step", ["parts", "trials", "conclusion"])
async def test_after_kill_9_nothing_that_was_answered_is_asked_again(
    tmp_path: Path, project: Path, step: str
) -> None:
    silent = Hang("silent")
    first: dict[str, dict[str, list[Reply]]] = {
        "parts": scripts() | {"b": [silent]},
        "trials": scripts() | {"b": [report("reject"), silent]},
        "conclusion": scripts() | {"mod": [silent]},
    }
    ahead = {"parts": "part_reviewed", "trials": "part_reviewed", "conclusion": "findings_tried"}[step]
    count = {"parts": 1, "trials": 2, "conclusion": 1}[step]
    async with review_rig(tmp_path / "home", first[step]) as rig:
        process = await rig.start(project, "review", "--format", "stream-json")
        assert process.stdout is not None
        seen: list[str] = []
        async with asyncio.timeout(120):
            while seen.count(ahead) < count:
                seen.append(json.loads(await process.stdout.readline())["type"])
        process.send_signal(signal.SIGKILL)
        await process.communicate()
        asked = {"parts": {"a": 1}, "trials": {"a": 1, "b": 1}, "conclusion": {"a": 1, "b": 2}}[step]
        for name, replies in scripts().items():
            rig.servers[name].script = replies[asked.get(name, 0) :]
        before = dict(rig.requests)
        (session,) = json.loads((await rig.run(project, "sessions", "list", "--json")).out)
        ended = await rig.run(project, "review", "--resume", session["id"], "--format", "json")
        now = {name: rig.requests[name] - before[name] for name in before}
    assert ended.code == 1, ended.err
    assert ended.report["conclusion"] == "repair the sign"
    left = {
        "parts": {"a": 0, "b": 2, "mod": 1},
        "trials": {"a": 0, "b": 1, "mod": 1},
        "conclusion": {"a": 0, "b": 0, "mod": 1},
    }
    assert now == left[step]


@pytest.mark.long
async def test_ctrl_c_is_exit_130(tmp_path: Path, project: Path) -> None:
    async with review_rig(
        tmp_path / "home", {"a": [Hang("silent")], "b": [Say(pieces=["no"])], "mod": []}
    ) as rig:
        process = await rig.start(project, "review", "--format", "stream-json")
        assert process.stdout is not None
        async with asyncio.timeout(120):
            while json.loads(await process.stdout.readline())["type"] != "panel_started":
                pass
        process.send_signal(signal.SIGINT)
        await process.communicate()
    assert process.returncode == 130
