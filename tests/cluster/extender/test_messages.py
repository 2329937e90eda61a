"""What a scheduler sends: names, looked for in the text before all of them are read."""

import json

from numafit.cluster.extender.messages import MOST_SEARCHES, read_args, sent_names


def test_names_are_found_whole_and_by_no_part_of_them() -> None:
    names = [f"node-{index}" for index in range(100)]
    sent = sent_names(read_args(json.dumps({"Pod": {}, "NodeNames": names}).encode()))
    for _ in range(MOST_SEARCHES):
        assert "node-12" in sent
        assert "node-1234" not in sent
        assert "ode-1" not in sent
    assert sent.names == names


def test_all_of_them_are_answered_as_they_came() -> None:
    args = b'{"Pod":{"a":1},"Nodes":null,"NodeNames":["b", "a"]}'
    assert sent_names(read_args(args)).all() == b'{"NodeNames":["b", "a"]}'


def test_who_sends_neither_names_nor_nodes_gets_none() -> None:
    sent = sent_names(read_args(b'{"Pod":{},"Nodes":null,"NodeNames":null}'))
    assert (sent.names, json.loads(sent.all())["Nodes"]["items"]) == ([], [])
