#!/usr/bin/env python3
"""Writes a.npy and b.npy (e4m3, as u8 of its bits, as numpy has no such type) and the tensor maps a.json and b.json,
always the same bytes.

usage: make_inputs.py               beside this file, for M = N = 256, K = 1024: twice around the ring of stages
       make_inputs.py SIZE FOLDER   into FOLDER, for M = N = K = SIZE, a multiple of 128

Any bits but those of NaN: magnitudes from 2^-9 to 448, so that sums lose bits, and which ones depends on the order in
which and the precision to which a tensor core adds.
"""

import json
import pathlib
import sys

import numpy as np

if len(sys.argv) == 3:
    m = n = k = int(sys.argv[1])
    folder = pathlib.Path(sys.argv[2])
else:
    m, n, k = 256, 256, 1024
    folder = pathlib.Path(__file__).resolve().parent
rng = np.random.RandomState(3)
for name, rows in (("a", m), ("b", n)):
    magnitude = rng.randint(0, 127, (rows, k))  # 127 is NaN
    np.save(folder / f"{name}.npy", (magnitude | rng.randint(0, 2, (rows, k)) << 7).astype(np.uint8))
    value = {
        "arg": f"{name}.npy",
        "type": "u8",
        "dims": [k, rows],
        "strides_bytes": [k],
        "box": [128, 128],
        "element_strides": [1, 1],
        "interleave": "none",
        "swizzle": "128B",
        "oob_fill": "zeros",
        "l2_promotion": "none",
    }
    (folder / f"{name}.json").write_text(json.dumps(value) + "\n")
