"""`python -S …/wake/__main__.py PIPE PYTHON WORD...`: begins a job that has waited; the words are those of numafit."""

import sys

# Beside this file lie modules whose names are taken by others, and without `site` nobody finds numafit.
_OWN = __file__.rpartition("/")[0]
sys.path[:] = [_OWN.rpartition("/numafit/")[0], *(place for place in sys.path if place != _OWN)]

from numafit.host.wake.job import main  # noqa: E402

if __name__ == "__main__":
    main(sys.argv[1:])
