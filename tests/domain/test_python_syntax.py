"""Python that is read in several threads at once."""

from __future__ import annotations

import ast
import gc
import sys
from concurrent.futures import ThreadPoolExecutor

from quorum.domain.text.python_syntax import parse_expression, parse_module

_SOURCE = "".join(f"value_{number} = [((1, {number}), {{'a': [b, c]}})]\n" for number in range(10))
_TIMES = 60


def _let_others_run(_phase: str, _info: object) -> None:
    for _ in range(20):
        pass


def test_threads_that_read_python_at_once_do_not_fail_each_other() -> None:
    """Another thread gets in where the garbage collector runs Python in the middle of the parser."""
    interval, threshold = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(10)
    gc.callbacks.append(_let_others_run)
    try:
        with ThreadPoolExecutor(4) as pool:
            read = list(pool.map(lambda _: parse_module(_SOURCE), range(_TIMES)))
    finally:
        gc.callbacks.remove(_let_others_run)
        gc.set_threshold(*threshold)
        sys.setswitchinterval(interval)

    assert {len(module.body) for module in read} == {10}
    assert ast.literal_eval(parse_expression("(1, 'a')")) == (1, "a")
