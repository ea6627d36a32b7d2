#!/usr/bin/env python3
"""How many registers a thread ptxas gives to kernels with setmaxnreg, by their bounds and their largest setmaxnreg.inc: launch_registers.csv.

usage: launch_registers.py [PTXAS] > launch_registers.csv
"""

import itertools
import re
import subprocess
import sys
import tempfile

PTXAS = sys.argv[1] if len(sys.argv) > 1 else "/usr/local/cuda/bin/ptxas"
KERNEL = """.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 p) .reqntid {threads} {bounds} {{
  .reg .b32 %r<4>; .reg .b64 %d<3>;
  {instructions}
  ld.param.u64 %d1, [p]; mov.u32 %r1, %tid.x; st.global.u32 [%d1], %r1; ret;
}}
"""


def registers(threads, maxnreg, minnctapersm, inc):
    bounds = f".maxnreg {maxnreg} " * (maxnreg > 0) + f".minnctapersm {minnctapersm}" * (minnctapersm > 0)
    asks = "setmaxnreg.dec.sync.aligned.u32 24;" + f" setmaxnreg.inc.sync.aligned.u32 {inc};" * (inc > 0)
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(KERNEL.format(threads=threads, bounds=bounds, instructions=asks))
        file.flush()
        ran = subprocess.run([PTXAS, "-arch=sm_90a", "-v", "-o", "/dev/null", file.name], capture_output=True, text=True)
    found = re.search(r"Used (\d+) registers", ran.stdout + ran.stderr)
    return found.group(1) if ran.returncode == 0 and found else None


release = re.search(r"V(\S+)", subprocess.run([PTXAS, "--version"], capture_output=True, text=True).stdout).group(1)
print(f"# ptxas {release}, sm_90a; launch_registers.py beside it made this.")
print("# threads,.maxnreg (0: none),.minnctapersm (0: none),largest setmaxnreg.inc (0: none),registers a thread")
for row in itertools.product((256, 384), (0, 32, 64, 100, 128, 200, 248, 255, 256, 300), (0, 1, 2), (0, 40, 104, 240, 256)):
    if row[1] + row[2] > 0 and (found := registers(*row)):
        print(*row, found, sep=",")
