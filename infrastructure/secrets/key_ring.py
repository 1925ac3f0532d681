"""The keys of providers in the keyring of the operating system: service "quorum", one entry per provider."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from quorum.domain.errors import ConfigError
from quorum.infrastructure.extras import is_installed, render_install_command

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

SERVICE = "quorum"
READING_SECS = 10.0
"""A keyring that asks the person to unlock it may take as long to be read; then a session does without."""
CHANGING_SECS = 120.0
KEY_IN_ENVIRONMENT = "put the key into the provider's environment variable"
_Found = TypeVar("_Found")


class KeyRing:
    """Reads each key at most once, and only when asked; the package behind it is loaded then.

    `otherwise` is what helps where there is no keyring.

    `learn` gets every key that is read or written. Each method blocks, in bounded time, and raises
    ConfigError with a remedy where the keyring is locked, broken or does not answer.
    """

    def __init__(
        self,
        learn: Callable[[str, str], object] = lambda _name, _value: None,
        *,
        reading_secs: float = READING_SECS,
        otherwise: str = KEY_IN_ENVIRONMENT,
    ) -> None:
        self._learn = learn
        self._reading_secs = reading_secs
        self._otherwise = otherwise
        self._read: dict[str, str | None] = {}
        self._trouble: ConfigError | None = None
        self._reading = threading.Lock()

    @property
    def missing(self) -> str:
        """What to install before keys can be kept, and read; empty where it is there."""
        if is_installed("keyring"):
            return ""
        return (
            "the package that reads the keyring is not installed; install it with: "
            f"{render_install_command('keyring')}, or {self._otherwise}"
        )

    def require(self) -> None:
        """Raise ConfigError where nothing could be kept."""
        self._require_package()
        if not self._ask(lambda _ring: True, self._reading_secs, missing=False):
            raise ConfigError(self._no_keyring)

    def get_key(self, provider: str) -> str | None:
        """The key of a provider; None where there is none, or no keyring on this machine."""
        if self.missing:
            return None
        with self._reading:
            if self._trouble is not None:
                raise self._trouble  # what did not answer once is not waited for again
            if provider not in self._read:
                try:
                    found = self._ask(
                        lambda ring: _read_entry(ring, provider), self._reading_secs, missing=None
                    )
                except ConfigError as trouble:
                    self._trouble = trouble
                    raise
                self._read[provider] = self._learn_key(provider, found)
            return self._read[provider]

    def keep(self, provider: str, key: str) -> None:
        """Put a key into the keyring, in place of the one that is there."""
        self._require_package()
        self._learn_key(provider, key)

        def put(ring: KeyringBackend) -> bool:
            try:
                ring.set_password(SERVICE, provider, key)
                return _read_entry(ring, provider) == key
            except Exception as error:
                if key in str(error):  # it quotes what it was given
                    raise RuntimeError(str(error).replace(key, "…")) from None
                raise

        if not self._ask(put, CHANGING_SECS, missing=False):
            raise ConfigError(self._no_keyring)
        self._read[provider] = key

    def remove(self, provider: str) -> bool:
        """Take a key out of the keyring; False where there was none."""
        self._require_package()

        def take_out(ring: KeyringBackend) -> bool:
            if ring.get_password(SERVICE, provider) is None:
                return False
            ring.delete_password(SERVICE, provider)
            return True

        removed = self._ask(take_out, CHANGING_SECS, missing=False)
        self._read[provider] = None
        return removed

    @property
    def _no_keyring(self) -> str:
        return (
            "this machine has no keyring that keeps keys; install one (GNOME Keyring or KWallet on Linux), or "
            f"{self._otherwise}"
        )

    def _require_package(self) -> None:
        if self.missing:
            raise ConfigError(self.missing)

    def _ask(self, question: Callable[[KeyringBackend], _Found], secs: float, *, missing: _Found) -> _Found:
        """What the keyring answers, or `missing` where there is no keyring.

        It is asked in a thread of its own, which nobody waits for at the end: what keeps keys may want to be
        unlocked by the person, or wait for a bus that never answers.
        """
        answers: list[_Found] = []
        troubles: list[BaseException] = []

        def ask() -> None:
            try:
                answers.append(_answer(question, missing))
            except BaseException as error:  # noqa: BLE001 - each backend fails in its own way, some below Exception
                troubles.append(error)

        thread = threading.Thread(target=ask, name="keyring", daemon=True)
        thread.start()
        thread.join(secs)
        if answers:
            return answers[0]
        if troubles:
            reason = " ".join(str(troubles[0]).split())[:200] or type(troubles[0]).__name__
            raise ConfigError(
                f"the keyring cannot be used: {reason.rstrip('.')}; unlock it, or {self._otherwise}"
            ) from troubles[0]
        raise ConfigError(f"the keyring did not answer within {secs:g} s; unlock it, or {self._otherwise}")

    def _learn_key(self, provider: str, key: str | None) -> str | None:
        key = (key or "").strip()
        if key:
            self._learn(f"{provider}-key", key)
        return key or None


def _read_entry(ring: KeyringBackend, provider: str) -> str | None:
    """Raises TypeError where a backend answers what is not text."""
    found: object = ring.get_password(SERVICE, provider)
    if found is None or isinstance(found, str):
        return found
    raise TypeError(f"its entry for {provider} is {type(found).__name__}, not a text")


def _answer(question: Callable[[KeyringBackend], _Found], missing: _Found) -> _Found:
    import keyring
    from keyring.backends.fail import Keyring as NoBackend
    from keyring.errors import NoKeyringError

    ring = keyring.get_keyring()
    if isinstance(ring, NoBackend):
        return missing
    try:
        return question(ring)
    except NoKeyringError:
        return missing
