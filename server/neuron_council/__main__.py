"""`python -m neuron_council`, the same as the program `neuron-council`."""

import sys

from neuron_council.cli import main

if __name__ == "__main__":
    sys.exit(main())
