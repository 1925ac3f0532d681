from quorum.domain.events.event import FolderAdded, SessionRewound, SessionStarted, TurnStarted
from quorum.domain.events.session import FolderOrigin
from quorum.domain.review.mode import Mode
from quorum.domain.review.path_policy import PathPolicy, WorkspaceRoots
from quorum.domain.review.permission_rules import matches_path
from quorum.domain.sessions.replay import Replay
from quorum.domain.sessions.state import SessionState


def after(*events: SessionStarted | TurnStarted | FolderAdded | SessionRewound) -> SessionState:
    replay = Replay()
    for event in events:
        replay.apply(event, 0)
    return replay.state


BEGUN = SessionStarted(session_id="s", model="a/one", mode=Mode.ASK, cwd="/work")
TURN = TurnStarted(prompt="go")


def test_a_policy_knows_a_folder_as_soon_as_it_is_added() -> None:
    roots = WorkspaceRoots(("/work",))
    policy = PathPolicy(roots=roots)
    assert not policy.is_inside("/library/a.py")
    roots.replace_added(["/library"])
    assert policy.is_inside("/library/a.py")
    assert not policy.is_inside("/library-2/a.py")
    roots.replace_added([])
    assert not policy.is_inside("/library/a.py")


def test_names_in_an_added_folder_are_protected_and_sensitive_from_its_top_on() -> None:
    policy = PathPolicy(roots=WorkspaceRoots(("/work",), ("/library",)))
    assert policy.is_protected("/library/.git/config")
    assert policy.is_sensitive("/library/deep/.env")
    assert not policy.is_protected("/library/src/a.py")


def test_a_folder_inside_of_another_adds_nothing() -> None:
    roots = WorkspaceRoots(("/work",))
    roots.replace_added(["/work/src", "/library/inner", "/library", "/library"])
    assert tuple(roots) == ("/work", "/library")
    assert roots.added == ("/library",)


def test_the_working_directory_stays_first_whatever_is_added() -> None:
    roots = WorkspaceRoots(("/work",), ("/a", "/b"))
    assert roots[0] == "/work"
    assert roots[1:] == ("/a", "/b")
    assert len(roots) == 3


def test_a_relative_pattern_that_allows_holds_in_the_working_directory_only() -> None:
    roots = WorkspaceRoots(("/work",), ("/library",))
    assert matches_path("src/**", "/work/src/a.py", roots, strict=True)
    assert not matches_path("src/**", "/library/src/a.py", roots, strict=True)
    assert matches_path("/library/src/**", "/library/src/a.py", roots, strict=True)


def test_a_relative_pattern_that_forbids_holds_in_every_folder() -> None:
    roots = WorkspaceRoots(("/work",), ("/library",))
    assert matches_path("src/**", "/library/src/a.py", roots, strict=False)


def test_a_replay_has_the_folders_that_were_added_oldest_first() -> None:
    state = after(
        BEGUN,
        FolderAdded(folder="/a", origin=FolderOrigin.OPTION),
        TURN,
        FolderAdded(folder="/b"),
        FolderAdded(folder="/a"),
    )
    assert state.folders == ("/a", "/b")


def test_going_back_to_before_a_turn_withdraws_what_was_added_since() -> None:
    events = (BEGUN, FolderAdded(folder="/a"), TURN, FolderAdded(folder="/b"), TURN, FolderAdded(folder="/c"))
    assert after(*events, SessionRewound(turn=1, conversation=True, files=True)).folders == ("/a", "/b")
    assert after(*events, SessionRewound(turn=0, conversation=True, files=False)).folders == ("/a",)


def test_giving_files_back_withdraws_no_folder() -> None:
    events = (BEGUN, TURN, FolderAdded(folder="/b"))
    assert after(*events, SessionRewound(turn=0, conversation=False, files=True)).folders == ("/b",)
