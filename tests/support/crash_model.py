"""The model of the sessions that are killed: it checks each request, and what it answers follows from that."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from uuid import uuid4

from tests.support.pictures import png
from tests.support.request_rules import Said, read_chat, read_messages
from tests.support.sse_server import Dialect, Reply, Say, ScriptedCall, SseServer

STEPS = 3


class Model(SseServer):
    """Plays the model: what it answers follows from the request alone, so that it can go on after any death."""

    def __init__(self, dialect: Dialect) -> None:
        super().__init__(dialect)
        self.script = _FromRequest(self)


class _FromRequest(list[Reply]):
    def __init__(self, model: SseServer) -> None:
        super().__init__()
        self._model = model

    def pop(self, _index: object = -1) -> Reply:  # type: ignore[override]
        body = self._model.bodies.pop()
        said = read_messages(body) if self._model.dialect == "anthropic" else read_chat(body)
        check_said(said)
        return _answer(said)


def picture(number: int) -> bytes:
    """The image that the prompt of this number shows."""
    return png(8 + number, 6, shade=10 * number)


def check_said(said: Sequence[Said]) -> None:
    """The person's words each stand there once, and each prompt has its image."""
    texts = [each[1] for each in said if each[0] == "user"]
    assert len(set(texts)) == len(texts), "something that the person said came twice"
    shown = [each[2] for each in said if each[0] == "image"]
    prompts = [text for text in texts if text.startswith("prompt ")]
    assert all("[image " in prompt for prompt in prompts)
    named = [prompt for prompt in prompts if "has to be attached again" not in prompt]
    assert shown == [picture(int(prompt.split()[1])) for prompt in named], "an image is missing"


def _answer(said: Sequence[Said]) -> Reply:
    """The next step of the prompt's work; its end once all steps were taken."""
    prompts = [place for place, each in enumerate(said) if each[0] == "user" and each[1].startswith("prompt ")]
    assert prompts, "a turn goes on without its prompt"
    number = len(prompts) - 1
    since = said[prompts[-1] :]
    steps = sum(before[0] != "call" and each[0] == "call" for before, each in pairwise(since))
    if steps >= STEPS:
        return Say(pieces=["all ", "done"])
    calls = [
        _call("read_file", path="seed.txt"),
        _call("read_file", path="other.txt"),
        _call("write_file", path=f"out-{number}-{steps}.txt", content=f"{uuid4()}\n"),
        _call("run_command", command=f"echo {uuid4()} >> effects.log"),
        _call("update_plan", items=[{"text": f"step {steps}", "status": "in_progress"}]),
        _call("run_command", command=f"echo {uuid4()} >> effects.log"),
    ]
    return Say(pieces=["a few ", "calls"], calls=calls, stop="tool_use")


def _call(name: str, **arguments: object) -> ScriptedCall:
    return ScriptedCall(f"call_{uuid4().hex}", name, json.dumps(arguments))
