"""What a command may do that no rule can see: scripts read at run time, guarded files, hosts.

These never approve anything. They turn a permission into a question where a line of the
config that speaks against a command might be got around.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence

from amplifier_modules.settings import protecting
from amplifier_modules.shell.grammar import Found, ParseError, parse, simple_commands
from amplifier_modules.shell.policy import ApprovalSettings, Entry
from amplifier_modules.shell.rules_commands import fixed_beginning, possible_paths
from amplifier_modules.shell.rules_places import Places, host_of

_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash"})
_READS_SCRIPTS = frozenset({"source", "."})
_FETCHES = frozenset({"curl", "wget"})
_ONLY_READS = frozenset(
    "cat head tail ls wc grep rg diff cmp stat file less more test [ echo printf pwd du".split()  # noqa: SIM905
)

_ASKS_GIT_CONFIG = frozenset({"--get", "--get-all", "--get-regexp", "--list", "-l", "get", "list"})


def program(command: Found) -> str:
    return os.path.basename(command.name or "")


def hidden_script(command: Found) -> str | None:
    """Why it is not known what a shell in this command runs; None if it is."""
    name = program(command)
    if name in _READS_SCRIPTS:
        return "It runs a file that is not read here."
    if name not in _SHELLS:
        return None
    for position, given in enumerate(command.argv[1:], 2):
        if given is None or not given.startswith(("-", "+")):
            return "It runs a file that is not read here."
        if "c" in given.lstrip("-") and not given.startswith("--"):
            return None if _is_readable(command.argv[position:]) else "Its script cannot be read."
    return "It runs what it reads from its input."


def _is_readable(arguments: tuple[str | None, ...]) -> bool:
    text = next((each for each in arguments if each is None or not each.startswith("-")), None)
    try:
        # What is run in turn is judged by its own words; here it has to be text at all.
        return text is not None and all(each.name for each in simple_commands(parse(text)))
    except ParseError:
        return False


def unclear_host(entry: Entry, command: Found) -> bool:
    """Whether a word may name the entry's machine in a way that cannot be told for sure."""
    if entry.host is None:
        return False
    wanted = entry.host.lower().lstrip("*.").rstrip(".")
    fetches = program(command) in _FETCHES
    for text in map(fixed_beginning, command.words[1:]):
        address = text.partition("=")[2] if text.startswith("-") else text
        if not address or host_of(address) is not None:
            continue
        if fetches or "://" in address or wanted in address.lower():
            return True
    return False


def touched(command: Found, places: Places, settings: ApprovalSettings) -> Iterator[str]:
    """The protected paths that this command may change."""
    patterns = settings.protected_paths
    folders = {each.partition("/")[0].lower() for each in patterns}
    name = program(command)
    if name == "git" and patterns and _sets_git_config(command):
        yield ".git/config"
    words = [each.target for each in command.redirects if each.writes]
    for word in [*words, *(command.words[1:] if name not in _ONLY_READS else ())]:
        # Where a run decides about the rest, the folder alone is enough.
        if word.static is None and folders.intersection(word.source.lower().split("/")):
            yield word.source
    texts = (each.static for each in words) if name in _ONLY_READS else possible_paths(command)
    for text in texts:
        if text and _is_protected(text, places, patterns, folders):
            yield text


def _sets_git_config(command: Found) -> bool:
    return "config" in command.argv and not _ASKS_GIT_CONFIG.intersection(command.argv)


def _is_protected(
    text: str, places: Places, patterns: Sequence[str], folders: Collection[str]
) -> bool:
    names = [each for each in (text, places.written(text), places.located(text)) if each]
    return any(
        protecting(each, patterns) or os.path.basename(each.lower()) in folders for each in names
    )
