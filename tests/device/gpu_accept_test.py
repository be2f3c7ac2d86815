#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/gpu-accept tells a good H100's profile from a bad one; the profiles are made up, no device is needed."""
import importlib.machinery
import importlib.util
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True  # the source tree stays as it is
SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/gpu-accept"
loader = importlib.machinery.SourceFileLoader("gpu_accept", str(SCRIPT))
accept = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_accept", loader))
loader.exec_module(accept)


def product(kind, tflops, precision="bf16", n=8192, **more):
    return {"kind": kind, "precision": precision, "batch": 1, "m": n, "n": n, "k": n,
            "median_seconds": 2.0 * n**3 / tflops / 1e12, **more}


def profile(copy=3.0e12, burst=800.0, sustained=700.0, up=52e9, name="NVIDIA H100 80GB HBM3", throttled=False):
    size = 2.0**28
    return {"cluster": {"device": {"name": name, "num_multiprocessors": 132}},
            "measurements": [{"kind": "memory_copy", "amount_bytes": 2 * size, "median_seconds": 2 * size / copy},
                             {"kind": "host_link", "direction": "to_device", "amount_bytes": size, "median_seconds": size / up},
                             product("gemm", burst, throttled=throttled), product("sustained_gemm", sustained, throttled=throttled)]}


def broken(*arguments, reference=None, **words):
    return [what for what, _, _, holds in accept.rows(profile(*arguments, **words), reference) if holds is False]


class GpuAccept(unittest.TestCase):
    def test_a_good_h100_passes(self):
        self.assertEqual(broken(), [])
        self.assertEqual(broken(copy=2.9e12, burst=760.0, sustained=690.0, up=55e9), [])

    def test_each_limit_is_noticed(self):
        self.assertEqual(broken(copy=6.0e12), ["copy, TB/s"])  # it sat in the cache
        self.assertEqual(broken(burst=640.0, sustained=600.0), ["best bf16 product, TFLOP/s"])
        self.assertEqual(broken(up=13e9), ["host to_device, GB/s"])  # pageable
        self.assertEqual(broken(sustained=400.0), ["sustained bf16 of its burst"])
        self.assertEqual(broken(sustained=900.0), ["sustained bf16 of its burst"])
        self.assertEqual(broken(throttled=True), ["throttled points"])

    def test_products_are_held_against_pytorchs(self):
        self.assertEqual(broken(reference={"gemms": [{"ratio": r} for r in (1.0, 1.02, 1.2)]}), [])
        self.assertEqual(broken(reference={"gemms": [{"ratio": r} for r in (1.1, 1.13, 1.2)]}), ["products against PyTorch's"])

    def test_another_chip_has_no_limits(self):
        self.assertEqual(broken(name="NVIDIA X", copy=9e12, burst=1.5e3, sustained=1.4e3), [])


if __name__ == "__main__":
    unittest.main()
