"""A resumed session may work elsewhere than before: in a layer, in another one, or in the folder itself."""

from __future__ import annotations

from quorum.domain.staging.layer_work import LayerWork

_READ_AGAIN = "Read files again before you edit them."
_RESET = (
    "The person has discarded changes of the layer, taken applied ones back, or applied these again. "
    f"{_READ_AGAIN}"
)


def describe_changed_place(work: LayerWork) -> str:
    """What is not as it was at the last answer of the model, for it to read; empty where nothing is."""
    before, now = work.answered_in, work.layer
    if before is None:
        return ""
    if before == now:
        return _RESET if work.was_reset else ""
    left = f" What was changed in the layer {before} and not applied is not there." if before else ""
    if now:
        return (
            f"From now on this session works in the layer {now} over the person's folder: changes wait there "
            f"until the person has reviewed them.{left} {_READ_AGAIN}"
        )
    return f"From now on this session works in the person's folder itself.{left} {_READ_AGAIN}"
