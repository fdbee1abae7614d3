"""Runs the command line: `python -m earlydrop`."""

import sys

from .cli import main

sys.exit(main())
