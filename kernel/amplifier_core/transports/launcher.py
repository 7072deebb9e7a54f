"""Becomes a sidecar that does not outlive its host: `python launcher.py HOST_PID PROGRAM ...`.

The kernel kills what asked for it as soon as its parent is gone, also after `kill -9`. That
wish survives the change into another program, so nothing of this one stays behind. Where
there is no such wish, the end of stdin tells a sidecar that its host is gone.
"""

import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> None:
    host, program = int(arguments[0]), arguments[1:]
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != host:
        # It died before the wish was made.
        sys.exit(1)
    try:
        os.execv(program[0], program)
    except OSError as error:
        sys.stdout.write(f"ERROR:{program[0]} cannot be started: {error.strerror}\n")
        sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
