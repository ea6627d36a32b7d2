"""The pytest plugin: the marker, the fixture, and what failures show. Runs pytest on a file of its own."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import pytest
except ImportError:
    pytest = None

KERNELS = pathlib.Path(__file__).resolve().parent / "kernels.ptx"
TESTS = f"""
import lemma, numpy as np, pytest
KERNELS = {str(KERNELS)!r}

def test_the_fixture_is_a_fresh_device(lemma_device):
    assert lemma_device.info.kind == "cpu"
    assert lemma_device.load(KERNELS)["race"][1, 64](np.zeros(1, np.int32))

@pytest.mark.lemma(check=True)
def test_a_race_fails(lemma_device):
    lemma_device.load(KERNELS)["race"][1, 64](np.zeros(1, np.int32))

@pytest.mark.lemma(check=True)
def test_a_device_of_its_own():
    lemma.Device().load(KERNELS)["race"][1, 64](np.zeros(1, np.int32))

@pytest.mark.lemma(arch="sm_120")
def test_the_device_has_options(lemma_device):
    assert lemma_device.info.target.startswith("sm_120")

seen = []

@pytest.mark.lemma(explore=4, deterministic=True)
def test_schedules_differ(lemma_device):
    out = np.zeros(1, np.int32)
    lemma_device.load(KERNELS)["last_wins"][64, 32](out)
    seen.append(int(out[0]))

def test_four_schedules_ran():
    assert len(seen) == 4 and len(set(seen)) > 1, seen

def test_a_failure_shows_reports(lemma_device):
    lemma_device.load(KERNELS)["race"][1, 64](np.zeros(1, np.int32), check=True, raises=False)
    assert 1 == 2
"""
WRONG = """
import pytest

@pytest.mark.lemma(1)
def test_a_wrong_marker():
    pass
"""


@unittest.skipUnless(pytest, "no pytest")
class Plugin(unittest.TestCase):
    @staticmethod
    def said_of(text):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "test_kernels.py"
            file.write_text(text)
            markers = subprocess.run([sys.executable, "-m", "pytest", "--markers"], cwd=folder, capture_output=True, text=True)
            plugin = [] if "mark.lemma(" in markers.stdout else ["-p", "lemma.pytest_plugin"]
            options = ["-q", "-p", "no:cacheprovider", "-rA", *plugin, str(file)]
            return subprocess.run([sys.executable, "-m", "pytest", *options], cwd=folder, capture_output=True, text=True).stdout

    def test_a_wrong_marker(self):
        self.assertIn("the marker lemma takes options by name", self.said_of(WRONG))

    def test_a_file_of_tests(self):
        said = self.said_of(TESTS)
        for passed in (
            "test_the_fixture_is_a_fresh_device", "test_the_device_has_options", "test_four_schedules_ran",
            *[f"test_schedules_differ[schedule{i}]" for i in range(4)],
        ):  # fmt: skip
            self.assertIn(f"PASSED test_kernels.py::{passed}\n", said)
        for failed in ("test_a_race_fails", "test_a_device_of_its_own", "test_a_failure_shows_reports"):
            self.assertIn(f"FAILED test_kernels.py::{failed}", said)
        self.assertGreaterEqual(said.count("error[race.shared]"), 3)
        self.assertIn("lemma: what the launches reported", said)


if __name__ == "__main__":
    unittest.main()
