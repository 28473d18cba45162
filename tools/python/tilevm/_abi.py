"""The C interface (tilevm/tilevm.h) for ctypes: its structs, its functions, and finding the library."""

import ctypes
import os
from ctypes import POINTER, Structure, c_bool, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint, c_uint32, c_uint64, c_uint8
from ctypes import c_void_p
from pathlib import Path
from typing import Any

NO_OFFSET = 2**64 - 1
MAX_RANK = 32


class Str(Structure):
    _fields_ = [("ptr", c_void_p), ("len", c_size_t)]

    def __str__(self) -> str:
        return ctypes.string_at(self.ptr, self.len).decode(errors="replace") if self.len else ""


class Diag(Structure):
    pass


Diag._fields_ = [
    ("severity", c_int), ("rule", c_char_p), ("message", Str), ("function", Str), ("op", Str), ("op_index", c_uint32),
    ("offset", c_uint64), ("file", Str), ("line", c_uint32), ("column", c_uint32), ("op_text", Str),
    ("caret", c_uint32), ("caret_len", c_uint32), ("help", Str), ("other", POINTER(Diag)),
    ("inlined_file", Str), ("inlined_line", c_uint32), ("inlined_column", c_uint32),
]

Report = ctypes.CFUNCTYPE(None, c_void_p, POINTER(Diag))
Write = ctypes.CFUNCTYPE(c_bool, c_void_p, c_void_p, c_size_t)


class Sink(Structure):
    _fields_ = [("user", c_void_p), ("report", Report)]


class Writer(Structure):
    _fields_ = [("user", c_void_p), ("write", Write)]


class OpenOptions(Structure):
    _fields_ = [("allocator", c_void_p), ("memory_limit", c_size_t), ("strict", c_bool)]


class VerifyOptions(Structure):
    _fields_ = [("strict", c_bool), ("max_errors", c_uint), ("target", c_uint), ("reference", c_bool)]


class PrintOptions(Structure):
    _fields_ = [("debug_info", c_bool), ("prefix", c_bool), ("offsets", c_bool)]


class RemarkSink(Structure):
    _fields_ = [("user", c_void_p), ("report", c_void_p)]


class CompileOptions(Structure):
    _fields_ = [
        ("target", c_char_p), ("opt_level", c_uint), ("line_info", c_bool), ("ptx_version", c_uint),
        ("dump_after", c_char_p), ("dump", Writer), ("remarks", RemarkSink),
        ("stop_after", c_char_p), ("verify_each", c_bool), ("time_passes", c_bool),
    ]


class Rule(Structure):
    _fields_ = [("id", c_char_p), ("severity", c_int), ("title", c_char_p), ("text", c_char_p), ("help", c_char_p)]


class Constant(Structure):
    _fields_ = [("kind", c_int), ("integer", c_int64), ("number", c_double), ("dtype", c_int), ("text", Str)]


class Axis(Structure):
    _fields_ = [
        ("has_extent", c_bool), ("has_stride", c_bool), ("has_stride_min", c_bool), ("extent", c_int64),
        ("stride", c_int64), ("stride_min", c_int64), ("extent_multiple", c_int64), ("stride_multiple", c_int64),
    ]


class Param(Structure):
    pass


Param._fields_ = [
    ("kind", c_int), ("name", c_char_p), ("dtype", c_int), ("ndim", c_uint32), ("axes", POINTER(Axis)),
    ("index_dtype", c_int), ("base_multiple", c_int64), ("groups", POINTER(c_uint32)), ("group_count", c_size_t),
    ("overlaps", c_bool), ("constant", Constant), ("type_name", Str), ("items", POINTER(Param)),
    ("item_count", c_size_t), ("first_slot", c_size_t), ("slot_count", c_size_t),
    ("constant_data", c_bool),
]

SCALAR, ARRAY, LIST, POINTER_PARAM, TUPLE, STRUCT, CONSTANT = range(7)


class Slot(Structure):
    _fields_ = [("role", c_int), ("leaf", POINTER(Param)), ("axis", c_uint32), ("dtype", c_int), ("size", c_uint)]


class Array(Structure):
    _fields_ = [("data", c_void_p), ("dtype", c_int), ("ndim", c_uint32), ("shape", POINTER(c_int64)),
                ("strides", POINTER(c_int64))]


class Arg(Structure):
    _fields_ = [("name", c_char_p), ("arrays", POINTER(Array)), ("array_count", c_size_t), ("dtype", c_int),
                ("bits", c_uint64)]


class CheckInfo(Structure):
    _fields_ = [("name", c_char_p), ("summary", c_char_p), ("check", c_uint32)]


class VmOptions(Structure):
    _fields_ = [
        ("allocator", c_void_p), ("threads", c_uint), ("memory_limit", c_size_t), ("step_limit", c_uint64),
        ("order_seed", c_uint64), ("output", Writer), ("user", c_void_p), ("progress", c_void_p),
        ("trace", c_void_p), ("trace_op", c_void_p), ("profile", c_bool), ("batch", c_uint8), ("checks", c_uint32),
        ("max_findings", c_uint), ("check_orders", c_uint),
    ]


class VmStats(Structure):
    _fields_ = [
        ("blocks", c_uint64), ("ops", c_uint64), ("bytes_loaded", c_uint64), ("bytes_stored", c_uint64),
        ("flops", c_uint64), ("frame_bytes", c_size_t), ("memory_bytes", c_size_t), ("threads", c_uint),
        ("batches", c_uint32), ("seconds", c_double), ("compile_seconds", c_double),
    ]


