import pytest

from quorum.domain.calls.effects import is_declared
from quorum.domain.calls.git_files import makes_git_run


@pytest.mark.parametrize("name", ["index", "HEAD", "refs/heads/hooks/config", "logs/HEAD", "COMMIT_EDITMSG"])
def test_what_a_commit_writes_is_declared_with_the_folder_of_the_repository(name: str) -> None:
    assert not makes_git_run(name)
    assert is_declared(frozenset({"/w/.git"}), f"/w/.git/{name}")


@pytest.mark.parametrize(
    "name", ["config", "hooks/pre-commit", "worktrees/one/config.worktree", "modules/a/b/hooks/pre-push"]
)
def test_what_makes_git_run_programs_is_declared_by_its_own_path_alone(name: str) -> None:
    assert not is_declared(frozenset({"/w/.git"}), f"/w/.git/{name}")
    assert is_declared(frozenset({"/w/.git", f"/w/.git/{name}"}), f"/w/.git/{name}")
    assert is_declared(frozenset({"/w"}), f"/w/.git/{name}")
