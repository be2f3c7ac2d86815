#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/gpu-reference meets its operands where the calibrator does; a torch that only counts stands for PyTorch."""
import importlib.machinery
import importlib.util
import pathlib
import sys
import types
import unittest

sys.dont_write_bytecode = True  # the source tree stays as it is
SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/gpu-reference"
MIB = 1 << 20


class Matrix:
    made = 0

    def __init__(self):
        Matrix.made += 1
        self.number = Matrix.made

    def t(self):
        return self


class Device:
    L2_cache_size = 50 * MIB
    total_memory = 80 << 30


class Event:
    """Two calls of record() are a millisecond apart."""

    def __init__(self, **_):
        pass

    def record(self):
        pass

    def elapsed_time(self, _):
        return 1.0


def load(products):
    """The script, over a torch whose products are noted as (a, b, c)."""
    torch = types.ModuleType("torch")
    torch.__version__ = "of the test"
    torch.bfloat16 = "bf16"
    torch.randn = lambda *_, **__: Matrix()
    torch.mm = lambda a, b, out: products.append((a.number, b.number, out.number))
    torch.cuda = types.SimpleNamespace(Event=Event, synchronize=lambda: None, get_device_properties=lambda _: Device)
    sys.modules["torch"] = torch
    loader = importlib.machinery.SourceFileLoader("gpu_reference", str(SCRIPT))
    script = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_reference", loader))
    loader.exec_module(script)
    return script


class GpuReference(unittest.TestCase):
    def setUp(self):
        self.products = []
        self.script = load(self.products)
        self.addCleanup(sys.modules.pop, "torch", None)

    def used(self, which):
        return len({product[which] for product in self.products})

    def test_copies_together_are_more_than_twice_the_cache(self):
        # 100 MiB / 24 MiB, rounded up, and one more.
        self.assertEqual(self.script.cold_copies(24 * MIB, Device), 6)
        self.assertEqual(self.script.cold_copies(400 * MIB, Device), 2)
        self.assertEqual(self.script.cold_copies(0, Device), 1)
        # A step that reads 48 MiB between two uses meets two copies of 24 MiB.
        self.assertEqual(self.script.cold_copies(24 * MIB, Device, 48 * MIB), 2)
        # No more than an eighth of the memory.
        self.assertEqual(self.script.cold_copies(8 << 30, Device), 1)

    def test_operands_take_turns_like_ours(self):
        self.script.gemm_seconds(2048, 2048, 2048)  # 8 MiB each
        self.assertEqual([self.used(which) for which in range(3)], [6, 6, 6])

    def test_a_fresh_operand_stays_in_the_cache(self):
        self.script.gemm_seconds(2048, 2048, 2048, fresh=["a", "c"])
        # 100 MiB / 8 MiB, rounded up, and one more: of b alone.
        self.assertEqual([self.used(which) for which in range(3)], [1, 14, 1])

    def test_a_point_says_which_are_fresh(self):
        point = {"kind": "gemm", "precision": "bf16", "batch": 1, "accumulate": False, "m": 2048, "n": 2048, "k": 2048,
                 "transpose_a": False, "transpose_b": True, "median_seconds": 1e-3, "fresh_a": True}
        rows = self.script.compared_gemms({"measurements": [point]})
        self.assertEqual(len(rows), 1)
        self.assertEqual(self.used(0), 1)
        self.assertGreater(self.used(1), 1)


if __name__ == "__main__":
    unittest.main()
