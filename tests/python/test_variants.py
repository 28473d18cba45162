"""What `tilevm tune module.py:kernel` hands to Python: spaces, grids and arguments. cuda-tile is not needed."""

import unittest

from tilevm.cutile import variants
from tilevm.cutile.variants import Array, Problem


class Grids(unittest.TestCase):
    names = {"A": Array((1000, 64), "f16"), "TM": 64, "n": 7}

    def test_arithmetic(self) -> None:
        for text, grid in (("1", [1]), ("cdiv(A.shape[0], TM)", [16]), ("TM // 2, n % 4 + 1", [32, 4]),
                           ("min(n, TM), max(n, TM) - 60, 2 * n", [7, 4, 14]), ("A.shape[1]", [64])):
            self.assertEqual(variants.grid_of(text, self.names), grid)

    def test_nothing_else_is_run(self) -> None:
        for text in ("__import__('os')", "open('x')", "A.dtype", "TM.__class__", "(lambda: 1)()", "[1][0]",
                     "TM if n else 1", "cdiv(TM, *[1])", "cdiv(a=1, b=2)", "'x'", "1.5", "TK", "TM / 2", "2 ** 99", "A",
                     "A.shape[7]", "n // 0", "0", "1, 2, 3, 4", "", "1 << 3", "99999999", "(" * 500):
            with self.assertRaises(Problem, msg=text):
                variants.grid_of(text, self.names)


class Spaces(unittest.TestCase):
    def test_hints_and_constants(self) -> None:
        self.assertEqual(variants.read_space('{"TM": [1, 2], "hints": {"occupancy": [null]}}'),
                         {"TM": [1, 2], "occupancy": [None]})

    def test_wrong(self) -> None:
        many = ", ".join(f'"c{i}": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]' for i in range(40))
        for text in ("{", '{"TM": 7}', '{"TM": []}', '{"TM": [[1]]}', '{"TM": [{}]}', '{"hints": []}', "{" + many + "}",
                     '{"a":' * 100000):
            with self.assertRaises(Problem, msg=text[:40]):
                variants.read_space(text)


class Arguments(unittest.TestCase):
    def test_values(self) -> None:
        self.assertEqual(variants.parse_value("randn(bf16, [3, 4], seed=1)"), Array((3, 4), "bf16"))
        self.assertEqual(variants.parse_value("empty(f8E4M3FN,64)"), Array((64,), "f8E4M3FN"))
        self.assertEqual(variants.parse_value("f32:5.5"), 5.5)
        self.assertEqual(variants.parse_value("-3"), -3)

    def test_wrong(self) -> None:
        for text in ("auto", "zeros(f99,[1])", "zeros(f16)", "zeros(f16,n)", "__import__('os')", ""):
            with self.assertRaises(Problem, msg=text):
                variants.parse_value(text)


if __name__ == "__main__":
    unittest.main()
