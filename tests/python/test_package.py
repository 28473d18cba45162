"""The Python package over the C API: modules, diagnostics, runs on NumPy arrays."""

import gc
import os
import random
import unittest
from pathlib import Path

import tilevm

try:
    import numpy as np
except ImportError:
    np = None
try:
    import torch
except ImportError:
    torch = None

KERNELS = Path(os.environ.get("TILEVM_TEST_KERNELS", "build/corpus/bytecode/13.4"))
VADD = KERNELS / "vadd_f32.tbc"

BAD = """entry @k(%x: tile<i32>) {
  %y = divi %x, %x unsigned rounding<negative_inf> : tile<i32>
  return
}
"""

PRINTS = """entry @k_Kt1_Si32(%x: tile<i32>) {
  %t = print_tko "x is %d\\0A", %x : tile<i32> -> token
  return
}
"""

SECOND = """entry @second_Kt2_LA1f32(%list: tile<ptr<i64>>, %count: tile<i32>) {
  %three = constant <i32: 3> : tile<i32>
  %at1 = offset %list, %three : tile<ptr<i64>>, tile<i32> -> tile<ptr<i64>>
  %w0, %t0 = load_ptr_tko weak %list : tile<ptr<i64>> -> tile<i64>, token
  %w1, %t1 = load_ptr_tko weak %at1 : tile<ptr<i64>> -> tile<i64>, token
  %p0 = int_to_ptr %w0 : tile<i64> -> tile<ptr<f32>>
  %p1 = int_to_ptr %w1 : tile<i64> -> tile<ptr<f32>>
  %x, %t2 = load_ptr_tko weak %p1 : tile<ptr<f32>> -> tile<f32>, token
  %t3 = store_ptr_tko weak %p0, %x : tile<ptr<f32>>, tile<f32> -> token
  return
}
"""


def bytes_of(tensor):
    """The storage of a tensor, also before torch 2.0."""
    return tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage().untyped()


class Modules(unittest.TestCase):
    def test_valid(self):
        module = tilevm.open(VADD)
        self.assertEqual(module.version, (13, 4))
        self.assertEqual(module.verify(target="sm_90"), [])
        self.assertEqual([k.name for k in module.kernels], ["vadd"])
        a, b, c, d = module.kernel("vadd").parameters
        self.assertEqual((a.kind, a.dtype, a.ndim), ("array", "f32", 1))
        self.assertEqual((d.kind, d.text), ("constant", "= 256"))

    def test_bytes_are_files(self):
        self.assertEqual(tilevm.verify(VADD.read_bytes()), [])
        self.assertEqual(tilevm.open(VADD).write(), VADD.read_bytes())

    def test_diagnostics(self):
        [found] = tilevm.parse(BAD).verify()
        self.assertEqual((found.severity, found.rule, found.op, found.function), ("error", "V-INT-04", "divi", "k"))
        self.assertIn("negative_inf", str(found))
        with self.assertRaises(tilevm.InvalidError) as caught:
            tilevm.parse(BAD).kernel()
        self.assertEqual(caught.exception.diagnostics[0].rule, "V-INT-04")

    def test_text(self):
        module = tilevm.open(VADD)
        again = tilevm.parse(module.disassemble(), minor=4)
        self.assertEqual(again.disassemble(), module.disassemble())
        with self.assertRaises(tilevm.InvalidError) as caught:
            tilevm.parse("entry @k( {")
        self.assertEqual(caught.exception.diagnostics[0].line, 1)

    def test_compile(self):
        self.assertIn(".target sm_90", tilevm.open(VADD).compile("sm_90"))
        for target in ("sm_1", "x", ""):
            with self.assertRaises(tilevm.Error):
                tilevm.open(VADD).compile(target)
        with self.assertRaises(tilevm.UsageError):
            tilevm.open(VADD).compile(opt_level=4)
        with self.assertRaises(tilevm.UsageError):
            tilevm.verify(VADD, target="90")

    def test_missing(self):
        with self.assertRaises(FileNotFoundError):
            tilevm.open("/nowhere.tbc")
        with self.assertRaisesRegex(tilevm.UsageError, "'x' is not an entry; the module has 'vadd"):
            tilevm.open(VADD).kernel("x")

    def test_damaged(self):
        """Damaged files are refused or read; nothing crashes."""
        good, draw = VADD.read_bytes(), random.Random(1)
        for _ in range(300):
            data = bytearray(good[: draw.randrange(len(good) + 1)])
            for _ in range(draw.randrange(4)):
                if data:
                    data[draw.randrange(len(data))] = draw.randrange(256)
            try:
                module = tilevm.open(bytes(data))
                module.verify()
                module.disassemble()
                module.compile()
            except tilevm.Error as error:
                self.assertTrue(str(error))


