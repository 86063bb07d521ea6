"""Workers for the command: ``python -m fairfront._bridge ray|dask|processes ADDRESS FILE NUM_WORKERS``.

Reads requests from standard input and writes the answers of all workers to standard output, until standard input ends.
All numbers are little-endian. A request is the split (u32), the block plus 1 or 0 (u64), and the bytes with their
length (u64). An answer is the number of workers (u32) and the bytes of each worker with their length (u64). An error
has the largest u32 as its number, and a message. The bridge sends an answer without workers when the rows are loaded.
The command shows lines of standard error that start with ``warning: ``, and the last line if the bridge ends early.
"""

from __future__ import annotations

import os
import select
import signal
import struct
import sys
import threading
import warnings
from typing import IO, TextIO

from fairfront._base import FairFrontWarning
from fairfront._workers import Cluster, Workers

_REQUEST = struct.Struct("<IQQ")
_NUMBER = struct.Struct("<I")
_LENGTH = struct.Struct("<Q")
_FAILED = 2**32 - 1
#: Seconds to read the end of standard input, and then to end all workers.
_END, _CLOSE = 1.0, 8.0


def _cluster(kind: str, address: str, n_workers: int) -> Cluster:
    if kind == "ray":
        from fairfront.ray import RayCluster

        return RayCluster(address, 1, n_workers)
    if kind == "dask":
        from fairfront.dask import DaskCluster

        return DaskCluster(address)
    if kind == "processes":
        from fairfront._processes import ProcessCluster

        return ProcessCluster()
    raise ValueError(f"{kind}: not a kind of cluster; choose ray, dask or processes")


def _warn(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Show the warnings of this package, and no others."""
    if issubclass(category, FairFrontWarning):
        print(f"warning: {message}", file=sys.stderr, flush=True)


def _write(to: IO[bytes], answers: list[bytes]) -> None:
    to.write(_NUMBER.pack(len(answers)))
    for answer in answers:
        to.write(_LENGTH.pack(len(answer)))
        to.write(answer)
    to.flush()


def _fail(to: IO[bytes], error: BaseException) -> None:
    lines = str(error).strip().splitlines()
    message = (lines[-1] if lines else type(error).__name__).encode()
    to.write(_NUMBER.pack(_FAILED) + _LENGTH.pack(len(message)) + message)
    to.flush()


class _Ends:
    """Ends this process if the command no longer exists, also while it waits for the cluster."""

    def __init__(self, source: IO[bytes]) -> None:
        #: Set when standard input has ended, and when all workers have ended.
        self.ended, self.closed = threading.Event(), threading.Event()
        if hasattr(select, "poll"):
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
            threading.Thread(target=self._watch, args=[source.fileno()], daemon=True).start()

    def _watch(self, source: int) -> None:
        poll = select.poll()
        # The end of the other side is always reported.
        poll.register(source, 0)
        poll.poll()
        if not self.ended.wait(_END):
            os.kill(os.getpid(), signal.SIGTERM)
        if not self.closed.wait(_CLOSE):
            os._exit(1)


def serve(
    source: IO[bytes], to: IO[bytes], ends: _Ends, kind: str, address: str, path: str, n_workers: int
) -> int:
    """Answer all requests; returns the exit code."""
    try:
        workers = Workers(_cluster(kind, address, n_workers), path, n_workers)
    except Exception as error:
        _fail(to, error)
        return 1
    try:
        _write(to, [])
        while len(head := source.read(_REQUEST.size)) == _REQUEST.size:
            part, block, length = _REQUEST.unpack(head)
            request = source.read(length)
            _write(to, workers.ask(part, request, block - 1 if block > 0 else None))
        ends.ended.set()
    except BrokenPipeError:
        # The command no longer exists.
        return 1
    except Exception as error:
        _fail(to, error)
        return 1
    finally:
        workers.close()
    return 0


def main() -> int:
    """Serve on standard input and output, to which nothing else may write."""
    # Ctrl-C in a terminal reaches all processes; the command decides when the bridge ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.showwarning = _warn
    kind, address, path, n_workers = sys.argv[1:]
    with os.fdopen(os.dup(1), "wb") as to, os.fdopen(os.dup(0), "rb") as source:
        os.dup2(2, 1)
        # Workers must not read the requests.
        empty = os.open(os.devnull, os.O_RDONLY)
        os.dup2(empty, 0)
        os.close(empty)
        ends = _Ends(source)
        try:
            return serve(source, to, ends, kind, address, path, int(n_workers))
        finally:
            ends.ended.set()
            ends.closed.set()


if __name__ == "__main__":
    sys.exit(main())
