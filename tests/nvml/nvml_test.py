#!/usr/bin/env python3
"""nvidia-smi under `lemma exec`, and nvidia-ml-py beside the driver's own answers.

usage: nvml_test.py --lemma build/bin/lemma [NAME ...]    LEMMA_CLIENTS_PYTHON names a Python that has nvidia-ml-py
"""

import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from cli_case import OK, Case, main  # noqa: E402

# What the driver says, by ctypes; then what nvidia-ml-py does.
DRIVER = """
import ctypes, json
cuda = ctypes.CDLL("libcuda.so.1")
assert cuda.cuInit(0) == 0
name, total, value = ctypes.create_string_buffer(96), ctypes.c_size_t(), ctypes.c_int()
assert cuda.cuDeviceGetName(name, 96, 0) == 0 and cuda.cuDeviceTotalMem_v2(ctypes.byref(total), 0) == 0
def attribute(number):
    assert cuda.cuDeviceGetAttribute(ctypes.byref(value), number, 0) == 0
    return value.value
said = {"name": name.value.decode(), "total": total.value, "capability": [attribute(75), attribute(76)], "mhz": attribute(13) // 1000}
"""
BINDINGS = """
import pynvml as n
n.nvmlInit()
d = n.nvmlDeviceGetHandleByIndex(0)
n.nvmlDeviceGetHandleByUUID(n.nvmlDeviceGetUUID(d))
bus = n.nvmlDeviceGetPciInfo(d)
assert n.nvmlDeviceGetIndex(n.nvmlDeviceGetHandleByPciBusId(bus.busId)) == 0 and bus.bus == attribute(33)
memory, second = n.nvmlDeviceGetMemoryInfo(d), n.nvmlDeviceGetMemoryInfo(d, version=n.nvmlMemory_v2)
assert memory.total == second.total == memory.used + memory.free and second.reserved == 0
assert n.nvmlDeviceGetComputeRunningProcesses(d) == [] and n.nvmlDeviceGetGraphicsRunningProcesses(d) == []
assert n.nvmlDeviceGetUtilizationRates(d).gpu == 0 and n.nvmlDeviceGetMigMode(d) == [0, 0]
assert n.nvmlDeviceGetArchitecture(d) == n.NVML_DEVICE_ARCH_HOPPER
for refused in (lambda: n.nvmlDeviceGetPowerUsage(d), lambda: n.nvmlDeviceGetTemperature(d, 0), lambda: n.nvmlDeviceGetNvLinkState(d, 0)):
    try:
        refused()
        raise SystemExit("it is supported")
    except n.NVMLError_NotSupported:
        pass
bound = {"name": n.nvmlDeviceGetName(d), "total": memory.total, "capability": list(n.nvmlDeviceGetCudaComputeCapability(d)),
         "mhz": n.nvmlDeviceGetClockInfo(d, n.NVML_CLOCK_SM)}
assert bound == said, (bound, said)
"""
ENDING = "print(json.dumps(said))"


class Nvml(Case):
    def exec(self, *words, status=OK, env=None):
        return self.call("exec", *words, status=status, env=env)

    def smi(self, *words, status=OK):
        return self.exec("nvidia-smi", *words, status=status).stdout

    def query(self, fields, form="csv,noheader,nounits"):
        return self.smi(f"--query-gpu={fields}", f"--format={form}").rstrip("\n")

    def test_it_is_found_first(self):
        found = self.exec("sh", "-c", "command -v nvidia-smi").stdout.strip()
        self.assertTrue((pathlib.Path(found).parent.parent / "libnvidia-ml.so.1").exists(), found)

    def test_it_says_what_the_driver_says(self):
        said = json.loads(self.exec(sys.executable, "-c", DRIVER + ENDING).stdout)
        self.assertEqual(
            self.query("name,memory.total,memory.used,memory.free,compute_cap,clocks.max.sm,index,count"),
            f"{said['name']}, {said['total'] >> 20}, 0, {said['total'] >> 20}, 9.0, {said['mhz']}, 0, 1",
        )
        self.assertRegex(self.query("driver_version"), r"^\d+\.\d+\.\d+$")
        self.assertEqual(self.query("temperature.gpu,power.draw,utilization.gpu", "csv"),
                         "temperature.gpu, power.draw [W], utilization.gpu [%]\n[N/A], [N/A], 0 %")  # fmt: skip

    def test_a_table_and_a_list(self):
        name, uuid, bus, driver = self.query("name,uuid,pci.bus_id,driver_version").split(", ")
        self.assertEqual(self.smi("-L"), f"GPU 0: {name} (UUID: {uuid})\n")
        table = self.smi()
        for part in (name, bus, f"Driver Version: {driver} ", "CUDA Version: 13.0 "):
            self.assertIn(part, table)
        self.assertEqual({len(line) for line in table.splitlines()}, {79})
        for device in ("0", uuid, bus):
            self.assertIn(name, self.smi("-i", device, "--query-gpu", "name", "--format=csv"))
        self.assertEqual(self.smi("--query-compute-apps=pid,name", "--format=csv"), "pid, name\n")

    def test_the_gpu_is_that_of_the_options(self):
        names = {arch: self.exec("--arch", arch, "nvidia-smi", "-L").stdout for arch in ("sm_80", "sm_120")}
        self.assertIn("A100", names["sm_80"])
        self.assertIn("RTX 5090", names["sm_120"])

    def test_what_it_cannot_do(self):
        self.assertIn('Field "nosuch" is not a valid', self.smi("--query-gpu=name,nosuch", "--format=csv", status=2))
        self.assertIn("--nosuch", self.smi("--nosuch", status=2))
        self.assertIn("csv", self.smi("--query-gpu=name", status=2))
        self.assertIn("changed", self.smi("-pm", "1", status=3))
        self.assertIn("No devices", self.smi("-i", "1", status=6))
        done = self.exec("nvidia-smi", status=9, env={"LEMMA_ARCH": "sm_13"})
        self.assertIn("sm_13", done.stderr)
        self.assertIn("Driver Not Loaded", done.stdout)

    def test_nvidia_ml_py(self):
        python = os.environ.get("LEMMA_CLIENTS_PYTHON") or sys.executable
        if subprocess.run([python, "-c", "import pynvml"], capture_output=True).returncode:
            self.skipTest("no nvidia-ml-py")
        self.exec(python, "-c", DRIVER + BINDINGS + ENDING)


if __name__ == "__main__":
    sys.exit(main(Nvml, __doc__))
