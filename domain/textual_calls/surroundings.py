"""What the words around a call in a text say of it: that it is made, or that it is shown."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from quorum.domain.text.pattern import compile_once
from quorum.domain.textual_calls.forms import Form

_CODE_MARK = r"`+"
_QUOTES = "\"'`“‘«„‹「『\\~"
# quotation marks that open and close
_QUOTE_PAIRS = tuple(zip("“«„‹「『", "”»“›」』", strict=True))
# a quotation, a row of a table, indented code, a comment in code, a line of a difference, a numbered line of a
# file or of what was found in one, a line of a log, character data
QUOTED_LINE = (
    r"[ \t]*>(?!>>)|[ \t]*\||(?: {4}|\t)|[ \t]*(?://+|#+|--+|;+|\$)[ \t]*\Z|[+-]\Z|"
    r"[ \t]*\d+[ \t]*[\t|:→│]|[^\s:<>]+:\d+[:-]|[ \t]*\[?\d{4}-\d\d-\d\d[T \]]|.*<!\[CDATA\["
)
# words that speak of a call, and what goes on with their sentence behind it: there it is mentioned, not made
_MENTION = (
    r"(?i)\b(?:not|never|instead|without|avoid|rather|means?|emits?|writes?|prints?|printed|outputs?|returns?|returned|"
    r"expects?|contains?|shows?|sends?|sent|used|called|tried|produces?|says?|said|between|as|is|was|would|could|might|"
    r"nicht|nie|statt|würde|könnte|sans|jamais|pas|ne|no|nunca|não|nem|non|mai|niet|nooit|не|никогда|ні|nigdy|inte)\b|n['’]t\b"
)
_SENTENCE_GOES_ON = r"[ \t]*(?:[.:!?)»”’'\"~]|[,;][ \t]*\w)|[ \t]+(?!\d)(?=\w)(?P<word>\w)"
# words that present what follows as an illustration
EXAMPLE = (
    r"(?i)\b(?:for|an|as an) (?:example|illustration)\b|\bfor instance\b|\be\.g\.|\bexample (?:call|of|output)|"
    r"\bexample:|\blooks? like\b|\b(?:the|this|following) (?:format|syntax|form|template|schema)\b"
    r"(?! of (?:the|this|that) )|"
    r"\bz\. ?b\.|\bp\. ?ej\.|\bp\. ?ex\.|\b(?:beispiel(?:sweise)?|e[jx]emplo|exemplu|exemple|esempio|"
    r"(?:bij)?voorbeeld|e(?:x|ks)empel|přík?lad|példá?(?:ul)?|ví dụ|contoh)\b|"
    r"\b(?:esimerk|przykład|örne[kğ]|παράδειγμα)|"
    r"пример|приклад|דוגמ|مثال|مثلا|उदाहरण|ตัวอย่าง|예를 들|예시|예:|例えば|例[:：]|例如|比如|示例|範例"
)
# words by which a model begins a call itself
_BEGINS_CALL = (
    r"(?i:.*\b(?:let me|let['’]?s|i['’]ll|i will(?! (?:not|never)\b)|i am|i['’]m|going to|check|see|find|"
    r"now|look(?! (?:like|as|so))|first|next)\b)"
)
# a line that ends in the middle of a sentence, which no model begins a call with, and its rest behind the call
_OPEN_SENTENCE = rf"(?!{_BEGINS_CALL})[^\n]*[ \t][^\n]*[\w,]\Z"
_GOES_ON_BELOW = r"[ \t]*\n\s*+(?=[a-z])(?!(?:json|xml|tool_)\b)\w+[ \t,]"
# whose words a line of a conversation is
_SPEAKER = r"(?i)[ \t]*[*_]*(?:assistant|ai|model|bot|agent|llm)[*_]*:[*_]*[ \t]*"
_OTHER_SPEAKER = r"(?im)^[ \t]*[*_]*(?:user|human|customer|person|tool|system)[*_]*:"
# the mark of an item in a list
_ITEM = r"[ \t]*(?:[-*+•]|\(?(?:\d{1,3}|[a-z])[.)])[ \t]+(?:\[[ x]\][ \t]+)?"
_NEXT_ITEM = rf"[ \t]*\n{_ITEM}(?:[*_]*\w+[*_]*:[*_]*[ \t]*)?"
_LABELLED_ITEM = rf"{_ITEM}(?:[*_]*\w+[*_]*:[*_]*[ \t]*)?"
# a line that says whose words follow, or that they are not to be: no line by which a model begins a call itself
_SHOWN_BY = (
    rf"(?i)(?!{_BEGINS_CALL})(?:.*(?:"
    r"\b(?:do not|don['’]t|never|will not|won['’]t|must not|mustn['’]t|should not|shouldn['’]t|refuse to)"
    r" (?:ever )?"
    r"(?:run|emit|write|send|call|execute|use|print|output|make|do|try)\b[^.;,!:]*:?|"
    r"\b(?:says|said|reads|contains|contained|wrote|writes|prints|printed|emits|emitted|returned|outputs)"
    r"(?: (?:this|so|the following|as follows))?:|"
    r"\b(?:you|users?|they|he|she|person|customer) (?:wrote|sent|pasted|posted|typed|gave|quoted|entered)"
    r"(?: (?:me|us))?(?: (?:this|the following))?:|"
    r"\b(?:logs?|readme(?:\.\w+)?|docs?|documentation|paper|spec|trace|issue|ticket)`? "
    r"(?:shows?|documents?|has|reads?|gives?|lists?|describes?)(?: (?:it|this|so|the following|as follows))?"
    r"(?: (?:at|on|in|under) \S+)?:|"
    r"\bse ve\b[^.]*:|\bse présente\b[^.]*:|\bziet er (?:zo|als volgt) uit:|выглядит (?:так|следующим)[^.]*:|"
    r"(?:如下|如下所示|次のように書[^。]*|다음과 같[^.]*)[:：]|"
    r"\blooks? (?:so|as follows|thus):|\blike (?:this|so) one:|\btold (?:me|you) to (?:run|write|call):?|"
    r"\bsieht so aus:|\bnicht ausführen:|"
    r"(?:\b(?:prompt|chat) template|\bbad|\bwrong)[*_]*:[*_]*|"
    r"\b(?:file|script|program|page|command|template|test|prompt|document|docs?|\w+\.\w{1,5}`?) "
    r"(?:holds?|has|shows?|gives?|logs?):|"
    # a condition, or what was not done or is over, and whose sentence goes on with the call
    r"\b(?:if|when(?:ever)?|in case) (?:you|the user|users|people|someone|anyone|they)\b(?:.*[\w,:])?|"
    r"\b(?:i|we|you|it|they|one|model|assistant) (?:would|could|might) (?:\w+ )?"
    r"(?:call|run|use|send|write|emit|make|execute|do|try|answer|reply|respond)\b(?:.*[\w,:])?|"
    r"\b(?:i|we)(?:['’]ve| have)? (?:already|previously|earlier|once)\b(?:.*[\w,:])?|"
    r"\b(?:should|shall|may|can) (?:i|we)\b.*\?|\b(?:do you want|would you like) me to\b.*\?)|"
    r"(?:[#>*_ ]*)(?:the )?(?:(?:raw |full |expected |actual |sample |script |program )?"
    r"(?:outputs?|contents?|excerpt|listing|transcript)|format|syntax|usage|expected|actual|input|template)"
    r"(?: (?:of|from) [^:;,\n]{1,80}| format| syntax)?[*_]*:?[*_]*|"
    r"(?:the |its |their )?(?:\w+ )?(?:form|format|syntax|notation) (?:is|was):|"
    r"(?:before|after|(?:option|case|variant|version|alternative)(?: \w+)?|alternatively|old|new|good|correct|"
    r"incorrect)[*_]*:[*_]*|in (?:the|its|their|our|your|my) "
    r"(?:file|tokens?|docs|documentation|paper|readme|logs?|prompt|template)[^.,;:\n]{0,40}:)"
)

# a sentence whose words stand on both sides, and what goes on behind what begins a line
_OPEN_SIDE = rf"(?!{_BEGINS_CALL}|.*\b(?:I|[Ii]ch|[Jj]e)\b)[^\n]*[\w,] ?\Z"
_OTHER_SIDE = r"[ \t]*,?[ \t]+(?=[a-z])\w+"
_VERB_BEHIND = (
    r"[ \t]+(?:is|are|was|were|means?|marks?|begins?|would|should|could|in|as|for|of|by|which|that)\b"
)
# an item of a list that goes on with it, or says that something does what it is
_ITEM_SENTENCE = rf"{_ITEM}(?!{_BEGINS_CALL})[^\n]*[\w,] ?\Z"
_ITEM_VERB = rf"{_ITEM}(?!{_BEGINS_CALL}|\w+ing\b)[a-z][^\n]*[\w,] ?\Z"
# what stands before and behind a listing
_DELIMITER = r"(?:.*[ \t=(])?(?P<mark>-{4,}|={4,}|\.{4,}|\+{4,}|/{4,}|\"{3}|'{3})\Z"
# between two sentences; a choice belongs to its question
_SENTENCE = r"(?<=[.!?？。！؟])\s*(?=[^\s*_\"'”’»」』)\](\[])"
_DIRECTIVE = r"(?s)(?:.*\n)?(?:\.\. [\w-]+::[^\n]*|[^\n]*::)\n\s*\Z"
# words behind a call that leave it to the person whether it is made
_ASKS_LEAVE = (
    r"(?i)[\s*_>#-]*(?:(?:shall|should|may|can|could|must) (?:i|we)\b|(?:do you|would you|you) (?:want|like)\b|"
    r"(?:want|like) me to\b|ok(?:ay)? (?:to|if|with)\b|(?:is|would) (?:that|this|it)(?: be)? "
    r"(?:ok(?:ay)?|fine|all right|alright|right|good)\b|does (?:that|this) (?:look|sound|work)\b|"
    r"permission to\b|(?:let me know|tell me) (?:if|whether|when) (?:i|we) (?:should|may|can|shall)\b|"
    r"(?:ok(?:ay)?|proceed|agreed|go ahead|run it|yes or no)\s*\?|(?:please )?confirm\b|"
    r"(?:awaiting|waiting for) (?:your )?(?:approval|confirmation|permission|go-ahead)\b|"
    r"which (?:one|option|of (?:these|those|the two))\b)"
)
# the end of a question in any script: its mark, or the particle that stands for one, and what may close it
_QUESTION_END = (
    r"(?:[?？؟՞⁇⁈]!?|[\u0370-\u03ff\u1f00-\u1fff][;\u037e]|[吗嗎か][。.!]?|"
    r"(?:ไหม|มั้ย|หรือไม่|หรือเปล่า)(?:ครับ|คะ|ค่ะ)?)"
    r"[\s*_\"'”’»」』)\]]*+(?:[(\[]\w{1,8} ?/ ?\w{1,8}[)\]]:?\s*)?+\Z"
)
# a question for what else there is to do, which leaves the call alone
_ASKS_FOR_MORE = (
    r"(?i)\b(?:else|anything more|what(?:['’]s)? next|sonst|weiteres|noch etwas|algo más|otra cosa|autre chose|"
    r"altro|mais alguma|outra coisa|anders|другое|ещё|еще|coś jeszcze|başka)\b|"
    r"其他|别的|還有|还有|他に|ほかに|다른|غير ذلك|آخر"
)
# a request or a condition that the person allows it, in one sentence: who says that does not do it yet
_PLEASE = (
    r"(?:\b(?:please|bitte|por favor|merci de|veuillez|s['’]il (?:vous|te) pla[iî]t|per (?:favore|piacere)|"
    r"proszę|пожалуйста|прошу|lütfen|vui lòng|xin|silakan|mohon|tolong|alsjeblieft|gelieve|παρακαλώ|prosím)\b|"
    r"[请請](?!求)|ください|下さい|お願い|주세요|주십시오|من فضلك|يرجى|الرجاء|कृपया|"
    r"\b(?:if you|wenn (?:du|sie)|falls (?:du|sie)|si (?:vous|tu|estás|está|usted)|se (?:sei|você|vuoi)|als je|"
    r"jeśli|если|nếu|eğer|jika)\b|如果|もし|만약|إذا|अगर)"
)
_ALLOW = (
    r"(?:\b(?:confirm|conferm|bestätig|approv|genehmig|zustimm|einverstanden|autori[sz]|approuv|aprob|aprueb|aprov|"
    r"consent|agree|d['’]accord|de acuerdo|d['’]accordo|concord|potwierd|zatwierd|zgadza|подтверд|одобр|разреш|"
    r"соглас|bevestig|goedkeur|akkoord|onayla|xác nhận|đồng ý|konfirm|setuju|επιβεβαι|potvr)|"
    r"确认|確認|批准|同意|承認|許可|확인|승인|허락|동의|تأكيد|أكد|الموافقة|موافق|पुष्टि|सहमत)"
)
_ASKS_TO_ALLOW = (
    rf"(?i)[^\n]{{0,80}}?(?:{_PLEASE}[^\n.!?。！？]{{0,60}}{_ALLOW}|"
    rf"{_ALLOW}[^\n.!?。！？,、，،]{{0,30}}{_PLEASE})"
)
# a question whether the one who asks it may, or is to, do something
_MAY_I = (
    r"(?i)(?:\b(?:(?:shall|should|may|can) (?:i|we)|(?:do you want|would you like) me to|"
    r"(?:soll(?:te)?|darf|kann|dürfte) ich|(?:möchtest du|möchten sie|willst du|wollen sie),? dass ich|"
    r"(?:puis|dois|peux)-je|(?:voulez-vous|veux-tu|souhaitez-vous) que je|puedo|debo|(?:quieres?|deseas?) que|"
    r"posso|devo|(?:queres|quer|deseja) que eu|(?:vuoi|vuole) che|(?:mag|zal|moet|kan) ik|mogę|czy mam|"
    r"chcesz,? żebym|можно|могу ли я|мне \w+ть|(?:хотите|хочешь),? чтобы я|tôi (?:có thể|có nên)|"
    r"(?:bolehkah|apakah) saya)\b|[ae]y[ıi]m m[ıi]\b|bilir miyim\b|ister misin|"
    r"我(?:可以|能|该|應該|应该|要).*[吗嗎]|要我|要不要|是否|ましょうか|よろしい|ても?(?:いい|良い)|"
    r"[할될릴볼]까요|هل (?:يمكنني|أستطيع|تريد|تود)|क्या मैं)"
)


def asks_leave(behind: str, *, is_all: bool) -> bool:
    """Whether the words behind a call, or behind several, leave it to the person whether they are made: they
    ask for that, or are the end of the answer and end in a question. `is_all`: no more of the answer comes."""
    if compile_once(_ASKS_LEAVE).match(behind) is not None:
        return True
    said = behind.strip()
    if compile_once(_ASKS_TO_ALLOW).match(said) is not None:
        return True
    sentences = compile_once(_SENTENCE).split(said)
    return any(map(_asks_whether_i_may, sentences)) or (is_all and _is_question(sentences[-1]))


def _asks_whether_i_may(sentence: str) -> bool:
    return _is_question(sentence) and compile_once(_MAY_I).search(sentence) is not None


def _is_question(sentence: str) -> bool:
    """Whether it is one, and not for what else there is to do."""
    is_one = compile_once(_QUESTION_END).search(sentence) is not None
    return is_one and compile_once(_ASKS_FOR_MORE).search(sentence) is None


class CallPlace(Struct, frozen=True, kw_only=True):
    """Where something begins in a text: behind `line`, so much of its line, and `before`, the end of all that
    stands before it."""

    line: str
    before: str

    @property
    def is_in_quotation(self) -> bool:
        """Whether it stands in code, a quotation, a table, or what was found or printed."""
        line = self.line
        is_open = len(compile_once(_CODE_MARK).findall(line)) % 2 or line.count('"') % 2
        is_open = is_open or any(line.count(opens) > line.count(closes) for opens, closes in _QUOTE_PAIRS)
        before = self.before[: len(self.before) - len(line)]
        if line[:2].isspace() and compile_once(_DIRECTIVE).fullmatch(before) is not None:
            return True
        return bool(is_open or (line[-1:] and line[-1] in _QUOTES) or compile_once(QUOTED_LINE).match(line))

    def is_behind_words(self, form: Form) -> bool:
        """Whether a form that begins a line stands behind other words in it."""
        return form.begins_line and bool(self.line.strip()) and self.line[-1] not in form.may_follow

    @property
    def is_introduced(self) -> bool:
        """Whether what stands before it presents it as an illustration, or as the words of others."""
        before = self.before.rstrip()
        last = before.rpartition("\n")[2]
        if compile_once(_LABELLED_ITEM).fullmatch(self.line) and _is_list_shown(before.splitlines()[:-1]):
            return True
        if compile_once(_ITEM_VERB).match(last):
            return True
        is_shown = compile_once(_SHOWN_BY).fullmatch(last) if self._is_led_to else None
        is_shown_or_asked = is_shown is not None or _asks_whether_i_may(last)
        return is_shown_or_asked or compile_once(EXAMPLE).search(last) is not None

    @property
    def _is_led_to(self) -> bool:
        """Whether it begins a line, or what stands before it in its line ends with a colon."""
        said = self.line.rstrip()
        return not said or said.endswith((":", "："))

    def is_mentioned(self, behind: str, opening: re.Pattern[str]) -> bool:
        """Whether a sentence speaks of what was read here, and goes on behind it; or a list that goes on with
        something else, or what others said before and behind it. `opening` is what such calls begin with."""
        line, last = self.line, self.before.rstrip().rpartition("\n")[2]
        if self._is_between_marks(last, behind):
            return True
        goes_on = compile_once(_SENTENCE_GOES_ON).match(behind)
        is_sentence = goes_on is not None and not (goes_on["word"] or "").isupper()
        if is_sentence and compile_once(_MENTION).search(line) is not None:
            return True
        other_side = _OTHER_SIDE if line.strip() else _VERB_BEHIND
        if compile_once(other_side).match(behind) and compile_once(_OPEN_SIDE).match(line or "so,"):
            return True
        if line.count("(") > line.count(")") and ")" in behind.partition("\n")[0]:
            return True
        if not line.strip() and compile_once(_GOES_ON_BELOW).match(behind):
            return compile_once(_OPEN_SENTENCE).match(last) is not None
        item = compile_once(_NEXT_ITEM).match(behind)
        if item is not None and compile_once(_LABELLED_ITEM).fullmatch(line):
            return opening.match(behind, item.end()) is None
        if item is not None and compile_once(_ITEM_SENTENCE).match(last):
            return True
        return compile_once(_SPEAKER).fullmatch(line) is not None and (
            compile_once(_OTHER_SPEAKER).search(f"{self.before}\n{behind}") is not None
        )

    def _is_between_marks(self, last: str, behind: str) -> bool:
        """Whether one mark of a listing, or of a text in code, stands on both sides, in lines of their own."""
        opened = compile_once(_DELIMITER).match(last) if not self.line.strip() else None
        return opened is not None and behind.lstrip().startswith(opened["mark"])


def _is_list_shown(before: Sequence[str]) -> bool:
    """Whether the list whose item comes behind these lines is introduced, and not by what the model will do."""
    others = (line for line in reversed(before) if line.strip() and not compile_once(_ITEM).match(line))
    introduced = next(others, "").rstrip().rstrip("*_")
    return introduced.endswith((":", "：")) and compile_once(_BEGINS_CALL).match(introduced) is None
