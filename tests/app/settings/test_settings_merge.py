"""One rule lays settings over each other, whatever they are and wherever they come from."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier.settings.documents import parse
from amplifier.settings.merge import lay_over, merged, resolved, with_operators
from amplifier.settings.nodes import ConfigError, Node, Origin, located, plain
from amplifier.settings.places import SCOPES
from amplifier.settings.scopes import Layer, combined

NAMES = st.sampled_from(["a", "b", "c"])
SCALARS = st.none() | st.booleans() | st.integers(0, 3) | NAMES
PLAIN_LISTS = st.lists(SCALARS, max_size=3)
OPERATIONS = st.dictionaries(
    st.sampled_from(["$append", "$prepend", "$remove"]), PLAIN_LISTS, min_size=1, max_size=2
)


def entries(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    configs = st.dictionaries(NAMES, values, max_size=2)
    modules = st.lists(NAMES, min_size=1, max_size=3, unique=True)
    return modules.flatmap(
        lambda ids: st.tuples(*[configs for _ in ids]).map(
            lambda found: [
                {"module": each, "config": config} for each, config in zip(ids, found, strict=True)
            ]
        )
    )


def deeper(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return (
        st.dictionaries(NAMES, values, max_size=3)
        | entries(values)
        | entries(values).map(lambda found: {"$append": found})
        | values.map(lambda found: {"$replace": found})
    )


VALUES = st.recursive(SCALARS | PLAIN_LISTS | OPERATIONS, deeper, max_leaves=6)
LAYERS = st.dictionaries(NAMES, VALUES, max_size=3)


def layer(value: Any, file: str = "file") -> Node:
    return with_operators(located(value, Origin(file)))


def over(*values: Any) -> Any:
    return plain(merged(layer(each) for each in values))


def test_mappings_are_merged_key_by_key() -> None:
    assert over({"a": {"b": 1, "c": 2}}, {"a": {"c": 3}}) == {"a": {"b": 1, "c": 3}}


def test_a_list_replaces_the_one_below() -> None:
    assert over({"a": [1, 2]}, {"a": [3]}) == {"a": [3]}


def test_lists_of_modules_are_merged_by_id_else_by_module() -> None:
    low = {"tools": [{"module": "x", "config": {"a": 1}}, {"module": "y"}]}
    high = {"tools": [{"module": "x", "config": {"b": 2}}, {"module": "x", "id": "second"}]}

    assert over(low, high)["tools"] == [
        {"module": "x", "config": {"a": 1, "b": 2}},
        {"module": "y"},
        {"module": "x", "id": "second"},
    ]


def test_an_empty_list_empties_a_list_of_modules() -> None:
    assert over({"tools": [{"module": "x"}]}, {"tools": []}) == {"tools": []}


@pytest.mark.parametrize(
    ("change", "result"),
    [
        ({"$append": [3, 1]}, [1, 2, 3]),
        ({"$prepend": [3]}, [3, 1, 2]),
        ({"$remove": [1, 9]}, [2]),
        ({"$replace": [3]}, [3]),
        ({"$remove": [1], "$append": [3]}, [2, 3]),
    ],
)
def test_operators_say_what_happens_to_the_list_below(change: Any, result: list[int]) -> None:
    assert over({"a": [1, 2]}, {"a": change}) == {"a": result}


def test_operators_work_on_lists_of_modules() -> None:
    low = {"tools": [{"module": "x", "config": {"a": 1}}, {"module": "y"}]}

    assert over(low, {"tools": {"$remove": ["x"]}}) == {"tools": [{"module": "y"}]}
    assert over(low, {"tools": {"$prepend": [{"module": "y", "config": {"b": 2}}]}})["tools"] == [
        {"module": "y", "config": {"b": 2}},
        {"module": "x", "config": {"a": 1}},
    ]
    replaced = over(low, {"tools": {"$replace": [{"module": "x"}]}})
    assert replaced == {"tools": [{"module": "x"}]}


def test_a_mapping_can_be_replaced_as_a_whole() -> None:
    assert over({"a": {"b": 1}}, {"a": {"$replace": {"c": 2}}}) == {"a": {"c": 2}}


def test_without_anything_below_an_operator_starts_from_an_empty_list() -> None:
    assert over({"a": {"$append": [1]}, "b": {"$remove": [1]}}) == {"a": [1], "b": []}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a:\n  $apend: [1]\n", r"f:2: '\$apend' cannot stand"),
        ("a:\n  $append: [1]\n  b: 2\n", "f:3: 'b' cannot stand"),
        ("a:\n  $append: 1\n", r"f:2: '\$append' takes a list"),
    ],
)
def test_a_wrong_operator_is_named_with_its_line(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse(text, "f")


@given(LAYERS, LAYERS, LAYERS)
def test_neighbouring_scopes_may_be_merged_in_any_grouping(a: Any, b: Any, c: Any) -> None:
    low, middle, high = layer(a), layer(b), layer(c)

    left = resolved(lay_over(lay_over(low, middle), high))
    right = resolved(lay_over(low, lay_over(middle, high)))

    assert plain(left) == plain(right)


@given(LAYERS)
def test_merging_with_nothing_changes_nothing(a: Any) -> None:
    assert over(a) == over({}, a) == over(a, {})


@given(LAYERS, LAYERS, LAYERS)
def test_what_comes_out_has_no_operators(a: Any, b: Any, c: Any) -> None:
    assert "$" not in repr(over(a, b, c))


def settings_of(*values: Any) -> Any:
    pairs = zip(SCOPES, values, strict=False)
    return combined(Layer(scope, None, layer(each, scope), b"") for scope, each in pairs)  # type: ignore[arg-type]


def signed(value: Any, scope: str) -> Any:
    """The same with the scope in every scalar, so that a value tells where it is from."""
    if isinstance(value, dict):
        return {
            key: each if key == "module" else signed(each, scope) for key, each in value.items()
        }
    return (
        [signed(each, scope) for each in value] if isinstance(value, list) else f"{scope}={value}"
    )


def paths(value: Any, *above: str) -> list[tuple[str, ...]]:
    if not isinstance(value, dict) or not value:
        return [above]
    return [path for key, each in value.items() for path in paths(each, *above, key)]


def signatures(value: Any) -> set[str]:
    if isinstance(value, dict):
        return {
            each for key, found in value.items() if key != "module" for each in signatures(found)
        }
    if isinstance(value, list):
        return {each for found in value for each in signatures(found)}
    return {value.partition("=")[0]}


@given(LAYERS, LAYERS, LAYERS)
def test_explain_names_the_true_origin_of_every_value(a: Any, b: Any, c: Any) -> None:
    settings = settings_of(signed(a, "global"), signed(b, "project"), signed(c, "local"))

    for keys in paths(settings.value()):
        value = settings.value(*keys)
        effective = {each.scope for each in settings.explain(*keys) if each.is_in_effect}
        assert signatures(value) <= effective
        if isinstance(value, str):
            assert signatures(value) == effective


@given(LAYERS, LAYERS)
def test_explain_lists_every_layer_that_speaks_of_a_key(a: Any, b: Any) -> None:
    settings = settings_of(a, b)

    for key in {*a, *b}:
        speaking = {each.scope for each in settings.explain(key)}
        pairs = zip(SCOPES, (a, b), strict=False)
        assert speaking == {scope for scope, each in pairs if key in each}
