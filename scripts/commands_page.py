"""The page docs/reference/amplifier.md, made from the commands themselves.

`scripts/reference.py` writes it with the other generated pages.
"""

from collections.abc import Iterator

import click

from amplifier.cli import SECTIONS, main
from amplifier.cli.examples import EXAMPLES

INTRODUCTION = """\
Every command says the same with `--help`. What is common to all:

- An ID of a session may be shortened, or be its name. A NAME that is not known is refused with the
  nearest one that is.
- `--json`, or `--output-format json` where a model answers, prints a single JSON document to
  stdout. Everything else that is said goes to stderr.
- Exit codes: 0 done, 1 failed, 2 the command line is wrong, 3 the budget is used up, 130
  interrupted.
- `--global`, `--project` and `--local` choose the [settings](settings.md) that a command writes
  to."""


def commands_page(notice: str) -> str:
    found = dict(_leaves(main, ()))
    parts = [notice, "# The amplifier command", INTRODUCTION]
    for heading, names in SECTIONS.items():
        rows = [
            f"| [`{' '.join(path)}`](#{_anchor(path)}) | {each.get_short_help_str(200)} |"
            for path, each in found.items()
            if path[0] in names
        ]
        parts.append(
            "\n".join([f"## {heading}", "", "| command | what it does |", "|---|---|", *rows])
        )
    parts.append("## Commands")
    parts += [_command(path, each) for path, each in found.items()]
    return "\n\n".join(parts) + "\n"


def _leaves(
    command: click.Command, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if not isinstance(command, click.Group):
        yield path, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        yield from _leaves(found, (*path, name))


def _anchor(path: tuple[str, ...]) -> str:
    return "-".join(("amplifier", *path))


def _command(path: tuple[str, ...], command: click.Command) -> str:
    line = " ".join(("amplifier", *path))
    context = click.Context(command, info_name=line)
    usage = " ".join([line, *command.collect_usage_pieces(context)])
    parts = [f"### amplifier {' '.join(path)}", f"`{usage}`", *_paragraphs(command.help or "")]
    rows = [_row(each, context) for each in command.params if isinstance(each, click.Option)]
    if rows:
        parts.append("\n".join(["| option | meaning |", "|---|---|", *rows]))
    examples = EXAMPLES.get(" ".join(path), ())
    if examples:
        parts.append("\n".join(["```text", *examples, "```"]))
    return "\n\n".join(parts)


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in text.split("\f")[0].strip().split("\n\n"):
        if paragraph.startswith("\b"):
            yield "\n".join(
                ["```text", *(each.strip() for each in paragraph.split("\n")[1:]), "```"]
            )
        else:
            yield " ".join(paragraph.split())


def _row(option: click.Option, context: click.Context) -> str:
    names = ", ".join(f"`{each}`" for each in (*option.opts, *option.secondary_opts))
    metavar = option.make_metavar(context)
    value = "" if option.is_flag or option.count else f" {_cell(f'`{metavar}`')}"
    default = f" Default: `{option.default}`." if option.show_default else ""
    repeatable = " Repeatable." if option.multiple else ""
    text = f"{option.help or ''}{repeatable}{default}".strip()
    return f"| {names}{value} | {_cell(text)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
