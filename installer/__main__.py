"""Entry of `python3 installer`: checks the Python first, so this file keeps to syntax that any Python 3 reads."""

import os
import sys


def _start() -> int:
    if sys.version_info < (3, 11):  # noqa: UP036 - whoever starts this may have an older one
        found = sys.version.split()[0]
        sys.stderr.write("Inglenook needs Python 3.11 or newer; this is " + found + ".\n")
        sys.stderr.write("  Start it with a newer one, for example: python3.11 installer\n")
        return 1
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - before anything is imported
    # Python puts installer/ itself in front; its modules must not be found under bare names.
    others = [p for p in sys.path if os.path.abspath(p) != here]  # noqa: PTH100
    sys.path[:] = [os.path.dirname(here), *others]  # noqa: PTH120
    from installer.bootstrap import main

    return main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(_start())
