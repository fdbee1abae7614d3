"""Runs the command line: `python -m earlydrop.cli`."""

import sys

from .entry import main

sys.exit(main())
