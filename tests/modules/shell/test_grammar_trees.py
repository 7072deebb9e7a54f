"""The shell grammar: every construct has its tree, every command in it is found."""

import pytest

from amplifier_modules.shell.grammar import Found, parse, simple_commands
from amplifier_modules.shell.syntax import Compound, Function, Simple


def found(text: str) -> list[Found]:
    return list(simple_commands(parse(text)))


def argvs(text: str) -> list[tuple[str | None, ...]]:
    return [each.argv for each in found(text)]


def only(text: str) -> Simple:
    [step] = parse(text).steps
    [command] = step.pipeline.commands
    assert isinstance(command, Simple)
    return command


@pytest.mark.parametrize(
    ("text", "argv"),
    [
        ("ls -la", ("ls", "-la")),
        ("ls 'a b' \"c d\" e\\ f", ("ls", "a b", "c d", "e f")),
        ("l's' ''", ("ls", "")),
        ('"l"\\s', ("ls",)),
        (r"""echo $'a\n\x41\'\101b'""", ("echo", "a\nA'Ab")),
        (r'echo "\$x \" \\ \a"', ("echo", '$x " \\ \\a')),
        ("echo a#b # c", ("echo", "a#b")),
        ("ls \\\n  -l", ("ls", "-l")),
        ("[ -f x ]", ("[", "-f", "x", "]")),
        ("find . -name '*.py' {} \\;", ("find", ".", "-name", "*.py", "{}", ";")),
        ("git show HEAD~1 HEAD@{1} a^", ("git", "show", "HEAD~1", "HEAD@{1}", "a^")),
        ("echo if then { }", ("echo", "if", "then", "{", "}")),
        ("'if'", ("if",)),
        ("echo a=b $ 5%", ("echo", "a=b", "$", "5%")),
        ("echo ünïcode", ("echo", "ünïcode")),
    ],
)
def test_what_is_static_is_known_as_the_shell_will_see_it(
    text: str, argv: tuple[str | None, ...]
) -> None:
    assert argvs(text) == [argv]


@pytest.mark.parametrize(
    "word",
    [
        "$x", "${x}", "${x:-a}", '"$x"', "$(a)", "`a`", "$((1))", "<(a)", ">(a)", "*", "a?",
        "[ab]", "{a,b}", "{1..3}", "~", "~/x", "x=~", "$1", "$@", "a$IFS", "${#x}", "${x[0]}",
    ],
)  # fmt: skip
def test_what_only_a_run_can_tell_is_marked_as_unknown(word: str) -> None:
    assert argvs(f"echo {word} end")[0] == ("echo", None, "end")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a; b & c && d || e\nf", "a b c d e f"),
        ("a | b |& c", "a b c"),
        ("! a", "a"),
        ("time -p a", "a"),
        ("{ a; b; }", "a b"),
        ("(a; b)", "a b"),
        ("if a; then b; elif c; then d; else e; fi", "a b c d e"),
        ("while a; do b; done; until c; do d; done", "a b c d"),
        ("for x in 1 2; do a; done", "a"),
        ("for x; do a; done", "a"),
        ("for x in $(a); do b; done", "a b"),
        ("for ((i=0; i<$(a); i++)); do b; done", "a b"),
        ("select x in 1; do a; done", "a"),
        ("case $(a) in b|c) d ;; (*) e ;& f) esac", "a d e"),
        ("f() { a; }; f", "a f"),
        ("function f () ( a )", "a"),
        ("[[ $(a) == b && ! -f c ]] && d", "a d"),
        ("(( x = $(a) + 1 ))", "a"),
        ("echo $(a `b`)", "echo a b"),
        ('echo "$(a "$(b)")"', "echo a b"),
        ("echo ${x:-$(a)}", "echo a"),
        ("echo $(( $(a) ))", "echo a"),
        ("a <(b) > >(c)", "a b c"),
        ("x=$(a) b", "b a"),
        ("x=(1 $(a)) b", "b a"),
        ("a > $(b)", "a b"),
        ("a <<< $(b)", "a b"),
        ("a <<E\n$(b)\nE\nc", "a b c"),
        ("echo `a \\`b\\``", "echo a b"),
    ],
)
def test_every_simple_command_is_found_however_deep(text: str, names: str) -> None:
    assert [each.name for each in found(text)] == names.split()


