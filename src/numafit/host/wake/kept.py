"""What a process keeps while it sleeps as a shell: its environment, which shells change, and what it needs for its
start. It lies in a file without a name, which the process alone has.
"""

from __future__ import annotations

import marshal
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NAME = "numafit-kept"
_PLACE = f"/memfd:{_NAME}"


def keep(environment: dict[bytes, bytes], plan: dict[str, Any] | None) -> int:
    """A descriptor that is inherited. `plan`: plain values, as `job` reads them; None: it is begun anew as a whole."""
    file = os.memfd_create(_NAME, 0)
    os.set_inheritable(file, True)
    data = marshal.dumps((environment, plan))
    while data:
        data = data[os.write(file, data) :]
    return file


def kept(file: int) -> tuple[dict[bytes, bytes], dict[str, Any] | None]:
    """Raises `ValueError` or `OSError` for another's descriptor."""
    if not os.readlink(f"/proc/self/fd/{file}").startswith(_PLACE):
        raise ValueError("another file")
    data, size = b"", os.fstat(file).st_size
    while len(data) < size and (more := os.pread(file, size, len(data))):
        data += more
    environment, plan = marshal.loads(data)
    return environment, plan
