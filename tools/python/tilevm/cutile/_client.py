"""Where cuTile Python is told of the virtual machine: the driver it opens, the compiler it runs, and launch, so that
NumPy arrays may be given and errors are ours. Nothing else of it is touched."""

import ctypes
import functools
import os
import sys
from ctypes import CFUNCTYPE, POINTER, Structure, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p
from typing import Any, Callable

from tilevm import _abi
from tilevm.cutile import _driver
from tilevm.diagnostics import Diagnostic, Error
from tilevm.module import Module, lib


class KernelError(Error, RuntimeError):
    """A kernel could not be run to its end, or checks found something. diagnostics has it as objects."""


# ---- the compiler: bytecode is checked, and taken as it is ----

class Compiler:
    """As much of the client's _CompilerBinary as it uses: run() makes an image for the driver of the virtual machine."""

    path = "tilevm"

    def run(self, args: list[str], flags: list[str], timeout_sec: float | None = None) -> None:
        source, target = args[0], args[args.index("-o") + 1]
        with open(source, "rb") as file:
            bytecode = file.read()
        self._check(bytecode, flags)
        with open(target + ".tmp", "wb") as file:
            file.write(_driver.image_of(bytecode))
        os.replace(target + ".tmp", target)

    def _check(self, bytecode: bytes, flags: list[str]) -> None:
        from cuda.tile._exception import Loc, TileCompilerExecutionError
        target = flags[flags.index("--gpu-name") + 1] if "--gpu-name" in flags else None
        try:
            errors = [d for d in Module.open(bytecode).verify(target=target, reference=True) if d.severity == "error"]
        except Error as error:
            errors = error.diagnostics
        if errors:
            first: Diagnostic = errors[0]
            place = Loc(first.line, first.column, first.file) if first.file else Loc.unknown()
            raise TileCompilerExecutionError(3, "\n".join(map(str, errors)), place, " ".join(flags), version_text())


def version_text() -> str:
    """Part of the key of the client's disk cache."""
    return f"tilevm {lib.tv_version().decode()}, build {lib.tv_build_id().decode()}, images of the virtual machine\n"


# ---- arrays of NumPy: described by DLPack, as arrays of a device ----

class _Tensor(Structure):
    """DLManagedTensor."""

    _fields_ = [("data", c_void_p), ("device", c_int32 * 2), ("ndim", c_int32), ("code", c_uint8), ("bits", c_uint8),
                ("lanes", c_uint16), ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)),
                ("byte_offset", c_uint64), ("context", c_void_p), ("deleter", c_void_p)]


_CUDA = 2  # kDLCUDA
_capsule_new = ctypes.pythonapi.PyCapsule_New
_capsule_new.restype, _capsule_new.argtypes = ctypes.py_object, [c_void_p, ctypes.c_char_p, c_void_p]
_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype, _capsule_pointer.argtypes = c_void_p, [ctypes.py_object, ctypes.c_char_p]


@CFUNCTYPE(None, c_void_p)
def _keep(_tensor: int) -> None:
    """The deleter: the array is its owner's."""


# NumPy's name of an element: code of DLDataType
_CODES = {"bool": 6, "bfloat16": 4, "float8_e4m3fn": 10, "float8_e5m2": 12, "float8_e8m0fnu": 14}
_CODES_BY_KIND = {"i": 0, "u": 1, "f": 2}


class DeviceArray:
    """A NumPy array as the client takes it."""

    def __init__(self, array: Any):
        code = _CODES.get(array.dtype.name, _CODES_BY_KIND.get(array.dtype.kind))
        if code is None or not array.dtype.isnative:
            raise TypeError(f"kernels take no arrays of {array.dtype}")
        if any(s % array.itemsize for s in array.strides):
            raise TypeError("an array has strides that are no multiples of its elements' size: copy it first")
        sizes = c_int64 * array.ndim
        shape, strides = sizes(*array.shape), sizes(*(s // array.itemsize for s in array.strides))
        self.read_only = not array.flags.writeable
        self.address = array.ctypes.data
        self.tensor = _Tensor(self.address, (c_int32 * 2)(_CUDA, 0), array.ndim, code, 8 * array.itemsize, 1, shape,
                              strides, 0, None, ctypes.cast(_keep, c_void_p))
        self.kept = array, shape, strides

    def __dlpack__(self, **_options: Any) -> Any:
        return _capsule_new(ctypes.addressof(self.tensor), b"dltensor", None)

    def __dlpack_device__(self) -> tuple[int, int]:
        return _CUDA, 0


def _as_device(arg: Any, array_type: type, read_only: set[int]) -> Any:
    """A kernel's argument with the NumPy arrays in it described."""
    if isinstance(arg, array_type):
        described = DeviceArray(arg)
        if described.read_only:
            read_only.add(described.address)
        return described
    if isinstance(arg, (tuple, list)) and type(arg) in (tuple, list):
        return type(arg)(_as_device(item, array_type, read_only) for item in arg)
    return arg


# ---- torch: tensors of the CPU as tensors of a device ----

def device_capsule(to_dlpack: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """torch._C._to_dlpack, but the tensor is said to be on the device."""

    @functools.wraps(to_dlpack)
    def wrapped(tensor: Any) -> Any:
        capsule = to_dlpack(tensor)
        _Tensor.from_address(_capsule_pointer(capsule, b"dltensor")).device[0] = _CUDA
        return capsule

    return wrapped


# ---- launch ----

def _wrap(function: Callable[..., Any]) -> Callable[..., Any]:
    """launch and its kin: kernel arguments are the fourth."""

    @functools.wraps(function)
    def wrapped(*args: Any, **options: Any) -> Any:
        numpy = sys.modules.get("numpy")
        read_only: set[int] = set()
        if numpy is not None and len(args) > 3 and isinstance(args[3], tuple):
            args = *args[:3], _as_device(args[3], numpy.ndarray, read_only), *args[4:]
        _driver.launching.read_only = read_only
        try:
            return function(*args, **options)
        except RuntimeError:
            error = _driver.take_error()
            if error is None:
                raise
            raise KernelError(str(error), error.diagnostics) from None

    return wrapped


def _remember_names(compile_kernel: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(compile_kernel)
    def wrapped(self: Any, *args: Any, **options: Any) -> Any:
        result = compile_kernel(self, *args, **options)
        _driver.parameter_names[result[1]] = tuple(self._annotated_function.pysig.parameters)
        return result

    return wrapped


def install() -> None:
    """Call it before anything imports names from cuda.tile."""
    _driver.install()
    try:
        import cuda.tile
    except ImportError as error:
        raise Error(f"cuTile Python cannot be imported ({error}): pip install cuda-tile") from error
    from cuda.tile import _cext, _compile
    compiler = Compiler()
    _compile._find_compiler_bin = lambda: compiler
    _compile._get_compiler_version_string = version_text
    _compile._try_get_compiler_version = lambda _path: version_text()
    cuda.tile.kernel._compile = _remember_names(cuda.tile.kernel._compile)
    for name in ("launch", "_benchmark"):
        wrapped = _wrap(getattr(_cext, name))
        for module in (_cext, cuda.tile):
            if hasattr(module, name):
                setattr(module, name, wrapped)


assert _abi  # the library is there before the client is touched
