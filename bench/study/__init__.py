"""The study of docs/study.md: a public trace of a production cluster, played under many assumptions.

    plays       what is played: a line of `numafit fleet simulate` each, and its answers, which can be kept
    tables      what is shown of the answers, as Markdown
    questions   which plays and which table answer a question
    page        tables put into a page, between their marks

    python -m bench.study NODES.csv PODS.csv                            prints all tables
    python -m bench.study NODES.csv PODS.csv --only policies --lines    how one of them is made
    python -m bench.study NODES.csv PODS.csv --answers DIR --write docs/study.md

A module calls only those above it. The two files are those of Alibaba's cluster-trace-gpu-v2023.
"""
