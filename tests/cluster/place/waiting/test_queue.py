"""Which waiting pod is next."""

from numafit.cluster.place.waiting.queue import QueueEntry, WaitingQueue


def entry(key: str, priority: int = 0, made: str = "2026-01-01T00:00:00Z", kind: str = "small") -> QueueEntry:
    return QueueEntry(key, (-priority, made, f"default/{key}", key), kind)


def queue_of(*entries: QueueEntry) -> WaitingQueue:
    queue = WaitingQueue()
    for own in entries:
        queue.put(own)
    return queue


def test_priority_comes_first_and_then_age_and_then_the_name() -> None:
    queue = queue_of(
        entry("b"), entry("a"), entry("old", made="2025-01-01T00:00:00Z", kind="large"), entry("urgent", 5, kind="x")
    )
    assert list(queue.round()) == ["urgent", "old", "a", "b"]


def test_a_kind_that_nothing_fits_is_asked_about_once_in_a_round_and_others_go_on() -> None:
    queue = queue_of(*(entry(f"s{number}") for number in range(3)), entry("l", kind="large"), entry("z", kind="large"))
    asked = []
    for key in queue.round():
        asked.append(key)
        if key == "l":
            queue.sleep("large")
        else:
            queue.remove(key)
    assert asked == ["l", "s0", "s1", "s2"]
    assert (len(queue), queue.awake, list(queue.round())) == (2, 0, [])
    queue.wake("large")
    assert list(queue.round()) == ["l", "z"]


def test_a_new_pod_of_a_sleeping_kind_sleeps_too_and_the_last_that_goes_takes_the_kind_with_it() -> None:
    queue = queue_of(entry("a"))
    queue.sleep("small")
    queue.put(entry("b"))
    assert list(queue.round()) == []
    queue.remove("a")
    queue.remove("b")
    queue.put(entry("c"))
    assert list(queue.round()) == ["c"]


def test_an_entry_that_has_changed_takes_its_new_place() -> None:
    queue = queue_of(entry("a"), entry("b"))
    queue.put(entry("b", priority=3))
    assert list(queue.round()) == ["b", "a"]
    assert "b" in queue
    assert "c" not in queue


def test_those_that_come_in_the_middle_of_a_round_are_asked_in_the_next_one_at_the_latest() -> None:
    queue = queue_of(entry("a"), entry("c"))
    asked = []
    for key in queue.round():
        asked.append(key)
        queue.remove(key)
        if key == "a":
            queue.put(entry("b"))
            queue.put(entry("0", kind="new"))
    assert asked == ["a", "b", "c"]
    assert list(queue.round()) == ["0"]
