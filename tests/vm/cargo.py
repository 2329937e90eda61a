"""What goes into a guest: numafit's source, the packages it needs, the jobs, and the program that runs them."""

import io
import json
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import NamedTuple

from tests.vm.image import cache_folder
from tests.vm.shape import Shape

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "numafit"
GUEST = Path(__file__).with_name("guest.py")
NAME = re.compile(r"[a-z0-9][a-z0-9-]*")


class Job(NamedTuple):
    """A shell script that runs in the guest; README.md says what it finds there."""

    name: str
    """Small letters, digits and dashes; it names the folder of the result."""
    script: str
    files: Mapping[str, str | bytes] = {}
    """By path below the folder that the script starts in."""
    user: str = "root"
    """Or `worker`."""
    timeout: float = 60.0
    """Seconds; then it is killed and its status is 124."""


def cargo(shape: Shape, jobs: Sequence[Job]) -> bytes:
    """A .tar that is unpacked at the guest's root."""
    names = [job.name for job in jobs]
    for name in names:
        if not NAME.fullmatch(name) or names.count(name) > 1:
            raise ValueError(f"the job name {name!r} is not of small letters, digits and dashes, or is there twice")
    plan = {
        "cgroup": shape.cgroup,
        "jobs": [{"name": job.name, "user": job.user, "timeout": job.timeout} for job in jobs],
    }
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.add(GUEST, "job/guest.py")
        _text(archive, "job/plan.json", json.dumps(plan))
        files = {**_source(), **_needed()}
        for name, path in sorted({**files, **_bytecode(files)}.items()):
            archive.add(path, f"job/{name}")
        for job in jobs:
            for name, content in {"script": job.script, **job.files}.items():
                _text(archive, f"job/jobs/{job.name}/{name}", content)
    return packed.getvalue()


def _bytecode(files: Mapping[str, Path]) -> dict[str, Path]:
    """Of all modules: an emulated processor takes seconds to make it, and an ordinary user in the guest would make it
    at each start. It is kept, and made anew for what has changed."""
    modules = {name: path for name, path in files.items() if path.suffix == ".py"}
    kept = cache_folder() / "bytecode"
    maker = [sys.executable, "-X", f"pycache_prefix={kept}", "-m", "compileall", "-q", "-i", "-"]
    subprocess.run(maker, input="\n".join(map(str, modules.values())), text=True, check=True)
    made = {}
    for name, path in modules.items():
        compiled = f"{path.stem}.{sys.implementation.cache_tag}.pyc"
        made[str(Path(name).parent / "__pycache__" / compiled)] = kept / path.relative_to("/").with_name(compiled)
    return made


def _text(archive: tarfile.TarFile, name: str, content: str | bytes) -> None:
    data = content.encode() if isinstance(content, str) else content
    member = tarfile.TarInfo(name)
    # Anybody may read and run it: jobs of an ordinary user do.
    member.mode = 0o755
    member.size = len(data)
    archive.addfile(member, io.BytesIO(data))


def _source() -> dict[str, Path]:
    """By their place in the guest; likewise `_needed`."""
    files = (path for path in SOURCE.rglob("*") if path.is_file() and path.parent.name != "__pycache__")
    return {f"src/numafit/{path.relative_to(SOURCE)}": path for path in files}


def _needed() -> dict[str, Path]:
    """The installed files of all packages that numafit needs."""
    return {
        f"site/{file}": Path(str(file.locate()))
        for package in _packages("numafit", set())
        for file in package.files or ()
        # What lies outside site-packages are commands.
        if ".." not in file.parts and "__pycache__" not in file.parts
    }


def _packages(name: str, seen: set[str]) -> Iterator[Distribution]:
    """What `name` requires, without extras. What is not installed is for other systems."""
    for requirement in distribution(name).requires or ():
        word = re.match(r"[\w.-]+", requirement)
        if "extra ==" in requirement or word is None or word[0].lower() in seen:
            continue
        seen.add(word[0].lower())
        try:
            yield distribution(word[0])
        except PackageNotFoundError:
            continue
        yield from _packages(word[0], seen)
