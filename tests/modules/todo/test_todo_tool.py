"""tool-todo: what it answers, what it refuses, and where the list is kept."""

from typing import Any

import pytest
from amplifier_core.testing import MockCoordinator
from helpers_todo import item
from hypothesis import given
from hypothesis import strategies as st

from amplifier_modules.todo.tool import mount

TWO = [item("Read", "completed"), item("Write", "in_progress")]


async def mounted() -> tuple[MockCoordinator, Any]:
    coordinator = MockCoordinator()
    await mount(coordinator)
    return coordinator, coordinator.get("tools", "todo")


async def test_create_answers_with_the_list() -> None:
    _, todo = await mounted()

    result = await todo.execute({"action": "create", "todos": TWO})

    assert result.success
    assert result.output == {"status": "created", "count": 2, "todos": TWO}


async def test_update_replaces_the_list_and_counts_it_by_status() -> None:
    _, todo = await mounted()
    await todo.execute({"action": "create", "todos": [item("Gone")]})

    result = await todo.execute({"action": "update", "todos": TWO})

    assert result.output == {
        "status": "updated",
        "count": 2,
        "pending": 0,
        "in_progress": 1,
        "completed": 1,
    }
    listed = await todo.execute({"action": "list"})
    assert listed.output == {"status": "listed", "count": 2, "todos": TWO}


async def test_a_new_session_has_an_empty_list() -> None:
    _, todo = await mounted()

    result = await todo.execute({"action": "list"})

    assert result.output == {"status": "listed", "count": 0, "todos": []}


async def test_the_list_can_be_emptied() -> None:
    coordinator, todo = await mounted()
    await todo.execute({"action": "create", "todos": TWO})

    await todo.execute({"action": "update", "todos": []})

    assert coordinator.get_capability("todo.state") == []


async def test_other_modules_find_the_list_as_capability_and_as_attribute() -> None:
    coordinator, todo = await mounted()

    await todo.execute({"action": "create", "todos": TWO})

    assert coordinator.get_capability("todo.state") == TWO
    assert coordinator.todo_state == TWO


async def test_a_list_that_another_module_put_on_the_coordinator_is_shown() -> None:
    coordinator, todo = await mounted()

    coordinator.todo_state = TWO

    assert (await todo.execute({"action": "list"})).output["todos"] == TWO


async def test_whoever_holds_the_list_is_not_surprised_by_an_update() -> None:
    coordinator, todo = await mounted()
    await todo.execute({"action": "create", "todos": TWO})
    held = coordinator.todo_state

    await todo.execute({"action": "update", "todos": []})

    assert held == TWO


async def test_only_the_three_known_fields_are_kept() -> None:
    coordinator, todo = await mounted()

    await todo.execute({"action": "create", "todos": [{**TWO[0], "owner": "me"}]})

    assert coordinator.todo_state == TWO[:1]


ACTIONS = "Use 'create', 'update' or 'list'."
FIELDS = "Give each item 'content', 'activeForm' and 'status'."
WHOLE = "Give the whole list: what is left out is dropped."


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, f"The input has no 'action'. {ACTIONS}"),
        ({"action": "remove"}, f"There is no action 'remove'. {ACTIONS}"),
        ({"action": ["list"]}, f"There is no action ['list']. {ACTIONS}"),
        ({"action": "create"}, "Action 'create' needs 'todos'. Give the whole list of items."),
        ({"action": "update"}, "Action 'update' needs 'todos'. Give the whole list of items."),
        ({"action": "create", "todos": None}, f"'todos' is empty, not a list. {WHOLE}"),
        ({"action": "create", "todos": "a"}, f"'todos' is of type str, not a list. {WHOLE}"),
        (
            {"action": "create", "todos": [TWO[0], "b"]},
            f"Item 2 of 'todos' is of type str, not an object. {FIELDS}",
        ),
        (
            {"action": "create", "todos": [{"content": "a", "status": "pending"}]},
            f"Item 1 of 'todos' has no 'activeForm'. {FIELDS}",
        ),
        (
            {"action": "create", "todos": [{**TWO[0], "content": " "}]},
            "Item 1 of 'todos' has an empty 'content'. Write a few words.",
        ),
        (
            {"action": "create", "todos": [{**TWO[0], "activeForm": 5}]},
            "Item 1 of 'todos' has an empty 'activeForm'. Write a few words.",
        ),
        (
            {"action": "update", "todos": [{**TWO[0], "status": "done"}]},
            "Item 1 of 'todos' has status 'done'. Use 'pending', 'in_progress' or 'completed'.",
        ),
    ],
)
async def test_bad_input_is_refused_in_words_and_changes_nothing(
    given: dict[str, Any], message: str
) -> None:
    coordinator, todo = await mounted()
    await todo.execute({"action": "create", "todos": TWO})

    result = await todo.execute(given)

    assert not result.success
    assert result.error == {"message": message, "type": "InvalidInput"}
    assert coordinator.todo_state == TWO


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(action=st.sampled_from(["create", "update", "list"]) | JSON, todos=JSON)
async def test_no_input_makes_it_raise(action: Any, todos: Any) -> None:
    coordinator, todo = await mounted()

    result = await todo.execute({"action": action, "todos": todos})

    assert result.success or result.error["message"]
    assert isinstance(coordinator.todo_state, list)