def test_a_command_says_what_it_is_inside_of() -> None:
    inside = {each.name: each.inside for each in found("a; (b | c); f() { d $(e); }")}

    assert inside == {
        "a": (),
        "b": ("subshell", "pipe"),
        "c": ("subshell", "pipe"),
        "d": ("function", "group"),
        "e": ("function", "group", "substitution"),
    }


def test_operators_between_commands_are_kept() -> None:
    script = parse("a && b || c & d")

    assert [step.operator for step in script.steps] == ["&&", "||", "&", ";"]


def test_a_pipeline_keeps_its_prefixes_and_operators() -> None:
    [step] = parse("time ! a |& b | c").steps

    pipeline = step.pipeline
    assert (pipeline.timed, pipeline.negated, pipeline.operators) == (True, True, ("|&", "|"))


def test_assignments_before_a_command_are_not_arguments() -> None:
    command = only("A=1 B+=x C[2]=y D= ls A=2")

    assert [each.name for each in command.assignments] == ["A", "B+", "C[2]", "D"]
    assert [word.static for word in command.words] == ["ls", "A=2"]


def test_an_array_is_one_assignment_with_items() -> None:
    [array] = only("x=(a 'b c'\n d)").assignments

    assert [item.static for item in array.items] == ["a", "b c", "d"]


@pytest.mark.parametrize(
    ("text", "fd", "operator", "writes"),
    [
        ("a > f", None, ">", True),
        ("a 2>> f", "2", ">>", True),
        ("a >| f", None, ">|", True),
        ("a <> f", None, "<>", True),
        ("a &> f", None, "&>", True),
        ("a &>> f", None, "&>>", True),
        ("a >& f", None, ">&", True),
        ("a {n}> f", "{n}", ">", True),
        ("a 2>&1", "2", ">&", False),
        ("a >&-", None, ">&", False),
        ("a 3>&2-", "3", ">&", False),
        ("a >& $x", None, ">&", True),
        ("a < f", None, "<", False),
        ("a 0<&3", "0", "<&", False),
        ("a <<< f", None, "<<<", False),
    ],
)
def test_redirections_say_whether_they_write(
    text: str, fd: str | None, operator: str, writes: bool
) -> None:
    [redirect] = only(text).redirects

    assert (redirect.fd, redirect.operator, redirect.writes) == (fd, operator, writes)


def test_a_digit_at_the_end_of_a_word_is_no_descriptor() -> None:
    command = only("a b2> f")

    assert [word.static for word in command.words] == ["a", "b2"]
    assert command.redirects[0].fd is None


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("a <<E\nx $y\nE", None),
        ("a <<'E'\nx $y\nE", "x $y\n"),
        ("a <<\\E\n$(y)\nE", "$(y)\n"),
        ("a <<-E\n\tx\n\tE", "x\n"),
        ("a <<E\nE", ""),
        ('a <<E\nsay "x" \\$y\nE\n', 'say "x" $y\n'),
    ],
)
def test_a_here_document_is_read_with_its_quoting(text: str, body: str | None) -> None:
    [redirect] = only(text).redirects

    assert redirect.body is not None
    assert redirect.body.static == body


def test_two_here_documents_of_a_line_follow_each_other() -> None:
    script = parse("a <<X; b <<Y\n1\nX\n2\nY\nc")

    bodies = [
        redirect.body.static
        for step in script.steps
        for command in step.pipeline.commands
        if isinstance(command, Simple)
        for redirect in command.redirects
        if redirect.body
    ]
    assert bodies == ["1\n", "2\n"]
    assert [each.name for each in simple_commands(script)] == ["a", "b", "c"]


def test_a_redirected_compound_counts_as_a_command_without_words() -> None:
    [around, inner] = found("{ a; } > f")

    assert (around.name, around.redirects[0].writes, inner.name) == ("", True, "a")


def test_a_definition_keeps_the_name_it_takes_over() -> None:
    [step] = parse("ls() { rm x; } > f").steps

    [function] = step.pipeline.commands
    assert isinstance(function, Function)
    assert function.name == "ls"
    assert isinstance(function.body, Compound)
    assert function.body.redirects[0].writes


@pytest.mark.parametrize("text", ["", "  ", "\n\n", "# only a comment"])
def test_an_empty_line_is_an_empty_script(text: str) -> None:
    assert parse(text).steps == ()
