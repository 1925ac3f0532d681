"""Keeps secrets out of what is logged, and out of the account of a crash."""

from __future__ import annotations

import logging
import sys
import threading
import traceback
from collections.abc import Callable
from types import TracebackType
from typing import Any

_Maker = Callable[..., logging.LogRecord]


def mask_logs(hide: Callable[[str], str]) -> Callable[[], None]:
    """From now on no log record of any library holds a secret, whoever handles it. The answer ends that.

    Records are masked when they are made: a filter would only see those of its own logger or handler.
    """
    make: _Maker = logging.getLogRecordFactory()
    make = getattr(make, "unmasked", make)  # one mask at a time: that of the session opened last

    def make_masked(*args: Any, **kwargs: Any) -> logging.LogRecord:
        record = make(*args, **kwargs)
        try:
            said = record.getMessage()
        except Exception:  # noqa: BLE001 - logging reports a message that does not fit its arguments in its own way
            return record
        record.msg, record.args = hide(said), None
        if record.exc_info and record.exc_info[1] is not None:
            record.exc_text = hide("".join(traceback.format_exception(record.exc_info[1])).rstrip("\n"))
            record.exc_info = None
        return record

    make_masked.unmasked = make  # type: ignore[attr-defined]
    logging.setLogRecordFactory(make_masked)
    return lambda: logging.setLogRecordFactory(make)


def mask_crashes(hide: Callable[[str], str]) -> Callable[[], None]:
    """From now on the account of an error that nobody caught holds no secret. The answer ends that."""
    in_main, in_thread, in_finalizer = sys.excepthook, threading.excepthook, sys.unraisablehook

    def tell(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> None:
        lines = traceback.format_exception(kind, error, trace)
        if sys.stderr is not None:
            sys.stderr.write(hide("".join(lines)))

    def tell_of_thread(args: threading.ExceptHookArgs) -> None:
        if args.exc_type is not SystemExit:
            tell(args.exc_type, args.exc_value, args.exc_traceback)

    def tell_of_finalizer(args: sys.UnraisableHookArgs) -> None:
        tell(args.exc_type, args.exc_value, args.exc_traceback)

    sys.excepthook, threading.excepthook, sys.unraisablehook = tell, tell_of_thread, tell_of_finalizer

    def restore() -> None:
        sys.excepthook, threading.excepthook, sys.unraisablehook = in_main, in_thread, in_finalizer

    return restore
