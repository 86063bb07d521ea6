"""Run the command with ``python -m fairfront``."""

import sys

from fairfront._command import main

sys.exit(main())
