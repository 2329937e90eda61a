"""What `numafit run` loads: each module is a part of the time that a job takes to start."""

import subprocess
import sys

LOADED = """
import sys
from numafit.cli.start import load_base
load_base(database=True)
from numafit.cli.quick import quick_job
quick_job(["--cpus", "1", "--", "true"])
print(*(name for name in sys.modules if name in {names!r} or name.startswith("numafit.decision")))
"""


def loaded(*names: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", LOADED.format(names=names)], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_the_engine_is_loaded_by_jobs_that_ask_it_only() -> None:
    """Shared work holds nothing: there is nothing to decide."""
    assert loaded("numafit.host.place", "numafit.managers", "numafit.workload.pod") == ""


def test_what_only_other_jobs_need_is_not_loaded() -> None:
    """click, tools of the machine, YAML, the API of processes, and what msgspec takes from elsewhere if it is there."""
    assert (
        loaded(
            "click",
            "inspect",
            "socket",
            "subprocess",
            "yaml",
            "typing_extensions",
            "ctypes",
            "textwrap",
            "msgspec.inspect",
            "datetime",
            "urllib.parse",
            "zlib",
            "numafit.machine.combine.machine",
            "numafit.host.run.programs",
        )
        == ""
    )
    assert loaded("msgspec") == "msgspec"


LATER = """
from numafit.cli.start import load_base
load_base(database=True)
import datetime, pathlib, sqlite3, uuid
import msgspec
class Told(msgspec.Struct):
    \'\'\'A line.\'\'\'
    at: datetime.datetime
told = msgspec.json.decode(b\'{"at": "2020-01-02T03:04:05Z"}\', type=Told)
print(msgspec.json.encode(told).decode())
print(msgspec.json.schema(Told)["$defs"]["Told"]["description"], msgspec.inspect.type_info(int))
print(sqlite3.Date is datetime.date, uuid.UUID(int=uuid.uuid1().int).version, pathlib.Path("/a b").as_uri())
"""


def test_what_was_left_out_at_the_start_is_there_when_it_is_asked_for() -> None:
    """Schemas, times, uuids and addresses of files are those of a Python that loaded everything."""
    done = subprocess.run([sys.executable, "-c", LATER], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        '{"at":"2020-01-02T03:04:05Z"}',
        "A line. IntType(gt=None, ge=None, lt=None, le=None, multiple_of=None)",
        "True 1 file:///a%20b",
    ]
