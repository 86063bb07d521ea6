"""The command ``fairfront``, as the package installs it."""

import signal
import sys

from fairfront._fairfront import run_command


def main() -> int:
    """Run the command with the arguments of this process.

    Returns
    -------
    int
        The exit code: 0 done, 1 failed, 2 wrong usage, 3 requirements unmet, 130 stopped by Ctrl-C.
    """
    # Ctrl-C is the command's own: it ends a fit and keeps what is done.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return run_command(["fairfront", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
