"""The commands that a safety profile looks for, at the places where commands stand."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from amplifier_modules.shell.grammar import Found, ParseError, parse, simple_commands
from amplifier_modules.shell.safety_words import (
    UNKNOWN,
    Place,
    homes,
    is_one_of,
    may_be_device,
    may_be_one_of,
    program,
    templates,
)
from amplifier_modules.shell.syntax import (
    Function,
    Parameter,
    Pipeline,
    Redirect,
    Script,
    Simple,
    Step,
    Word,
)


@dataclass(frozen=True)
class Finding:
    """Something in a command that a profile may refuse."""

    danger: str
    reason: str
    hint: str
    is_certain: bool = True
    """False if only a run could tell whether the danger is real."""


_BY_HAND = "Ask the user to do this by hand if it is really needed."
_SPELL_OUT = "Write it out, so that it can be checked before the run."
_NAME_UNKNOWN = Finding(
    "unknown", "only a run can tell which program it starts", _SPELL_OUT, is_certain=False
)
_SCRIPT_UNKNOWN = Finding(
    "unknown", "only a run can tell which script it starts", _SPELL_OUT, is_certain=False
)
_ROOT = {"/"}
_ONE_BY_ONE = "Name the folders to delete one by one."
_WIPE_ROOT = Finding("wipe root", "it deletes the whole system", _ONE_BY_ONE)
_WIPE_HOME = Finding("wipe home", "it deletes a home folder", _ONE_BY_ONE)
_WIPE_UNKNOWN = Finding(
    "wipe root",
    "only a run can tell that it does not delete the root or a home folder",
    "Write the path out, or begin it with './'.",
    is_certain=False,
)
_FORK_BOMB = Finding(
    "fork bomb",
    "a function that starts itself again and again fills the machine",
    "Call the function in a loop with a limit.",
)
_WIPE_TEXT = re.compile(r"\brm\s+(?:-\S+\s+)*['\"]?/\*?['\"]?(?:\s|[;&|)]|$)")
_FORK_BOMB_TEXT = re.compile(r"([\w:.-]+)\s*\(\)\s*\{[^}]*?(?<!\S)\1\s*\|\s*\1\s*&")


def findings(script: Script, place: Place) -> Iterator[Finding]:
    """All that is dangerous in a script, in the order of its commands."""
    if any(_is_fork_bomb(node) for node in _nodes(script) if isinstance(node, Function)):
        yield _FORK_BOMB
    place = _everywhere(script, place)
    for found in simple_commands(script):
        for redirect in found.redirects:
            yield from _in_redirect(redirect, place)
        yield from _in_command(found.words, place)
        yield from _in_document(found, place)


def _everywhere(script: Script, place: Place) -> Place:
    """The place, with every folder that the script may go to."""
    for found in simple_commands(script):
        name = program(found.words[0], place.home) if found.words else None
        if name in ("cd", "pushd"):
            _, targets = _split([t for w in found.words[1:] for t in templates(w, place.home)])
            target = targets[0] if targets else place.home
            place = place.moved(UNKNOWN if target == "-" else target)
    return place


def findings_in_text(command: str) -> Iterator[Finding]:
    """The worst, looked for in a text that cannot be taken apart."""
    if _FORK_BOMB_TEXT.search(command):
        yield _FORK_BOMB
    if _WIPE_TEXT.search(command):
        yield _WIPE_ROOT


# -- redirections and functions ---------------------------------------------------------


def _in_redirect(redirect: Redirect, place: Place) -> Iterator[Finding]:
    if not redirect.writes:
        return
    for target in templates(redirect.target, place.home):
        if not may_be_device(target, place):
            continue
        if UNKNOWN in target:
            hint = "Write the path out, or begin it with './'."
            reason = "only a run can tell whether its output goes to a device"
            yield Finding("device", reason, hint, is_certain=False)
        else:
            hint = "Write to a file; use '>&2' for messages."
            yield Finding("device", f"its output goes to the device {target!r}", hint)


def _in_document(found: Found, place: Place) -> Iterator[Finding]:
    """Look into the script that a shell reads from a here-document or a here-string."""
    if not found.words or program(found.words[0], place.home) not in _SHELLS:
        return
    for redirect in found.redirects:
        if redirect.operator.startswith("<<"):
            yield from _in_script([(redirect.body or redirect.target).static], place)


def _nodes(node: Any) -> Iterator[Any]:
    if isinstance(node, tuple):
        for each in node:
            yield from _nodes(each)
    elif is_dataclass(node):
        yield node
        for field in fields(node):
            yield from _nodes(getattr(node, field.name))


def _is_fork_bomb(function: Function) -> bool:
    for node in _nodes(function.body):
        if isinstance(node, Pipeline) and _calls(node, function.name) > 1:
            return True
        if isinstance(node, Step) and node.operator == "&" and _calls(node, function.name):
            return True
    return False


def _calls(node: Any, name: str) -> int:
    commands = (each for each in _nodes(node) if isinstance(each, Simple) and each.words)
    return sum(each.words[0].static == name for each in commands)


# -- commands ---------------------------------------------------------------------------


def _in_command(words: Sequence[Word], place: Place) -> Iterator[Finding]:
    if not words:
        return
    name = program(words[0], place.home)
    if name is None:
        yield _NAME_UNKNOWN
        return
    arguments = [text for word in words[1:] for text in templates(word, place.home)]
    rule = _RULES.get("mkfs" if name.startswith("mkfs.") else name)
    if rule is not None:
        yield from rule(arguments, place)
    yield from _in_inner_command(name, words, place)


def _rm(arguments: Sequence[str], place: Place) -> Iterator[Finding]:
    options, targets = _split(arguments)
    recursive = _has(options, "rR", "--recursive")
    for target in targets:
        if is_one_of(target, _ROOT, place):
            yield _WIPE_ROOT
        elif is_one_of(target, homes(place.home), place):
            yield _WIPE_HOME
        elif recursive and may_be_one_of(target, _ROOT | homes(place.home), place):
            yield _WIPE_UNKNOWN


def _other_user(arguments: Sequence[str], place: Place) -> Iterator[Finding]:
    yield Finding("other user", "it acts as another user", _BY_HAND)


def _password(arguments: Sequence[str], place: Place) -> Iterator[Finding]:
    yield Finding("password", "it changes a password", _BY_HAND)


def _make_file_system(arguments: Sequence[str], place: Place) -> Iterator[Finding]:
    yield Finding("mkfs", "it makes a new file system over what is there", _BY_HAND)


def _dd(arguments: Sequence[str], place: Place) -> Iterator[Finding]:
    for source in (each[3:] for each in arguments if each.startswith("if=")):
        if re.fullmatch(r"/+dev/+(zero|u?random)", source):
            hint = "Use 'head -c SIZE' or 'truncate -s SIZE' to make a file."
            yield Finding("dd", f"it copies without end from {source!r}", hint)
        elif UNKNOWN in source:
            reason = "only a run can tell what it copies"
            yield Finding("dd", reason, _SPELL_OUT, is_certain=False)


def _chmod(arguments: Sequence[str], place: Place) -> Iterator[Finding]:
    _, names = _split(arguments)
    if names and re.fullmatch(r"0*777|(a|ugo)?[+=]rwx", names[0]):
        yield from _on_root(names[1:], "it opens the root folder to everybody", place)


def _chown(arguments: Sequence[str], place: Place) -> Iterator[Finding]:
    options, names = _split(arguments)
    if _has(options, "R", "--recursive"):
        yield from _on_root(names, "it gives the whole system another owner", place)


def _on_root(targets: Sequence[str], reason: str, place: Place) -> Iterator[Finding]:
    for target in targets:
        if is_one_of(target, _ROOT, place):
            yield Finding("rights", reason, "Name the folders to change one by one.")
        elif may_be_one_of(target, _ROOT, place):
            unsure = "only a run can tell which folder it changes"
            yield Finding("rights", unsure, _SPELL_OUT, is_certain=False)


def _split(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Options and the rest."""
    options: list[str] = []
    rest: list[str] = []
    for index, each in enumerate(arguments):
        if each == "--":
            return options, [*rest, *arguments[index + 1 :]]
        (options if each.startswith("-") and each != "-" else rest).append(each)
    return options, rest


