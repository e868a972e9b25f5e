"""`python -m otel_attrib` is the `otel-attrib` command."""

import sys

from otel_attrib.cli import main

sys.exit(main())
