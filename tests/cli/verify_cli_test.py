#!/usr/bin/env python3
"""lemma verify as scripts see it: one file, many, directories, what is no PTX; and the same of lemma run.

usage: verify_cli_test.py --lemma build/bin/lemma [NAME...]
       verify_cli_test.py --list
"""

import gzip
import json
import pathlib
import re
import shutil
import subprocess
import sys

from cli_case import FAILED, FOLDER, OK, ROOT, UNSUPPORTED, USAGE, Case, main

KERNELS = FOLDER / "kernels.ptx"
BAD = FOLDER / "bad.ptx"
HEAD = ".version 8.0\n.target sm_90a\n.address_size 64\n"


class VerifyCli(Case):
    def write(self, name, text):
        """Below the scratch folder; the path."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    def objects(self, *words, status=OK):
        """What --json prints: an object a line."""
        return [json.loads(line) for line in self.call("verify", "--json", *words, status=status).stdout.splitlines()]

    def tree(self):
        """A directory of 40 files, of which every fourth is bad, and others that are no .ptx."""
        for i in range(40):
            line = "frobnicate.u32 %r1;" if i % 4 == 3 else "ret;"
            self.write(f"tree/{i % 3}/{i:02}.ptx", HEAD + f".entry k{i}() {{ {line} }}\n" + "// long\n" * (1000 * (40 - i)))
        self.write("tree/notes.txt", "no PTX")
        self.write("tree/0/kernel.cu", "__global__ void k() {}")
        return self.path("tree")

    def test_verify(self):
        self.assertIn("accepted", self.call("verify", KERNELS).stdout)
        done = self.call("verify", KERNELS, FOLDER / "bad.ptx", FOLDER / "unsupported.ptx", status=FAILED)
        self.assertIn("bad.ptx:7:3: error[", done.stdout)
        self.assertIn("  frobnicate.u32 %r0, %r1;", done.stdout)
        self.assertIn("unsupported.ptx: accepted", done.stdout)  # legal, whether it runs or not
        self.call("verify", status=USAGE)
        self.call("verify", self.path("no.ptx"), status=USAGE)

    def test_verify_notes_what_may_be_fused(self):
        text = (
            ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 at) {\n"
            ".reg .f32 %f<5>; .reg .b64 %rd1; ld.param.u64 %rd1, [at]; ld.global.f32 %f1, [%rd1];\nmulR %f2, %f1, %f1;\nadd.f32 %f3, %f2, %f1;\nsub.f32 %f4, %f1, %f2;\n"
            "st.global.f32 [%rd1], %f3;\nst.global.f32 [%rd1], %f4;\nret;\n}\n"
        )
        free, apart = self.path("free.ptx"), self.path("apart.ptx")
        pathlib.Path(free).write_text(text.replace("mulR", "mul.f32"))
        pathlib.Path(apart).write_text(text.replace("mulR", "mul.rn.f32"))
        said = self.call("verify", free).stdout
        self.assertIn("free.ptx: note: ptxas may make fma of 2 pairs", said)
        self.assertIn("the first at line 7", said)
        self.assertEqual(len(said.splitlines()), 2)
        said = self.call("verify", "--verbose", free).stdout
        self.assertIn("free.ptx:7:1: warning[fusion]: ptxas may make one fma of this add.f32 and the mul.f32 of line 6", said)
        self.assertIn("free.ptx:8:1: warning[fusion]", said)
        self.assertEqual([[m["line"] for m in f["fusions"]] for f in self.objects(free, apart)], [[7, 8], []])
        self.assertEqual(self.call("verify", "--verbose", apart).stdout.count("\n"), 1)

    def test_verify_lint(self):
        text = HEAD + (
            ".entry k() {\n.reg .f32 %f<5>;\n.reg .b64 %a, %b;\nwgmma.fence.sync.aligned;\n"
            "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %a, %b, 1, 1, 1, 0, 0;\n"
            "wgmma.commit_group.sync.aligned;\nWAIT\nadd.rn.f32 %f4, %f0, %f1;\nret;\n}\n"
        )
        wrong = self.write("wrong.ptx", text.replace("WAIT", ""))
        right = self.write("right.ptx", text.replace("WAIT", "wgmma.wait_group.sync.aligned 0;"))
        said = self.call("verify", "--lint", wrong, status=FAILED).stdout
        self.assertIn("wrong.ptx:11:1: warning[wgmma.inflight]: %f0 is read while the wgmma.mma_async of line 8 is in flight", said)
        self.assertIn("wrong.ptx: lint: 1 finding\n", said)
        self.assertEqual(self.call("verify", wrong).stdout.count("\n"), 1)
        self.assertIn("right.ptx: lint: 0 findings", self.call("verify", "--lint", right).stdout)
        self.assertIn("2 accepted, 0 rejected; lint: 1 finding\n", self.call("verify", "--lint", wrong, right, status=FAILED).stdout)
        found = self.objects("--lint", wrong, right, status=FAILED)
        self.assertEqual([[m["id"] for m in f["lint"]] for f in found], [["wgmma.inflight"], []])
        self.assertNotIn("lint", self.objects(wrong)[0])
        self.call("verify", "--lint", "--fix", wrong, "-o", self.path("o.ptx"), status=USAGE)

    def test_verify_json(self):
        good, bad, absent = self.objects(KERNELS, BAD, self.path("no.ptx"), status=USAGE)
        self.assertEqual([one["file"] for one in (good, bad, absent)], [str(KERNELS), str(BAD), self.path("no.ptx")])
        self.assertEqual([one["accepted"] for one in (good, bad, absent)], [True, False, False])
        self.assertEqual(bad["diagnostics"][0]["severity"], "error")
        self.assertNotIn("error", bad)
        self.assertIn("No such file", absent["error"]["message"])
        self.assertNotIn("diagnostics", absent)

    # --- many files ---------------------------------------------------------------------------------------------------

    def test_verify_directory(self):
        tree = self.tree()
        done = self.call("verify", tree, status=FAILED)
        verdicts = [line for line in done.stdout.splitlines() if line.endswith(("accepted", "rejected"))]
        names = sorted(str(path) for path in pathlib.Path(tree).rglob("*.ptx"))
        self.assertEqual([line.split(": ")[0] for line in verdicts[:-1]], names)
        self.assertEqual(verdicts[-1], "40 files: 30 accepted, 10 rejected")
        self.assertEqual([one["file"] for one in self.objects(tree, status=FAILED)], names)
        self.assertEqual(done.stdout, self.call("verify", tree, status=FAILED).stdout)

    def test_verify_says_the_same_with_any_number_of_jobs(self):
        tree = self.tree()
        one, many = (self.call("verify", "--jobs", jobs, tree, KERNELS, status=FAILED).stdout for jobs in (1, 7))
        self.assertEqual(one, many)
        self.assertTrue(one.endswith("41 files: 31 accepted, 10 rejected\n"))

    def test_verify_goes_on_after_a_file_that_cannot_be_read(self):
        done = self.call("verify", self.path("no.ptx"), BAD, KERNELS, status=USAGE)
        self.assertIn("cannot read " + self.path("no.ptx"), done.stderr)
        self.assertTrue(done.stdout.endswith("3 files: 1 accepted, 1 rejected, 1 not read\n"))
        empty = self.folder / "empty"
        empty.mkdir()
        self.assertIn("has no .ptx file", self.call("verify", empty, status=USAGE).stderr)
        self.assertIn("has no .ptx file", self.objects(empty, status=USAGE)[0]["error"]["message"])

    def test_verify_of_one_file_has_no_summary(self):
        self.assertEqual(self.call("verify", KERNELS).stdout.count("\n"), 1)

    # --- newer PTX, and notes about spelling ---------------------------------------------------------------------------

    def test_newer_version_is_read(self):
        file = self.write("new.ptx", HEAD.replace("8.0", "9.9") + ".entry k() { ret; }\n")
        said = self.call("verify", file).stdout
        self.assertIn(
            "new.ptx:1:10: warning[ptx-version]: PTX 9.9 is newer than what is known here, 9.5: read as far as it is understood\n"
            " 1 | .version 9.9\n   |          ^~~\n  note: an assembler for PTX 9.5 refuses the file\n", said)
        self.assertTrue(said.endswith("new.ptx: accepted\n"))
        self.assertNotIn("ptx-version", self.call("run", file, "--grid", "1", "--block", "1").stderr)

    def newer(self, name, body, version="9.9", head=""):
        return self.write(name, HEAD.replace("8.0", version) + f".entry k() {head} {{ .reg .pred %p; .reg .b32 %r<3>; .reg .f32 %f<9>; "
                                f".reg .b64 %rd<4>; mov.b32 %r2, 1;\n{body}\nret; }}\n")

    def test_newer_version_with_what_is_not_known(self):
        body = ("frobnicate.u32 %r1, %r2;\nfrobnicate.u32 %r2, %r1;\nadd.blah.u32 %r1, %r2, %r2;\n"
                "mov.u32 %r1, %newreg;\nmov.u32 %r1, %newreg;\nadd.volatile.u32 %r1, %r2, %r2;")
        head = ".frob 3, 4 .maxntid 32"
        path = self.newer("new.ptx", body, head=head)
        with open(path, "a", encoding="ascii") as file:
            file.write(".newdir 3;\n")
        (report,) = self.objects(path, status=UNSUPPORTED)
        self.assertIsNone(report["accepted"])
        self.assertEqual([(m["severity"], m["id"], m["line"]) for m in report["diagnostics"]],
                         [("warning", "ptx-version", 1), ("unsupported", "unknown-directive", 4),
                          ("unsupported", "unknown-opcode", 5), ("unsupported", "unknown-qualifier", 7),
                          ("unsupported", "unknown-name", 8), ("unsupported", "qualifier", 10), ("unsupported", "unknown-directive", 12)])
        said = self.call("verify", path, status=UNSUPPORTED).stdout
        self.assertTrue(said.endswith("new.ptx: not known here whether it is legal\n"))
        self.assertIn("note: PTX 9.9 may have it: it is not known here, where 9.5 is the newest", said)
        (report,) = self.objects(self.newer("old.ptx", body, version="9.0", head=head), status=FAILED)
        self.assertEqual({m["severity"] for m in report["diagnostics"]}, {"error"})
        later = self.newer("later.ptx", "wgmma.fence.sync.aligned;")
        self.write("later.ptx", pathlib.Path(later).read_text().replace("sm_90a", "sm_940a"))
        self.call("verify", later, status=UNSUPPORTED)
        lost = self.newer("lost.ptx", ".reg .quux %q<4>;\nmov.b32 %q1, %r2;")
        self.call("verify", lost, status=UNSUPPORTED)

    def test_newer_version_is_strict_about_what_is_known(self):
        for number, (body, wrong) in enumerate((
                ("st.globl.u32 [%rd0], %r2;", "unknown-qualifier"), ("st.lobal.u32 [%rd0], %r2;", "unknown-qualifier"),
                ("ad.u32 %r1, %r2, %r2;", "unknown-opcode"), ("cp.asink.wait_all;", "unknown-opcode"),
                ("mov.u32 %r1, %laenid;", "unknown-name"), ("mov.u32 %r1, %ntdi.x;", "unknown-name"),
                (".rge .b32 %q;", "unknown-directive"), (".reg .b33 %q;", "unknown-directive"),
                ("mbarrier.arive.b64 %rd1, [%rd0];", "unknown-opcode"),
                ("wgmma.mma_async.sync.aligned.m64n8k32.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd1, %rd2, 1, 1, 1, 0, 0;", "missing-qualifier"),
                ("wgmma.mma_async.sync.aligned.m64n20k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd1, %rd2, 1, 1, 1, 0, 0;", "unknown-qualifier"),
                ("add.e4m3 %r1, %r2, %r2;", "qualifier"), ("add.u32.wide %r1, %r2, %r2;", None), ("add %r1, %r2, %r2;", "missing-qualifier"),
                ("add.u32 %r1, %r2;", "operand-count"), ("mov.u64 %r1, 1;", "operand-type"))):
            with self.subTest(body):
                path = self.newer(f"strict{number}.ptx", body)
                (report,) = self.objects(path, status=FAILED if wrong else UNSUPPORTED)
                self.assertEqual([m["id"] for m in report["diagnostics"] if m["severity"] == "error"], [wrong] if wrong else [])

    def test_newer_version_runs_until_what_is_not_known(self):
        launch = ("--grid", "1", "--block", "32")
        path = self.newer("skipped.ptx", "setp.eq.u32 %p, %r2, 0;\n@%p frobnicate.u32 {%r1, %r2}, %r2;\n@%p mov.u32 %r1, %newreg;")
        self.call("run", path, *launch)
        path = self.newer("reached.ptx", "setp.ne.u32 %p, %r2, 0;\n@%p frobnicate.u32 {%r1, %r2}, %r2;")
        self.assertIn("frobnicate.u32 is not understood here: lemma verify says what of it is not known",
                      self.call("run", path, *launch, status=UNSUPPORTED).stderr)
        path = self.newer("typo.ptx", "setp.eq.u32 %p, %r2, 0;\n@%p ad.u32 %r1, %r2, %r2;")
        self.assertIn("unknown-opcode", self.call("run", path, *launch, status=FAILED).stderr)

    def test_many_files_of_which_some_are_not_known(self):
        unknown, wrong = self.newer("unknown.ptx", "frobnicate;"), self.newer("wrong.ptx", "ad.u32 %r1, %r2, %r2;")
        said = self.call("verify", KERNELS, unknown, status=UNSUPPORTED).stdout
        self.assertTrue(said.endswith("2 files: 1 accepted, 0 rejected, 1 not known\n"), said)
        self.call("verify", unknown, wrong, KERNELS, status=FAILED)
        self.call("verify", unknown, wrong, KERNELS, self.path("no.ptx"), status=USAGE)
        self.assertEqual([one["accepted"] for one in self.objects(KERNELS, unknown, wrong, status=FAILED)], [True, None, False])
        self.call("verify", "--fix", unknown, "-o", self.path("fixed.ptx"), status=UNSUPPORTED)

    def test_spelling_is_for_verify(self):
        file = self.write("order.ptx", HEAD + ".entry k() { .reg .f32 %f<3>; mov.f32 %f1, 0f00000000;\n"
                                              "add.ftz.rn.f32 %f2, %f1, %f1; ret; }\n")
        self.assertIn("order.ptx:5:5: warning[qualifier-order]", self.call("verify", file).stdout)
        ran = self.call("run", file, "--grid", "1", "--block", "1").stderr
        self.assertEqual(len(ran.splitlines()), 1, ran)

    # --- repairs ----------------------------------------------------------------------------------------------------------

    def test_fix(self):
        """repairs/NAME.ptx becomes NAME.fixed.ptx, in which there is nothing to mend, and which ptxas takes."""
        out = self.path("out.ptx")
        inputs = [path for path in sorted((FOLDER / "repairs").glob("*.ptx")) if not path.name.endswith(".fixed.ptx")]
        self.assertTrue(inputs)
        for path in inputs:
            before = path.read_bytes()
            fixed = path.with_suffix(".fixed.ptx")
            done = self.call("verify", "--fix", path, "-o", out)
            self.assertRegex(done.stdout, rf"{path.name}: \d+ repairs?\n{out}: accepted\n")
            self.assertEqual(pathlib.Path(out).read_text(), fixed.read_text())
            self.assertEqual(path.read_bytes(), before)
            self.assertEqual(self.objects(fixed)[0]["diagnostics"], [])
            done = self.call("verify", "--fix", out, "-o", out)  # its own name is asked for
            self.assertIn("out.ptx: 0 repairs\n", done.stdout)
            self.assertEqual(pathlib.Path(out).read_text(), fixed.read_text())
            ptxas = shutil.which("ptxas") or shutil.which("ptxas", path="/usr/local/cuda/bin")
            if ptxas:
                target = re.search(r"\.target (\w+)", fixed.read_text())[1]
                subprocess.run([ptxas, f"-arch={target}", fixed, "-o", self.path("out.cubin")], check=True)

    def test_fix_says_what_the_message_says(self):
        file = self.write("order.ptx", HEAD + ".entry k() { .reg .f32 %f<3>; mov.f32 %f1, 0f00000000;\n" +
                                       "add.ftz.rn.f32 %f2, %f1, %f1;\n" * 3 + "ret\n}\n")
        said = self.call("verify", file, status=FAILED).stdout
        self.assertIn("  fix: write add.rn.ftz.f32, and mend 2 more places likewise\n", said)
        self.assertIn("  fix: insert ;\n", said)
        (report,) = self.objects(file, status=FAILED)
        self.assertEqual([m["repairs"] for m in report["diagnostics"]],
                         [[{"line": line, "column": 1, "length": 14, "text": "add.rn.ftz.f32"} for line in (5, 6, 7)],
                          [{"line": 8, "column": 4, "length": 0, "text": ";"}]])
        out = self.path("out.ptx")
        (report,) = self.objects("--fix", file, "-o", out)
        self.assertEqual((report["output"], report["repairs"], report["accepted"]), (out, 4, True))

    def test_fix_leaves_what_nobody_can_mend(self):
        done = self.call("verify", "--fix", BAD, "-o", self.path("out.ptx"), status=FAILED)
        self.assertIn("bad.ptx: 0 repairs", done.stdout)
        self.assertIn("out.ptx:7:3: error[", done.stdout)
        self.assertEqual(pathlib.Path(self.path("out.ptx")).read_bytes(), BAD.read_bytes())

    def test_fix_wants_to_know_where_to(self):
        for words in (["--fix", KERNELS], ["--fix", KERNELS, BAD, "-o", self.path("x")], [KERNELS, "-o", self.path("x")],
                      ["--fix", KERNELS, "-o", self.path("no/x")], ["--fix", self.path("no.ptx"), "-o", self.path("x")]):
            self.call("verify", *words, status=USAGE)
        self.assertFalse((self.folder / "x").exists())

    # --- what is no PTX -------------------------------------------------------------------------------------------------

    def test_other_kinds_of_file(self):
        for name, text, what, fix in [
            ("a.cu", "// adds\n__global__ void add(float* x) {}\n", "CUDA C++", "nvcc -ptx"),
            ("d.ll", '; ModuleID = "k"\ndefine void @k() {\n', "LLVM IR", "llc -mcpu"),
            ("e.bc", b"BC\xc0\xde" + bytes(60), "LLVM bitcode", "llc -mcpu"),
            ("f.ptx", (ROOT / "examples/gemm_nvgpu/gemm.mlir").read_bytes(), "MLIR", "lemma compile"),
            ("g.ptx.gz", gzip.compress(KERNELS.read_bytes()), "compressed by gzip", "gzip -d"),
            ("h.ptx", "", "empty", ".version"),
        ]:
            file = self.write(name, text)
            said = self.call("verify", file, status=FAILED).stdout
            self.assertIn(f"{name}:1:1: error[not-ptx]: this is no PTX: it is {what}\n", said)
            self.assertRegex(said, f"  fix: .*{fix}")
            ran = self.call("run", file, "--grid", "1", "--block", "1", status=FAILED).stderr
            self.assertIn(f"error[not-ptx]: this is no PTX: it is {what}\n", ran)
            report = self.objects(file, status=FAILED)[0]
            self.assertEqual([m["id"] for m in report["diagnostics"]], ["not-ptx"])
            self.assertEqual(report["diagnostics"][0]["notes"][0]["label"], "fix")

    def test_directory_in_the_place_of_a_file(self):
        for words in (["run", self.folder, "--grid", "1", "--block", "1"], ["compile", self.folder]):
            done = self.call(*words, status=USAGE)
            self.assertIn(f"cannot read {self.folder}: it is a directory, and this wants a file", done.stderr)


if __name__ == "__main__":
    sys.exit(main(VerifyCli, __doc__))
