"""The PTX that Triton made of the small kernels of tests/triton, for every target, through lemma.

As lemma.triton launches it, with the hidden parameters at the end; what must come out is what numpy says.
"""

import unittest

import numpy as np

import lemma
from triton_cases import ARCHS, TRITON, arrays_of, cases, triton_run, wrong_outputs


class CommittedPtx(unittest.TestCase):
    def test_all(self):
        """Every small kernel for every target, as `lemma.triton` launches it, with the hidden parameters at the end."""
        files = [f for f in triton_run.files() if f.split(".")[0] in cases.small and f.split(".")[1] in ARCHS]
        self.assertEqual({f.split(".")[1] for f in files}, set(ARCHS))
        self.assertGreaterEqual(sum(f.endswith("sm_120") for f in files), 20)
        gpu = lemma.Device()
        for file in files:
            with self.subTest(file):
                launch, case = triton_run.LAUNCHES[file], cases.cases[file.split(".")[0]]()
                arguments, outputs = arrays_of(case)
                ctas = int(np.prod(case.grid)) * launch["cluster"]
                arguments["scratch"] = gpu.empty(launch["scratch_bytes"] * ctas, np.uint8) if launch["scratch_bytes"] else None
                arguments["profile"] = None
                kernel = gpu.load(TRITON / "ptx" / f"{file}.ptx")[launch["entry"]]
                given = [arguments[name] for name in launch["parameters"]]
                kernel[case.grid, launch["threads"], dict(smem=launch["shared_bytes"])](*given)
                self.assertEqual(wrong_outputs(outputs), [])


if __name__ == "__main__":
    unittest.main()
