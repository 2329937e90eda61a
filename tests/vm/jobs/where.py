"""Runs inside of a job: touches memory, and prints where the kernel has put it and lets it run.

`python3 where.py MIB [MARK]`; with MARK it makes that file and stays until it is gone.
"""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

PAGE = 4096
NODE = re.compile(r"N(\d+)=(\d+)")
SIZE = re.compile(r"kernelpagesize_kB=(\d+)")


def pages() -> dict[str, int]:
    """Bytes by NUMA node, without those of files: these lie where somebody read them first."""
    found: dict[str, int] = {}
    for line in Path("/proc/self/numa_maps").read_text().splitlines():
        if " file=" in line:
            continue
        size = SIZE.search(line)
        for node, count in NODE.findall(line):
            found[node] = found.get(node, 0) + int(count) * (int(size[1]) << 10 if size else PAGE)
    return found


def status() -> dict[str, str]:
    lines = Path("/proc/self/status").read_text().splitlines()
    return {line.split(":")[0]: line.split(":")[1].strip() for line in lines if "_allowed_list" in line}


def main() -> None:
    size = int(sys.argv[1]) << 20
    block = bytearray(size)
    for place in range(0, size, PAGE):
        block[place] = 1
    shown = subprocess.run(["numactl", "--show"], capture_output=True, text=True, check=False).stdout
    told = {
        "cpus": status()["Cpus_allowed_list"],
        "mems": status()["Mems_allowed_list"],
        "pages": pages(),
        "numactl": {line.split(":")[0]: line.split(":")[1].strip() for line in shown.splitlines() if ":" in line},
        "variables": {name: value for name, value in os.environ.items() if name.startswith("NUMAFIT_")},
    }
    print(json.dumps(told), flush=True)
    if len(sys.argv) > 2:
        mark = Path(sys.argv[2])
        mark.touch()
        while mark.exists():
            time.sleep(0.05)


if __name__ == "__main__":
    main()
