"""Loads a bundle with all that it includes and mentions, and lays the parts over each other.

Nothing is run. Every reference resolves, or composing fails with the file and the line.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from amplifier.settings.documents import decoded, read_file
from amplifier.settings.merge import lay_over
from amplifier.settings.nodes import ConfigError, Node, Origin, entry_key, located
from amplifier.settings.places import home
from amplifier.sources.cache import cache_folder
from amplifier.trust.store import content_hash

from .format import Document, read_agent, read_bundle
from .mentions import mentions
from .names import Library

DEEPEST_MENTION = 3
DEEPEST_INCLUDE = 20
MOST_BUNDLES = 200
LARGEST_CONTEXT_FILE = 500_000
MOST_CONTEXT = 2_000_000
SECTIONS = ("session", "providers", "tools", "hooks")
_TRIED = ("", ".yaml", ".yml", ".md", "/bundle.md", "/bundle.yaml")


@dataclass
class Composed:
    """A bundle with everything in it."""

    name: str = ""
    description: str = ""
    instruction: str = ""
    #: Where the instruction is written.
    instruction_origin: Origin | None = None
    #: session, providers, tools, hooks and agents; operators in it are not yet worked out.
    root: Node = field(default_factory=lambda: Node({}, Origin("nothing")))
    #: Texts that are added to the instruction, each once, with the paths they have.
    context: dict[str, list[str]] = field(default_factory=dict)


class Composer:
    """One composition: remembers what was read, and which names lead where."""

    def __init__(self, library: Library, project: Path) -> None:
        self._library = library
        self._project = project
        self._roots: dict[str, Path] = {}
        self._count = 0
        #: Every file that had a part in it, with the hash of its content.
        self.inputs: dict[str, str] = {}

    def compose(self, *references: tuple[str, Origin, Path]) -> Composed:
        """The bundles that these references name, the later laid over the earlier.

        Raises:
            ConfigError: something does not resolve or cannot be used.
        """
        found = Composed()
        for reference, origin, base in references:
            self._add(found, self._locate(reference, origin, base), ())
        return found

    def namespaces(self) -> dict[str, str]:
        """The folders of the bundles so far, by their names."""
        return {name: str(folder) for name, folder in self._roots.items()}

    # -- files ------------------------------------------------------------------------

    def read(self, path: Path, limit: int = 1_000_000) -> bytes | None:
        data = read_file(path, limit)
        if data is not None:
            self.inputs[str(path)] = content_hash(data)
        return data

    def _locate(self, reference: str, origin: Origin, base: Path) -> Path:
        """The file of the bundle that a reference means."""
        namespace, separator, below = reference.partition(":")
        if separator and namespace in self._roots:
            place: Path | None = self._inside(self._roots[namespace], below, origin)
        else:
            place = self._library.find(reference, origin, base)
        if place is not None:
            for ending in _TRIED:
                path = Path(f"{place}{ending}")
                if path.is_file():
                    return path
        advice = self._library.advice(reference, self._roots)
        raise ConfigError(f"There is no bundle {reference!r}. {advice}", origin)

    def _inside(self, root: Path, below: str, origin: Origin) -> Path:
        path = Path(os.path.normpath(root / below))
        is_inside = is_own(root) or path.resolve().is_relative_to(root.resolve())
        if not path.is_relative_to(root) or not is_inside:
            raise ConfigError(f"{below!r} leads out of its bundle. Name a file inside.", origin)
        return path

    # -- composing --------------------------------------------------------------------

    def _add(self, found: Composed, path: Path, chain: tuple[Path, ...]) -> None:
        path = path.resolve()
        if path in chain or len(chain) > DEEPEST_INCLUDE:
            names = " -> ".join(each.name for each in (*chain, path))
            message = f"It includes itself: {names}. Remove one of the includes."
            raise ConfigError(message, Origin(str(path)))
        self._count += 1
        if self._count > MOST_BUNDLES:
            message = f"More than {MOST_BUNDLES} bundles are included. Remove includes."
            raise ConfigError(message, Origin(str(path)))
        document = read_bundle(path, self.read(path) or b"")
        name, root = self._register(document)
        includes = document.front.at("includes")
        for each in includes.items if includes else []:
            reference = each.text or each.mapping["bundle"].text
            self._add(found, self._locate(reference, each.origin, path.parent), (*chain, path))
        self._lay_over(found, document, root)
        found.name = name or found.name
        described = document.front.at("bundle", "description")
        found.description = described.text if described else found.description

    def _register(self, document: Document) -> tuple[str, Path]:
        front, root = document.front, document.path.parent
        name, below = front.at("bundle", "name"), front.at("bundle", "namespace_root")
        if below is not None:
            root = self._inside(root, below.text, below.origin)
        if name is not None:
            self._roots.setdefault(name.text, root)
        return name.text if name else document.path.stem, root

    def _lay_over(self, found: Composed, document: Document, root: Path) -> None:
        front = document.front
        parts = {key: front.mapping[key] for key in SECTIONS if key in front.mapping}
        base = document.path.parent
        parts = {key: with_absolute_sources(each, base) for key, each in parts.items()}
        agents = dict(self._agents(document, root))
        if agents:
            parts["agents"] = Node(agents, front.mapping["agents"].origin)
        found.root = lay_over(found.root, Node(parts, front.origin))
        context = front.at("context")
        for each in _named_files(context) if context else ():
            path = self._file(each.text, each.origin, document.path.parent, root)
            self._bring(found.context, each.text, path, each.origin)
        if document.body:
            found.instruction, found.instruction_origin = document.body, document.origin
            self._mentioned(found.context, document.body, document.origin, base)

    # -- agents -----------------------------------------------------------------------

    def _agents(self, document: Document, root: Path) -> Iterator[tuple[str, Node]]:
        agents = document.front.at("agents")
        policy = document.front.at("spawn")
        for name, node in agents.mapping.items() if agents else ():
            if name != "include":
                meta = node.mapping.get("meta")
                flat = {**(meta.mapping if meta else {}), **node.mapping}
                flat = {key: each for key, each in flat.items() if key not in ("meta", "name")}
                yield name, _under_policy(Node(flat, node.origin), policy)
                continue
            for each in node.items:
                path = self._agent_file(each, document.path.parent, root)
                found, agent = self._agent(path, each.origin)
                yield found, _under_policy(agent, policy)

    def _agent_file(self, reference: Node, base: Path, root: Path) -> Path:
        namespace, separator, name = reference.text.rpartition(":")
        own = self._roots.get(namespace, root) if separator else root
        pairs = [(own, f"agents/{name}.md"), (own, f"{name}.md"), (own, name)]
        if not separator:
            pairs += [(folder, f"agents/{name}.md") for folder in self._library.folders]
        places = [self._inside(folder, below, reference.origin) for folder, below in pairs]
        for each in places:
            if each.is_file():
                return each
        message = f"There is no agent {reference.text!r}: {str(places[0])!r} does not exist."
        raise ConfigError(f"{message} Correct the name.", reference.origin)

    def _agent(self, path: Path, origin: Origin) -> tuple[str, Node]:
        document = read_agent(path, self.read(path) or b"")
        meta = document.front.at("meta")
        values = dict(meta.mapping) if meta else {}
        name = values.pop("name", Node(path.stem, origin)).text
        if "description" not in values:
            message = f"Agent {name!r} has no description. Add one under `meta`."
            raise ConfigError(message, Origin(str(path), 1))
        values |= {key: each for key, each in document.front.mapping.items() if key != "meta"}
        texts: dict[str, list[str]] = {}
        self._mentioned(texts, document.body, document.origin, path.parent)
        values["instruction"] = Node(with_context(document.body, texts), document.origin)
        node = with_absolute_sources(Node(values, Origin(str(path), 1)), path.parent)
        return name, node

    # -- context ----------------------------------------------------------------------

    def _mentioned(
        self, texts: dict[str, list[str]], text: str, origin: Origin, base: Path, depth: int = 1
    ) -> None:
        for name, line in mentions(text):
            place = Origin(origin.file, origin.line + line)
            path = self._file(name, place, base, base)
            self._bring(texts, f"@{name}", path, place, depth)

    def _file(self, name: str, origin: Origin, base: Path, root: Path) -> Path:
        namespace, separator, below = name.partition(":")
        folders = {"user": home(), "project": self._project / ".amplifier", **self._roots}
        if separator:
            if namespace not in folders:
                known = ", ".join(sorted(folders))
                message = f"{name!r} is in no bundle that is loaded. There are {known}."
                raise ConfigError(message, origin)
            places = [self._inside(folders[namespace], below, origin)]
        elif name.startswith("~"):
            places = [Path(os.path.expanduser(name))]
        else:
            places = [self._inside(each, name, origin) for each in (base, root)]
        for each in places:
            for path in (each, Path(f"{each}.md")):
                if path.exists():
                    _check_reach(name, path, origin)
                    return path
        message = f"There is no file {name!r}: {str(places[0])!r} does not exist. Correct it."
        raise ConfigError(message, origin)

    def _bring(
        self,
        texts: dict[str, list[str]],
        name: str,
        path: Path,
        origin: Origin,
        depth: int = 1,
    ) -> None:
        if path.is_dir():
            text = "\n".join(sorted(each.name for each in path.iterdir()))
            self.inputs[str(path)] = content_hash(text.encode())
        else:
            data = self.read(path, LARGEST_CONTEXT_FILE) or b""
            text = decoded(data, str(path)).strip()
        if sum(map(len, texts)) + len(text) > MOST_CONTEXT and text not in texts:
            message = f"There are more than {MOST_CONTEXT:,} characters of context. Bring less."
            raise ConfigError(message, origin)
        names = texts.setdefault(text, [])
        if name in names:
            return
        names.append(name)
        if len(names) == 1 and depth < DEEPEST_MENTION and not path.is_dir():
            self._mentioned(texts, text, Origin(str(path), 1), path.parent, depth + 1)


def is_own(file: Path) -> bool:
    """Whether the user has written it; what was fetched lies at home, too."""
    return file.is_relative_to(home()) and not file.is_relative_to(cache_folder())


def _check_reach(name: str, path: Path, origin: Origin) -> None:
    """Of the user's own folder, others may mention notes, and neither keys nor sessions."""
    if is_own(path.resolve()) and path.resolve().suffix != ".md" and not is_own(Path(origin.file)):
        message = f"{name!r} is in your own folder, of which others may mention `.md` files only."
        raise ConfigError(f"{message} Remove it.", origin)


