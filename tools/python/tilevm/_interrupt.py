"""^C while C code runs. Python's handlers run in the main thread only, and that is busy: so a run asks now and then whether
a signal has come, and stops. The handler then runs when the call returns, or before that in a callback, through which its
exception would not pass: it is kept, and raised afterwards."""

import contextlib
import ctypes
import os
import signal
import sys
import threading
from ctypes import c_void_p
from typing import Any, Callable, Iterator

from tilevm import _abi
from tilevm._abi import lib

_receiver, _sender = os.pipe()
os.set_blocking(_receiver, False)
os.set_blocking(_sender, False)


_Progress = ctypes.CFUNCTYPE(ctypes.c_bool, c_void_p, ctypes.c_uint64, ctypes.c_uint64)


def watch(options: _abi.VmOptions, progress: "Callable[[int, int], object] | None" = None) -> Any:
    """A machine with these options stops for signals, and tells progress some times a second how many of how many tile
    blocks have ended. What is given back must live as long as the machine."""
    options.user = _receiver
    if progress is None:
        options.progress = ctypes.cast(lib.tv_vm_until_readable, c_void_p)
        return None

    def tell(user: int, done: int, total: int) -> bool:
        progress(done, total)
        return bool(lib.tv_vm_until_readable(user, done, total))

    callback = _Progress(tell)
    options.progress = ctypes.cast(callback, c_void_p)
    return callback


@contextlib.contextmanager
def watched() -> Iterator[None]:
    """Signals are noticed while this is open. Only the main thread can be told of them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    raised: list[BaseException] = []
    hook, descriptor = sys.unraisablehook, signal.set_wakeup_fd(_sender, warn_on_full_buffer=False)

    def keep(ignored: Any) -> None:
        if "ctypes callback" in (ignored.err_msg or ""):
            raised.append(ignored.exc_value)
        else:
            hook(ignored)

    sys.unraisablehook = keep
    try:
        yield
    finally:
        sys.unraisablehook = hook
        signal.set_wakeup_fd(descriptor)
        _drain(descriptor)
        if raised:
            raise raised[0]


def _drain(descriptor: int) -> None:
    """Hands the signals on to whom they belong, an event loop for example."""
    with contextlib.suppress(BlockingIOError):
        numbers = os.read(_receiver, 4096)
        if descriptor != -1:
            os.write(descriptor, numbers)
