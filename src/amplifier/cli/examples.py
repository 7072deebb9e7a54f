"""An example or two for every command, shown by `--help` and in the reference."""

from __future__ import annotations

import click

EXAMPLES: dict[str, tuple[str, ...]] = {
    "run": (
        'amplifier run "Which files are here?"',
        'git diff | amplifier run "Review this change."',
        'amplifier run --output-format json "Hello" | jq -r .response',
    ),
    "chat": ("amplifier", "amplifier chat --provider anthropic --max-cost 2"),
    "continue": ("amplifier continue", 'amplifier continue "Now write the tests."'),
    "resume": ("amplifier resume", 'amplifier resume 3f2a "And then?"'),
    "session cleanup": ("amplifier session cleanup --days 90",),
    "session delete": ("amplifier session delete 3f2a",),
    "session diff": ("amplifier session diff 3f2a 9c41",),
    "session export": (
        "amplifier session export 3f2a > session.md",
        "amplifier session export 3f2a --format jsonl -o session.jsonl",
    ),
    "session fork": ("amplifier session fork 3f2a --at 3 --name other-way",),
    "session import": ("amplifier session import ~/.amplifier/projects/old/sessions/3f2a",),
    "session list": ("amplifier session list", "amplifier session list --all-projects --json"),
    "session rename": ("amplifier session rename 3f2a release-notes",),
    "session repair": ("amplifier session repair 3f2a",),
    "session replay": ("amplifier session replay 3f2a",),
    "session resume": ('amplifier session resume release-notes "And then?"',),
    "session search": ('amplifier session search "connection pool"',),
    "session show": ("amplifier session show 3f2a", "amplifier session show 3f2a -T"),
    "session to-test": ("amplifier session to-test 3f2a -o tests/replays",),
    "session verify": ("amplifier session verify 3f2a",),
    "init": ("export ANTHROPIC_API_KEY=...", "amplifier init"),
    "provider add": (
        "amplifier provider add openai --model gpt-5",
        "amplifier provider add ollama --id big --set base_url=http://big:11434",
    ),
    "provider edit": (
        "amplifier provider edit anthropic --new-key",
        "amplifier provider edit ollama --set temperature=0.2 --unset top_p",
    ),
    "provider list": ("amplifier provider list",),
    "provider models": ("amplifier provider models anthropic",),
    "provider remove": ("amplifier provider remove ollama",),
    "provider test": ("amplifier provider test", "amplifier provider test openai"),
    "provider use": ("amplifier provider use openai",),
    "approve list": ("amplifier approve list",),
    "approve revoke": ("amplifier approve revoke 1", "amplifier approve revoke --all"),
    "policy explain": ("amplifier policy explain 'git push --force'",),
    "trust add": ("amplifier trust show", "amplifier trust add"),
    "trust list": ("amplifier trust list",),
    "trust revoke": ("amplifier trust revoke --all",),
    "trust show": ("amplifier trust show",),
    "agents dirs": ("amplifier agents dirs",),
    "agents explain": ("amplifier agents explain explorer -B developer",),
    "agents list": ("amplifier agents list -B developer",),
    "agents show": ("amplifier agents show explorer -B developer",),
    "bundle add": ("amplifier bundle add git+https://example.org/team/bundle@v1",),
    "bundle clear": ("amplifier bundle clear",),
    "bundle current": ("amplifier bundle current",),
    "bundle list": ("amplifier bundle list",),
    "bundle remove": ("amplifier bundle remove team",),
    "bundle show": ("amplifier bundle show developer",),
    "bundle update": ("amplifier bundle update --check", "amplifier bundle update team --rollback"),
    "bundle use": ("amplifier bundle use developer --project",),
    "config edit": ("amplifier config edit --project",),
    "config explain": ("amplifier config explain bundle.active",),
    "config set": ("amplifier config set bundle.active developer --project",),
    "config show": ("amplifier config show", "amplifier config show config.providers"),
    "config unset": ("amplifier config unset budget.max_cost",),
    "doctor": ("amplifier doctor",),
    "module add": ("amplifier module add tool-clock --source ./tool-clock",),
    "module current": ("amplifier module current",),
    "module list": ("amplifier module list",),
    "module new": ("amplifier module new tool clock",),
    "module override list": ("amplifier module override list",),
    "module override remove": ("amplifier module override remove tool-bash",),
    "module override set": ("amplifier module override set tool-bash -c timeout=600",),
    "module remove": ("amplifier module remove tool-clock",),
    "module show": ("amplifier module show tool-bash",),
    "module update": ("amplifier module update --check-only",),
    "module validate": ("amplifier module validate ./tool-clock",),
    "plan": ("amplifier plan", "amplifier plan -B developer --instruction"),
    "source add": ("amplifier source add tool-clock ./tool-clock",),
    "source list": ("amplifier source list",),
    "source remove": ("amplifier source remove tool-clock",),
    "source show": ("amplifier source show tool-clock",),
    "tool info": ("amplifier tool info read_file",),
    "tool invoke": ("amplifier tool invoke read_file file_path=README.md",),
    "tool list": ("amplifier tool list",),
    "completion": ("amplifier completion --install", "amplifier completion zsh"),
    "version": ("amplifier version -v",),
}


def add_examples(path: str, command: click.Command) -> None:
    """Let the help of a command, and of those below it, end with examples."""
    lines = EXAMPLES.get(path)
    if lines:
        command.epilog = "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])
    if isinstance(command, click.Group):
        for name, each in command.commands.items():
            add_examples(f"{path} {name}", each)
