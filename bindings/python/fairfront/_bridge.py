"""Workers for the command: ``python -m fairfront._bridge ray|dask|processes ADDRESS FILE NUM_WORKERS``.

Reads requests from standard input and writes the answers of all workers to standard output, until standard input ends.
All numbers are little-endian. A request is the split (u32), the block plus 1 or 0 (u64), and the bytes with their length
(u64). An answer is the number of workers (u32) and the bytes of each worker with their length (u64). An error has the
largest u32 as its number, and a message. The bridge sends an answer without workers when the rows are loaded.
"""

from __future__ import annotations

import os
import signal
import struct
import sys
from typing import IO

from fairfront._workers import Cluster, Workers

_REQUEST = struct.Struct("<IQQ")
_NUMBER = struct.Struct("<I")
_LENGTH = struct.Struct("<Q")
_FAILED = 2**32 - 1


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


def serve(source: IO[bytes], to: IO[bytes], kind: str, address: str, path: str, n_workers: int) -> int:
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
    kind, address, path, n_workers = sys.argv[1:]
    with os.fdopen(os.dup(1), "wb") as to, os.fdopen(os.dup(0), "rb") as source:
        os.dup2(2, 1)
        # Workers must not read the requests.
        empty = os.open(os.devnull, os.O_RDONLY)
        os.dup2(empty, 0)
        os.close(empty)
        return serve(source, to, kind, address, path, int(n_workers))


if __name__ == "__main__":
    sys.exit(main())
