"""`quorum review` over diffs of public history that bring in known defects.

    .venv/bin/python benchmarks/public_diffs.py FOLDER [--models MODEL,MODEL,…]

FOLDER holds clones or git directories, each found by a name that holds its owner and name, such as
`pallets+jinja`, with `repo` or `.git` below it or by itself. For each entry of the manifest that has its
repository there, the fix is taken in reverse: the change that is reviewed brings the defect in. No code of
these projects is kept here, and none of it is run.

Without `--models` reviewers are scripted, and what is shown is that everything around them holds: places,
union, trials, count, exit codes, time and memory. With `--models` your own reviewers are asked, at your cost,
and what is shown is who reports the defect.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.support.headless_run import QUORUM
from tests.support.review_rig import finding, report, review_rig, synthesise, trial

_NEAR = 12  # lines between the defect and a report of it by a real model
_REVIEWERS = ("a", "b", "c")


class KnownDefect(NamedTuple):
    """A fix in a public repository. `hunk` is the place in `file` where its reverse has the defect, from 1."""

    repository: str
    fix: str
    file: str
    hunk: int
    advisory: str
    defect: str


DEFECTS = (
    KnownDefect(
        "pallets/flask",
        "70f906c51ce49c485f1d355703e9cc3386b1cc2b",
        "src/flask/sessions.py",
        3,
        "CVE-2023-30861",
        "a session that is only read or refreshed sends no Vary header: caches hand its cookie to others",
    ),
    KnownDefect(
        "pallets/werkzeug",
        "517cac5a804e8c4dc4ed038bb20dacd038e7a9f1",
        "src/werkzeug/sansio/multipart.py",
        4,
        "CVE-2023-25577",
        "the number of parts of a form has no limit, so a small request takes all memory",
    ),
    KnownDefect(
        "pallets/werkzeug",
        "cf275f42acad1b5950c50ffe8ef58fe62cdce028",
        "src/werkzeug/_internal.py",
        3,
        "CVE-2023-23934",
        "a cookie without a name is read as another cookie, whose name is in its value",
    ),
    KnownDefect(
        "pallets/jinja",
        "716795349a41d4983a9a4771f7d883c96ea17be7",
        "src/jinja2/filters.py",
        4,
        "CVE-2024-22195",
        "a key with blanks is written as several attributes of an element",
    ),
    KnownDefect(
        "psf/requests",
        "74ea7cf7a6a27a4eeb2ae24e162bcc942a6706d5",
        "requests/sessions.py",
        1,
        "CVE-2023-32681",
        "after a redirect to https the header for the proxy goes to the server behind it",
    ),
    KnownDefect(
        "psf/requests",
        "96ba401c1296ab1dda74a2365ef36d88f7d144ef",
        "src/requests/utils.py",
        1,
        "CVE-2024-47081",
        "the host for netrc is cut out of an address with a user name, so a password goes to another host",
    ),
    KnownDefect(
        "urllib3/urllib3",
        "01220354d389cd05474713f8c982d05c9b17aafb",
        "src/urllib3/util/retry.py",
        1,
        "CVE-2023-43804",
        "cookies set by hand are kept when a redirect leads to another host",
    ),
    KnownDefect(
        "urllib3/urllib3",
        "4e50fbc5db74e32cabd5ccc1ab81fc103adfe0b3",
        "src/urllib3/connectionpool.py",
        3,
        "CVE-2023-45803",
        "a redirect that turns a request into GET keeps its body",
    ),
    KnownDefect(
        "urllib3/urllib3",
        "accff72ecc2f6cf5a76d9570198a93ac7c90270e",
        "src/urllib3/util/retry.py",
        1,
        "CVE-2024-37891",
        "the header that signs in to a proxy is kept when a redirect leads to another host",
    ),
    KnownDefect(
        "paramiko/paramiko",
        "4c491e299c9b800358b16fa4886d8d94f45abe2e",
        "paramiko/pkey.py",
        1,
        "CVE-2022-24302",
        "a private key can be read by others between its file being made and being closed to them",
    ),
    KnownDefect(
        "paramiko/paramiko",
        "c0b29bcbeaa66c01f327f28d144c267f11315cad",
        "paramiko/auth_handler.py",
        1,
        "CVE-2018-1000805",
        "a server takes messages that only clients may get, so anybody can say that they are signed in",
    ),
    KnownDefect(
        "paramiko/paramiko",
        "fa29bd8446c8eab237f5187d28787727b4610516",
        "paramiko/transport.py",
        3,
        "CVE-2018-7750",
        "requests are served before the client has signed in",
    ),
    KnownDefect(
        "minimistjs/minimist",
        "63e7ed05aa4b1889ec2f3b196426db4500cbda94",
        "index.js",
        1,
        "CVE-2020-7598",
        "a name of an argument can set values on the prototype of all objects",
    ),
)


class Ran(NamedTuple):
    """How a review ended, its record and its cost in seconds and megabytes."""

    code: int
    out: str
    err: str
    secs: float
    peak_mb: float


def main() -> int:
    """Review each change whose repository is there; 1 if a check failed."""
    parser = argparse.ArgumentParser(description="review diffs of public history that bring in known defects")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--models", default="", help="your own reviewers, PROVIDER/MODEL, separated by commas")
    given = parser.parse_args()
    failed = 0
    found = [(defect, store) for defect in DEFECTS if (store := _locate(given.folder, defect.repository))]
    for defect, store in found:
        with tempfile.TemporaryDirectory() as folder:
            clone = _clone(store, defect, Path(folder) / "clone")
            if given.models:
                lines = _ask_models(clone, defect, given.models.split(","))
            else:
                lines = tuple(asyncio.run(_review_scripted(clone, defect, Path(folder))))
        problems = [line for line in lines if line.startswith("FAILED")]
        failed += bool(problems)
        print(f"{defect.repository} {defect.advisory}: {'; '.join(lines)}", flush=True)
    missing = sorted({each.repository for each in DEFECTS} - {each.repository for each, _ in found})
    print(f"{len(found)} reviewed, {failed} with a failed check; not there: {', '.join(missing) or 'none'}")
    return 1 if failed or not found else 0


def _locate(folder: Path, repository: str) -> Path | None:
    names = {repository.replace("/", "+"), repository.replace("/", "-"), repository.partition("/")[2]}
    for name in sorted(names):
        for place in (folder / name / "repo", folder / name / ".git", folder / name, folder / f"{name}.git"):
            if (place / "HEAD").is_file():
                return place
    return None


def _git(folder: Path, *words: str) -> str:
    settings = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    done = subprocess.run(["git", *words], cwd=folder, env=settings, check=True, capture_output=True)
    return done.stdout.decode("utf-8", "replace")


def _clone(store: Path, defect: KnownDefect, place: Path) -> Path:
    """A clone that shares its objects, at the commit before the fix. Nothing of it is run."""
    _git(store, "clone", "-q", "--shared", "--no-checkout", str(store.resolve()), str(place))
    _git(place, "update-ref", "--no-deref", "HEAD", f"{defect.fix}^1")
    return place


def _find_defect_line(clone: Path, defect: KnownDefect) -> int:
    """The line of the defect in the version that has it."""
    change = _git(clone, "diff", "--no-ext-diff", "-U0", defect.fix, f"{defect.fix}^1", "--", defect.file)
    hunks = re.findall(r"^@@ -\S+ \+(\d+)", change, re.MULTILINE)
    return max(1, int(hunks[defect.hunk - 1]))


def _list_other_files(clone: Path, defect: KnownDefect) -> list[str]:
    names = _git(clone, "diff", "--name-only", defect.fix, f"{defect.fix}^1").split("\n")
    return [name for name in names if name and name != defect.file]


async def _review_scripted(clone: Path, defect: KnownDefect, folder: Path) -> Iterator[str]:
    """Two reviewers report the defect in other words, one of them also something false; one sees nothing."""
    line = _find_defect_line(clone, defect)
    other = (_list_other_files(clone, defect) or [defect.file])[0]
    real = finding(defect.file, line, defect.defect, severity="critical", kind="security")
    alike = finding(defect.file, line + 1, f"here {defect.defect}", severity="high", kind="security")
    false = finding(other, 1, "this line has too many words", severity="low", kind="other")
    scripts = {
        "a": [report("reject", real, false)],
        "b": [report("reject", alike), trial(F2="refuted")],
        "c": [report("approve"), trial(F1="confirmed")],
        "mod": [synthesise("repair the first finding")],
    }
    async with review_rig(folder / "home", scripts) as rig:
        rejected = await _run(rig.home, clone, defect, "json")
    approving = {name: [report("approve")] for name in _REVIEWERS} | {"mod": []}
    async with review_rig(folder / "home2", approving) as rig:
        approved = await _run(rig.home, clone, defect, "json")
    return _check(defect, line, other, rejected, approved)


def _check(defect: KnownDefect, line: int, other: str, rejected: Ran, approved: Ran) -> Iterator[str]:
    if rejected.code not in (0, 1) or approved.code not in (0, 1):
        said = f"{rejected.err[-300:]}{approved.err[-300:]}"
        yield f"FAILED: exit codes {rejected.code} and {approved.code}: {said}"
        return
    first, second = json.loads(rejected.out), json.loads(approved.out)
    findings: list[dict[str, Any]] = first["findings"]
    places = [(each["file"], each["line"]) for each in findings]
    checks = {
        "exit code 1 and rejected": (rejected.code, first["verdict"]) == (1, "rejected"),
        "exit code 0 and approved": (approved.code, second["verdict"], second["findings"])
        == (0, "approved", []),
        "the defect is at its line": places[:1] == [(defect.file, line)],
        "both reports are one finding with both names": len(findings) == 2
        and findings[0]["reviewers"] == ["a/scripted", "b/scripted"]
        and len(findings[0]["also"]) == 1,
        "who did not report it has tried it": [each["ruling"] for each in findings[0]["trials"]]
        == ["confirmed"],
        "what was refuted stands last, and is kept": [each["standing"] for each in findings]
        == ["confirmed", "refuted"],
        "the false report keeps its place": places[1:] == [(other, 1)],
        "the conclusion is the moderator's": first["conclusion"] == "repair the first finding",
        "three votes": [each["verdict"] for each in first["votes"]] == ["reject", "reject", "approve"],
    }
    for name, holds in checks.items():
        if not holds:
            yield f"FAILED: {name}: {json.dumps({'findings': findings, 'verdict': first['verdict']})[:600]}"
    yield f"{defect.file}:{line}, {len(checks)} checks"
    yield f"{first['target']['files']} files in {first['target']['parts']} parts"
    yield f"{rejected.secs:.1f} s, {rejected.peak_mb:.0f} MB"


async def _run(home: Path, clone: Path, defect: KnownDefect, form: str) -> Ran:
    from tests.support.headless_run import environment

    return await asyncio.to_thread(
        _run_to_end,
        [str(QUORUM), "review", "--range", f"{defect.fix}..{defect.fix}^1", "--format", form],
        clone,
        environment(home),
    )


def _run_to_end(words: Sequence[str], folder: Path, variables: dict[str, str]) -> Ran:
    begun = time.monotonic()
    process = subprocess.Popen(
        words,
        cwd=folder,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    out, err = process.communicate()
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return Ran(process.returncode, out, err, time.monotonic() - begun, peak)


def _ask_models(clone: Path, defect: KnownDefect, models: Sequence[str]) -> tuple[str, ...]:
    """Ask the person's own reviewers, with their settings and keys."""
    line = _find_defect_line(clone, defect)
    chosen = [word for model in models for word in ("-m", f"review={model.strip()}")]
    words = [
        *(str(QUORUM), "review", "--range", f"{defect.fix}..{defect.fix}^1", "--format", "json", *chosen),
    ]
    ended = _run_to_end(words, clone, dict(os.environ))
    if ended.code not in (0, 1):
        return (f"FAILED: exit code {ended.code}: {ended.err[-300:]}",)
    record = json.loads(ended.out)
    near = [
        each
        for each in record["findings"]
        if each["file"] == defect.file and (each["line"] == 0 or abs(each["line"] - line) <= _NEAR)
    ]
    who = sorted({name for each in near for name in each["reviewers"]})
    return (
        f"{record['verdict']}",
        f"reported within {_NEAR} lines by {', '.join(who) or 'nobody'}",
        f"{len(record['findings'])} findings",
        f"{ended.secs:.0f} s",
    )


if __name__ == "__main__":
    sys.exit(main())
