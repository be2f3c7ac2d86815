#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/gpu-first's stages, run with programs that only say that they were called: no device, no build."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True  # the source tree stays as it is
SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/gpu-first"
STAGES = ["configure", "build", "device", "calibrate", "drift", "ranks", "reference", "attention", "import", "limits", "plan",
          "trial", "validate", "trial-bf16", "validate-bf16", "report"]


class Machine:
    """A folder of programs. FAILING names the words of a call that fails."""

    def __init__(self, folder, failing=(), nccl=True, torch=True):
        self.out = pathlib.Path(folder) / "out"
        self.calls = pathlib.Path(folder) / "calls"
        self.calls.touch()
        programs = pathlib.Path(folder) / "programs"
        programs.mkdir()
        (self.out / "build/bin").mkdir(parents=True)
        if nccl:
            (self.out / "build/build.ninja").write_text("build device_ranks_test: phony\n")
        fails = "".join(f'case "$name $*" in *"{words}"*) exit 7 ;; esac\n' for words in failing)
        stub = f'#!/bin/sh\nname=$(basename "$0")\necho "$name $*" >>"{self.calls}"\n{fails}'
        for name in ("cmake", "ctest", "nvidia-smi", "nvcc", "lscpu"):
            self.write(programs / name, stub + "exit 0\n")
        self.write(self.out / "build/bin/meshwright", stub + "exit 0\n")
        # PyTorch is there where `import torch` says so; the reference writes its file.
        python = f'case "$*" in *"import torch"*) exit {0 if torch else 1} ;; *gpu-reference*--out*) touch "{self.out}/reference.json" ;; esac\n'
        self.write(programs / "python3", stub + python + "exit 0\n")
        self.environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}

    @staticmethod
    def write(path, text):
        path.write_text(text)
        path.chmod(0o755)

    def run(self, *arguments):
        done = subprocess.run(["sh", str(SCRIPT), "--out", str(self.out), *arguments], env=self.environment, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
        table = {line.split()[0]: line for line in done.stdout.splitlines()}
        return done.returncode, table, self.calls.read_text().splitlines()


class GpuFirst(unittest.TestCase):
    def run_with(self, *arguments, **words):
        with tempfile.TemporaryDirectory() as folder:
            return Machine(folder, **words).run(*arguments)

    def test_every_stage_of_the_first_hour_is_there_in_order(self):
        code, table, calls = self.run_with()
        self.assertEqual(code, 0)
        self.assertEqual(list(table), STAGES)
        self.assertTrue(all("passed" in line for line in table.values()), table)
        of = [call for call in calls if call.startswith("meshwright")]
        self.assertIn("--check", of[1])
        self.assertIn("--max-drift 5", of[1])
        accept = [call for call in calls if "gpu-accept" in call]
        self.assertIn("--reference", accept[0])
        self.assertTrue(any("--precision bf16" in call for call in of))

    def test_a_failed_stage_stops_no_other_and_is_the_result(self):
        code, table, _ = self.run_with(failing=["device_compute_test", "meshwright calibrate"])
        self.assertEqual(code, 1)
        self.assertEqual(list(table), STAGES)
        self.assertIn("failed (7; calibrate.log)", table["calibrate"])
        self.assertIn("passed", table["trial"])

    def test_calibration_comes_before_the_ranks(self):
        _, _, calls = self.run_with()
        of = lambda words: next(i for i, call in enumerate(calls) if words in call)
        self.assertLess(of("meshwright calibrate"), of("device_ranks_test --timeout"))

    def test_what_is_missing_is_skipped_and_said(self):
        code, table, _ = self.run_with(nccl=False, torch=False)
        self.assertEqual(code, 0)
        self.assertIn("NCCL was not found", table["ranks"])
        self.assertIn("PyTorch", table["reference"])

    def test_each_stage_has_a_limit(self):
        for line in SCRIPT.read_text().splitlines():
            words = line.split()
            if words[:1] == ["stage"]:
                self.assertTrue(words[2].isdigit(), line)


if __name__ == "__main__":
    unittest.main()
