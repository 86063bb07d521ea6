"""Rows on the workers of a cluster: distribution, rounds of requests, and replacement of lost workers."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from fairfront._fairfront import BLOCKS_PER_SUPER_BLOCK, BlockFile, Shards

#: Losses of the same worker in one round, or while it loads rows, after which the fit fails.
MOST_LOSSES = 8
#: Super-blocks per worker that are sent before the first of them has arrived.
AHEAD = 2


class Lost(Exception):
    """Raised when a worker no longer exists, or has lost its rows."""


class Cluster(ABC):
    """A program that runs workers: Ray, Dask, or processes of this machine.

    A worker is an object with the methods of :class:`Worker`. Calls are asynchronous: ``call`` starts one, and
    ``result`` waits for it. Only ``start`` and ``result`` raise :class:`Lost`.
    """

    @abstractmethod
    def start(self, header: bytes) -> Any:
        """Start a worker for the rows of a block file with this header."""

    def share(self, data: bytes) -> Any:
        """Make bytes available to all workers, so that they are sent once per machine."""
        return data

    @abstractmethod
    def call(self, worker: Any, method: str, *arguments: Any) -> Any:
        """Start a call of a method of a worker."""

    @abstractmethod
    def result(self, call: Any) -> Any:
        """Wait for a call. Raise :class:`Lost` if the worker no longer exists."""

    @abstractmethod
    def stop(self, worker: Any) -> None:
        """End a worker, if it still exists."""

    def close(self) -> None:
        """Leave the cluster; end it if this object started it."""


class Worker:
    """The part of the rows that one worker holds."""

    def __init__(self, header: bytes, threads: int) -> None:
        self._shards = Shards(header, threads)

    def load(self, part: int, super_block: int, data: bytes) -> None:
        """Hold a super-block."""
        self._shards.load(part, super_block, data)

    def answer(self, part: int, request: bytes) -> bytes:
        """Answer a request about the super-blocks that this worker holds."""
        return self._shards.answer(part, request)


class Workers:
    """Holds the rows of a block file on workers, and sends requests to them.

    Each worker holds a range of the super-blocks of every split. If a worker is lost, another one loads its
    super-blocks from the block file, and only its part of the round is repeated. Answers are merged by super-block, so
    the result has the same bytes for any number of workers and any losses.

    Parameters
    ----------
    cluster : Cluster
        The program that runs workers.
    path : str
        The block file.
    n_workers : int
        The number of workers.
    """

    def __init__(self, cluster: Cluster, path: str, n_workers: int) -> None:
        self._cluster = cluster
        self._file = BlockFile(path)
        self._header = self._file.header
        self._held = shares(self._file.super_blocks, n_workers)
        self._workers: list[Any] = [None] * n_workers
        # The fit may ask from several threads.
        self._lock = threading.Lock()
        #: The number of workers that were replaced.
        self.losses = 0
        #: The number of requests, and the bytes of requests and answers.
        self.rounds = 0
        self.bytes_sent = 0
        self.bytes_received = 0
        try:
            self._fill(range(n_workers))
        except BaseException:
            self.close()
            raise

    def ask(self, part: int, request: bytes, block: int | None) -> list[bytes]:
        """Answers of all workers that hold rows of a split, or of the one that holds a block."""
        with self._lock:
            return self._ask(part, request, block)

    def _ask(self, part: int, request: bytes, block: int | None) -> list[bytes]:
        asked = [number for number, held in enumerate(self._held) if len(held[part]) > 0]
        if block is not None:
            super_block = block // BLOCKS_PER_SUPER_BLOCK
            asked = [number for number in asked if super_block in self._held[number][part]]
        self.rounds += 1
        self.bytes_sent += len(asked) * len(request)
        shared = self._cluster.share(request)
        answers: dict[int, bytes] = {}
        attempts = 0
        while asked:
            calls = [(number, self._cluster.call(self._workers[number], "answer", part, shared)) for number in asked]
            asked = []
            failed: Lost | None = None
            for number, call in calls:
                try:
                    answers[number] = self._cluster.result(call)
                except Lost as error:
                    asked.append(number)
                    failed = error
            attempts += 1
            if failed is not None:
                if attempts > MOST_LOSSES:
                    raise RuntimeError(
                        f"the same worker was lost {attempts} times in one round ({failed}); it may need more memory: "
                        "use more workers, and check the logs of the cluster"
                    ) from failed
                self._fill(asked)
        self.bytes_received += sum(map(len, answers.values()))
        return [answers[number] for number in sorted(answers)]

    def _fill(self, numbers: Iterable[int]) -> None:
        """Start workers and load their super-blocks; repeat for those that are lost meanwhile."""
        numbers = list(numbers)
        attempts = 0
        while numbers:
            lost: dict[int, Lost] = {}
            for number in numbers:
                if self._workers[number] is not None:
                    self.losses += 1
                    self._cluster.stop(self._workers[number])
                    self._workers[number] = None
                try:
                    self._workers[number] = self._cluster.start(self._header)
                except Lost as error:
                    lost[number] = error
            self._load([number for number in numbers if number not in lost], lost)
            numbers = sorted(lost)
            attempts += 1
            if lost and attempts > MOST_LOSSES:
                failed = lost[numbers[0]]
                raise RuntimeError(
                    f"a worker was lost {attempts} times while it loaded its rows ({failed}); it may need more memory: "
                    "use more workers, and check the logs of the cluster"
                ) from failed

    def _load(self, numbers: list[int], lost: dict[int, Lost]) -> None:
        """Load the super-blocks of some workers at the same time."""
        calls: deque[tuple[int, Any]] = deque()

        def finish(most: int) -> None:
            while len(calls) > most:
                number, call = calls.popleft()
                try:
                    self._cluster.result(call)
                except Lost as error:
                    lost.setdefault(number, error)

        for number, part, super_block in _in_turn({number: self._held[number] for number in numbers}):
            if number in lost:
                continue
            data = self._file.read(part, super_block)
            calls.append((number, self._cluster.call(self._workers[number], "load", part, super_block, data)))
            # The driver holds few super-blocks at a time.
            finish(AHEAD * len(numbers))
        finish(0)

    def close(self) -> None:
        """End all workers, and leave the cluster."""
        for worker in self._workers:
            if worker is not None:
                self._cluster.stop(worker)
        self._workers = []
        self._cluster.close()


def _in_turn(held: dict[int, list[range]]) -> Iterator[tuple[int, int, int]]:
    """The worker, split and number of each super-block; all workers take turns."""
    queues = {
        number: deque((part, super_block) for part, some in enumerate(parts) for super_block in some)
        for number, parts in held.items()
    }
    while queues:
        for number in list(queues):
            if queues[number]:
                yield (number, *queues[number].popleft())
            else:
                del queues[number]


def shares(super_blocks: list[int], n_workers: int) -> list[list[range]]:
    """The super-blocks of each split that each worker holds: ranges of equal length, as far as possible.

    >>> shares([3, 1], 2)
    [[range(0, 1), range(0, 0)], [range(1, 3), range(0, 1)]]
    """

    def cuts(n: int) -> Iterator[range]:
        for number in range(n_workers):
            yield range(n * number // n_workers, n * (number + 1) // n_workers)

    by_part = [list(cuts(n)) for n in super_blocks]
    return [[part[number] for part in by_part] for number in range(n_workers)]
