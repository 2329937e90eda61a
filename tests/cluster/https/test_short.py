"""Requests of the plainest form: what the short way understands the parser understands alike, and nothing else."""

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.cluster.https.messages import ServerAnswer
from numafit.cluster.https.short import whole_answer, whole_request

PLAIN = (
    b"POST /filter HTTP/1.1\r\nHost: 127.0.0.1:9444\r\nUser-Agent: Go-http-client/1.1\r\nContent-Length: 2\r\n"
    b"Content-Type: application/json\r\nAccept-Encoding: gzip\r\n\r\nhi"
)
LINES = (
    b"Host: x",
    b"host: y",
    b"Content-Length: 2",
    b"content-length: 2",
    b"Content-Length: 3",
    b"Content-Length: +2",
    b"Content-Length: 2, 2",
    b"Content-Length:2",
    b"Content-Length : 2",
    b"Content-Length: 0x2",
    b"Content-Length: \xb2",
    b"Transfer-Encoding: chunked",
    b"Transfer-Encoding: identity",
    b"Connection: close",
    b"Expect: 100-continue",
    b"Upgrade: websocket",
    b"User-Agent: a\x00b",
    b"User-Agent: a\rb",
    b"User-Agent: a\nContent-Length: 9",
    b" folded: on",
    b"",
)


def parsed(data: bytes) -> tuple[bytes, bytes] | None:
    """Target and content, where the parser finds one request and nothing behind it."""
    own = h11.Connection(h11.SERVER)
    own.receive_data(data)
    try:
        head, content = own.next_event(), b""
        if not isinstance(head, h11.Request) or head.method != b"POST":
            return None
        while isinstance(event := own.next_event(), h11.Data):
            content += event.data
    except h11.RemoteProtocolError:
        return None
    whole = isinstance(event, h11.EndOfMessage) and own.trailing_data == (b"", False)
    return (head.target, content) if whole else None


def test_what_a_scheduler_sends_takes_the_short_way() -> None:
    assert whole_request(PLAIN) == ("/filter", b"hi")
    assert parsed(PLAIN) == (b"/filter", b"hi")


@pytest.mark.parametrize(
    "other",
    [
        PLAIN[:-1],
        PLAIN + b"G",
        PLAIN.replace(b"POST", b"PUT"),
        PLAIN.replace(b"1.1\r", b"1.0\r", 1),
        PLAIN.replace(b"\r\n", b"\n"),
        PLAIN.replace(b"Host", b"Nost"),
        PLAIN.replace(b"Content-Length: 2\r\n", b""),
        PLAIN.replace(b"Accept-Encoding: gzip", b"Transfer-Encoding: chunked"),
        PLAIN.replace(b"Accept-Encoding: gzip", b"Content-Length: 2"),
        PLAIN.replace(b"Accept-Encoding: gzip", b"Connection: close"),
        PLAIN.replace(b"Accept-Encoding: gzip", b"Expect: 100-continue"),
        PLAIN.replace(b"gzip", b"g" * 5000),
        b"",
    ],
)
def test_everything_else_is_left_to_the_parser(other: bytes) -> None:
    assert whole_request(other) is None


@given(
    st.lists(st.sampled_from(LINES), max_size=5),
    st.sampled_from([b"POST /a?b HTTP/1.1", b"POST /a b HTTP/1.1", b"POST * HTTP/1.1", b"POST /\x7f HTTP/1.1"]),
    st.sampled_from([b"", b"h", b"hi", b"hi\r\n", b"hiPOST /b HTTP/1.1\r\n\r\n"]),
)
def test_no_request_is_understood_otherwise_than_the_parser_does(lines: list[bytes], first: bytes, rest: bytes) -> None:
    data = b"\r\n".join([first, *lines, b"", b""]) + rest
    found = whole_request(data)
    assert found is None or (found[0].encode(), found[1]) == parsed(data)


@given(st.binary(max_size=40), st.integers(0, len(PLAIN)), st.integers(0, 40))
def test_a_damaged_request_is_understood_as_the_parser_does_or_left_to_it(new: bytes, place: int, gone: int) -> None:
    data = PLAIN[:place] + new + PLAIN[place + gone :]
    found = whole_request(data)
    assert found is None or (found[0].encode(), found[1]) == parsed(data)


@pytest.mark.parametrize("stays", [True, False])
def test_a_client_reads_the_answer_and_whether_the_connection_stays(stays: bool) -> None:
    own = h11.Connection(h11.CLIENT)
    own.send(h11.Request(method="POST", target="/", headers=[("Host", "x"), ("Content-Length", "0")]))
    own.send(h11.EndOfMessage())
    own.receive_data(whole_answer(ServerAnswer(b'{"a":1}', 404, "text/plain"), stays=stays))
    head, data, end = own.next_event(), own.next_event(), own.next_event()
    assert isinstance(head, h11.Response)
    assert isinstance(data, h11.Data)
    assert isinstance(end, h11.EndOfMessage)
    assert (head.status_code, bytes(data.data), dict(head.headers)[b"content-type"]) == (404, b'{"a":1}', b"text/plain")
    assert (own.their_state is h11.DONE) == stays
