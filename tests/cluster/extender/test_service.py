"""What schedulers are answered by address, and where the extender may listen."""

import asyncio
import json
from pathlib import Path

import pytest

from numafit.cluster.extender.service import ExtenderPlace, answering, at_once, checked
from numafit.cluster.https.certificates import ServingFiles
from numafit.cluster.https.messages import ServerAnswer, ServerRequest
from numafit.errors import InputError
from tests.cluster.extender.asked import AskedExtender
from tests.cluster.live.cluster_objects import pod_object

ARGS = json.dumps({"Pod": pod_object("a", gpus=8), "NodeNames": ["n1", "n2"]}).encode()


def asked(path: str, content: bytes = ARGS, method: str = "POST", *, prioritize: bool = False) -> ServerAnswer:
    own = AskedExtender()

    async def ask() -> ServerAnswer:
        return await answering(own.extender, prioritize=prioritize)(ServerRequest(method, path, content))

    return asyncio.run(ask())


def test_filter_is_answered_and_prioritize_only_where_somebody_wants_it() -> None:
    assert (asked("/filter").status, asked("/filter").content) == (200, b'{"NodeNames":["n1"]}')
    assert asked("/prioritize").status == 404
    assert json.loads(asked("/prioritize", prioritize=True).content) == [
        {"Host": "n1", "Score": 0},
        {"Host": "n2", "Score": 0},
    ]


def test_what_is_no_question_is_refused() -> None:
    assert asked("/filter", b"rubbish").status == 400
    assert asked("/filter", method="GET").status == 405
    assert asked("/bind").status == 404


def test_filter_is_answered_at_once_and_the_offer_counts_when_the_answer_is_on_its_way() -> None:
    """Whatever else is asked, or is no question, is answered as ever."""
    own = AskedExtender()

    async def ask() -> None:
        asking = at_once(own.extender)
        assert asking(ServerRequest("POST", "/prioritize", ARGS)) is None
        refused = asking(ServerRequest("POST", "/filter", b"rubbish"))
        assert refused is not None
        refused.afterwards()
        assert (refused.answer.status, own.counts.unreadable) == (400, 1)
        found = asking(ServerRequest("POST", "/filter", ARGS))
        assert found is not None
        assert (found.answer.content, dict(own.live.fleet.offers)) == (b'{"NodeNames":["n1"]}', {})
        found.afterwards()
        assert [*own.live.fleet.offers.values()] == [("n1",)]

    asyncio.run(ask())


def test_without_certificates_it_listens_on_loopback_only(tmp_path: Path) -> None:
    assert checked(ExtenderPlace("127.0.0.1", 9444)).port == 9444
    with pytest.raises(InputError, match=r"answers on loopback only, and not on 0\.0\.0\.0"):
        checked(ExtenderPlace("0.0.0.0", 9444))
    files = ServingFiles(tmp_path / "a", tmp_path / "b", tmp_path / "c")
    assert checked(ExtenderPlace("0.0.0.0", 9444, files)).files == files