def _has(options: Sequence[str], letters: str, name: str) -> bool:
    return any(
        len(each) > 3 and name.startswith(each)
        if each.startswith("--")
        else any(letter in each for letter in letters)
        for each in options
    )


_RULES: dict[str, Callable[[Sequence[str], Place], Iterator[Finding]]] = {
    "rm": _rm,
    "sudo": _other_user,
    "su": _other_user,
    "doas": _other_user,
    "pkexec": _other_user,
    "runuser": _other_user,
    "dd": _dd,
    "mkfs": _make_file_system,
    "passwd": _password,
    "chmod": _chmod,
    "chown": _chown,
}


# -- commands that run other commands ---------------------------------------------------

_SHELLS = {"bash", "sh", "dash", "zsh", "ksh"}
_FIND_ACTIONS = {"-exec", "-execdir", "-ok", "-okdir"}

_WRAPPERS: dict[str, tuple[str, int]] = {
    "builtin": ("", 0),
    "command": ("", 0),
    "env": ("uCS", 0),
    "exec": ("a", 0),
    "ionice": ("cnp", 0),
    "nice": ("n", 0),
    "nohup": ("", 0),
    "setsid": ("", 0),
    "stdbuf": ("ioe", 0),
    "time": ("fo", 0),
    "timeout": ("ks", 1),
    "xargs": ("adEILnPs", 0),
}
"""By name: the options that take the next word, and how many words stand before the command."""


