"""Arrays of other libraries, by DLPack, in both directions: what stands in for them has the capsules of numpy, old and new ones."""

import pathlib
import unittest

import numpy as np

import lemma

try:
    import torch
except ImportError:
    torch = None

KERNELS = pathlib.Path(__file__).resolve().parent / "kernels.ptx"
VERSIONED = np.lib.NumpyVersion(np.__version__) >= "2.1.0"


class Tensor:
    """Another library's: no numpy array, and nothing but DLPack."""

    def __init__(self, array, device=(1, 0)):
        self.array, self.device = array, device
        self.asked = []

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **options):
        self.asked.append(options)
        return self.array.__dlpack__(**options)


class OldTensor(Tensor):
    """One before DLPack 1.0, which knows no options and cannot say that it may not be written."""

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.gpu = lemma.Device()
        cls.axpy = cls.gpu.load(KERNELS)["axpy"]

    def setUp(self):
        self.x, self.y = np.arange(8, dtype=np.float32), np.ones(8, np.float32)


class Taken(Case):
    def test_arguments_are_read_and_written(self):
        for kind in (Tensor, OldTensor):
            with self.subTest(kind.__name__):
                self.y[:] = 1
                self.axpy[1, 8](1.0, kind(self.x), kind(self.y), 8)
                self.assertTrue((self.y == self.x + 1).all())

    def test_strides_and_offsets_are_kept(self):
        both = np.zeros((8, 2), np.float32)
        # Element i is at stride 8: axpy writes the first eight floats from both[0, 1] on.
        self.axpy[1, 8](1.0, self.x, Tensor(both[:, 1]), 8)
        self.assertEqual(both[:, 1].tolist(), [0, 2, 4, 6, 0, 0, 0, 0])
        self.assertFalse(both[:, 0].any())  # not the view's: not written back

    @unittest.skipUnless(VERSIONED, "DLPack of this numpy cannot say what may not be written")
    def test_what_may_not_be_written_is_not(self):
        self.y.flags.writeable = False
        tensor = Tensor(self.y)
        self.axpy[1, 8](1.0, self.x, tensor, 8)
        self.assertEqual(tensor.asked, [{"max_version": (1, 0)}])
        self.assertTrue((self.y == 1).all())

    def test_arrays_of_the_device_are_made_of_it(self):
        self.assertTrue((self.gpu.array(Tensor(self.x)).numpy() == self.x).all())
        out = self.gpu.zeros(8)
        out.copy_from(OldTensor(self.x))
        self.assertTrue((out.numpy() == self.x).all())
        self.assertEqual(lemma.bits_of(Tensor(self.x), "f32")[1], 0x3F800000)

    def test_memory_of_a_gpu_is_none(self):
        with self.assertRaisesRegex(lemma.InvalidArgument, r"argument 1 .*Tensor of DLPack device 2.*of the CPU"):
            self.axpy[1, 8](1.0, Tensor(self.x, device=(2, 0)), self.y, 8)


class Given(Case):
    def test_memory_of_the_device_is_copied(self):
        made = self.gpu.array(self.x)
        self.assertEqual(made.__dlpack_device__(), (1, 0))
        seen = np.from_dlpack(made)
        self.assertTrue((seen == self.x).all())
        made.copy_from(self.y)
        self.assertTrue((seen == self.x).all())
        with self.assertRaises(BufferError):
            made.__dlpack__(copy=False)

    def test_shared_memory_is_seen_itself(self):
        shared = self.gpu.shared(8)
        shared.numpy()[:] = 3
        seen = np.from_dlpack(shared)
        self.axpy[1, 8](1.0, self.x, shared, 8)
        self.assertTrue((seen == self.x + 3).all())
        self.assertEqual(seen.ctypes.data, shared.numpy().ctypes.data)
        del shared  # what was given keeps it
        self.assertEqual(seen[7], 10)

    @unittest.skipUnless(VERSIONED, "this numpy knows no options of DLPack")
    def test_options_are_taken(self):
        shared = self.gpu.shared(8)
        self.assertIn("dltensor_versioned", repr(shared.__dlpack__(max_version=(1, 0))))
        copy = np.from_dlpack(shared, copy=True)
        shared.numpy()[:] = 3
        self.assertFalse(copy.any())
        self.assertIn("dltensor", repr(shared.__dlpack__(stream=None, dl_device=(1, 0), copy=False)))


@unittest.skipUnless(torch, "no torch")
class Torch(Case):
    def test_both_ways(self):
        x, y = torch.arange(8, dtype=torch.float32), torch.ones(8)
        self.axpy[1, 8](1.0, x, y, 8)
        self.assertTrue((y == x + 1).all())
        shared = self.gpu.shared(8)
        seen = torch.from_dlpack(shared)
        self.axpy[1, 8](1.0, x, shared, 8)
        self.assertTrue((seen == x).all())
        self.assertTrue((torch.from_dlpack(self.gpu.array(x.numpy())) == x).all())
        halves = torch.ones(8, dtype=torch.bfloat16)
        self.assertEqual(self.gpu.array(halves).numpy().tobytes(), b"\x80\x3f" * 8)


if __name__ == "__main__":
    unittest.main()
