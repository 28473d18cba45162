"""DLPack, as far as arrays are described by it: https://dmlc.github.io/dlpack/latest/."""

import ctypes
from ctypes import CFUNCTYPE, POINTER, Structure, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p
from typing import Any

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13

_UNUSED, _USED = b"dltensor", b"used_dltensor"


class ManagedTensor(Structure):
    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32),
                ("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16), ("shape", POINTER(c_int64)),
                ("strides", POINTER(c_int64)), ("byte_offset", c_uint64), ("context", c_void_p), ("deleter", c_void_p)]


# (code, bits) of an element: its name
_NAMES = {(4, 16): "bfloat16", (6, 8): "bool", (10, 8): "float8_e4m3fn", (12, 8): "float8_e5m2",
          (14, 8): "float8_e8m0fnu"}
_NAMES.update({(0, bits): f"int{bits}" for bits in (8, 16, 32, 64)})
_NAMES.update({(1, bits): f"uint{bits}" for bits in (8, 16, 32, 64)})
_NAMES.update({(2, bits): f"float{bits}" for bits in (16, 32, 64)})
_TYPES = {name: key for key, name in _NAMES.items()}


def _api(name: str, result: Any, *arguments: Any) -> Any:
    function = getattr(ctypes.pythonapi, name)
    function.restype, function.argtypes = result, arguments
    return function


_new = _api("PyCapsule_New", ctypes.py_object, c_void_p, ctypes.c_char_p, c_void_p)
_pointer = _api("PyCapsule_GetPointer", c_void_p, ctypes.py_object, ctypes.c_char_p)
_rename = _api("PyCapsule_SetName", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)


def _keep(_tensor: int) -> None:
    """The deleter of what is lent: the array is its owner's."""


_deleter = CFUNCTYPE(None, c_void_p)(_keep)


def tensor_of(capsule: Any) -> ManagedTensor:
    """What is in a capsule that nobody has taken yet."""
    return ManagedTensor.from_address(_pointer(capsule, _UNUSED))


def dtype_of(tensor: ManagedTensor) -> str:
    return _NAMES.get((tensor.code, tensor.bits), "") if tensor.lanes == 1 else ""


def take(capsule: Any) -> tuple[ManagedTensor, tuple[int, ...], tuple[int, ...]]:
    """Tensor, shape and strides; gives the capsule back, so that the memory is only its owner's to keep."""
    tensor = tensor_of(capsule)
    copy = ManagedTensor.from_buffer_copy(tensor)
    shape = tuple(tensor.shape[: tensor.ndim])
    if tensor.strides:
        strides = tuple(tensor.strides[: tensor.ndim])
    else:
        strides, step = (), 1
        for n in reversed(shape):
            strides, step = (step, *strides), step * max(n, 1)
    _rename(capsule, _USED)
    if tensor.deleter:
        CFUNCTYPE(None, c_void_p)(tensor.deleter)(ctypes.addressof(tensor))
    return copy, shape, strides


class Lent:
    """A NumPy array that says that it is on a device: what cuTile Python takes."""

    def __init__(self, array: Any):
        name = array.dtype.name
        if name not in _TYPES or not array.dtype.isnative:
            raise TypeError(f"kernels take no arrays of {array.dtype}")
        if any(s % array.itemsize for s in array.strides):
            raise TypeError("an array has strides that are no multiples of its elements' size: copy it first")
        sizes = c_int64 * array.ndim
        shape, strides = sizes(*array.shape), sizes(*(s // array.itemsize for s in array.strides))
        self.read_only = not array.flags.writeable
        self.address: int = array.ctypes.data
        self._tensor = ManagedTensor(self.address, CUDA, 0, array.ndim, *_TYPES[name], 1, shape, strides, 0, None,
                                     ctypes.cast(_deleter, c_void_p))
        self._kept = array, shape, strides

    def __dlpack__(self, **_options: Any) -> Any:
        return _new(ctypes.addressof(self._tensor), _UNUSED, None)

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, 0
