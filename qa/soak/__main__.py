"""`make soak`: every attack and every fault, long, in one table; the seed is printed, the same seed tries the same."""

import random
import sys

from qa.soak.parts import PARTS
from qa.soak.soaking import main

if __name__ == "__main__":
    sys.exit(main(PARTS, random.SystemRandom().randrange(1_000_000)))
