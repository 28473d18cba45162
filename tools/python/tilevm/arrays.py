"""Arrays and numbers of Python as kernels take them."""

import ctypes
import struct
from ctypes import c_int, c_int64, c_void_p
from typing import Any

from tilevm import _abi
from tilevm._abi import lib
from tilevm.diagnostics import UsageError

_dtypes: dict[str, int] = {}


def dtype_number(name: str) -> int:
    """tv_dtype of "float32", "f32", "bool"..."""
    if name not in _dtypes:
        number, words = c_int(), _abi.text(name)
        if not lib.tv_dtype_parse(words, ctypes.byref(number)):
            raise UsageError(f"kernels have no element type {name!r}")
        _dtypes[name] = number.value
    return _dtypes[name]


class Described:
    """An array for the C interface: c is its struct. strides in elements."""

    def __init__(self, owner: Any, data: int, dtype: str, shape: tuple[int, ...], strides: tuple[int, ...],
                 read_only: bool):
        if len(shape) > _abi.MAX_RANK:
            raise UsageError(f"an array has {len(shape)} dimensions; at most {_abi.MAX_RANK} are possible")
        sizes = c_int64 * len(shape)
        self.read_only = read_only
        self._kept = (owner, sizes(*shape), sizes(*strides))
        self.c = _abi.Array(data, dtype_number(dtype), len(shape), self._kept[1], self._kept[2])


def _typestr(interface: dict[str, Any], owner: Any) -> tuple[str, int]:
    """Name and bytes of an element. The interface calls bfloat16 and its kin bytes, of which the dtype knows more."""
    order, kind, size = interface["typestr"][0], interface["typestr"][1], int(interface["typestr"][2:])
    names = {"b": "bool", "i": f"i{8 * size}", "u": f"u{8 * size}", "f": f"f{8 * size}"}
    narrow = kind == "f" and size == 1  # float8_e5m2 calls itself so
    if kind in names and order != ">" and size > 0 and not narrow:
        return names[kind], size
    if (kind == "V" or narrow) and getattr(owner, "dtype", None) is not None:
        return str(owner.dtype), size
    raise UsageError(f"kernels have no element type {interface['typestr']!r}")


def _contiguous(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    strides, step = [], size
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


def _fields(owner: Any, interface: Any) -> tuple[str, int, tuple[int, ...], tuple[int, ...], int, bool]:
    """Element type, bytes of an element, shape, strides in bytes, address, and whether it may only be read."""
    dtype, size = _typestr(interface, owner)
    shape, given = tuple(n.__index__() for n in interface["shape"]), interface.get("strides")
    strides = _contiguous(shape, size) if given is None else tuple(n.__index__() for n in given)
    address, read_only = interface["data"]
    if len(strides) != len(shape) or not all(0 <= n < 2**63 for n in shape) or not 0 <= address < 2**64:
        raise ValueError(f"shape {shape}, strides {strides}, address {address}")
    return dtype, size, shape, strides, address, bool(read_only)


def from_interface(owner: Any, interface: Any) -> Described:
    """From __array_interface__ or __cuda_array_interface__, which any class may have."""
    try:
        dtype, size, shape, strides, address, read_only = _fields(owner, interface)
    except UsageError:
        raise
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raise UsageError(f"{type(owner).__name__} does not describe an array: {error}") from None
    if any(s % size for s in strides):
        raise UsageError("an array has strides that are no multiples of its elements' size: copy it first")
    check_address(owner, address, shape)
    return Described(owner, address, dtype, shape, tuple(s // size for s in strides), read_only)


def check_address(owner: Any, address: int, shape: tuple[int, ...]) -> None:
    if address == 0 and 0 not in shape:
        raise UsageError(f"{type(owner).__name__} has elements but no memory: its address is 0")


def is_torch(array: Any) -> bool:
    return type(array).__module__.startswith("torch") and hasattr(array, "data_ptr")


def check_torch_memory(tensor: Any) -> None:
    """Raises UsageError where a tensor's elements are not in memory: it is sparse, a meta or a fake one, or its storage
    was made smaller."""
    if tensor.numel() == 0:
        return
    if str(tensor.layout) != "torch.strided":
        raise UsageError(f"a tensor is {tensor.layout}: kernels take dense ones, as to_dense() makes them")
    storage = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()  # before torch 2.0
    reach = sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride()))
    end = (tensor.storage_offset() + reach + 1) * tensor.element_size()
    if storage.device.type == "meta":
        raise UsageError("a tensor has a shape but no memory: it is on the device 'meta' or made by FakeTensorMode")
    if storage.nbytes() < end:
        raise UsageError(f"a tensor's elements end at byte {end} of its storage, which has {storage.nbytes()}: it was"
                         " resized, or freed")


def from_torch(tensor: Any) -> Described:
    check_torch_memory(tensor)
    return Described(tensor, tensor.data_ptr(), str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape),
                     tuple(tensor.stride()), False)


def host_array(array: Any) -> Described:
    """A NumPy array, or a CPU tensor of torch."""
    if is_torch(array):
        if array.device.type not in ("cpu", "meta"):
            raise UsageError(f"a tensor is on {array.device}: run takes arrays in the CPU's memory, launch others")
        return from_torch(array)
    interface = getattr(array, "__array_interface__", None)
    if interface is None:
        raise UsageError(f"{type(array).__name__} is not an array: give a NumPy array or a CPU tensor of torch")
    return from_interface(array, interface)


def span(array: Any) -> tuple[int, int]:
    """The range of addresses of an array's elements: where it begins and ends."""
    low, high = c_void_p(), c_void_p()
    if not lib.tv_array_span(ctypes.byref(host_array(array).c), ctypes.byref(low), ctypes.byref(high)):
        raise UsageError("an array is larger than the address space")
    return low.value or 0, high.value or 0


_FORMATS = {"f16": "<e", "f32": "<f", "tf32": "<f", "f64": "<d"}


def scalar_bits(dtype: str, value: Any) -> int:
    """The bit pattern of a number for a scalar parameter."""
    try:
        if dtype in _FORMATS:
            return int.from_bytes(struct.pack(_FORMATS[dtype], value), "little")
        if dtype == "bf16":
            return _to_bf16(float(value))
        if dtype == "bool":
            return int(bool(value))
        if dtype[0] in "iu":
            return _to_integer(dtype, value)
    except (TypeError, AttributeError, struct.error, OverflowError, ValueError) as error:
        raise UsageError(f"{value!r} is no {dtype}: {error}") from None
    raise UsageError(f"scalars of type {dtype} cannot be given from Python")


def _to_integer(dtype: str, value: Any) -> int:
    bits, number = int(dtype[1:]), int(value.__index__())
    low, high = (-1 << bits - 1, 1 << bits - 1) if dtype[0] == "i" else (0, 1 << bits)
    if not low <= number < high:
        raise ValueError("out of range")
    return number & ((1 << bits) - 1)


def _to_bf16(value: float) -> int:
    """To nearest, ties to even; a NaN stays one."""
    bits = int.from_bytes(struct.pack("<f", value), "little")
    if value != value:
        return bits >> 16 | 0x40
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 & 0xFFFF
