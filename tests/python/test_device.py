"""Kernels loaded and launched through the loader, on the simulated GPU of tests/fakecuda."""

import ctypes
import unittest

import numpy as np

import tilevm
from test_package import SECOND, VADD


class DeviceArray:
    """An array in the device's memory."""

    def __init__(self, driver, array):
        self.driver, self.array, self.address = driver, array, ctypes.c_uint64()
        assert driver.cuMemAlloc_v2(ctypes.byref(self.address), ctypes.c_size_t(array.nbytes)) == 0
        driver.cuMemcpyHtoD_v2(self.address, ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes))
        self.__cuda_array_interface__ = {**array.__array_interface__, "data": (self.address.value, False)}

    def get(self):
        result = np.empty_like(self.array)
        self.driver.cuMemcpyDtoH_v2(ctypes.c_void_p(result.ctypes.data), self.address, ctypes.c_size_t(result.nbytes))
        return result


class ByDlpack:
    """The same array, described by DLPack only."""

    def __init__(self, array):
        lent = tilevm.dlpack.Lent(array.array)
        lent._tensor.data = array.address.value
        self.__dlpack__ = lent.__dlpack__
        self.__dlpack_device__ = lent.__dlpack_device__


class Device(unittest.TestCase):
    def setUp(self):
        module = tilevm.open(VADD).load()
        self.driver, self.kernel = ctypes.CDLL("libcuda.so.1"), module.kernel("vadd")
        self.a = np.arange(1000, dtype=np.float32)
        self.x, self.y, self.z = (DeviceArray(self.driver, array) for array in (self.a, 2 * self.a, 0 * self.a))

    def test_launch(self):
        self.kernel.launch(4, self.x, self.y, self.z)
        self.driver.cuCtxSynchronize()
        self.assertTrue((self.z.get() == 3 * self.a).all())

    def test_dlpack(self):
        self.kernel.launch(4, ByDlpack(self.x), ByDlpack(self.y), ByDlpack(self.z), stream=0)
        self.driver.cuCtxSynchronize()
        self.assertTrue((self.z.get() == 3 * self.a).all())

    def test_refused(self):
        class Nowhere:
            __cuda_array_interface__ = {**self.x.__cuda_array_interface__, "data": (0, False)}

        nowhere = ByDlpack(self.x)
        nowhere.__dlpack__.__self__._tensor.data = None
        for args, words in (((self.x, self.y, self.a), "CPU's memory"), ((self.x, self.y, 3), "no array on a GPU"),
                            ((self.x, self.y), "takes 3 arguments"), ((self.x, nowhere, self.z), "'b': .*address is 0"),
                            ((self.x, Nowhere(), self.z), "'b': Nowhere has elements but no memory")):
            with self.subTest(words), self.assertRaisesRegex(tilevm.UsageError, words):
                self.kernel.launch(4, *args)
        with self.assertRaisesRegex(tilevm.UnsupportedError, "list of arrays"):
            tilevm.parse(SECOND).load().kernel().launch(1, [self.x, self.y])


if __name__ == "__main__":
    unittest.main()
