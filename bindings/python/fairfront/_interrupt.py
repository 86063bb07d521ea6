"""The exception that Ctrl-C raises while a front is computed."""

from typing import Any

__all__ = ["Interrupted"]


class Interrupted(KeyboardInterrupt):
    """Raised after Ctrl-C during the computation of a front; keeps the front found so far.

    Parameters
    ----------
    message : str, default="interrupted"
        The message of the exception.
    front : object, default=None
        The front found so far.

    Attributes
    ----------
    front : object
        The front found so far: a :class:`fairfront.Front` from a solver, ``front_`` from an estimator.

    Examples
    --------
    >>> from fairfront import Interrupted
    >>> try:
    ...     raise Interrupted("stopped", front=[1, 2])
    ... except KeyboardInterrupt as interrupt:
    ...     print(interrupt, interrupt.front)
    stopped [1, 2]
    """

    def __init__(self, message: str = "interrupted", front: Any = None) -> None:
        super().__init__(message)
        self.front = front

    def __reduce__(self) -> tuple[type["Interrupted"], tuple[Any, ...]]:
        return type(self), (*self.args, self.front)
