"""Every worthwhile trade-off between accuracy and fairness, at once."""

from fairfront._fairfront import __version__

__all__ = ["__version__"]
