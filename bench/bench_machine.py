"""Reading a machine: the capture of one with 128 CPUs and 4 NUMA nodes, as a folder and as a .tgz."""

import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from bench import Row
from numafit.machine.read.sysfs.machine import read_sysfs
from numafit.machine.read.sysfs.tree import open_tree

CAPTURE = Path(__file__).resolve().parents[1] / "tests" / "machine" / "captures" / "numa4x128.tgz"
READ = 0.05


def rows() -> Iterator[Row]:
    with TemporaryDirectory() as folder:
        with tarfile.open(CAPTURE) as archive:
            # Python 3.11 knows this filter since 3.11.4, and Debian's is older.
            archive.extraction_filter = getattr(tarfile, "data_filter", None)
            archive.extractall(folder)
        yield Row("machine/128 CPUs read from a folder", _read(Path(folder)), READ)
    yield Row("machine/128 CPUs read from a .tgz", _read(CAPTURE), READ)


def _read(path: Path) -> Callable[[], object]:
    return lambda: read_sysfs(open_tree(path), str(path))
