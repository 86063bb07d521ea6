"""Workers that are processes of this machine."""

from __future__ import annotations

import contextlib
import os
import pickle
import struct
import subprocess
import sys
from typing import IO, Any

from fairfront._workers import Cluster, Lost, Worker

_LENGTH = struct.Struct("<Q")


def _send(to: IO[bytes], message: Any) -> None:
    data = pickle.dumps(message, protocol=5)
    to.write(_LENGTH.pack(len(data)))
    to.write(data)
    to.flush()


def _receive(source: IO[bytes]) -> Any:
    """The next message; raise ``EOFError`` if there is none."""
    head = source.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    (length,) = _LENGTH.unpack(head)
    data = source.read(length)
    if len(data) < length:
        raise EOFError
    return pickle.loads(data)


class ProcessCluster(Cluster):
    """Workers that are processes of this machine, each with its own memory.

    Parameters
    ----------
    threads_per_worker : int, default=1
        The number of threads of each process.
    """

    def __init__(self, threads_per_worker: int = 1) -> None:
        self._threads = threads_per_worker

    def start(self, header: bytes) -> subprocess.Popen[bytes]:
        # A new interpreter instead of multiprocessing, which would import the caller's main module again.
        command = [sys.executable, "-m", "fairfront._processes"]
        worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.result(self.call(worker, "start", header, self._threads))
        return worker

    def call(self, worker: subprocess.Popen[bytes], method: str, *arguments: Any) -> subprocess.Popen[bytes]:
        assert worker.stdin is not None
        # If the worker no longer exists, its answer does not arrive either.
        with contextlib.suppress(OSError, ValueError):
            _send(worker.stdin, (method, arguments))
        return worker

    def result(self, call: subprocess.Popen[bytes]) -> Any:
        assert call.stdout is not None
        try:
            done, value = _receive(call.stdout)
        except (EOFError, OSError, ValueError) as error:
            raise Lost(f"process {call.pid} ended") from error
        if not done:
            raise value
        return value

    def stop(self, worker: subprocess.Popen[bytes]) -> None:
        worker.kill()
        for stream in (worker.stdin, worker.stdout):
            if stream is not None:
                # Closing writes the rest of the buffer.
                with contextlib.suppress(OSError):
                    stream.close()
        worker.wait()


def serve(source: IO[bytes], to: IO[bytes]) -> None:
    """Run one worker: answer all calls."""
    worker: Worker | None = None
    while True:
        try:
            method, arguments = _receive(source)
        except EOFError:
            return
        try:
            if method == "start":
                worker, value = Worker(*arguments), None
            else:
                value = getattr(worker, method)(*arguments)
            answer = (True, value)
        except Exception as error:
            answer = (False, error)
        try:
            _send(to, answer)
        except OSError:
            # The driver no longer exists.
            return


def main() -> None:
    """Serve on standard input and output, to which nothing else may write."""
    import signal

    # Ctrl-C in a terminal reaches all processes; the driver ends its workers itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with os.fdopen(os.dup(1), "wb") as to:
        os.dup2(2, 1)
        serve(sys.stdin.buffer, to)


if __name__ == "__main__":
    main()
