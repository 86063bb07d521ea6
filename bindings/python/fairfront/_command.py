"""The command ``fairfront`` that the package installs."""

import os
import signal
import sys

from fairfront._fairfront import run_command


def main() -> int:
    """Run the command with the arguments of this process.

    Returns
    -------
    int
        The exit code: 0 success, 1 failure, 2 wrong usage, 3 requirements not met, 4 no model certified, 130 stopped
        by Ctrl-C.
    """
    # The command handles Ctrl-C itself: it ends a fit and keeps the results so far.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Workers of a cluster are reached through this interpreter.
    os.environ.setdefault("FAIRFRONT_PYTHON", sys.executable)
    return run_command(["fairfront", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
