from __future__ import annotations

import pytest

from quorum import errors as complaints


def test_complaints_are_masked_once_a_mask_is_known(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(complaints, "_hide", complaints._hide)
    complaints.complain(["before: swordfish"])
    complaints.mask_complaints(lambda text: text.replace("swordfish", "[secret:PASS]"))

    complaints.complain(["after: swordfish"])

    assert capsys.readouterr().err == "quorum: before: swordfish\nquorum: after: [secret:PASS]\n"