def _in_inner_command(name: str, words: Sequence[Word], place: Place) -> Iterator[Finding]:
    if name in _WRAPPERS:
        inner = _after_options(words[1:], *_WRAPPERS[name])
        # The arguments that xargs adds are known only to those who write to it.
        more = [_STDIN] if name == "xargs" else []
        yield from _in_command([*inner, *more] if inner else [], place)
        if name == "env":
            yield from _in_split_strings(words[1:], place)
    elif name == "eval":
        yield from _in_script([word.static for word in words[1:]], place)
    elif name == "trap" and len(words) > 2:
        yield from _in_script([words[1].static], place)
    elif name in _SHELLS:
        yield from _in_shell_argument(words[1:], place)
    elif name == "find":
        statics = [word.static for word in words]
        for index, static in enumerate(statics):
            if static in _FIND_ACTIONS:
                yield from _in_command(words[index + 1 :], place)


def _in_split_strings(words: Sequence[Word], place: Place) -> Iterator[Finding]:
    """Look into `env -S 'command'`, which makes words of a text."""
    for word, after in zip(words, [*words[1:], None], strict=True):
        found = re.fullmatch(r"(?:-[iv0]*S|--split-string=?)(.*)", word.static or "", re.DOTALL)
        if found is not None:
            yield from _in_script([found[1] or (after.static if after else "")], place)


_STDIN = Word((Parameter("stdin"),), "")


def _after_options(words: Sequence[Word], taking: str, before: int) -> Sequence[Word]:
    index = 0
    while index < len(words):
        text = words[index].static or ""
        if re.fullmatch(r"-[A-Za-z]", text) and text[1] in taking:
            index += 2
        elif (text.startswith("-") and text != "-") or re.match(r"[A-Za-z_]\w*=", text):
            index += 1
        else:
            return words[index + before :]
    return ()


def _in_shell_argument(words: Sequence[Word], place: Place) -> Iterator[Finding]:
    for index, word in enumerate(words):
        option = word.static
        if option is None or not option.startswith("-"):
            return
        if not option.startswith("--") and "c" in option:
            rest = [each for each in words[index + 1 :] if not (each.static or "").startswith("-")]
            yield from _in_script([rest[0].static] if rest else [], place)
            return


def _in_script(texts: Sequence[str | None], place: Place) -> Iterator[Finding]:
    known = [text for text in texts if text is not None]
    try:
        if len(known) < len(texts):
            raise ParseError("Not known before the run", 0)
        script = parse(" ".join(known))
    except ParseError:
        yield _SCRIPT_UNKNOWN
        return
    yield from findings(script, place)
