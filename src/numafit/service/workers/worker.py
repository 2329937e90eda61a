"""A worker: a process that answers one question after the other, so that a bad one can be stopped with it.

It reads jobs from standard input and writes to standard output. It ends when its input ends, so none outlives the
agent, even one that was killed.
"""

import os
import resource
import signal
import sys
from typing import BinaryIO

import msgspec
from msgspec.structs import replace

from numafit.errors import NumafitError
from numafit.service.node import Snapshot
from numafit.service.problem import Problem, problem, problem_of
from numafit.service.workers.answer import ANSWERS
from numafit.service.workers.job import FRAME, READY, Done, Job, encoded, framed, unpacked
from numafit.service.workers.question import BODIES
from numafit.service.workers.scene import Scenes

MOST_MEMORY = 4 << 30
"""Bytes of address space; a question that needs more is answered with a problem."""


def main(nice: int) -> None:
    os.nice(nice)
    # The agent decides when its workers end; Ctrl-C in a terminal reaches all of them.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    incoming = os.fdopen(os.dup(0), "rb")
    outgoing = os.fdopen(os.dup(1), "wb")
    # Whatever prints by accident must not get between the frames.
    os.dup2(2, 1)
    scenes: Scenes | None = None
    while (job := _next(incoming)) is not None:
        scenes = _updated(scenes, job)
        try:
            outgoing.write(framed(encoded(done(scenes, job))))
            outgoing.flush()
        except BrokenPipeError:
            # The agent was killed meanwhile: nobody is left to be told. What is buffered must not be written at exit.
            os._exit(0)


def _next(incoming: BinaryIO) -> Job | None:
    size = incoming.read(FRAME)
    if len(size) < FRAME:
        return None
    return unpacked(incoming.read(int.from_bytes(size, "big")))


def _updated(scenes: Scenes | None, job: Job) -> Scenes:
    if scenes is None:
        assert job.place is not None, "the first job tells of the node"
        scenes = Scenes(Snapshot(job.place, job.place.stage()))
    if job.now is not None:
        now, snapshot = job.now, scenes.snapshot
        stage = replace(snapshot.stage, ledger=now.ledger)
        scenes.snapshot = replace(snapshot, stage=stage, known=now.known, revision=now.revision, time=now.time)
    scenes.seconds = job.seconds
    return scenes


def done(scenes: Scenes, job: Job) -> Done:
    """Never raises: what went wrong is an answer, too."""
    if job.kind == READY:
        return Done(200, b"")
    try:
        body: object = job.body if job.kind not in BODIES else _decoded(job)
        return Done(200, msgspec.json.encode(ANSWERS[job.kind](scenes, body)))
    except NumafitError as error:
        return _problem(problem_of(error))
    except msgspec.ValidationError as error:
        return _problem(problem(422, f"the body does not fit: {error}"))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return _problem(problem(400, f"the body is not JSON: {error}"))
    except MemoryError:
        return _problem(problem(422, "the question needs more memory than it may take", cure="ask for less"))
    except RecursionError:
        return _problem(problem(422, "the question is nested too deeply", cure="ask for less"))
    except Exception as error:
        return _problem(problem(500, f"this is a bug in numafit: {type(error).__name__}: {error}"))


def _decoded(job: Job) -> msgspec.Struct:
    return msgspec.json.decode(job.body, type=BODIES[job.kind])


def _problem(found: Problem) -> Done:
    return Done(found.status, msgspec.json.encode(found))


if __name__ == "__main__":
    main(int(sys.argv[1]))
