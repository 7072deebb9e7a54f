"""A bundle or agent file: YAML, or Markdown with YAML in front."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from amplifier.settings.documents import decoded, parse
from amplifier.settings.nodes import ConfigError, Node, Origin
from amplifier.settings.schema import (
    ENTRY,
    MODULES,
    SLOT,
    Either,
    Keys,
    Many,
    Rule,
    Table,
    anything,
    flag,
    number,
    table,
    text,
)

FENCE = "---"
_WANTED = Many(Either(text, ENTRY))
_META = Keys({"name": text, "description": text})
_SESSION = Keys(
    {
        "orchestrator": SLOT,
        "context": SLOT,
        "approval": ENTRY,
        "mount_timeout": number,
        "injection_size_limit": number,
        "injection_budget_per_turn": number,
        "raw": flag,
        "metadata": table,
    }
)
_AGENT_RULES: dict[str, Rule] = {
    "tools": _WANTED,
    "providers": _WANTED,
    "hooks": _WANTED,
    "session": _SESSION,
    "provider_preferences": Many(Keys({"provider": text, "model": text, "config": table})),
    "model_role": Either(text, Many(text)),
    "agents": Either(text, Many(text)),
}
AGENT = Keys({"meta": _META, **_AGENT_RULES})
INLINE_AGENT = Keys({"meta": _META, "description": text, "instruction": text, **_AGENT_RULES})
BUNDLE = Keys(
    {
        "bundle": Keys(
            {"name": text, "version": anything, "description": text, "namespace_root": text}
        ),
        "includes": Many(Either(text, Keys({"bundle": text}))),
        "session": _SESSION,
        "providers": MODULES,
        "tools": MODULES,
        "hooks": MODULES,
        "agents": table,
        "context": table,
        "spawn": Keys({"exclude_tools": Many(text), "inherit_tools": Many(text)}),
    }
)
_INLINE_AGENTS = Table(INLINE_AGENT)
_NAMES = Many(text)


@dataclass(frozen=True)
class Document:
    """The front matter and the text of a file."""

    path: Path
    front: Node
    body: str
    body_line: int

    @property
    def origin(self) -> Origin:
        return Origin(str(self.path), self.body_line)


def read_bundle(path: Path, data: bytes) -> Document:
    """A bundle file.

    Raises:
        ConfigError: it is none; the message names the line.
    """
    document = _document(path, data)
    BUNDLE(document.front, "")
    agents, context = document.front.at("agents"), document.front.at("context")
    for name, node in agents.mapping.items() if agents else ():
        if name == "include":
            _NAMES(node, "agents.include")
        else:
            INLINE_AGENT(node, f"agents.{name}")
    for name, node in context.mapping.items() if context else ():
        (_NAMES if name == "include" else text)(node, f"context.{name}")
    return document


def read_agent(path: Path, data: bytes) -> Document:
    """An agent's file.

    Raises:
        ConfigError: it is none; the message names the line.
    """
    document = _document(path, data)
    AGENT(document.front, "")
    return document


def _document(path: Path, data: bytes) -> Document:
    content = decoded(data, str(path))
    if path.suffix in (".yaml", ".yml"):
        return Document(path, parse(content, str(path)), "", 0)
    front, body, line = split_front_matter(content, str(path))
    return Document(path, parse(front, str(path), 2), body.strip(), line)


def split_context(instruction: str) -> dict[str, str]:
    """The parts of a composed instruction: itself, and each file that was added to it."""
    own, *added = instruction.split('<context_file paths="')
    found = {"instruction": own.rstrip().removesuffix("---").rstrip()}
    for each in added:
        names, _, rest = each.partition('">\n')
        found[f"context {names}"] = rest.rpartition("\n</context_file>")[0]
    return found


def split_front_matter(content: str, file: str) -> tuple[str, str, int]:
    """The YAML between the first two fences, the text after it, and the line it starts in."""
    lines = content.splitlines(keepends=True)
    if not lines or lines[0].strip() != FENCE:
        return "", content, 1
    for number_, line in enumerate(lines[1:], start=1):
        if line.strip() == FENCE:
            return "".join(lines[1:number_]), "".join(lines[number_ + 1 :]), number_ + 2
    message = "Its front matter has no end. Close it with a line of `---`."
    raise ConfigError(message, Origin(file, 1))
