"""Which contents must not be stored."""

from __future__ import annotations

from collections.abc import Callable

from domain.events.masking import SecretMask


def build_secret_test(mask: SecretMask) -> Callable[[bytes], bool]:
    """Tells contents that hold a known secret, and so must not be stored; also in two bytes a character."""

    def holds_secret(content: bytes) -> bool:
        forms = (content, content.replace(b"\0", b"")) if b"\0" in content else (content,)
        texts = (form.decode("utf-8", "replace") for form in forms if mask.may_hold_known(form))
        return any(mask.mask_known(text) is not text for text in texts)

    return holds_secret
