"""One product on the tensor cores of three architectures, to the last bit: they round in their own ways."""

import numpy as np

import lemma

MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
ARCHS = ("sm_80", "sm_90", "sm_120")

r = np.random.RandomState(0)
a = (r.standard_normal((16, 16)) * np.exp2(r.randint(-9, 9, (16, 16)))).astype(np.float16)
b = (r.standard_normal((16, 8)) * np.exp2(r.randint(-9, 9, (16, 8)))).astype(np.float16)
c = (r.standard_normal((16, 8)) * np.exp2(r.randint(-9, 9, (16, 8)))).astype(np.float32)

exact = a.astype(float) @ b.astype(float) + c
d = {arch: lemma.mma(MMA, a, b, c, arch=arch) for arch in ARCHS}
for arch in ARCHS:
    rule = lemma.mma_form(MMA, arch)
    off = int((d[arch] != exact.astype(np.float32)).sum())
    print(f"{arch}: {off} of {exact.size} elements are not the exact sum, rounded   ({rule.rule}; {rule.evidence})")
print(f"\n{'element':10}{'exact':>16}" + "".join(f"{arch:>12}" for arch in ARCHS))
differing = np.argwhere((d["sm_80"] != d["sm_90"]) | (d["sm_90"] != d["sm_120"]))[:6]
for row, col in differing:
    bits = "".join(f"  0x{d[arch].view(np.uint32)[row, col]:08x}" for arch in ARCHS)
    print(f"[{row:2}, {col}]   {exact[row, col]:16.9g}{bits}")
assert len(differing)
