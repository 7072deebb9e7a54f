"""Every script says the same on this kernel and on the public one, or the table says why not."""

import fcntl
import json
import os
from pathlib import Path

import pytest
from catalogue import script_names
from compare import Answers, answers, answers_of_both, differing, peer_python
from page import PAGE, page
from table import differences, listed

SCRIPTS = script_names()


@pytest.fixture(scope="session")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Answers, Answers]:
    """What our kernel and the public one answer to every script; workers ask only once."""
    peer = peer_python()
    if peer is None:
        pytest.skip("There is no public kernel to compare with. `make differential` installs it.")
    own = tmp_path_factory.getbasetemp()
    folder = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    with (folder / "differential.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        known = folder / "differential.json"
        if not known.exists():
            known.write_text(json.dumps(answers_of_both(peer, SCRIPTS)))
        ours, theirs = json.loads(known.read_text())
        return ours, theirs


@pytest.mark.parametrize("script", SCRIPTS)
def test_both_kernels_say_the_same_or_the_table_says_why(
    script: str, both: tuple[Answers, Answers]
) -> None:
    ours, theirs = (side[script] for side in both)
    assert "broke" not in ours, ours["broke"]
    assert "broke" not in theirs, theirs["broke"]
    found, known = differing(ours["facts"], theirs["facts"]), listed(script)

    new = {fact: [side["facts"].get(fact) for side in (ours, theirs)] for fact in found - known}
    assert not new, f"Not in the table, as [ours, public]: {json.dumps(new, indent=1)}"
    assert not known - found, f"In the table, but no longer different: {sorted(known - found)}"


def test_every_row_names_scripts_that_exist() -> None:
    named = {fact.split(":", 1)[0] for row in differences() for fact in row.facts}

    assert not named - set(SCRIPTS)


def test_every_row_has_something_to_say() -> None:
    empty = [row for row in differences() if not all([row.facts, row.public, row.here, row.why])]

    assert differences()
    assert not empty


def test_no_fact_is_explained_twice() -> None:
    facts = [fact for row in differences() for fact in row.facts]

    assert len(facts) == len(set(facts))


def test_scripts_cover_enough_to_speak_of_compatibility() -> None:
    assert len(SCRIPTS) == len(set(SCRIPTS)) >= 150


def test_the_page_for_users_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), "Run `python tests/differential/page.py`."


def test_a_script_that_brings_the_interpreter_down_does_not_take_others_along(
    tmp_path: Path,
) -> None:
    python = tmp_path / "python"
    python.write_text(FALLS_OVER_ON_SECOND)
    python.chmod(0o755)

    found = answers(python, ["first", "second", "third"])

    assert found["first"] == found["third"] == {"facts": {"ok": True}}
    assert "died" in found["second"]["facts"]["(process)"]


def test_an_interpreter_that_runs_nothing_is_an_error(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\n")
    python.chmod(0o755)

    with pytest.raises(RuntimeError, match="runs no script"):
        answers(python, ["first"])


def test_facts_differ_by_value_and_by_presence() -> None:
    assert differing({"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 5, "d": 4}) == {"b", "c", "d"}


FALLS_OVER_ON_SECOND = """\
#!/bin/sh
results=$2
shift 2
for script; do
    echo "{\\"script\\": \\"$script\\"}" >> "$results"
    test "$script" = second && kill -ABRT $$
    echo "{\\"script\\": \\"$script\\", \\"facts\\": {\\"ok\\": true}}" >> "$results"
done
"""
