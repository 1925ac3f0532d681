"""`quorum review` in a git repository, with scripted reviewers and a scripted moderator on loopback."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from tests.support.discussion_rig import DiscussionRig, discussion_rig, synthesise
from tests.support.quorum_rig import calling
from tests.support.sse_server import Reply, Say, ScriptedCall

__all__ = ["DiscussionRig", "finding", "git", "make_repository", "report", "review_rig", "synthesise", "trial"]


def finding(file: str, line: int, claim: str = "it is wrong", **more: str) -> dict[str, Any]:
    """A finding as a reviewer reports it."""
    usual = {"severity": "high", "kind": "correctness", "evidence": "the line itself", "suggestion": ""}
    return {"file": file, "line": line, "claim": claim, **usual, **more}


def report(verdict: str, *findings: dict[str, Any], reason: str = "because") -> Say:
    """A reviewer's answer about a part of a change."""
    given = {"findings": findings, "verdict": verdict, "confidence": 0.9, "reason": reason}
    return calling(ScriptedCall("r1", "report_findings", json.dumps(given)))


def trial(**rulings: str) -> Say:
    """A model's rulings on findings, by their ids."""
    given = [{"finding": id_, "ruling": ruling, "reason": "seen"} for id_, ruling in rulings.items()]
    return calling(ScriptedCall("t1", "try_findings", json.dumps({"rulings": given})))


def git(folder: Path, *words: str) -> str:
    """Run git for a test, with nothing of the machine's own settings."""
    settings = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "PATH": "/usr/bin:/bin"}
    people = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main")
    done = subprocess.run(
        ["git", *people, *words], cwd=folder, env=settings, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def make_repository(folder: Path, files: Mapping[str, str]) -> Path:
    """A repository with one commit of these files."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q")
    write(folder, files)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write these files."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")


def review_rig(
    home: Path, scripts: Mapping[str, Sequence[Reply]], *, more: str = "", tables: str = ""
) -> AbstractAsyncContextManager[DiscussionRig]:
    """`scripts` are the answers of each provider; all but `mod` review, in this order."""
    names = ", ".join(f'"{name}/scripted"' for name in scripts if name != "mod")
    return discussion_rig(home, scripts, more=f"review = [{names}]\n{more}{tables}")
