"""The ConfigMap: what is written when, and what a new guard reads."""

import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from numafit.cluster.guard.memory import LIVES_FOR, LoopMemory, MemoryObject
from numafit.cluster.guard.record import LoopRecord, record_of, text_of
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.kube.objects import ObjectMeta
from numafit.cluster.kube.reflector import ObjectChange
from numafit.errors import ApiServerError
from tests.cluster.guard.looping import after
from tests.cluster.guard.recorded_api import RecordedApi

RECORD = LoopRecord("ReplicaSet", "web", "team", "apps/v1", rejected=2)
PATH = "/api/v1/namespaces/numafit/configmaps/numafit-guard"


def stored(data: dict[str, str] | None, name: str = "numafit-guard") -> MemoryObject:
    return MemoryObject(ObjectMeta(name, "numafit", "uid", "1"), data)


def test_a_new_guard_begins_with_what_the_old_one_left() -> None:
    data = {"enabled": "false", "until": "x", "u1": text_of(RECORD, armed=True), "u2": "rubbish"}
    own = LoopMemory(RecordedApi(lambda _: {"metadata": {}, "data": data}), "numafit", ApiHealth())
    assert asyncio.run(own.begin(after(0))) == {"u1": RECORD}
    assert not own.on


def test_there_need_not_have_been_one() -> None:
    own = LoopMemory(RecordedApi(lambda _: 404), "numafit", ApiHealth())
    assert asyncio.run(own.begin(after(0))) == {}
    assert own.on


def test_all_that_changed_is_written_at_once() -> None:
    api = RecordedApi()
    own = LoopMemory(api, "numafit", ApiHealth())
    own.remember("u1", RECORD, armed=True)
    own.remember("u2", RECORD, armed=False)
    own.remember("u3", None, armed=False)
    asyncio.run(own.write())
    (asked,) = api.noted
    data = asked.content["data"]
    assert (asked.method, asked.path, data["u3"]) == ("PATCH", PATH, None)
    assert data["u1"].startswith("hold {")
    assert data["u2"].startswith("count {")
    assert record_of(data["u1"], after(0)) == RECORD
    asyncio.run(own.write())
    assert len(api.noted) == 1


def test_what_could_not_be_written_is_written_later_and_news_come_first() -> None:
    refusals = [500]
    api = RecordedApi(lambda _: refusals.pop() if refusals else {})
    own = LoopMemory(api, "numafit", ApiHealth())
    own.remember("u1", RECORD, armed=True)
    own.remember("u2", RECORD, armed=True)
    with pytest.raises(ApiServerError):
        asyncio.run(own.write())
    own.remember("u1", None, armed=False)
    asyncio.run(own.write())
    assert api.noted[1].content["data"].keys() == {"u1", "u2"}
    assert api.noted[1].content["data"]["u1"] is None


def test_it_is_made_where_there_is_none() -> None:
    api = RecordedApi(lambda noted: 404 if noted.method == "PATCH" else {})
    own = LoopMemory(api, "numafit", ApiHealth())
    own.remember("u1", RECORD, armed=True)
    own.remember("u2", None, armed=False)
    asyncio.run(own.write())
    made = api.of("POST")[0].content
    assert made["metadata"] == {"name": "numafit-guard", "namespace": "numafit"}
    assert made["data"].keys() == {"enabled", "until", "u1"}


def test_the_word_that_it_lives_follows_the_clock_of_the_api_server() -> None:
    ahead, api = timedelta(hours=2), RecordedApi()
    api.clock.look(format_datetime(datetime.now(UTC) + ahead, usegmt=True).encode())
    asyncio.run(LoopMemory(api, "numafit", ApiHealth()).write(put_off=True))
    until = datetime.fromisoformat(api.noted[0].content["data"]["until"])
    assert abs(until - datetime.now(UTC) - ahead - LIVES_FOR) < timedelta(minutes=1)


def test_somebody_else_switches_it() -> None:
    switched: list[bool] = []
    own = LoopMemory(RecordedApi(), "numafit", ApiHealth(), switched.append)
    own._changed(ObjectChange("k", None, stored({"enabled": "true", "u1": "hold {}", "u2": "count {}"})))
    assert (switched, own.armed) == ([], {"u1"})
    own._changed(ObjectChange("k", None, stored({"enabled": "false"})))
    own._changed(ObjectChange("k", None, stored({"enabled": "no"})))
    own._changed(ObjectChange("k", None, stored(None)))
    assert switched == [False, True]


def test_a_config_map_that_is_deleted_is_off_and_on_again() -> None:
    switched: list[bool] = []
    own = LoopMemory(RecordedApi(), "numafit", ApiHealth(), switched.append)
    own._changed(ObjectChange("k", stored({}), None))
    assert switched == [False, True]
    assert own.on
