"""Write what is made from the code: reference pages and the table of events.

`python scripts/reference.py` writes docs/reference/{events,models,errors,amplifier}.md, and
spec/events.json for other languages. With `--check` it writes nothing and fails if one of them is
out of date.
Types and defaults are shown as the source spells them, so that the pages are the same under every
Python.
"""

import ast
import inspect
import json
import sys
from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass, is_dataclass
from enum import Enum
from functools import cache
from itertools import takewhile
from pathlib import Path
from types import ModuleType

import amplifier_core
from amplifier_core import (
    approval,
    content_models,
    events,
    interfaces,
    llm_errors,
    loader,
    message_models,
    models,
    module_sources,
)
from amplifier_core.utils import retry
from commands_page import commands_page
from pydantic import BaseModel

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "reference"
EVENTS_FILE = ROOT / "spec" / "events.json"
NOTICE = "<!-- Made from the code by scripts/reference.py; changes made here are lost. -->"
_FACTORIES = {"list": "[]", "dict": "{}"}
_DOC_SECTIONS = ("Args:", "Raises:", "Returns:")
_NOT_METHODS = ("model_post_init", "model_copy")

Row = tuple[str, ...]
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Member:
    """A field of a class or a parameter of a function, as its source spells it."""

    name: str
    type: str
    default: str | None
    """None when a value has to be given."""
    text: str = ""

    def row(self) -> Row:
        default = "required" if self.default is None else code(self.default)
        return code(self.name), code(self.type), default, self.text


# -- reading source -------------------------------------------------------------------


@cache
def tree_of(module: ModuleType) -> ast.Module:
    return ast.parse(inspect.getsource(module))


class _Spelled(ast.NodeTransformer):
    """Puts what a private name of a module stands for in its place."""

    def __init__(self, module: ModuleType) -> None:
        self._values = {
            target.id: statement.value
            for statement in tree_of(module).body
            if isinstance(statement, ast.Assign)
            for target in statement.targets
            if isinstance(target, ast.Name) and target.id.startswith("_")
        }

    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self._values.get(node.id)
        return node if value is None else self.visit(deepcopy(value))


def spelled(expression: ast.expr, module: ModuleType) -> str:
    """An expression as a reader may write it: without names that are private to its module."""
    return ast.unparse(_Spelled(module).visit(deepcopy(expression)))


def home_of(thing: type | object) -> ModuleType:
    module = inspect.getmodule(thing)
    assert module is not None
    return module


def node_of(thing: type | object) -> ast.ClassDef | Function:
    """The source of a class or function."""
    name = getattr(thing, "__name__", "")
    module = home_of(thing)
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    (found,) = [
        node for node in tree_of(module).body if isinstance(node, kinds) and node.name == name
    ]
    return found


def doc_of(node: ast.ClassDef | Function | ast.Module) -> str:
    """A docstring up to its sections, one line per paragraph."""
    kept: list[str] = []
    for line in (ast.get_docstring(node) or "").splitlines():
        if line.strip() in _DOC_SECTIONS:
            break
        kept.append(line)
    paragraphs = "\n".join(kept).strip().split("\n\n")
    return "\n\n".join(" ".join(each.split()) for each in paragraphs)


def fields_of(kind: type) -> list[Member]:
    """The annotated fields of a class and of the classes it builds on, inherited ones first."""
    found: dict[str, Member] = {}
    for base in reversed(kind.__mro__):
        if base.__module__.startswith("amplifier_core"):
            found.update({each.name: each for each in _own_fields(base)})
    return list(found.values())


def _own_fields(kind: type) -> Iterator[Member]:
    node, module = class_of(kind), home_of(kind)
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield Member(
                statement.target.id,
                spelled(statement.annotation, module),
                _default(statement.value, module),
                note_above(statement, module),
            )


def note_above(statement: ast.stmt, module: ModuleType) -> str:
    """The text of the `#:` lines above a field or a constant."""
    lines = inspect.getsource(module).splitlines()[: statement.lineno - 1]
    notes = takewhile(lambda line: line.lstrip().startswith("#:"), reversed(lines))
    return " ".join(reversed([line.strip().removeprefix("#:").strip() for line in notes]))


def _default(value: ast.expr | None, module: ModuleType) -> str | None:
    if isinstance(value, ast.Call) and getattr(value.func, "id", "") == "Field":
        given = {str(each.arg): each.value for each in value.keywords}
        if factory := given.get("default_factory"):
            name = ast.unparse(factory)
            return _FACTORIES.get(name, f"{name}()")
        value = value.args[0] if value.args else given.get("default")
    return None if value is None else spelled(value, module)


def parameters_of(node: Function, module: ModuleType) -> list[Member]:
    """The parameters of a function but `self`, with their defaults."""
    spec = node.args
    positional = [*spec.posonlyargs, *spec.args]
    missing: list[ast.expr | None] = [None] * (len(positional) - len(spec.defaults))
    pairs = [
        *zip(positional, [*missing, *spec.defaults], strict=True),
        *zip(spec.kwonlyargs, spec.kw_defaults, strict=True),
    ]
    return [
        Member(
            each.arg,
            spelled(each.annotation, module) if each.annotation else "",
            _default(default, module),
        )
        for each, default in pairs
        if each.arg != "self"
    ]


