"""Takes the pictures of the documentation from the real app: `.venv/bin/python docs/screenshots.py`.

A temporary project, the offline provider, real tools: what is on the picture happened.
"""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from quorum.infrastructure.session_inputs import SessionInputs
from quorum.infrastructure.trust_decisions import open_trust_decisions

os.environ["TEXTUAL_ANIMATIONS"] = "none"

from textual.pilot import Pilot

from quorum.application.ports.people import Approver, Observer
from quorum.application.session.agent_session import AgentSession
from quorum.domain.events.masking import SecretMask
from quorum.domain.sessions.session_summary import NewSession, SessionChoice
from quorum.infrastructure.config.loading import load_settings
from quorum.infrastructure.config.model_choice import AskedModels
from quorum.infrastructure.container import build_container
from quorum.infrastructure.staging.entered import find_layer_over
from quorum.infrastructure.storage import open_unrecorded
from quorum.starting import enter_layer
from quorum.tui.agent.opening import ComposeAgent
from quorum.tui.app.app import QuorumApp
from quorum.tui.screens.effects.effects_screen import EffectsScreen
from quorum.tui.screens.review.choice_bar import ChoiceBar
from quorum.tui.screens.review.dialog import ReviewDialog

IMAGES = Path(__file__).parent / "images"
RETRY = '''\
import asyncio
import time


async def backoff(attempt: int) -> None:
    """Wait a little longer after each attempt."""
    delay = min(0.5 * 2**attempt, 8.0)
    time.sleep(delay)
'''
TEST = """\
import asyncio
from src.retry import backoff


def test_backoff() -> None:
    asyncio.run(backoff(0))
"""
PROMPT = (
    'read src/retry.py and tests/test_retry.py and search "sleep" in src and replace "time.sleep(delay)" '
    'with "await asyncio.sleep(delay)" in src/retry.py and run `python -m pytest -q`'
)
STAGED_PROMPT = (
    'replace "time.sleep(delay)" with "await asyncio.sleep(delay)" in src/retry.py and write NOTES.md with '
    '"Retries no longer block." and run `python -m unittest -q`'
)


def compose_in(root: Path, mode: str = "ask") -> ComposeAgent:
    async def compose(
        person: Approver, observer: Observer, choice: SessionChoice, folder: Path
    ) -> AgentSession:
        loaded = load_settings(cwd=root, environ={"HOME": str(root)}, overrides={"review.mode": mode})
        container = build_container(
            SessionInputs(
                loaded=loaded,
                asked=AskedModels(models=("offline/offline",)),
                root=root,
                environ={},
                approver=person,
                observer=observer,
                record=open_unrecorded(
                    loaded.settings.storage,
                    {},
                    begun=choice if isinstance(choice, NewSession) else NewSession(),
                ),
                mask=SecretMask(),
                trust=open_trust_decisions({}),
                layer=find_layer_over(root),
            )
        )
        agent: AgentSession = container.agent()
        await agent.open()
        return agent

    return compose


def save(app: QuorumApp, name: str) -> None:
    """Write the picture, with whatever monospaced font the reader has in place of a downloaded one."""
    svg = app.export_screenshot(title="quorum")
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL).replace("Fira Code", "ui-monospace")
    (IMAGES / name).write_text(re.sub(r"[ \t]+$", "", svg, flags=re.MULTILINE), encoding="utf-8")


MOVING = ("review.svg", "cards.svg", "timeline.svg", "files.svg")
SHOWN_SECS = 4


def animate(names: Sequence[str], into: str) -> None:
    """Write a picture that shows these one after the other, over and over, unless motion is unwanted."""
    frames = [(IMAGES / name).read_text(encoding="utf-8") for name in names]
    size = re.findall(r'viewBox="([^"]*)"', frames[0])[0]
    share = 100 / len(frames)
    style = (
        f"@keyframes turn {{ 0%, {share:g}% {{ opacity: 1 }} {share + 0.01:g}%, 100% {{ opacity: 0 }} }}\n"
        f".frame {{ opacity: 0; animation: turn {SHOWN_SECS * len(frames)}s infinite }}\n"
        "@media (prefers-reduced-motion: reduce) { .frame { animation: none } }\n"
    )
    parts = [f'<svg viewBox="{size}" xmlns="http://www.w3.org/2000/svg">', f"<style>{style}</style>", frames[0]]
    for place, frame in enumerate(frames[1:], 1):
        parts.append(f'<g class="frame" style="animation-delay: {place * SHOWN_SECS}s">{frame}</g>')
    (IMAGES / into).write_text("\n".join([*parts, "</svg>", ""]), encoding="utf-8")


async def until(pilot: Pilot[None], holds: Callable[[], object]) -> None:
    """Until something holds, and all of it is painted."""
    async with asyncio.timeout(30):
        while not holds():
            await pilot.pause(0.05)
    await pilot.pause(0.4)


def takes_keys(app: QuorumApp) -> bool:
    """Whether a review is open, and its pause before it takes keys is over."""
    if not isinstance(app.screen, ReviewDialog) or not app.screen.is_awake:
        return False
    return not app.screen.query_one(ChoiceBar).has_class("-dead")


async def take(root: Path) -> None:
    """The pictures, in the order of a session."""
    app = QuorumApp(compose_in(root), cwd=root)
    async with app.run_test(size=(120, 40)) as pilot:
        app.chat.sending.submit(PROMPT)
        await until(pilot, lambda: takes_keys(app))
        save(app, "review.svg")
        for _ in range(2):
            await until(pilot, lambda: takes_keys(app))
            await pilot.press("y")
            await until(pilot, lambda: not takes_keys(app))
        await until(pilot, lambda: not app.chat.turns.running)
        await pilot.press("pageup")
        await pilot.pause(0.3)
        save(app, "cards.svg")
        await pilot.press("ctrl+end", *"fix the test in @ret")
        await until(pilot, lambda: app.chat.prompt.menu.display)
        save(app, "files.svg")
        await pilot.press("escape", "ctrl+u", "ctrl+s")
        await until(pilot, lambda: app.screen is not app.chat)
        save(app, "timeline.svg")
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chat)
        await app.run_action("app.ask('find sleep in src')")
        await until(pilot, lambda: app.chat.current.session is not None and not app.chat.turns.running)
        save(app, "tabs.svg")
        await app.run_action("screen.show_permissions")
        await until(pilot, lambda: app.screen is not app.chat)
        save(app, "permissions.svg")
        app.exit()


async def take_effects(root: Path) -> None:
    """The review of a staged turn."""
    app = QuorumApp(compose_in(root, mode="staged"), cwd=root)
    async with app.run_test(size=(120, 24)) as pilot:
        app.chat.sending.submit(STAGED_PROMPT)
        await until(pilot, lambda: isinstance(app.screen, EffectsScreen))
        await pilot.pause(1)
        await pilot.press("down")
        await pilot.pause(0.4)
        save(app, "effects.svg")
        app.exit()


def make_project(folder: str) -> Path:
    root = Path(folder).resolve() / "retry-demo"
    for name, content in {"src/retry.py": RETRY, "tests/test_retry.py": TEST}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content, encoding="utf-8")
    return root


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HOME"] = folder
        root = make_project(folder)
        if (child := os.fork()) == 0:  # of a process in a layer there is no way back
            os.chdir(root)
            enter_layer(root, "")
            asyncio.run(take_effects(root))
            os._exit(0)
        os.waitpid(child, 0)
        asyncio.run(take(root))
    animate(MOVING, "moving.svg")


if __name__ == "__main__":
    main()
