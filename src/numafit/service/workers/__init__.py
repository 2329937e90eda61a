"""Questions, answered in processes of their own.

    question   what may be asked: the bodies of the POST operations
    pool       two lanes of workers, in the agent: a slow question never stands before a quick one
    job        the words between agent and worker, each in a frame
    worker     the process: one job after the other, within its share of memory
    scene      from what a question names to a node that can be asked
    answer     the answers, by the kind of the question

`pool` runs in the agent; `worker`, `scene` and `answer` in the worker. Both know `job` and `question`. A worker is
told of the node once and of a new ledger when it changed. It may be killed at any moment: it holds nothing that
others need.
"""