def class_of(kind: type) -> ast.ClassDef:
    node = node_of(kind)
    assert isinstance(node, ast.ClassDef)
    return node


def method_of(node: ast.ClassDef, name: str) -> Function | None:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    methods = [each for each in node.body if isinstance(each, kinds) and each.name == name]
    return methods[-1] if methods else None


def signature(node: Function, module: ModuleType) -> str:
    """How a function is called: names and defaults, `await` if it is async."""
    spec = [_named(each) for each in parameters_of(node, module)]
    keyword_only = {each.arg for each in node.args.kwonlyargs}
    first = next((i for i, name in enumerate(spec) if name.split("=")[0] in keyword_only), None)
    if first is not None and node.args.vararg is None:
        spec.insert(first, "*")
    if node.args.kwarg is not None:
        spec.append(f"**{node.args.kwarg.arg}")
    return f"{'await ' if _is_awaited(node) else ''}{node.name}({', '.join(spec)})"


def _named(parameter: Member) -> str:
    if parameter.default is None:
        return parameter.name
    return f"{parameter.name}={parameter.default}"


def _is_awaited(node: Function) -> bool:
    returns = ast.unparse(node.returns) if node.returns is not None else ""
    return isinstance(node, ast.AsyncFunctionDef) or returns.startswith("Coroutine[")


# -- writing Markdown -----------------------------------------------------------------


def code(text: str) -> str:
    return f"`{text}`" if text else ""


def table(head: Row, rows: Iterable[Row]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in lines
    )


def page(title: str, *parts: str) -> str:
    return "\n\n".join([f"# {title}", NOTICE, *parts]) + "\n"


# -- events ---------------------------------------------------------------------------


def events_page() -> str:
    always = ", ".join(map(code, events.every_event_fields))
    rows = [
        (code(each.name), each.emitter, each.when, ", ".join(map(code, each.fields)))
        for each in events.catalog.values()
    ]
    return page(
        "Events",
        f"The {len(rows)} canonical events. Each name is also a constant of "
        "`amplifier_core.events`, in capitals: `tool:pre` is `TOOL_PRE`. `ALL_EVENTS` lists them, "
        "and `spec/events.json` has this table for other languages.",
        f"Whoever listens also gets {always}. Treat every field as optional. Events that belong to "
        "one model call share a `request_id`.",
        "*Emitted by* says whose work it is: a loop that never emits `tool:pre` cannot be guarded. "
        "Modules may emit further events, and announce their names on the contribution channel "
        "`observability.events`.",
        table(("event", "emitted by", "when", "carries"), rows),
    )


# -- models ---------------------------------------------------------------------------

MODEL_SECTIONS = {
    models: "What modules hand to the kernel",
    message_models: "What travels to a model and back",
    interfaces: "Questions to an approval module",
    content_models: "Content in events and streams",
}


def models_page() -> str:
    parts: list[str] = []
    for module, title in MODEL_SECTIONS.items():
        parts.append(f"## {title}")
        parts += [_described(each) for each in models_in(module)]
    return page(
        "Models",
        "The data that travels between modules. They are pydantic models unless noted; a field "
        "without a default is required.",
        *parts,
        "## Aliases",
        table(("name", "stands for", "meaning"), _aliases(message_models)),
    )


def models_in(module: ModuleType) -> list[type]:
    """The public models that a module defines, in the order of its source."""
    named = [each.name for each in tree_of(module).body if isinstance(each, ast.ClassDef)]
    classes = [getattr(module, name) for name in named if not name.startswith("_")]
    return [each for each in classes if _is_model(each)]


def _is_model(kind: type) -> bool:
    is_filled = issubclass(kind, BaseModel) and bool(kind.model_fields)
    return is_filled or is_dataclass(kind) or issubclass(kind, Enum)


def _described(kind: type) -> str:
    node = class_of(kind)
    parts = [f"### `{kind.__name__}`", doc_of(node), _origin(kind)]
    if issubclass(kind, Enum):
        parts.append(f"Values: {', '.join(code(each.value) for each in kind)}.")
    else:
        rows = [each.row() for each in fields_of(kind)]
        parts.append(table(("field", "type", "default", "meaning"), rows))
    methods = [f"- `{call}`: {text}" for call, text in _methods(kind)]
    return "\n\n".join([*parts, *(["\n".join(methods)] if methods else [])])


def _origin(kind: type) -> str:
    """Where to import a class from, and what sets it apart from an ordinary model."""
    is_short = kind.__name__ in amplifier_core.__all__
    home = "amplifier_core" if is_short else kind.__module__
    notes = [f"`from {home} import {kind.__name__}`"]
    if is_dataclass(kind):
        notes.append("A dataclass.")
    elif issubclass(kind, BaseModel) and kind.model_config.get("extra") == "allow":
        notes.append("Keeps fields it does not know.")
    return ". ".join(notes) if len(notes) > 1 else notes[0]


