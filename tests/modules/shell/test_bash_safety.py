"""Safety profiles refuse what is dangerous where it is a command, and nothing where it is text."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from amplifier_core.testing import MockCoordinator
from helpers_bash import message, shell_in
from hypothesis import given, settings
from hypothesis import strategies as st

from amplifier_modules.shell.bash import mount
from amplifier_modules.shell.safety import Profile, Safety

ROOT_WIPES = [
    "rm -rf /",
    "rm -r -f /",
    "rm -fr -- /",
    "rm --recursive --force /",
    "rm -rf /*",
    "rm -rf //",
    "rm -rf /tmp/..",
    "rm -rf '/'",
    "rm -rf {build,/}",
    "/bin/rm -rf /",
    r"\rm -rf /",
    "r'm' -rf /",
    "bash -c 'rm -rf /'",
    "eval rm -rf /",
    "bash <<< 'rm -rf /'",
    "bash <<E\nrm -rf /\nE",
    "nice -n 5 rm -rf /",
    "find . -exec rm -rf / ';'",
]
HOME_WIPES = [
    "rm -rf ~",
    "rm -rf ~/",
    "rm -rf ~/*",
    "rm -rf $HOME",
    'rm -rf "${HOME}"/',
    "rm -rf /home",
]
FORK_BOMBS = [":(){ :|:& };:", ": () { : | : & } ; :", "f() { f | f & }; f", "f() { f & f; }; f"]
OTHERS = [
    "sudo ls",
    "su -",
    "su - root",
    "dd if=/dev/zero of=disk",
    "dd of=disk if=/dev/urandom",
    "mkfs disk",
    "mkfs.ext4 disk",
    "echo x > /dev/sda",
    "echo x >> /dev/sda",
    "echo x &> /dev/sda",
    "echo x 2> /dev/sda",
    "{ echo x; } > /dev/sda",
    "passwd me",
    "chmod 777 /",
    "chmod -R 0777 /",
    "chown -R me /",
    "chown --recursive me:me /",
]
HARMLESS = [
    "echo 'rm -rf /'",
    'echo "sudo; rm -rf /"',
    "git commit -m 'rm -rf / and sudo'",
    "grep -r passwd .",
    "timeout 5 grep sudo notes",
    "cat <<E\nsudo rm -rf /\nE",
    "rm -rf ./build",
    "rm -rf build/*",
    "rm -rf {build,dist}",
    'rm -rf "./$NAME"',
    'rm "$FILE"',
    "find . -name '*.pyc' -exec rm -rf {} +",
    "echo x > /dev/null 2>&1",
    "chmod 777 ./script",
    "chown -R me ./folder",
    "dd if=one of=two",
    "f() { f; }",
    "ls | sort && echo done || true",
]


HOME = "/homes/me"
PROJECT = f"{HOME}/project"


def judged(
    command: str,
    profile: Profile,
    allow: Sequence[str] = (),
    deny: Sequence[str] = (),
    folder: str = PROJECT,
) -> str | None:
    """The refusal of a command, from the judge alone: nothing here is ever handed to a shell."""
    return Safety(profile, allow, {"denied_commands": deny}, HOME).refusal(command, folder)


@pytest.mark.parametrize("profile", ["strict", "standard"])
@pytest.mark.parametrize("command", ROOT_WIPES + HOME_WIPES + FORK_BOMBS + OTHERS)
def test_strict_and_standard_refuse_all_that_is_dangerous(command: str, profile: Profile) -> None:
    assert judged(command, profile)


@pytest.mark.parametrize("command", ROOT_WIPES + FORK_BOMBS)
def test_permissive_refuses_only_the_end_of_the_system(command: str) -> None:
    assert judged(command, "permissive")


@pytest.mark.parametrize("command", HOME_WIPES + OTHERS)
def test_permissive_lets_the_rest_run(command: str) -> None:
    assert judged(command, "permissive") is None


@pytest.mark.parametrize("command", [ROOT_WIPES[0], FORK_BOMBS[0], *OTHERS[:3]])
def test_unrestricted_refuses_nothing_and_ignores_the_lists(command: str) -> None:
    assert judged(command, "unrestricted", deny=["*"]) is None


@pytest.mark.parametrize("command", HARMLESS)
def test_the_strictest_profile_lets_harmless_commands_run(command: str) -> None:
    assert judged(command, "strict") is None


@pytest.mark.parametrize(
    "place",
    [
        "{}",
        "true; {}",
        "true\n{}",
        "true && {}",
        "false || {}",
        "true | {}",
        "true & {}",
        "({})",
        "{{ {}; }}",
        "echo $({})",
        'echo "$({})"',
        "echo `{}`",
        "cat <({})",
        "if true; then {}; fi",
        "while {}; do :; done",
        "f() {{ {}; }}; f",
        "X=1 {}",
        "env X=1 {}",
        "env -S '{}'",
        "env -iS'{}'",
        "env --split-string='{}'",
        "trap '{}' EXIT",
        "command {}",
        "exec {}",
        "nohup {} &",
        "timeout -s KILL 5 {}",
        "! {}",
        "time {}",
        "cat <<E\n$({})\nE",
        "x=$({})",
    ],
)
def test_a_command_is_found_at_every_place_where_commands_stand(place: str) -> None:
    assert judged(place.format("sudo ls"), "strict")


@pytest.mark.parametrize(
    "command",
    [
        "$TOOL --version",
        "$(which ls)",
        "eval $WHATEVER",
        'bash -c "$WHATEVER"',
        "rm -rf $FOLDER",
        'rm -rf "/$FOLDER"',
        "ls | xargs rm -rf",
        'echo x > "$TARGET"',
        "echo x > /dev/$TARGET",
        "dd if=$SOURCE of=x",
        "chown -R me $FOLDER",
        "echo 'not closed",
    ],
)
def test_what_only_a_run_can_tell_is_refused_unless_permissive(command: str) -> None:
    assert judged(command, "strict")
    assert judged(command, "standard")
    assert judged(command, "permissive") is None


@pytest.mark.parametrize(
    ("folder", "command", "refused"),
    [
        (PROJECT, "rm -rf *", False),
        (PROJECT, "rm -rf .", False),
        (PROJECT, "rm -rf ..", True),
        ("/", "rm -rf *", True),
        ("/", "rm -rf ./$NAME", True),
        ("/", "rm -rf tmp/build", False),
        (HOME, "rm -rf .", True),
        (HOME, "rm -rf *.log", False),
        (PROJECT, "cd / && rm -rf *", True),
        (PROJECT, "cd; rm -rf *", True),
        (PROJECT, "cd .. && cd .. && rm -rf me", True),
        (PROJECT, "cd $NAME && rm -rf *", True),
        (PROJECT, "cd - && rm -rf *", True),
        (PROJECT, "cd $NAME && rm -rf build", False),
        (PROJECT, "cd $NAME && echo x > log", False),
        (PROJECT, "cd build && rm -rf *", False),
        (PROJECT, "cd /dev && echo x > sda", True),
        ("/dev", "echo x > sda", True),
        ("/", "chown -R me .", True),
    ],
)
def test_a_relative_path_is_judged_by_the_folder_it_is_in(
    folder: str, command: str, refused: bool
) -> None:
    assert (judged(command, "strict", folder=folder) is not None) is refused


@given(st.text(st.characters(exclude_categories=["C"]), max_size=40))
@settings(max_examples=40, deadline=None)
def test_quoted_text_is_never_taken_for_a_command(text: str) -> None:
    assert judged(f"echo {shlex.quote(text + '; sudo rm -rf /')}", "strict") is None


# -- texts ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (
            "rm -rf /",
            "The safety profile 'strict' refuses this command: it deletes the whole system. "
            "Name the folders to delete one by one.",
        ),
        (
            "rm -rf $X",
            "The safety profile 'strict' refuses this command: only a run can tell that it does "
            "not delete the root or a home folder. Write the path out, or begin it with './'.",
        ),
        (
            "sudo ls",
            "The safety profile 'strict' refuses this command: it acts as another user. "
            "Ask the user to do this by hand if it is really needed.",
        ),
        (
            "$X",
            "The safety profile 'strict' refuses this command: only a run can tell which program "
            "it starts. Write it out, so that it can be checked before the run.",
        ),
        (
            "echo > /dev/stderr",
            "The safety profile 'strict' refuses this command: its output goes to the device "
            "'/dev/stderr'. Write to a file; use '>&2' for messages.",
        ),
        (
            ":(){ :|:& };:",
            "The safety profile 'strict' refuses this command: a function that starts itself "
            "again and again fills the machine. Call the function in a loop with a limit.",
        ),
    ],
)
def test_a_refusal_names_the_reason_and_a_way_out(command: str, text: str) -> None:
    assert judged(command, "strict") == text


def test_a_command_that_cannot_be_read_is_refused_with_the_place() -> None:
    refusal = judged("echo 'a", "strict")

    assert refusal is not None
    assert "it cannot be read with certainty (" in refusal
    assert refusal.endswith("Write it in a simpler way, or put it into a script file and run that.")


def test_a_denied_pattern_is_named_with_its_key() -> None:
    assert judged("git push origin", "strict", deny=["git push*"]) == (
        "The pattern 'git push*' in 'denied_commands' refuses this command. "
        "Find another way, or ask the user to change the config."
    )


# -- lists ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("profile", "allowed"), [("strict", False), ("standard", True), ("permissive", True)]
)
def test_allow_patterns_override_every_profile_but_strict(profile: Profile, allowed: bool) -> None:
    assert (judged("rm -rf /", profile, allow=["rm -rf /*"]) is None) is allowed


@pytest.mark.parametrize(
    ("pattern", "command", "allowed"),
    [
        ("sudo ls", "sudo ls", True),
        ("SUDO LS", "sudo ls", True),
        ("sudo ls", "sudo   ls", True),
        ("sudo *", "sudo apt update", True),
        ("*", "X=1 sudo ls > /dev/sda", True),
        ("sudo", "sudo ls", False),
        ("sudo ls", "sudo ls; sudo rm x", False),
        ("sudo ls*", "sudo ls; sudo rm x", False),
        ("sudo ls*", "sudo ls $(sudo rm x)", False),
        ("sudo ls*", "sudo ls | passwd me", False),
        ("s.do ls", "sudo ls", False),
        ("echo *", "echo 'not closed", False),
        ("echo 'not closed", "echo 'not closed", True),
    ],
)
def test_an_allow_pattern_covers_whole_commands_only(
    pattern: str, command: str, allowed: bool
) -> None:
    assert (judged(command, "standard", allow=[pattern]) is None) is allowed


@pytest.mark.parametrize(
    ("pattern", "command", "denied"),
    [
        ("curl", "curl x", True),
        ("curl", "ls; CURL x", True),
        ("git push", "cd x && git push origin", True),
        ("git push *", "cd x && git push origin", True),
        ("git push *", "git  'push' origin", True),
        ("git push *", "git pull origin", False),
        ("*.env", "cat .env", True),
        ("*.env", "cat .env.sample", False),
        ("c.rl", "curl x", False),
    ],
)
def test_a_deny_pattern_finds_its_command_anywhere_in_a_line(
    pattern: str, command: str, denied: bool
) -> None:
    assert (judged(command, "permissive", deny=[pattern]) is not None) is denied


def test_what_is_allowed_is_not_denied_by_another_list() -> None:
    lists = {"allow": ["git push origin"], "deny": ["git push*"]}

    assert judged("git push origin", "standard", **lists) is None
    assert judged("git push origin", "strict", **lists)


# -- the tool ---------------------------------------------------------------------------


async def test_a_refused_command_is_not_run(tmp_path: Path) -> None:
    async with shell_in(tmp_path, safety_profile="strict") as shell:
        result = await shell.run("touch made; su - nobody-here -c true")

    assert "it acts as another user" in message(result)
    assert not (tmp_path / "made").exists()


async def test_the_profile_is_strict_unless_told_otherwise(tmp_path: Path) -> None:
    coordinator = MockCoordinator()
    await mount(coordinator, {"working_dir": str(tmp_path)})

    result = await coordinator.get("tools", "bash").execute({"command": "true > /dev/zero"})

    assert "The safety profile 'strict'" in message(result)


@pytest.mark.parametrize(
    ("config", "runs"),
    [
        ({}, False),
        ({"allowed_commands": ["echo *"]}, True),
        ({"safety_overrides": {"allow": ["echo *"]}}, True),
        ({"safety_profile": "strict", "allowed_commands": ["echo *"]}, False),
    ],
)
async def test_allow_lists_of_the_config_are_heard(
    config: dict[str, Any], runs: bool, tmp_path: Path
) -> None:
    async with shell_in(tmp_path, **{"safety_profile": "standard", **config}) as shell:
        result = await shell.run("echo x > /dev/zero")

    assert result.success is runs


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({"denied_commands": ["touch*"]}, "denied_commands"),
        ({"safety_overrides": {"block": ["touch*"]}}, "safety_overrides.block"),
    ],
)
async def test_deny_lists_of_the_config_are_heard(
    config: dict[str, Any], key: str, tmp_path: Path
) -> None:
    async with shell_in(tmp_path, **{"safety_profile": "permissive", **config}) as shell:
        result = await shell.run("touch made")

    assert f"The pattern 'touch*' in {key!r} refuses" in message(result)
    assert not (tmp_path / "made").exists()
