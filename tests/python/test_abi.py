"""The structs that ctypes is told of are those of the header: sizes and offsets, as the C compiler has them."""

import ctypes
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from tilevm import _abi

ROOT = Path(__file__).resolve().parents[2]
STRUCTS = {
    "tv_str": _abi.Str, "tv_diag": _abi.Diag, "tv_sink": _abi.Sink, "tv_writer": _abi.Writer,
    "tv_open_options": _abi.OpenOptions, "tv_verify_options": _abi.VerifyOptions, "tv_print_options": _abi.PrintOptions,
    "tv_remark_sink": _abi.RemarkSink, "tv_compile_options": _abi.CompileOptions, "tv_rule": _abi.Rule,
    "tv_constant": _abi.Constant, "tv_axis": _abi.Axis, "tv_param": _abi.Param, "tv_slot": _abi.Slot,
    "tv_array": _abi.Array, "tv_arg": _abi.Arg, "tv_check_info": _abi.CheckInfo, "tv_vm_options": _abi.VmOptions,
    "tv_vm_stats": _abi.VmStats, "tv_leaf": _abi.Leaf,
}
CONSTANTS = {"TV_PARAM_SCALAR": _abi.SCALAR, "TV_PARAM_ARRAY": _abi.ARRAY, "TV_PARAM_LIST": _abi.LIST,
             "TV_PARAM_CONSTANT": _abi.CONSTANT, "TV_MAX_RANK": _abi.MAX_RANK}


def expressions():
    for name, struct in STRUCTS.items():
        yield f"sizeof({name})", ctypes.sizeof(struct)
        for field, *_ in struct._fields_:
            yield f"offsetof({name}, {field})", getattr(struct, field).offset
    yield from CONSTANTS.items()


class Abi(unittest.TestCase):
    def test_layout(self):
        wanted = list(expressions())
        lines = "".join(f'printf("%zu\\n", (size_t)({text}));\n' for text, _ in wanted)
        with tempfile.TemporaryDirectory() as folder:
            source, program = Path(folder, "layout.c"), Path(folder, "layout")
            source.write_text('#include <stdio.h>\n#include <tilevm/tilevm.h>\nint main(void)\n{\n' + lines + "}\n")
            compiler = os.environ.get("CC", "cc").split()
            subprocess.run([*compiler, "-I", str(ROOT / "include"), str(source), "-o", str(program)], check=True)
            found = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout.split()
        self.assertEqual(dict(wanted), {text: int(n) for (text, _), n in zip(wanted, found)})


if __name__ == "__main__":
    unittest.main()
