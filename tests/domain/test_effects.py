from quorum.domain.calls.effects import ChangeKind, FileChange, FileLook, FileMark, compute_effects


def _mark(size: int = 1) -> FileMark:
    return FileMark(kind=0, size=size, modified_ns=0, changed_ns=0, inode=1)


def _look(*, complete: bool = True, **sizes: int) -> FileLook:
    return FileLook(marks={f"/w/{name}": _mark(size) for name, size in sizes.items()}, complete=complete)


def test_what_is_new_other_or_gone_is_a_change_and_what_is_the_same_is_none() -> None:
    effects = compute_effects(_look(a=1, b=1, c=1), _look(b=2, c=1, d=1), frozenset({"/w/d"}))
    assert effects.complete
    assert effects.changes == (
        FileChange(path="/w/a", kind=ChangeKind.DELETED, declared=False),
        FileChange(path="/w/b", kind=ChangeKind.MODIFIED, declared=False),
        FileChange(path="/w/d", kind=ChangeKind.CREATED, declared=True),
    )


def test_a_declared_folder_declares_what_lies_below_it_and_not_its_neighbours() -> None:
    before, after = FileLook(), FileLook(marks={"/w/out/a": _mark(), "/w/output": _mark()})
    declared = {c.path: c.declared for c in compute_effects(before, after, frozenset({"/w/out"})).changes}
    assert declared == {"/w/out/a": True, "/w/output": False}


def test_what_an_incomplete_look_missed_is_neither_created_nor_deleted() -> None:
    cut = compute_effects(_look(a=1), _look(complete=False, b=1), frozenset())
    assert [change.kind for change in cut.changes] == [ChangeKind.CREATED]
    assert not cut.complete
    cut = compute_effects(_look(complete=False, a=1, c=1), _look(b=1, c=2), frozenset())
    assert [(c.path, c.kind) for c in cut.changes] == [
        ("/w/a", ChangeKind.DELETED),
        ("/w/c", ChangeKind.MODIFIED),
    ]