@unittest.skipIf(np is None, "numpy is not installed")
class Runs(unittest.TestCase):
    def setUp(self):
        self.kernel = tilevm.open(VADD).kernel()
        self.a = np.arange(1000, dtype=np.float32)
        self.b = self.a * 2
        self.c = np.zeros_like(self.a)

    def test_in_place(self):
        stats = self.kernel.run(4, self.a, self.b, self.c)
        self.assertTrue((self.c == self.a * 3).all())
        self.assertEqual((stats.blocks, stats.flops), (4, 1024))

    def test_views_and_aliases(self):
        memory = np.zeros(2024, np.float32)
        memory[:1000] = self.a
        self.kernel.run(4, memory[:1000], self.b, memory[1024:])
        self.assertTrue((memory[1024:] == self.a * 3)[:1000].all())
        with self.assertRaisesRegex(tilevm.InvalidError, "C-ARG-08"):
            self.kernel.run(4, memory[:1000], self.b, memory[8:1008])
        strided = np.zeros(2000, np.float32)[::2]
        with self.assertRaisesRegex(tilevm.InvalidError, "C-ARG-05"):
            self.kernel.run(4, self.a, self.b, strided)

    def test_refused(self):
        a, b, c = self.a, self.b, self.c
        for grid, args, words in (
            (4, (a, b), "takes 3 arguments"), (4, (a, b, c.astype("f8")), "C-ARG-02"), (4, (a, b, 3), "not an array"),
            (4, (a, b, c.astype(">f4")), "no element type"), (0, (a, b, c), "grid"), ((1, 2, 3, 4), (a, b, c), "grid"),
            (4, (a, b, c.astype("c8")), "no element type"), (4, (a, b, np.array(["x"])), "no element type"),
        ):
            with self.subTest(words), self.assertRaisesRegex(tilevm.Error, words):
                self.kernel.run(grid, *args)

    def test_made_up(self):
        """Whatever a class says of its memory is refused by the argument's name, not believed."""
        class MadeUp:
            def __init__(self, array, **other):
                self.__array_interface__ = {**array.__array_interface__, **other}

        for words, other in (
            ("its address is 0", {"data": (0, False)}), ("does not describe", {"data": None}),
            ("does not describe", {"shape": (-1,)}), ("does not describe", {"shape": (2**63,)}),
            ("does not describe", {"shape": 5}), ("does not describe", {"shape": ("x",)}),
            ("does not describe", {"strides": (4, 4)}), ("does not describe", {"data": (2**64, False)}),
            ("does not describe", {"typestr": 4}), ("does not describe", {"typestr": "<fx"}),
            ("no element type '<f0'", {"typestr": "<f0"}), ("no multiples", {"strides": (6,)}),
        ):
            with self.subTest(other), self.assertRaisesRegex(tilevm.UsageError, f"^argument 'c': .*{words}"):
                self.kernel.run(4, self.a, self.b, MadeUp(self.c, **other))
        self.kernel.run(4, self.a, self.b, MadeUp(self.c))
        self.assertTrue((self.c == self.a * 3).all())
        with self.assertRaisesRegex(tilevm.UsageError, "argument 'a': int is not a list of arrays"):
            tilevm.parse(SECOND).kernel().run(1, 3)

    @unittest.skipIf(torch is None, "torch is not installed")
    def test_tensors_without_memory(self):
        meta, resized = torch.zeros(1000, device="meta"), torch.zeros(1000)
        bytes_of(resized).resize_(0)
        for words, tensor in (("'meta'", meta), ("which has 0", resized), ("sparse", torch.eye(2).to_sparse())):
            with self.subTest(words), self.assertRaisesRegex(tilevm.UsageError, f"^argument 'c': .*{words}"):
                self.kernel.run(4, self.a, self.b, tensor)

    def test_read_only(self):
        self.c.flags.writeable = False
        with self.assertRaisesRegex(tilevm.Trap, "'c', which may only be read"):
            self.kernel.run(4, self.a, self.b, self.c)
        self.assertFalse(self.c.any())

    def test_checks(self):
        self.kernel.run(4, self.a, self.b, self.c, checks="all")
        races = tilevm.open(KERNELS / "vadd_f32.tbc").kernel()
        with self.assertRaisesRegex(tilevm.UsageError, "no check 'x'"):
            races.run(4, self.a, self.b, self.c, checks="x")

    def test_scalars(self):
        printed = tilevm.parse(PRINTS).kernel()
        lines = []
        machine = tilevm.module.Machine(printed, output=lines.append)
        machine.run((1, 1, 1), printed.bind([-7]))
        self.assertEqual("".join(lines), "x is -7\n")
        for value in (2**31, "x", 1.5, None, [1]):
            with self.subTest(value), self.assertRaises(tilevm.UsageError):
                printed.bind([value])

    def test_lists(self):
        kernel = tilevm.parse(SECOND).kernel()
        x, y = np.array([1, 2], np.float32), np.array([3, 4], np.float32)
        kernel.run(1, [x, y])
        self.assertEqual(x[0], 3)

    def test_threads_of_python(self):
        import threading
        results = [np.zeros_like(self.a) for _ in range(8)]
        workers = [threading.Thread(target=self.kernel.run, args=(4, self.a, self.b, c)) for c in results]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertTrue(all((c == self.a * 3).all() for c in results))

    def test_collected_in_any_order(self):
        for _ in range(20):
            kernel = tilevm.open(VADD).kernel()
            kernel.run(4, self.a, self.b, self.c)
            kernel.loop = kernel
            del kernel
        gc.collect()
        self.assertEqual(len(tilevm.diagnostics._open), 0)


if __name__ == "__main__":
    unittest.main()
