"""Skills: which folders are one, what is trusted, what reaches the model, and what is refused."""

import os
from pathlib import Path

import pytest

from quorum.domain.events.event import CallFinished, Event, InstructionsLoaded
from quorum.domain.instructions.instruction import InstructionScope
from quorum.domain.instructions.offer_list import Skill, render_skills, select_by_name
from quorum.domain.sessions.trust import TrustQuestion
from quorum.infrastructure.instructions.skill_catalog import SkillFolders
from tests.support.fake_ports import FakePerson
from tests.support.real_session import SessionStage, call

MAIN = "---\nname: {name}\ndescription: {description}\n---\n\n{body}\n"


class Trusting(FakePerson):
    """Answers each question of trust alike, and keeps it."""

    def __init__(self, answer: bool = True) -> None:
        super().__init__()
        self.answer = answer

    async def trust(self, question: TrustQuestion) -> bool:
        self.trust_questions.append(question)
        return self.answer


class RecordingEvents:
    """Keeps the events."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def notify(self, event: Event) -> None:
        self.events.append(event)

    @property
    def loaded(self) -> list[InstructionsLoaded]:
        return [event for event in self.events if isinstance(event, InstructionsLoaded)]

    @property
    def outputs(self) -> list[str]:
        return [event.output for event in self.events if isinstance(event, CallFinished)]


@pytest.fixture
def stage(tmp_path: Path) -> SessionStage:
    stage = SessionStage(tmp_path)
    (stage.root / ".git").mkdir()
    return stage


def put(
    base: Path, name: str = "pdf", description: str = "Read PDF files", body: str = "Use pdftotext."
) -> Path:
    folder = base / ".claude/skills" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(MAIN.format(name=name, description=description, body=body))
    return folder


def found(stage: SessionStage) -> dict[str, Skill]:
    return {skill.name: skill for skill in SkillFolders(stage.root, stage.environ).find()}


def load(name: str, file: str | None = None):
    return call("load_skill", name=name, **({} if file is None else {"file": file}))


async def test_requests_name_a_trusted_skill_and_loading_brings_its_text_and_files(stage: SessionStage) -> None:
    folder = put(stage.root)
    (folder / "scripts").mkdir()
    (folder / "scripts/read.py").write_text("print('pages')\n")
    person, received = Trusting(), RecordingEvents()
    async with stage.opened(person=person, observer=received) as session:
        await session.turn(load("pdf"), load("pdf", "scripts/read.py"))

        system = session.requests[0].system
    assert "- pdf: Read PDF files" in system
    assert "Use pdftotext." not in system
    (question,) = person.trust_questions
    assert question.items[0].file == str(folder)
    assert {"Use pdftotext.", "file scripts/read.py: 15 bytes"} <= set(question.items[0].text)
    first, second = received.outputs
    assert f"[skill pdf in {folder}, sha256 {question.items[0].digest}]" in first
    assert "Use pdftotext." in first
    assert "- scripts/read.py (15 bytes)" in first
    assert second == "print('pages')\n"
    assert [skill.sha256 for skill in received.loaded[0].skills] == [question.items[0].digest]


async def test_without_trust_nothing_of_it_reaches_the_model_and_it_is_said_once(stage: SessionStage) -> None:
    put(stage.root)
    received = RecordingEvents()
    async with stage.opened(person=Trusting(answer=False), observer=received) as session:
        await session.turn(load("pdf"))
        await session.turn()

        assert "PDF" not in session.requests[0].system
    assert "there is no skill 'pdf'; those that can be loaded: none" in received.outputs[0]
    (loaded,) = received.loaded
    assert ".claude/skills/pdf is not trusted, so it is not offered" in loaded.notices[0]


async def test_any_change_in_its_folder_is_asked_about_and_holds_it_back_until_then(
    stage: SessionStage,
) -> None:
    folder = put(stage.root)
    person, received = Trusting(), RecordingEvents()
    async with stage.opened(person=person, observer=received) as session:
        await session.turn()
        (folder / "new.sh").write_text("echo\n")
        session.script[:] = session.answers([])
        person.answer = False
        await session.turn(load("pdf"))

        assert "pdf" not in session.requests[-1].system
    assert [question.items[0].changed for question in person.trust_questions] == [False, True]


async def test_a_change_after_the_turn_began_is_not_loaded(stage: SessionStage) -> None:
    folder = put(stage.root)
    received = RecordingEvents()

    class Changing(RecordingEvents):
        def notify(self, event: Event) -> None:
            if isinstance(event, InstructionsLoaded):
                (folder / "SKILL.md").write_text(MAIN.format(name="pdf", description="x", body="Do evil."))
            received.notify(event)

    async with stage.opened(person=Trusting(), observer=Changing()) as session:
        await session.turn(load("pdf"))

    assert "has changed since the person trusted it" in received.outputs[0]


async def test_a_session_without_skills_has_no_tool_for_them(stage: SessionStage) -> None:
    async with stage.opened() as session:
        assert "load_skill" not in session.container.tools()


@pytest.mark.parametrize("key", ["enabled", "disabled"])
async def test_settings_may_name_the_tool_where_there_are_no_skills(tmp_path: Path, key: str) -> None:
    stage = SessionStage(tmp_path, more_settings=f'[tools]\n{key} = ["load_skill", "read_file"]')
    async with stage.opened() as session:
        assert "load_skill" not in session.container.tools()


def test_an_executable_bit_and_a_name_are_part_of_the_digest(stage: SessionStage) -> None:
    folder = put(stage.root)
    script = folder / "run.sh"
    script.write_text("echo\n")
    digests = {found(stage)["pdf"].digest}
    script.chmod(0o755)
    digests.add(found(stage)["pdf"].digest)
    script.rename(folder / "other.sh")
    digests.add(found(stage)["pdf"].digest)

    assert len(digests) == 3


def test_a_change_is_seen_by_one_that_has_read_the_folder_before(stage: SessionStage) -> None:
    folder = put(stage.root)
    for file in folder.iterdir():
        os.utime(file, (1, 1))
    folders = SkillFolders(stage.root, stage.environ)
    before = folders.find()[0].digest
    (folder / "SKILL.md").write_text(
        MAIN.format(name="pdf", description="Read PDF filez", body="Use pdftotext.")
    )
    os.utime(folder / "SKILL.md", (1, 1))

    assert folders.find()[0].digest != before


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("No frontmatter", "SKILL.md, line 1: the frontmatter needs a description"),
        ("---\nname: a b\ndescription: x\n---\nText", "SKILL.md, line 2: a skill's name"),
        ('---\ndescription: "x\n---\nText', "SKILL.md, line 3: no YAML"),
        ("---\nname: a\ndescription: x\n---\n" + "y" * 200_000, "is larger than"),
    ],
)
def test_a_skill_that_cannot_be_used_says_why_and_leaves_the_others_alone(
    stage: SessionStage, text: str, said: str
) -> None:
    put(stage.root, "good")
    (put(stage.root, "bad") / "SKILL.md").write_text(text)

    assert said in found(stage)["bad"].problem
    assert found(stage)["good"].problem == ""


def test_links_pipes_hostile_names_and_huge_folders_are_refused(stage: SessionStage) -> None:
    (put(stage.root, "link") / "key").symlink_to("/etc/passwd")
    os.mkfifo(put(stage.root, "pipe") / "pipe")
    (put(stage.root, "name") / "a\x1b[2Jb").write_text("x")
    many = put(stage.root, "many")
    for number in range(1_000):
        (many / f"f{number}").write_text("x")
    os.truncate(put(stage.root, "large") / "SKILL.md", 21_000_000)
    deep = put(stage.root, "deep")
    (deep / "/".join("abcdefghij")).mkdir(parents=True)

    problems = {name: skill.problem for name, skill in found(stage).items()}
    assert "key is a link" in problems["link"]
    assert "pipe is a link or no regular file" in problems["pipe"]
    assert "characters that cannot be shown" in problems["name"]
    assert "more than 200 files" in problems["many"]
    assert "larger than" in problems["large"]
    assert "nested deeper" in problems["deep"]


def test_a_linked_folder_counts_where_it_lies_in_the_project_and_once(
    stage: SessionStage, tmp_path: Path
) -> None:
    outside = put(tmp_path / "elsewhere", "outside")
    inside = put(stage.root, "inside")
    (stage.root / ".agents").mkdir()
    (stage.root / ".agents/skills").mkdir()
    (stage.root / ".agents/skills/inside").symlink_to(inside)
    (stage.root / ".agents/skills/outside").symlink_to(outside)

    assert [skill.name for skill in SkillFolders(stage.root, stage.environ).find()] == ["inside"]


def skill(name: str, scope: InstructionScope, folder: str, description: str = "x") -> Skill:
    return Skill(name=name, scope=scope, folder=folder, label=folder, description=description)


def test_of_two_of_one_name_the_persons_own_counts_and_then_the_nearest() -> None:
    outer = skill("a", InstructionScope.PROJECT, "/p/a")
    nearer = skill("a", InstructionScope.PROJECT, "/p/q/a")
    own = skill("a", InstructionScope.USER, "/home/a")

    assert select_by_name([outer, nearer]) == (nearer,)
    assert select_by_name([outer, nearer, own]) == (own,)


@pytest.mark.long
def test_what_every_request_carries_of_skills_is_bounded() -> None:
    many = [
        skill(f"s{number:05}", InstructionScope.PROJECT, "/s", "word\x1b\n" * 5_000) for number in range(10_000)
    ]
    text = render_skills(many)

    assert len(text) < 10_000
    assert "more, which load_skill lists" in text
    assert render_skills([]) == ""


async def test_a_file_that_is_named_in_capitals_is_found_unless_two_differ_in_them_alone(
    stage: SessionStage,
) -> None:
    folder = put(stage.root, body="Read FORMS.md and Notes.md.")
    (folder / "forms.md").write_text("Fill it in.\n")
    (folder / "notes.md").write_text("a\n")
    (folder / "NOTES.md").write_text("b\n")
    received = RecordingEvents()
    async with stage.opened(person=Trusting(), observer=received) as session:
        await session.turn(load("pdf", "FORMS.md"), load("pdf", "Notes.md"), load("pdf", "NOTES.md"))

    first, second, third = received.outputs
    assert first == "Fill it in.\n"
    assert "has no file 'Notes.md'" in second
    assert third == "b\n"


async def test_many_untrusted_skills_are_named_in_one_sentence(stage: SessionStage) -> None:
    for number in range(5):
        put(stage.root, name=f"s{number}")
    received = RecordingEvents()
    async with stage.opened(person=Trusting(answer=False), observer=received) as session:
        await session.turn()

    (notice,) = received.loaded[0].notices
    assert notice.startswith(
        "5 skills are not trusted as they are, so they are not offered: s0, s1, s2, s3, s4; "
    )
    assert notice.endswith("config trust")


async def test_what_is_asked_sums_a_skill_up_before_its_text(stage: SessionStage) -> None:
    folder = put(stage.root, description="Read PDF files. " * 40)
    (folder / "run.sh").write_text("echo\n")
    (folder / "run.sh").chmod(0o755)
    person = Trusting()
    async with stage.opened(person=person) as session:
        await session.turn()

    (item,) = person.trust_questions[0].items
    heading, description = item.wants
    assert heading.startswith("the skill pdf, which the model may load: 2 files, ")
    assert heading.endswith(", 1 executable")
    assert len(description) == 140
    assert "file run.sh: 5 bytes, executable" in item.text


@pytest.mark.parametrize("answer", [True, False])
async def test_skills_agents_and_instructions_of_a_folder_are_asked_about_at_once_and_once(
    stage: SessionStage, *, answer: bool
) -> None:
    put(stage.root)
    (stage.root / ".agents/agents").mkdir(parents=True)
    agent = stage.root / ".agents/agents/finder.md"
    agent.write_text("---\nname: finder\ndescription: Finds callers\n---\nFind callers.\n")
    (stage.root / "AGENTS.md").write_text("Write short lines.\n")
    person, received = Trusting(answer=answer), RecordingEvents()
    async with stage.opened(person=person, observer=received) as session:
        await session.turn()
        session.script[:] = session.answers([])
        await session.turn()

        system = session.requests[-1].system
    (question,) = person.trust_questions
    assert {Path(item.file).name for item in question.items} == {"AGENTS.md", "finder.md", "pdf"}
    assert [each in system for each in ("Write short lines.", "Finds callers", "PDF")] == [answer] * 3


async def test_a_skill_that_was_refused_is_not_asked_about_again_beside_a_new_agent(
    stage: SessionStage,
) -> None:
    put(stage.root)
    person, received = Trusting(answer=False), RecordingEvents()
    async with stage.opened(person=person, observer=received) as session:
        await session.turn()
        (stage.root / ".agents/agents").mkdir(parents=True)
        agent = stage.root / ".agents/agents/finder.md"
        agent.write_text("---\nname: finder\ndescription: Finds callers\n---\nFind callers.\n")
        session.script[:] = session.answers([])
        await session.turn()

    assert [[Path(item.file).name for item in each.items] for each in person.trust_questions] == [
        ["pdf"],
        ["finder.md"],
    ]
