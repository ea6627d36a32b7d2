"""A race that no run shows: the checker names both accesses and what would order them."""

import numpy as np

import lemma

# Each thread puts its element into shared memory, and takes the one of its mirror image out: of another warp.
REVERSE = """
.version 8.0
.target sm_80
.address_size 64

.visible .entry reverse(.param .u64 x) {
  .shared .align 4 .b8 tile[256];
  .reg .b32 %t, %at, %mirror, %v;
  .reg .b64 %px;
  mov.u32 %t, %tid.x;
  ld.param.u64 %px, [x];
  mad.wide.u32 %px, %t, 4, %px;
  ld.global.b32 %v, [%px];
  shl.b32 %at, %t, 2;
  mov.u32 %mirror, tile;
  add.u32 %at, %mirror, %at;
  st.shared.b32 [%at], %v;
  BARRIER
  sub.u32 %t, 63, %t;
  shl.b32 %at, %t, 2;
  add.u32 %at, %mirror, %at;
  ld.shared.b32 %v, [%at];
  st.global.b32 [%px], %v;
  ret;
}
"""

gpu = lemma.Device("cpu", check=True)
x = np.arange(64, dtype=np.int32)
try:
    gpu.load(REVERSE.replace("BARRIER", ""), name="reverse.ptx")["reverse"][1, 64](x)
    raise SystemExit("the race was not found")
except lemma.Findings as found:
    print(f"{len(found.findings)} findings; the last:\n{found.findings[-1].rendered}")

x = np.arange(64, dtype=np.int32)
gpu.load(REVERSE.replace("BARRIER", "bar.sync 0;"), name="reverse.ptx")["reverse"][1, 64](x)
assert (x == np.arange(64)[::-1]).all()
print("with bar.sync 0 there is none")
