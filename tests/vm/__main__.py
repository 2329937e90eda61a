"""`python -m tests.vm`: install what the virtual machines need and build their image, ahead of the tests."""

import sys

from tests.vm.image import image
from tests.vm.parts import install


def main() -> int:
    lacking = install()
    if lacking:
        print(f"vm: {lacking}", file=sys.stderr)
        return 1
    print(f"vm: ready, with the image {image()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
