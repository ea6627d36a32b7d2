"""Who holds which element of an mma fragment: as data, as text, and as a picture. In a notebook lemma.layout(...) draws itself.

usage: draw_a_layout.py [FILE.svg]
"""

import sys

import lemma

layout = lemma.layout("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
print(repr(layout))
a = layout["a"]
print(f"A: row {a.row_formula}, column {a.col_formula} of element e of register r")
lane, reg, elem = layout.map("a")[9, 4]
print(f"A[9, 4] is element {elem} of register {reg} of lane {lane}")

tile = lemma.tile("bf16", rows=64, cols=64, swizzle=128)
print(f"a swizzled tile: line 1 begins at byte {tile.addresses[1, 0]}")
for conflict in tile.conflicts:
    print(f"  {conflict.access}: {conflict.turns} turns for {conflict.phases} phases")

if len(sys.argv) > 1:
    with open(sys.argv[1], "w") as file:
        file.write(layout.svg("a"))
