from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from quorum.domain.calls.planners import PLANNERS
from quorum.domain.events.masking import SecretMask
from quorum.infrastructure.config.loading import load_settings
from quorum.infrastructure.config.model_choice import AskedModels
from quorum.infrastructure.config.tools_table import PlannerName
from quorum.infrastructure.container import build_container
from quorum.infrastructure.session_inputs import SessionInputs
from quorum.infrastructure.trust_decisions import open_trust_decisions
from tests.support.fake_ports import FakePerson, RecordingObserver
from tests.support.records import no_record


def test_the_settings_name_exactly_the_planners_there_are() -> None:
    assert get_args(PlannerName) == tuple(PLANNERS)


@pytest.mark.parametrize("name", PLANNERS)
def test_the_chosen_planner_is_the_one_that_plans(name: str, tmp_path: Path) -> None:
    loaded = load_settings(cwd=tmp_path, environ={"HOME": str(tmp_path)}, overrides={"tools.planner": name})
    container = build_container(
        SessionInputs(
            record=no_record(),
            mask=SecretMask(),
            loaded=loaded,
            asked=AskedModels(models=("offline/offline",)),
            root=tmp_path,
            environ={},
            approver=FakePerson(),
            observer=RecordingObserver(),
            trust=open_trust_decisions({}),
        )
    )

    assert container.parts().calls.runtime.planner is PLANNERS[name]
