"""`make scale`: play the day, and renew the tables of docs/scale.md."""

import sys

from bench.scale.report import lines, write

for line in lines():
    print(line)
sys.stdout.write(f"written: {write().name}\n")
