"""Hooks in their places: when each is asked, and about which calls."""

from __future__ import annotations

from msgspec import Struct

from quorum.application.calls.hooks import Hook, UniformHook
from quorum.domain.calls.hook import HookPoint, OnHookError
from quorum.domain.calls.tool import RiskLevel


class HookMatcher(Struct, frozen=True, kw_only=True):
    """Which calls a hook is asked about. Empty means all; `tools` and `paths` are glob patterns."""

    tools: tuple[str, ...] = ()
    risk: RiskLevel | None = None
    paths: tuple[str, ...] = ()


class HookRegistration(Struct, frozen=True, kw_only=True):
    """A hook in its place: lower `priority` runs first, then the order of registration.

    It is asked at its `points` only.
    `on_error` of None means what the point means by itself: see `PointDescription.on_error`.
    """

    name: str
    hook: Hook | UniformHook
    priority: int = 0
    timeout_secs: float = 30.0
    on_error: OnHookError | None = None
    matcher: HookMatcher = HookMatcher()
    points: frozenset[HookPoint] = frozenset(HookPoint)
