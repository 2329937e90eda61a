"""`python -m bench.study NODES.csv PODS.csv`: prints the tables of docs/study.md."""

import argparse
from pathlib import Path

from bench.study.page import with_tables
from bench.study.plays import Player
from bench.study.questions import QUESTIONS
from numafit.cli.fleet.plays import cores


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.study", description=__doc__)
    parser.add_argument("nodes", type=Path, help="openb_node_list_all_node.csv")
    parser.add_argument("pods", type=Path, help="openb_pod_list_default.csv")
    parser.add_argument("--only", action="append", choices=[own.name for own in QUESTIONS], help="this table")
    parser.add_argument("--answers", type=Path, metavar="DIR", help="kept there, and not played again")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="puts the tables into this page, too")
    parser.add_argument("--lines", action="store_true", help="prints the lines that make them, and plays nothing")
    parser.add_argument("--jobs", type=int, default=cores(), help="plays at a time")
    own = parser.parse_args()
    player = Player(own.nodes, own.pods, own.answers, own.jobs)
    for question in QUESTIONS:
        if own.only and question.name not in own.only:
            continue
        print(f"\n{question.name}:\n")
        if own.lines:
            print("\n".join(player.line(play) for play in question.plays))
            continue
        table = question.answered(player)
        print(table, flush=True)
        if own.write:
            own.write.write_text(with_tables(own.write.read_text(), {question.name: table}))


if __name__ == "__main__":
    main()
