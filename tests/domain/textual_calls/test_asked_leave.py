"""A call whose model asks the person whether it is to be made, in whatever language, is not made."""

from __future__ import annotations

import pytest

from tests.domain.textual_calls.test_reader import READ, TAGGED, list_calls, read

_ASKING = (
    "Soll ich das ausführen?",
    "Voulez-vous que je continue ?",
    "¿Continúo?",
    "Puedo borrarla? No se puede deshacer.",
    "Выполнить?",
    "要我执行吗？",
    "实行可以吗",
    "実行してもよろしいですか。",
    "실행할까요?",
    "هل أنفذ هذا الأمر؟",
    "Να συνεχίσω;",
    "ให้ฉันรันคำสั่งนี้ไหมครับ",
    "This deletes the folder. Continue? [y/N]",
    "**Proceed?**",
    "Bitte bestätige das, bevor ich es ausführe.",
    "Merci de confirmer.",
    "请确认。",
    "ご確認をお願いします。",
    "Si vous êtes d'accord, je l'exécute.",
    "Nếu bạn đồng ý, tôi sẽ chạy lệnh này.",
)
_TELLING = (
    "Dann sehe ich weiter.",
    "Ich prüfe den Inhalt, um den Fehler zu bestätigen.",
    "ファイルの内容を確認します。少々お待ちください。",
    "确认一下文件内容，请稍等。",
    "Un momento, por favor.",
    "Is the loop wrong? It may be.",
    "Is there anything else I can help you with?",
    "Was kann ich sonst noch tun?",
    "还有什么可以帮您？",
)


@pytest.mark.parametrize("behind", [*_ASKING, *_TELLING])
def test_a_question_behind_a_call_in_any_language_leaves_it_to_the_person(behind: str) -> None:
    for end in ("", "\n", "<|im_end|>"):
        for step in (0, 1, 9):
            pieces = read(f"{TAGGED}\n\n{behind}{end}", step=step)
            assert list_calls(pieces) == ([READ] if behind in _TELLING else [])


@pytest.mark.parametrize(
    ("before", "is_asked"),
    [
        ("Darf ich diesen Befehl ausführen?", True),
        ("我可以运行这个命令吗？", True),
        ("Можно прочитать файл?", True),
        ("Was steht in der Datei?", False),
        ("エラーはどこでしょうか？", False),
        ("¿Dónde está el error?", False),
    ],
)
def test_a_question_before_a_call_counts_only_where_it_asks_to_make_it(before: str, is_asked: bool) -> None:
    for step in (0, 1, 9):
        assert list_calls(read(f"{before}\n{TAGGED}", step=step)) == ([] if is_asked else [READ])


def test_who_goes_on_behind_a_question_does_not_wait_for_its_answer() -> None:
    for behind in (
        f"And the other file?\n{TAGGED}",
        "And the other file?\n<tool_response>\nx\n</tool_response>",
    ):
        assert READ in list_calls(read(f"{TAGGED}\n\n{behind}"))
    assert list_calls(read(f"{TAGGED}\n\nAnd then? {'I will see. ' * 30}So what?")) == [READ]