class Leaf(Structure):
    _fields_ = [("name", c_char_p), ("read_only", c_bool), ("undefined", c_bool)]


_out = POINTER(c_void_p)
_params = c_void_p  # const void *const *

# name: (result, arguments)
_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "tv_version": (c_char_p, []),
    "tv_build_id": (c_char_p, []),
    "tv_rule_find": (POINTER(Rule), [c_char_p]),
    "tv_module_open": (c_int, [c_char_p, c_size_t, POINTER(OpenOptions), Sink, _out]),
    "tv_module_parse": (c_int, [c_char_p, c_size_t, c_uint, POINTER(OpenOptions), Sink, _out]),
    "tv_module_close": (None, [c_void_p]),
    "tv_module_minor": (c_uint, [c_void_p]),
    "tv_module_verify": (c_int, [c_void_p, POINTER(VerifyOptions), Sink]),
    "tv_module_print": (c_int, [c_void_p, POINTER(PrintOptions), Writer]),
    "tv_module_write": (c_int, [c_void_p, Sink, Writer]),
    "tv_compile_ptx": (c_int, [c_void_p, POINTER(CompileOptions), Sink, Writer]),
    "tv_dtype_name": (c_char_p, [c_int]),
    "tv_dtype_parse": (c_bool, [Str, POINTER(c_int)]),
    "tv_module_entry_count": (c_size_t, [c_void_p]),
    "tv_module_entry_name": (Str, [c_void_p, c_size_t]),
    "tv_module_entry_find": (c_int, [c_void_p, Str, Sink, POINTER(c_size_t)]),
    "tv_signature_of_entry": (c_int, [c_void_p, c_size_t, Sink, _out]),
    "tv_signature_close": (None, [c_void_p]),
    "tv_signature_function": (Str, [c_void_p]),
    "tv_signature_param_count": (c_size_t, [c_void_p]),
    "tv_signature_param": (POINTER(Param), [c_void_p, c_size_t]),
    "tv_signature_leaf": (POINTER(Param), [c_void_p, c_size_t]),
    "tv_signature_leaf_count": (c_size_t, [c_void_p]),
    "tv_signature_slot": (c_bool, [c_void_p, c_size_t, POINTER(Slot)]),
    "tv_signature_slot_count": (c_size_t, [c_void_p]),
    "tv_param_print": (c_int, [POINTER(Param), Writer]),
    "tv_array_span": (c_bool, [POINTER(Array), _out, _out]),
    "tv_call_new": (c_int, [c_void_p, POINTER(Arg), c_size_t, c_void_p, Sink, _out]),
    "tv_call_free": (None, [c_void_p]),
    "tv_call_params": (_params, [c_void_p, POINTER(c_size_t)]),
    "tv_check_at": (POINTER(CheckInfo), [c_size_t]),
    "tv_vm_new": (c_int, [c_void_p, POINTER(VmOptions), Sink, _out]),
    "tv_vm_free": (None, [c_void_p]),
    "tv_vm_add_params": (c_int, [c_void_p, c_void_p, _params, c_size_t, POINTER(Leaf), Sink]),
    "tv_vm_add_buffer": (c_int, [c_void_p, c_void_p, c_size_t, c_char_p, c_bool, Sink]),
    "tv_vm_clear_buffers": (None, [c_void_p]),
    "tv_vm_run": (c_int, [c_void_p, c_char_p, c_uint32 * 3, _params, c_size_t, Sink]),
    "tv_vm_until_readable": (c_bool, [c_void_p, c_uint64, c_uint64]),
    "tv_vm_get_stats": (None, [c_void_p, POINTER(VmStats)]),
    # tilevm/tilevm_cuda.h
    "tvModuleLoadData": (c_int, [_out, c_char_p]),
    "tvModuleUnload": (c_int, [c_void_p]),
    "tvModuleGetFunction": (c_int, [_out, c_void_p, c_char_p]),
    "tvLaunchKernel": (c_int, [c_void_p] + [c_uint] * 7 + [c_void_p, _params, c_void_p]),
    "tvGetLastErrorMessage": (c_char_p, []),
}


def _path() -> str:
    """TILEVM_LIBRARY, the library in this package, or the one that the system knows."""
    given = os.environ.get("TILEVM_LIBRARY")
    inside = Path(__file__).with_name("lib") / "libtilevm.so"
    return given or (str(inside) if inside.exists() else "libtilevm.so.0")


def _load() -> ctypes.CDLL:
    path = _path()
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"libtilevm cannot be loaded: {error}. Install the wheel of tilevm, or name the library"
                          " in the environment variable TILEVM_LIBRARY.") from error
    for name, (result, arguments) in _FUNCTIONS.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise ImportError(f"{path} has no {name}: it is older than this Python package. Install the two from one"
                              " build.") from None
        function.restype, function.argtypes = result, arguments
    return library


lib: Any = _load()


def text(string: str) -> Str:
    """A borrowed string; the caller keeps what comes back for as long as it is used."""
    data = string.encode()
    buffer = ctypes.create_string_buffer(data, len(data) + 1)
    result = Str(ctypes.cast(buffer, c_void_p), len(data))
    result.kept = buffer
    return result
