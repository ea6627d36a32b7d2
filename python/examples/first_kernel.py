"""A first kernel: PTX text, two arrays in, one out; then what a mistake says."""

import numpy as np

import lemma

ADD = """
.version 8.0
.target sm_80
.address_size 64

.visible .entry add(.param .u64 x, .param .u64 y, .param .u64 out, .param .u32 n) {
  .reg .pred %past;
  .reg .b32 %t, %c, %d, %i, %n, %vx, %vy, %sum;
  .reg .b64 %px, %py, %po;
  mov.u32 %t, %tid.x;
  mov.u32 %c, %ctaid.x;
  mov.u32 %d, %ntid.x;
  mad.lo.u32 %i, %c, %d, %t;
  ld.param.u32 %n, [n];
  setp.ge.u32 %past, %i, %n;
  @%past ret;
  ld.param.u64 %px, [x];
  ld.param.u64 %py, [y];
  ld.param.u64 %po, [out];
  mad.wide.u32 %px, %i, 4, %px;
  mad.wide.u32 %py, %i, 4, %py;
  mad.wide.u32 %po, %i, 4, %po;
  ld.global.f32 %vx, [%px];
  ld.global.f32 %vy, [%py];
  add.rn.f32 %sum, %vx, %vy;
  st.global.f32 [%po], %sum;
  ret;
}
"""

gpu = lemma.Device("cpu")  # "cuda" is a real one
add = gpu.load(ADD, name="add.ptx")["add"]

x, y, out = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32), np.zeros(1000, np.float32)
report = add[4, 256](x, y, out, 1000)  # numpy arrays are copied in and out
assert (out == x + y).all()
print(f"{report.stats.lane_instructions} instructions, the bits of {report.arithmetic}: {out[:4]} ...")

try:
    add[4, 256](x, y, out[:999], 1000)
except lemma.Fault as fault:
    print(f"\none element too few:\n{fault}")

try:
    add[4, 256](x, y, out, 1000.0)
except lemma.InvalidArgument as error:
    print(f"\na float for an integer:\n{error}")
