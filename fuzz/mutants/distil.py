#!/usr/bin/env python3
"""Which drawn graphs would have decisions reach more of the compiler: distil.py [--cases N] [--seed S] [--most N] [--out FILE]

Of cases that the fuzzer draws those are kept whose decisions run what the baseline's things, and the cases kept before,
do not: what they are goes behind graphs.txt (fuzz/decisions). Asks the copy of the compiler that coverage.py made, one
case after the other, and looks at its counters in between. Short and quick ones are asked first."""

import argparse
import os
import re
import struct
import subprocess
import sys
import time
from pathlib import Path

from coverage import ROOT, Counts, merged

BETWEEN = "# ---- "


class Counters:
    """Those of a program that runs, in the file that it keeps them in."""

    def __init__(self, path):
        self.path = path
        head = struct.unpack("<16Q", path.read_bytes()[:128])
        _, version, ids, data, before, count = head[:6]
        words = 16 if version & 0xFF >= 10 else 14
        self.begin, self.count = words * 8 + ids + data * 64 + before, count
        if self.begin % 4096:
            raise SystemExit(f"{path}: a format of profiles that is not known here")

    def now(self):
        with self.path.open("rb") as file:
            file.seek(self.begin)
            held = file.read(self.count * 8)
        return {i for i in range(self.count) if held[i * 8:i * 8 + 8] != bytes(8)}
