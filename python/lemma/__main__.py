"""python -m lemma: the command line, which the package carries."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from pathlib import Path


def binary() -> str:
    """The path of the command line's program."""
    return os.environ.get("LEMMA_BINARY") or str(Path(__file__).absolute().parent / "bin" / "lemma")


def main() -> NoReturn:
    sys.stdout.flush()
    os.execv(binary(), ["lemma", *sys.argv[1:]])


if __name__ == "__main__":
    main()
