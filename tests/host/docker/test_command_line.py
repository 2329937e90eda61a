"""The words after `docker run`, read as Docker reads them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.errors import InputError
from numafit.host.docker.command_line import DockerOption, docker_lines, parse_docker_run, unread_lines


def named(words: str) -> list[tuple[str, str]]:
    return [(option.name, option.value) for option in parse_docker_run(words.split()).options]


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("image", []),
        ("--name web image", [("name", "web")]),
        ("--name=web image", [("name", "web")]),
        ("-d image", [("detach", "true")]),
        ("-dit image", [("detach", "true"), ("interactive", "true"), ("tty", "true")]),
        ("-itm 4g image", [("interactive", "true"), ("tty", "true"), ("memory", "4g")]),
        ("-m4g image", [("memory", "4g")]),
        ("-m=4g image", [("memory", "4g")]),
        ("-eA=1 -e B image", [("env", "A=1"), ("env", "B")]),
        ("--rm=false image", [("rm", "false")]),
        ("-d=false image", [("detach", "false")]),
        ("--net host image", [("network", "host")]),
        ("--new-option=7 image", [("new-option", "7")]),
        ("--rm -- image", [("rm", "true")]),
    ],
)
def test_options_are_read_as_docker_reads_them(words: str, options: list[tuple[str, str]]) -> None:
    """Long, with `=` and without; short ones together, of which only the last may take a value."""
    assert named(words) == options
    assert parse_docker_run(words.split()).image == "image"


def test_what_follows_the_image_is_the_command() -> None:
    """Options after the image are the program's own."""
    run = parse_docker_run(["--rm", "image", "run", "--gpus", "all", "-d"])
    assert (run.image, run.command) == ("image", ("run", "--gpus", "all", "-d"))
    assert run.value("gpus") is None
    assert not run.is_on("detach")


def test_the_last_value_counts_and_a_switch_can_be_off() -> None:
    run = parse_docker_run(["-m", "1g", "--memory=2g", "-d", "--detach=false", "-eA=1", "-eA=2", "image"])
    assert (run.value("memory"), run.values("memory"), run.is_on("detach")) == ("2g", ["1g", "2g"], False)
    assert (run.variable("A"), run.variable("B")) == ("2", None)


def test_options_can_be_taken_out() -> None:
    """Those that were written together are taken apart, so that one of them can go."""
    run = parse_docker_run(["-dm", "4g", "--name", "web", "--gpus=all", "image", "x"])
    assert run.words(without=("memory", "gpus")) == ["-d", "--name", "web", "image", "x"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "docker run: no image is named (write: numafit docker run … -- [options] IMAGE …)"),
        ("--rm", "docker run: no image is named (write: numafit docker run … -- [options] IMAGE …)"),
        ("--name", "docker run: --name needs a value"),
        ("-dz image", "docker run: -z in -dz is not an option of docker run"),
        ("--rm=perhaps image", 'docker run: --rm is on or off, and not "perhaps"'),
        (
            "--new-option 7 image",
            "docker run: --new-option is not known here, so where the image stands cannot be told "
            "(write it as --new-option=VALUE, and a switch as --new-option=true)",
        ),
    ],
)
def test_what_is_not_understood_is_refused(words: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_docker_run(words.split())
    assert str(caught.value) == message


@given(st.lists(st.text(max_size=12), max_size=6))
def test_any_words_are_read_or_refused(words: list[str]) -> None:
    """And what is read says the same when it is read again."""
    try:
        run = parse_docker_run(words)
    except InputError:
        return
    again = parse_docker_run([*(word for option in run.options for word in option.words), "--", run.image])
    assert again.options == run.options


def test_command_lines_are_found_in_a_script() -> None:
    """Continued lines are one; comments and other commands are passed over."""
    text = (
        "#!/bin/sh\n\n# docker run no\ndocker run -d \\\n  --name 'a b' one\necho it's\nsudo docker container run two\n"
    )
    lines = docker_lines(text, "start.sh")
    assert [(line.number, line.run.image) for line in lines] == [(4, "one"), (7, "two")]
    assert lines[0].run.options[1] == DockerOption("name", "a b", ("--name", "a b"))


@pytest.mark.parametrize(
    ("written", "command", "shown"),
    [
        ("one && echo ok", [], "one && echo ok"),
        ("one sh -c 'a && b' | tee log", ["sh", "-c", "a && b"], "one sh -c 'a && b' | tee log"),
        ("one ls > out 2>&1 &", ["ls"], "one ls > out 2>&1 &"),
        ("one ls 2>&1", ["ls"], "one ls 2>&1"),
        ("one; two", [], "one ; two"),
        ("one echo a\\;b", ["echo", "a;b"], "one echo 'a;b'"),
        ("one ls # a; b", ["ls"], "one ls"),
        ('one ls "$PWD/a b"', ["ls", "$PWD/a b"], 'one ls "$PWD/a b"'),
        ("one ls '$PWD'", ["ls", "$PWD"], "one ls '$PWD'"),
        ("one echo a#b", ["echo", "a#b"], "one echo 'a#b'"),
    ],
)
def test_what_a_shell_does_with_a_line_is_left_to_the_shell(written: str, command: list[str], shown: str) -> None:
    """Operators and redirections are no words of the container's command, and stand behind it as they did."""
    (line,) = docker_lines(f"docker run {written}", "start.sh")
    assert (line.run.image, list(line.run.command)) == ("one", command)
    assert line.shell_text(line.run.words()) == shown


@pytest.mark.parametrize(
    ("line", "unread"),
    [
        ("FOO=1 docker run one", ["FOO=1 docker run one"]),
        ("cd x && docker run one > log", ["docker run one"]),
        ("id=$(docker run -d one)", ["id=$(docker run -d one)"]),
        ("docker run one && sudo docker container run two", ["sudo docker container run two"]),
        ("docker run one $(docker run two)", ["docker run one $(docker run two)"]),
        ("docker --debug run one", ["docker --debug run one"]),
        ("docker run one # docker run two", []),
        ("sudo docker run one; docker ps", []),
        ("# docker run one", []),
    ],
)
def test_what_looks_like_a_run_and_is_not_read_is_known(line: str, unread: list[str]) -> None:
    assert unread_lines(f"\n{line}\n") == [(2, text) for text in unread]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\ndocker run 'x", "start.sh:2: no closing quotation"),
        (
            "docker run --rm",
            "start.sh:1: docker run: no image is named (write: numafit docker run … -- [options] IMAGE …)",
        ),
    ],
)
def test_a_bad_line_is_told_with_its_place(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        docker_lines(text, "start.sh")
    assert str(caught.value) == message