def with_context(instruction: str, texts: dict[str, list[str]]) -> str:
    """An instruction followed by the files that belong to it."""
    blocks = [
        f'<context_file paths="{", ".join(names)}">\n{text}\n</context_file>'
        for text, names in texts.items()
    ]
    parts = [instruction, "---" if blocks else "", *blocks]
    return "\n\n".join(each for each in parts if each)


def with_absolute_sources(node: Node, base: Path) -> Node:
    """The same, with every relative `source` path made absolute from `base`."""

    def absolute(each: Node) -> Node:
        if each.text.startswith("."):
            return Node(os.path.normpath(base / each.text), each.origin)
        return each

    return _walk(node, lambda key, each: absolute(each) if key == "source" else None)


def _walk(node: Node, change: Callable[[str, Node], Node | None]) -> Node:
    from amplifier.settings.merge import Change, Changes

    if isinstance(node.value, Changes):
        steps = tuple(Change(each.operator, _walk(each.node, change)) for each in node.value.steps)
        return Node(Changes(steps), node.origin)
    if isinstance(node.value, dict):
        values = {
            key: change(key, each) or (each if key == "config" else _walk(each, change))
            for key, each in node.value.items()
        }
        return Node(values, node.origin)
    if isinstance(node.value, list):
        return Node([_walk(each, change) for each in node.value], node.origin)
    return node


def _named_files(context: Node) -> Iterator[Node]:
    for key, each in context.mapping.items():
        yield from each.items if key == "include" else [each]


def _under_policy(agent: Node, policy: Node | None) -> Node:
    """An agent of a bundle with a `spawn` policy: it holds for this bundle's agents alone."""
    if policy is None or "tools" in agent.mapping:
        return agent
    return Node({**agent.mapping, "spawn": policy}, agent.origin)


def apply_policies(agents: Node, tools: Node) -> Node:
    """Agents whose policy is worked out: the tools that each of them keeps are named."""

    def kept(agent: Node) -> Node:
        policy = agent.mapping.get("spawn")
        if policy is None:
            return agent
        values = {key: each for key, each in agent.mapping.items() if key != "spawn"}
        excluded, inherited = policy.at("exclude_tools"), policy.at("inherit_tools")
        names = [key for key in map(entry_key, tools.items) if key]
        if inherited is not None:
            names = [each for each in names if each in {item.text for item in inherited.items}]
        if excluded is not None:
            names = [each for each in names if each not in {item.text for item in excluded.items}]
        values["tools"] = located(names, policy.origin)
        return Node(values, agent.origin)

    return Node({name: kept(each) for name, each in agents.mapping.items()}, agents.origin)