def _methods(kind: type) -> Iterator[tuple[str, str]]:
    for each in class_of(kind).body:
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and _is_public(each.name):
            text = doc_of(each).partition("\n\n")[0]
            if text:
                yield signature(each, home_of(kind)), text


def _is_public(method: str) -> bool:
    return not method.startswith("_") and method not in _NOT_METHODS


def _aliases(module: ModuleType) -> Iterator[Row]:
    for statement in tree_of(module).body:
        text = note_above(statement, module)
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if text:
                if isinstance(value, ast.Subscript) and ast.unparse(value.value) == "Annotated":
                    assert isinstance(value.slice, ast.Tuple)
                    value = value.slice.elts[0]
                yield code(name), code(spelled(value, module)), text


# -- errors ---------------------------------------------------------------------------

LOADING_ERRORS = (
    loader.ModuleValidationError,
    module_sources.ModuleNotFoundError,
    module_sources.ModuleLoadError,
    approval.ApprovalTimeoutError,
)
RETRY_TOOLS = (retry.retry_with_backoff, retry.compute_delay, retry.classify_error_message)


def errors_page() -> str:
    _, *more = doc_of(node_of(llm_errors.LLMError)).split("\n\n")
    _, *attributes = init_of(llm_errors.LLMError)
    return page(
        "Errors",
        "## Errors of a model call",
        "One vocabulary for every provider. A provider translates what its SDK raises, with "
        "`raise ... from`. All are importable from `amplifier_core`.",
        table(("error", "what happened", "retryable"), _error_rows(llm_errors.LLMError, 0)),
        "They take the message, and by name:",
        table(("attribute", "type", "default"), (each.row()[:3] for each in attributes)),
        "`retryable=None` leaves it to the class.",
        *more,
        *_further_attributes(),
        "## Retrying",
        *_retry_parts(),
        "## Errors of loading and approval",
        table(("error", "import from", "what happened"), map(_loading_row, LOADING_ERRORS)),
        "A module that could not be loaded is reported with a `reason_code`, in the event "
        "`module:load_failed` and in `session.status.failed_modules`. It is one of "
        f"{', '.join(map(code, sorted(loader.MODULE_FAILURE_REASONS)))}.",
    )


def init_of(kind: type) -> list[Member]:
    """The parameters of a class's own constructor; none if it has none of its own."""
    init = method_of(class_of(kind), "__init__")
    return parameters_of(init, home_of(kind)) if init is not None else []


def _error_rows(kind: type[llm_errors.LLMError], depth: int) -> Iterator[Row]:
    indent = "&nbsp;&nbsp;" * depth
    text = doc_of(node_of(kind)).partition("\n\n")[0]
    yield f"{indent}{code(kind.__name__)}", text, "yes" if kind.retryable else "no"
    for each in kind.__subclasses__():
        if each.__module__ == llm_errors.__name__:
            yield from _error_rows(each, depth + 1)


def _further_attributes() -> Iterator[str]:
    known = {each.name for each in init_of(llm_errors.LLMError)}
    for kind in llm_errors.LLMError.__subclasses__():
        added = [each for each in init_of(kind) if each.name not in known]
        if added:
            names = " and ".join(f"{code(each.name)} (`{each.type}`)" for each in added)
            yield f"{code(kind.__name__)} also has {names}."


def _retry_parts() -> Iterator[str]:
    yield "In `amplifier_core.utils.retry`, and all but `compute_delay` also in `amplifier_core`."
    config = retry.RetryConfig
    init = method_of(class_of(config), "__init__")
    assert init is not None
    call = signature(init, retry).replace("__init__", config.__name__)
    yield f"`{call}`\n\n{doc_of(class_of(config))}"
    for function in RETRY_TOOLS:
        node = node_of(function)
        assert not isinstance(node, ast.ClassDef)
        yield f"`{signature(node, retry)}`\n\n{doc_of(node)}"


def _loading_row(kind: type[Exception]) -> Row:
    text = doc_of(node_of(kind)).partition("\n\n")[0]
    return code(kind.__name__), code(kind.__module__), text


# -- for other languages ----------------------------------------------------------------


def events_json() -> str:
    rows = [info._asdict() for info in events.catalog.values()]
    table = {"every_event": events.every_event_fields, "events": rows}
    return json.dumps(table, indent=2) + "\n"


# -- the command ----------------------------------------------------------------------

PAGES = {
    "events.md": events_page,
    "models.md": models_page,
    "errors.md": errors_page,
    "amplifier.md": lambda: commands_page(NOTICE),
}


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print(f"Unknown arguments {arguments!r}. Give `--check` or nothing.")
        return 2
    made = {FOLDER / name: make() for name, make in PAGES.items()}
    made[EVENTS_FILE] = events_json()
    stale = [path for path, text in made.items() if not path.exists() or path.read_text() != text]
    if arguments and stale:
        names = ", ".join(path.name for path in stale)
        print(f"Out of date: {names}. Run `python scripts/reference.py`.")
        return 1
    for path in stale:
        path.write_text(made[path])
        print(f"Wrote {path.name}.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
