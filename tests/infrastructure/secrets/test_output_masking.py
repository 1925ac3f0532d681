from __future__ import annotations

import io
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from quorum.domain.events.masking import SecretMask
from quorum.infrastructure.secrets.known import mask_logs

ROOT = Path(__file__).parents[3]
KEY = "q7Zrt9vX2m4kPwd3Ls8Y"


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """What a handler of some library's logger writes."""
    mask = SecretMask()
    mask.learn("THE_KEY", KEY)
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    logger = logging.getLogger("some.library")
    logger.addHandler(handler)
    end = mask_logs(mask.mask_text)
    yield stream
    end()
    logger.removeHandler(handler)


def test_messages_arguments_and_tracebacks_are_logged_without_secrets(logged: io.StringIO) -> None:
    logger = logging.getLogger("some.library.below")

    logger.error("sent %s to %d hosts", f"Bearer {KEY}", 2)
    try:
        raise ValueError(f"refused {KEY}")
    except ValueError:
        logger.exception("failed")

    assert logged.getvalue().startswith("sent Bearer [secret:THE_KEY] to 2 hosts\nfailed\nTraceback")
    assert logged.getvalue().endswith("ValueError: refused [secret:THE_KEY]\n")
    assert KEY not in logged.getvalue()


def test_the_last_mask_is_the_one_that_counts_and_can_be_taken_off(logged: io.StringIO) -> None:
    before = logging.getLogRecordFactory()
    end = mask_logs(str.upper)

    logging.getLogger("some.library").error("say %s", KEY)
    end()
    logging.getLogger("some.library").error("plain")

    assert logged.getvalue() == f"SAY {KEY.upper()}\nplain\n"
    logging.setLogRecordFactory(before)


@pytest.mark.long(after=2)
@pytest.mark.parametrize(
    "crash",
    [
        "raise ValueError(KEY)",
        "import threading; t = threading.Thread(target=lambda: 1 / int(KEY)); t.start(); t.join()",
        "class Odd:\n    def __del__(self):\n        raise ValueError(KEY)\nOdd()",
    ],
    ids=["main", "thread", "finalizer"],
)
def test_the_account_of_a_crash_holds_no_secret(crash: str) -> None:
    code = (
        "import sys\nfrom quorum.domain.events.masking import SecretMask\n"
        "from quorum.infrastructure.secrets.known import mask_crashes\n"
        f"KEY = ''.join(reversed({KEY[::-1]!r}))\nmask = SecretMask()\nmask.learn('THE_KEY', KEY)\n"
        f"mask_crashes(mask.mask_text)\n{crash}\n"
    )

    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )

    assert "[secret:THE_KEY]" in ended.stderr
    assert "ValueError" in ended.stderr
    assert KEY not in ended.stderr
