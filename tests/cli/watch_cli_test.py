#!/usr/bin/env python3
"""lemma run --coverage and --fidelity as scripts see it.

usage: watch_cli_test.py --lemma build/bin/lemma [NAME...]
       watch_cli_test.py --list
"""

import json
import re
import shutil
import sys

from cli_case import FOLDER, ROOT, USAGE, Case, main

WATCHED = FOLDER / "watched.ptx"


class Watch(Case):
    def branches(self, *options, threads=64, **how):
        return self.call(
            "run", WATCHED, "--entry", "branches", "--grid", 2, "--block", threads, "--arg", "buf=1024", *options, **how
        )

    def plain(self, *options, **how):
        return self.call(
            "run", WATCHED, "--entry", "plain", "--grid", 1, "--block", 32, "--arg", f"out={self.path('o.raw')}:16",
            "--arg", "f32=1", *options, **how
        )

    # --- coverage ---------------------------------------------------------------------------------------------------

    def test_coverage_by_source_lines(self):
        said = self.branches("--coverage").stdout
        lines = said.splitlines()
        self.assertEqual(lines[0], "coverage of watched.cu: 4 of 5 lines ran, 8 of 9 instructions")
        rows = [re.sub(" +", " ", line).strip() for line in lines[2:]]
        self.assertEqual(
            rows,
            [
                "4 128 all 2 unsigned t = threadIdx.x;",
                "4 128 all 3 if (t < 100) {",
                "4 128 all 4 out[t] = t;",
                "never 6 out[0] = t;",
                "4 128 all 8 }",
                "not launched: plain",
            ],
        )

    def test_coverage_counts_lanes(self):
        out = json.loads(self.branches("--coverage", "--json", threads=128).stdout)
        lines = {line["line"]: line for line in out["coverage"]["files"][0]["lines"]}
        self.assertEqual(out["coverage"]["files"][0]["file"], "watched.cu")
        self.assertEqual(lines[4]["lanes"], 200)
        self.assertEqual(lines[4]["warps"], 8)
        self.assertEqual(lines[6]["lanes"], 56)
        self.assertEqual(lines[6]["warps"], 2)
        self.assertEqual((lines[4]["instructions"], lines[4]["executed_instructions"]), (4, 4))
        self.assertEqual(lines[6]["text"], "out[0] = t;")
        self.assertEqual(out["coverage"]["not_launched"], ["plain"])

    def test_coverage_by_lines_of_the_ptx(self):
        said = self.plain("--coverage").stdout
        self.assertIn(f"coverage of {WATCHED}: 8 of 8 lines ran, 8 of 8 instructions\n", said)
        self.assertRegex(said, r"1 +32 +all +\d+  ex2.approx.f32 %f2, %f1;")

    def test_coverage_without_the_source(self):
        shutil.copy(WATCHED, self.path("k.ptx"))
        said = self.call(
            "run", self.path("k.ptx"), "--entry", "branches", "--grid", 1, "--block", 32, "--arg", "buf=1024",
            "--coverage",
        ).stdout
        self.assertIn("coverage of watched.cu: 4 of 5 lines ran", said)

    def test_coverage_with_other_options(self):
        plain = self.branches("--coverage").stdout
        self.assertEqual(self.branches("--coverage", "--check").stdout, plain)
        self.assertEqual(self.branches("--coverage", "--explore", 3).stdout, plain)
        self.assertIn(plain, self.branches("--coverage", "--stats").stdout)
        self.assertNotIn("coverage", self.branches("--json").stdout)

    def test_coverage_of_a_program_in_mlir(self):
        program = ROOT / "examples/gemm_nvgpu/gemm.mlir"
        folder = program.parent
        done = self.call(
            "run", program, "--arg", f"in={folder / 'a.npy'}", "--arg", f"in={folder / 'b.npy'}", "--arg",
            f"out={self.path('d.npy')}:f32[256,256]", "--coverage", status=None,
        )
        if done.returncode == 3:
            self.skipTest("lemma was built without MLIR")
        self.assertRegex(done.stdout, r"coverage of \S*gemm.mlir: \d+ of \d+ lines ran")
        self.assertIn("nvgpu.warpgroup.mma", done.stdout)

    # --- fidelity ---------------------------------------------------------------------------------------------------

    def fidelity(self, *options):
        """The lines of `plain`, blanks made one."""
        return [re.sub(" +", " ", line).strip() for line in self.plain("--fidelity", *options).stdout.splitlines()]

    def test_fidelity_the_least_known_first(self):
        self.assertEqual(
            self.fidelity("--arch", "sm_90"),
            [
                "fidelity on sm_90: 8 forms ran, 2 approximate, 1 recorded, 5 exact",
                "approximate 1 mov.u64 %clock64: the value is the machine's own",
                "approximate 1 red.global.add.f32: the order of the additions is the machine's own",
                "recorded 1 ex2.approx.f32: NVIDIA H200",
                self.exact,
            ],
        )
        self.assertEqual(
            self.fidelity()[3], "assumed 1 ex2.approx.f32: as on sm_90, NVIDIA H200"  # .target sm_80
        )

    exact = "exact 5 5 forms, 4 of them recorded on NVIDIA H200 too"

    def test_fidelity_in_json(self):
        out = json.loads(self.plain("--fidelity", "--json", "--arch", "sm_90").stdout)
        forms = {form["form"]: form for form in out["fidelity"]}
        self.assertEqual(
            forms["add.rn.f32"],
            {
                "form": "add.rn.f32",
                "fidelity": "exact",
                "evidence": "NVIDIA H200",
                "warp_instructions": 1,
                "lane_instructions": 32,
            },
        )
        self.assertEqual(out["stats"]["warp_instructions"], sum(form["warp_instructions"] for form in out["fidelity"]))
        self.assertNotIn("fidelity", json.loads(self.plain("--json").stdout))

    def test_fidelity_of_matrix_products(self):
        folder = ROOT / "examples/gemm_mma"
        text = (folder / "gemm_mma.ptx").read_text()
        (self.folder / "gemm.ptx").write_text(text.replace(".target sm_90a", ".target sm_80"))
        known = {}
        for arch in "sm_80", "sm_90":
            done = self.call(
                "run", self.path("gemm.ptx"), "--grid", "4,4", "--block", "128", "--json", "--fidelity", "--arch", arch,
                "--arg", f"in={folder / 'a.npy'}", "--arg", f"in={folder / 'b.npy'}", "--arg", "buf=262144",
                "--arg", "u32=256", "--arg", "u32=256", "--arg", "u32=256",
            )
            for form in json.loads(done.stdout)["fidelity"]:
                if form["form"].startswith("mma.sync"):
                    known[arch] = form["fidelity"], form["evidence"]
        self.assertEqual(known["sm_90"], ("recorded", "NVIDIA H200"))
        self.assertEqual(known["sm_80"][0], "published")

    def test_fidelity_of_a_program_in_mlir(self):
        folder = ROOT / "examples/gemm_nvgpu"
        done = self.call(
            "run", folder / "gemm.mlir", "--arg", f"in={folder / 'a.npy'}", "--arg", f"in={folder / 'b.npy'}", "--arg",
            f"out={self.path('d.npy')}:f32[256,256]", "--fidelity", status=None,
        )
        if done.returncode == 3:
            self.skipTest("lemma was built without MLIR")
        self.assertRegex(done.stdout, r"fidelity on sm_90: \d+ forms ran, 1 recorded, \d+ exact\n")
        self.assertRegex(done.stdout, r"recorded +\d+  wgmma.mma_async\S*: NVIDIA H200\n")

    def test_a_real_gpu_is_not_watched(self):
        said = self.branches("--coverage", "--device", "cuda", status=USAGE).stderr
        self.assertIn("--coverage and --fidelity are for the virtual GPU", said)


if __name__ == "__main__":
    sys.exit(main(Watch, __doc__))
