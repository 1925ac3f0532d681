"""One task in each form, a table of `several-models.md`: `.venv/bin/python docs/forms_compared.py`.

Runs `quorum` with scripted models on loopback and counts what it asks of whom.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from quorum.application.review.ballot_paper import BALLOT_TOOL
from tests.support.discussion_rig import DiscussionRig, discussion_rig
from tests.support.quorum_rig import call, calling
from tests.support.sse_server import Reply, Say

PAGE = Path(__file__).parent / "several-models.md"
BEGIN, END = "<!-- forms compared: begin -->", "<!-- forms compared: end -->"
_TASK = "how do we get the import below a minute? look at import.py"
_OUTPUT_PRICE = 5  # times that of input
_BYTES_PER_TOKEN = 4
_ANSWER = "Read the rows in blocks. " * 160  # 1,000 tokens
_COMMENT = "It is right, but it says nothing of locks. " * 19  # 200 tokens
_LABELS = ("A", "B", "C")
_LOOK = calling(call("l1", "read_file", path="import.py"))
_PARTICIPANTS = ("a", "b", "c")
_REVIEWERS = ("r0", "r1")


@dataclass(frozen=True, kw_only=True)
class ComparedForm:
    """How the task is given in a form, and what each model answers; those that are not named are not asked."""

    task: str = _TASK
    command: tuple[str, ...]
    has_reviewers: bool = True
    answers: Mapping[str, Sequence[Say]]


@dataclass(frozen=True, kw_only=True)
class MeasuredForm:
    """Requests by model, how often the person is asked, and the cost in tokens of input.

    `moderated` are those of the requests to `mod` in which it is the moderator.
    """

    requests: Mapping[str, int]
    moderated: int
    questions: int
    cost: float


def _answer() -> Say:
    return Say(pieces=[_ANSWER])


def _review(own: str, **more: object) -> Say:
    given = [
        {"answer": label, "score": 9 if label == "A" else 6, "agreement": "partly", "comment": _COMMENT, **more}
        for label in _LABELS
        if label != own
    ]
    return calling(call("v1", "review_answers", reviews=given))


def _vote() -> Say:
    fields = {"verdict": "approve", "in_scope": "yes", "confidence": 0.9, "reason": _COMMENT}
    return calling(call("b1", BALLOT_TOOL, **fields, objections=[]))


_TASKS = [
    {"id": name, "description": _COMMENT, "writes": [f"{name}.py"]} for name in ("blocks", "index", "tests")
]
_PLAN = calling(call("p1", "create_plan", objective="faster", reasoning="so", tasks=_TASKS))
_ADDITIONS = calling(call("l1", "list_additions", additions=[{"text": _COMMENT, "answers": ["B"]}]))
_DIFFERENCES = [{"text": _COMMENT, "answers": ["A", "B"]}]
_SYNTHESIS = calling(call("s1", "synthesise", conclusion=_ANSWER, key_points=[], agreement=[], disagreement=[]))
_SCORED = {name: [_answer(), _review(label)] for name, label in zip(_PARTICIPANTS, _LABELS, strict=True)}
_OBJECTION = {"claim": _COMMENT, "evidence": _COMMENT, "severity": "high"}
_RESPONSE = {"objection": "R1-B1", "stance": "concede", "text": _COMMENT}
_RULING = {"objection": "R1-B1", "ruling": "upheld", "reason": _COMMENT}

FORMS: Mapping[str, ComparedForm] = {
    "solo": ComparedForm(command=("run",), answers={"mod": [_LOOK, _answer()]}),
    "plan, until you are asked": ComparedForm(
        command=("run", "--scope", "plan-only"),
        answers={
            "mod": [_LOOK, _PLAN],
            **{name: [_vote()] for name in _REVIEWERS},
        },
    ),
    "ensemble that plans, until you are asked": ComparedForm(
        command=("run", "--scope", "plan-only", "--consensus", "ensemble"),
        answers={
            **{
                name: [_LOOK, _PLAN, _review(label, dangers=[])]
                for name, label in zip(_PARTICIPANTS, _LABELS, strict=True)
            },
            "mod": [_ADDITIONS],
            **{name: [_vote()] for name in _REVIEWERS},
        },
    ),
    "ensemble": ComparedForm(
        command=("run", "--consensus", "ensemble"),
        answers={
            **_SCORED,
            "mod": [_ADDITIONS],
        },
    ),
    "discussion": ComparedForm(command=("discuss",), answers={**_SCORED, "mod": [_SYNTHESIS]}),
    "debate, one objection upheld": ComparedForm(
        command=("debate",),
        answers={
            "a": [
                _answer(),
                calling(call("d1", "respond", responses=[_RESPONSE])),
                calling(call("e1", "revise", answer=_ANSWER)),
            ],
            "b": [
                calling(call("o1", "raise_objections", objections=[_OBJECTION])),
                calling(call("o2", "raise_objections", objections=[])),
            ],
            "mod": [calling(call("r1", "rule", rulings=[_RULING]))],
        },
    ),
    "`/init`, until you are asked": ComparedForm(
        task="/init",
        command=("run", "--leave-open"),
        has_reviewers=False,
        answers={"mod": [_LOOK, calling(call("w1", "write_file", path="AGENTS.md", content=_ANSWER))]},
    ),
    "`/init` in an ensemble, until you are asked": ComparedForm(
        task="/init",
        command=("run", "--leave-open", "--consensus", "ensemble"),
        has_reviewers=False,
        answers={
            **{name: [_LOOK, calling(call("p1", "propose_file", content=_ANSWER))] for name in _PARTICIPANTS},
            "mod": [calling(call("m1", "merge_drafts", content=_ANSWER, differences=_DIFFERENCES))],
        },
    ),
}


async def measure(form: ComparedForm) -> MeasuredForm:
    """Give the task in this form to a `quorum` of its own, three participants and two reviewers set up."""
    scripts: dict[str, Sequence[Reply]] = {
        name: form.answers.get(name, ()) for name in (*_PARTICIPANTS, "mod", *_REVIEWERS)
    }
    review = ", ".join(f'"{name}/scripted"' for name in _REVIEWERS if form.has_reviewers)
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "project"
        project.mkdir()
        (project / "import.py").write_text("rows = read_all()\n" * 400, encoding="utf-8")
        more = f"review = [{review}]\n"
        async with discussion_rig(
            Path(folder) / "home", scripts, more=more, besides=("mod", *_REVIEWERS)
        ) as rig:
            ended = await rig.run(project, *form.command, "--output", "stream-json", form.task)
            left_open = 3 if "--leave-open" in form.command else 0
            if ended.code != left_open:
                raise RuntimeError(f"{form.command} ended with {ended.code}: {ended.err}")
    events = [event["type"] for event in ended.events]
    return MeasuredForm(
        requests=rig.requests,
        moderated=sum(not _offers_tools(body) for body in rig.servers["mod"].bodies),
        questions=events.count("review_requested") + events.count("plan_proposed"),
        cost=_count_input(rig) + _OUTPUT_PRICE * _count_output(form),
    )


def _offers_tools(body: Mapping[str, Any]) -> bool:
    """Whether a request is one of the session: a moderator has a form to fill in, and no tools."""
    return any(tool["function"]["name"] == "read_file" for tool in body.get("tools", ()))


def _count_input(rig: DiscussionRig) -> float:
    """Tokens of all requests as they were sent, estimated from their length."""
    bodies = [body for server in rig.servers.values() for body in server.bodies]
    return sum(len(json.dumps(body, ensure_ascii=False).encode()) for body in bodies) / _BYTES_PER_TOKEN


def _count_output(form: ComparedForm) -> float:
    answers = [answer for given in form.answers.values() for answer in given]
    texts = [text for answer in answers for text in (*answer.pieces, *(one.arguments for one in answer.calls))]
    return sum(len(text.encode()) for text in texts) / _BYTES_PER_TOKEN


async def measure_all() -> dict[str, MeasuredForm]:
    """Every form, one after the other."""
    return {name: await measure(form) for name, form in FORMS.items()}


def render_rows(measured: Mapping[str, MeasuredForm]) -> Iterator[str]:
    """The table, a row for each form."""
    yield "| | session's model | participants | moderator | reviewers | requests | you are asked | cost |"
    yield "|---|---|---|---|---|---|---|---|"
    solo = measured["solo"].cost
    for name, one in measured.items():
        participants = sum(one.requests[each] for each in _PARTICIPANTS)
        moderator = one.moderated  # the model of the session is the moderator as well
        model = one.requests["mod"] - moderator
        reviewers = sum(one.requests[each] for each in _REVIEWERS)
        counts = [model, participants, moderator, reviewers]
        cells = [str(count or "–") for count in (*counts, sum(counts), one.questions)]
        yield f"| {name} | {' | '.join(cells)} | {one.cost / solo:.1f} |"


def render(page: str, measured: Mapping[str, MeasuredForm]) -> str:
    """The page with the table between its two marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return "\n".join([before + BEGIN, *render_rows(measured), END + after])


if __name__ == "__main__":
    PAGE.write_text(render(PAGE.read_text(encoding="utf-8"), asyncio.run(measure_all())), encoding="utf-8")
