"""The command line: `python -m congenial`, and the script `congenial`."""

import signal
import sys

from congenial import _congenial


def main() -> None:
    """Does what the arguments of the process ask, and ends it with the exit code of the command."""
    # As of any program: nothing here waits for Python.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_congenial.main(["congenial", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
