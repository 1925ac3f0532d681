"""Messages that the SDK has no route for."""

from __future__ import annotations

import pytest

from quorum.acp_agent.standard_io import RequestRouting


def prompt(request_id: object, session: str = "s") -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": request_id, "method": "session/prompt", "params": {"sessionId": session}}


def cancel(request_id: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": request_id}}


@pytest.mark.parametrize("request_id", [1, 0, "1", ""])
def test_cancelling_the_request_of_a_prompt_cancels_the_prompt_of_its_session(request_id):
    routing = RequestRouting()
    routing.route(prompt(request_id))

    routed = routing.route(cancel(request_id))

    assert routed == {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "s"}}


@pytest.mark.parametrize("request_id", ["1", 1.0, True, None, [1], {"a": 1}, 2])
def test_an_id_of_no_open_prompt_cancels_nothing(request_id):
    routing = RequestRouting()
    routing.route(prompt(1))

    assert routing.route(cancel(request_id)) is None


def test_an_answered_prompt_is_not_cancelled():
    routing = RequestRouting()
    routing.route(prompt(1))
    routing.send({"jsonrpc": "2.0", "id": 1, "result": {}})

    assert routing.route(cancel(1)) is None


@pytest.mark.parametrize("params", [None, [], "1", {}])
def test_a_notification_without_a_request_cancels_nothing(params):
    assert RequestRouting().route({"method": "$/cancel_request", "params": params}) is None


@pytest.mark.parametrize(
    "message",
    [
        {"method": "session/cancel"},
        {"method": "session/cancel", "params": {}},
        {"method": "session/cancel", "params": {"sessionId": 5}},
        {"method": "session/cancel", "params": ["s"]},
        {"method": "session/unknown", "params": {"sessionId": "s"}},
        {"method": "$/progress"},
    ],
)
def test_a_notification_that_nobody_can_follow_leaves_a_line_in_the_log_alone(message, caplog):
    with caplog.at_level("INFO", logger="quorum"):
        assert RequestRouting().route(message) is None

    (record,) = caplog.records
    assert record.levelname == "INFO"
    assert message["method"] in record.getMessage()


def test_other_messages_pass_as_they_are():
    routing = RequestRouting()

    cancelled = {"method": "session/cancel", "params": {"sessionId": "s"}}
    for message in (
        cancelled,
        {"method": "_x/y"},
        {"id": 1, "method": "session/new"},
        {"id": 1, "result": 1},
        {"id": [1], "method": "x"},
    ):
        assert routing.route(message) is message
    assert routing.route({"id": 2, "method": "session/delete"}) == {"id": 2, "method": "_session/delete"}


@pytest.mark.parametrize("method", ["session/update", "session/request_permission", "elicitation/create"])
def test_what_another_process_says_reaches_the_client_as_it_stands(method):
    routing = RequestRouting()

    assert routing.send({"id": 3, "method": f"_{method}", "params": {"a": 1}}) == {
        "id": 3,
        "method": method,
        "params": {"a": 1},
    }
    assert routing.send({"method": "_own/word"}) == {"method": "_own/word"}


@pytest.mark.parametrize("method", ["session/new", "session/load"])
@pytest.mark.parametrize("given", [{}, {"mcpServers": None}])
def test_a_client_without_servers_may_leave_them_out(method: str, given: dict[str, object]) -> None:
    sent = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"cwd": "/", **given}}

    assert RequestRouting().route(sent) == {**sent, "params": {"cwd": "/", "mcpServers": []}}
