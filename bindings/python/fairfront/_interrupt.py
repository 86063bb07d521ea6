"""What Ctrl-C raises while a front is computed."""

from typing import Any

__all__ = ["Interrupted"]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C was pressed while a front was computed; what was found until then is not lost.

    Parameters
    ----------
    message : str
        What to say.
    front : object
        What was found.

    Attributes
    ----------
    front : object
        What was found: of a solver a :class:`fairfront.Front`.

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
