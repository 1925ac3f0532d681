"""A decision that somebody opened on one machine counts as seen on all that share the database."""

from __future__ import annotations

import math
from contextlib import closing

from quorum.infrastructure.store.postgres.address import parse_address


async def test_what_one_machine_opened_another_knows_also_where_an_earlier_quorum_made_the_tables(
    machine, postgres, url
):
    with closing(postgres.connect(parse_address(url).database)) as connection:
        connection.execute("DROP TABLE seen_decisions")
    asking, reading = machine("asking"), machine("reading")

    assert await asking.answers.find_seen_age_secs("s", "5f") == math.inf
    await reading.answers.note_seen("s", "5f")

    assert 0 <= await asking.answers.find_seen_age_secs("s", "5f") < 60
    assert await asking.answers.find_seen_age_secs("t", "5f") == math.inf
