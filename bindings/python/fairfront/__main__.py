"""``python -m fairfront`` is the command."""

import sys

from fairfront._command import main

sys.exit(main())
