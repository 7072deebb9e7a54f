"""What a person mentions in a prompt goes along with it, and what cannot is said."""

import os
from pathlib import Path

import pytest
from helpers_app import App
from helpers_project import Project

from amplifier.bundles.attaching import LARGEST_FILE, with_files
from amplifier.bundles.planning import plan_for

REPLY = "async def reply(number, request):\n    return says(str(request.messages[-1].content))\n"


def attached(typed: str, **namespaces: str) -> tuple[str, list[str]]:
    """The prompt with its files, and what was said about the others."""
    told: list[str] = []
    return with_files(typed, typed, {"namespaces": namespaces}, told.append), told


def test_a_mentioned_file_follows_the_prompt(project: Project) -> None:
    project.write("src/notes.md", "Water the plants.\n")

    text, told = attached("Read @src/notes.md, and @src/notes again.")

    assert text == (
        "Read @src/notes.md, and @src/notes again.\n\n---\n\n"
        '<context_file paths="@src/notes.md, @src/notes">\nWater the plants.\n</context_file>'
    )
    assert told == ["With the prompt go @src/notes.md, @src/notes."]


def test_one_content_is_added_once_whatever_its_names(project: Project) -> None:
    project.write("a.md", "Same.")
    project.write("b.md", "Same.")

    text, _ = attached("@a.md @b.md")

    assert text.count("Same.") == 1
    assert 'paths="@a.md, @b.md"' in text


def test_a_bundle_the_home_and_the_project_have_names_of_their_own(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    for path in ("person/mine.txt", "theirs/guide.md", "own/rules.md", "project/.amplifier/x.md"):
        (tmp_path / path).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / path).write_text(f"From {path}.")

    text, told = attached(
        "@~/mine.txt @theirs:guide.md @user:rules.md @project:x.md", theirs=str(tmp_path / "theirs")
    )

    assert [line for line in text.splitlines() if line.startswith("From")] == [
        "From person/mine.txt.",
        "From theirs/guide.md.",
        "From own/rules.md.",
        "From project/.amplifier/x.md.",
    ]
    assert len(told) == 1


@pytest.mark.parametrize("name", ["~/.ssh/id_rsa", "~/code/.env", "user:keys.env"])
def test_what_is_hidden_at_home_is_not_brought_along(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    for path in ("person/.ssh/id_rsa", "person/code/.env", "own/keys.env"):
        (tmp_path / path).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / path).write_text("Secret.")

    text, told = attached(f"See @{name} now.")

    assert "Secret." not in text
    assert told == [
        f"@{name} was not added to the prompt: "
        "it may hold secrets; copy it into the project if you mean it."
    ]


def test_the_plan_knows_the_folders_of_its_bundles(project: Project) -> None:
    project.write_home("bundles/team/bundle.md", "---\nbundle: {name: team}\n---\nHi.\n")
    project.write_home("bundles/team/guide.md", "Be brief.")

    text, _ = attached("@team:guide.md", **plan_for("team").namespaces)

    assert "Be brief." in text


def test_a_folder_brings_the_names_in_it(project: Project) -> None:
    project.write("src/a.py", "")
    project.write("src/deep/b.py", "")

    assert "\na.py\ndeep/\n" in attached("@src/ please")[0]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("none.md", "there is no"),
        ("../outside.md", "it leads out of"),
        ("link.md", "it leads out of"),
        ("other:x.md", "no bundle of this session is named 'other'"),
        ("huge.txt", f"it has more than {LARGEST_FILE:,} bytes"),
        ("picture.png", "It is not text in UTF-8"),
        ("zeros.bin", "it is not text"),
        ("empty.md", "it is empty"),
        ("pipe.md", "This is no file"),
        ("y" * 300 + ".md", "File name too long"),
    ],
)
def test_what_cannot_be_added_is_said_and_the_prompt_stays(
    project: Project, tmp_path: Path, name: str, why: str
) -> None:
    (tmp_path / "outside.md").write_text("Secret.")
    (project.root / "link.md").symlink_to(tmp_path / "outside.md")
    project.write("huge.txt", "x" * (LARGEST_FILE + 1))
    (project.root / "picture.png").write_bytes(b"\x89PNG\xff")
    (project.root / "zeros.bin").write_bytes(bytes(10))
    project.write("empty.md", "\n")
    os.mkfifo(project.root / "pipe.md")

    text, told = attached(f"See @{name} now.")

    assert text == f"See @{name} now."
    assert len(told) == 1
    assert told[0].startswith(f"@{name[:200]} was not added to the prompt: ")
    assert why.lower() in told[0].lower()


def test_all_together_has_a_limit(project: Project) -> None:
    for number in range(4):
        project.write(f"{number}.md", str(number) * 400_000)

    text, told = attached("@0.md @1.md @2.md @3.md")

    assert len(text) < 1_000_000
    assert [each.partition(" ")[0] for each in told] == ["@2.md", "@3.md", "With"]


def test_mentions_in_a_mentioned_file_bring_nothing(project: Project) -> None:
    project.write("a.md", "See @secret.md too.")
    project.write("secret.md", "Hidden.")

    assert "Hidden." not in attached("@a.md")[0]


def test_text_without_mentions_is_left_as_it_is(project: Project) -> None:
    project.write("everyone", "x")
    text = "Write to me@b.org, @everyone, and `@a.md`."

    assert attached(text) == (text, [])


def test_run_adds_what_is_typed_and_not_what_is_piped(app: App) -> None:
    app.offer_provider(REPLY, "provider-standin")
    (app.work / "a.md").write_text("Typed.")
    (app.work / "b.md").write_text("Piped.")

    ended = app.run(
        "run", "-B", "minimal", "-p", "standin", "See @a.md and @none.md", stdin="And @b.md"
    )

    assert ended.code == 0
    assert "Typed." in ended.out
    assert "Piped." not in ended.out
    assert "@none.md was not added to the prompt: there is no" in ended.err


def test_agents_bring_what_their_instruction_mentions(project: Project) -> None:
    front = "---\nmeta: {name: helper, description: Helps.}\n---\n"
    project.write_home("bundles/t/bundle.md", "---\nagents: {include: [helper]}\n---\nHi.\n")
    project.write_home("bundles/t/agents/helper.md", f"{front}Follow @rules.md here.\n")
    project.write_home("bundles/t/agents/rules.md", "Never shout. @deeper.md")
    project.write_home("bundles/t/agents/deeper.md", "Never run.")

    instruction = plan_for("t").mounts["agents"]["helper"]["instruction"]

    assert instruction.startswith("Follow @rules.md here.")
    assert "Never shout." in instruction
    assert "Never run." in instruction
