"""``python -m obmc``: the package without a browser."""

import sys

from obmc.cli import main

if __name__ == "__main__":
    sys.exit(main())
