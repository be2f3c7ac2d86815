#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/gpu-first's stages, run with programs that only say that they were called: no device, no build."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

sys.dont_write_bytecode = True  # the source tree stays as it is
SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
SCRIPT = SCRIPTS / "gpu-first"
FUNCTION = ["tp2", "pp2-1f1b", "pp2-interleaved", "dp2-zero1", "dp2-zero2", "dp2-zero3", "ep2"]
SANITIZED = ["memcheck", "racecheck", "initcheck"]
STAGES = ["facts", "configure", "build", "device", "calibrate", "limits", "ranks", "reference", "attention", "import", "drift", "plan",
          "trial", "validate", "trial-bf16", "validate-bf16", *FUNCTION, *SANITIZED, "oom", "report"]
NOT_FINISHED = 75

# What the stub of the program does beside saying that it was called. A calibration takes longer than one call, and
# continues from the points that it has; a model that does not fit is reported.
PROGRAM = """
out=
before=
for word in "$@"; do [ "$before" != --out ] || out=$word; before=$word; done
case "$*" in
  "trial "*oom*) echo '{"observations": [{"failure": "needs 208.0 GiB as the trial runs it, 79.1 GiB are free"}]}' >"$out" ;;
  "calibrate --backend"*--out*)
    [ -n "$SLOW" ] || exit 0
    echo point >>"$out.partial.jsonl"
    [ "$(wc -l <"$out.partial.jsonl")" -ge 2 ] || sleep 20 ;;
esac
exit 0
"""


class Machine:
    """A folder of programs. FAILING names the words of a call that fails."""

    def __init__(self, folder, failing=(), nccl=True, torch=True, sanitizer=True, slow=False):
        self.folder = pathlib.Path(folder)
        self.out = self.folder / "out"
        self.results = self.folder / "results"
        self.calls_file = self.folder / "calls"
        self.calls_file.touch()
        self.programs = self.folder / "programs"
        self.programs.mkdir()
        fails = "".join(f'case "$name $*" in *"{words}"*) exit 7 ;; esac\n' for words in failing)
        self.stub = f'#!/bin/sh\nname=$(basename "$0")\necho "$name $*" >>"{self.calls_file}"\n{fails}'
        for name in ("cmake", "nvidia-smi", "nvcc", "lscpu", "mpirun", *(["compute-sanitizer"] if sanitizer else [])):
            self.write(self.programs / name, self.stub + "exit 0\n")
        self.fill(self.out / "build/bin", nccl)
        # PyTorch is there where `import torch` says so.
        self.write(self.programs / "python3",
                   self.stub + f'case "$*" in *"import torch"*) exit {0 if torch else 1} ;; esac\nexit 0\n')
        self.environment = {**os.environ, "PATH": f"{self.programs}:{os.environ['PATH']}", "SLOW": "yes" if slow else ""}

    def fill(self, programs, nccl=True):
        """The programs that a build leaves."""
        programs.mkdir(parents=True)
        self.write(programs / "meshwright", self.stub + PROGRAM)
        for name in ("device_compute_test", *(["device_ranks_test"] if nccl else [])):
            self.write(programs / name, self.stub + "exit 0\n")

    @staticmethod
    def write(path, text):
        path.write_text(text)
        path.chmod(0o755)

    def command(self, *arguments, out=None):
        return ["sh", str(SCRIPT), "--out", str(out or self.out), "--results", str(self.results), *arguments]

    def run(self, *arguments, out=None):
        done = subprocess.run(self.command(*arguments, out=out), env=self.environment, check=False, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=300)
        return done.returncode, rows_of(done.stdout), done

    def calls(self, words):
        return [call for call in self.calls_file.read_text().splitlines() if words in call]

    def archived_table(self):
        with tarfile.open(self.results / "gpu-results.tar.gz") as archive:
            return rows_of(archive.extractfile("./stages.txt").read().decode())

    def start_and_wait_for(self, stage):
        """A call whose calibration sleeps, at the moment when the table says that it runs."""
        running = subprocess.Popen(self.command(), env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for _ in range(600):
            table = self.results / "stages.txt"
            journal = self.out / "profile.json.partial.jsonl"
            if table.exists() and "running" in rows_of(table.read_text()).get(stage, "") and journal.exists():
                return running
            time.sleep(0.1)
        running.kill()
        raise AssertionError(f"{stage} never ran")


def rows_of(text):
    return {line.split()[0]: line for line in text.splitlines() if line.strip()}


class GpuFirst(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def machine(self, **words):
        return Machine(self.folder, **words)

    def test_every_stage_of_the_first_hour_is_there_in_order(self):
        machine = self.machine()
        code, table, done = machine.run()
        self.assertEqual(code, 0, done.stderr)
        self.assertEqual(list(table), STAGES)
        self.assertTrue(all("passed" in line for line in table.values()), table)
        self.assertEqual(machine.archived_table(), table)
        self.assertTrue(machine.calls("--check"))
        self.assertIn("--max-drift 5", machine.calls("--check")[0])
        self.assertTrue(machine.calls("--precision bf16"))
        for tool in SANITIZED:
            self.assertIn("--gtest_filter=-Hold.*", machine.calls(f"--tool {tool}")[0])

    def test_two_processes_share_one_gpu_in_each_layout(self):
        machine = self.machine()
        machine.run("--stages", ",".join(FUNCTION))
        plans = machine.calls("meshwright plan")
        self.assertEqual(len(plans), len(FUNCTION))
        self.assertEqual(len(machine.calls("--ranks 2")), len(FUNCTION))
        for layout in ("--tp 2", "--schedule 1f1b", "--schedule interleaved", "--zero 1", "--zero 2", "--zero 3", "--ep 2"):
            self.assertEqual(len([plan for plan in plans if layout in plan]), 1, layout)

    def test_a_failed_stage_stops_no_other_and_is_the_result(self):
        machine = self.machine(failing=["device_compute_test", "meshwright calibrate --backend"])
        code, table, _ = machine.run()
        self.assertEqual(code, 1)
        self.assertEqual(list(table), STAGES)
        self.assertIn("failed (7; calibrate.log)", table["calibrate"])
        self.assertIn("passed", table["trial"])

    def test_what_failed_is_run_again_only_by_its_name(self):
        machine = self.machine(failing=["device_compute_test"])
        machine.run()
        before = len(machine.calls("device_compute_test"))
        self.assertEqual(machine.run()[0], 1)
        self.assertEqual(len(machine.calls("device_compute_test")), before)
        self.assertEqual(machine.run("--stages", "device")[0], 1)
        self.assertEqual(len(machine.calls("device_compute_test")), before + 1)

    def test_what_is_missing_is_skipped_and_said(self):
        code, table, _ = self.machine(nccl=False, torch=False, sanitizer=False).run()
        self.assertEqual(code, 0)
        self.assertIn("NCCL", table["ranks"])
        self.assertIn("PyTorch", table["reference"])
        if "compute-sanitizer is not installed" not in table["memcheck"]:
            self.assertIn("passed", table["memcheck"])  # this machine has one

    def test_a_prebuilt_folder_is_run_and_nothing_is_built(self):
        machine = self.machine()
        machine.fill(machine.folder / "prebuilt/bin")
        code, table, _ = machine.run("--prebuilt", str(machine.folder / "prebuilt"))
        self.assertEqual(code, 0)
        self.assertNotIn("build", table)
        self.assertFalse(machine.calls("cmake"))
        self.assertEqual(machine.run("--prebuilt", str(machine.folder))[0], 2)

    def test_a_call_that_ends_goes_on_in_the_next_one(self):
        machine = self.machine(slow=True)
        code, table, done = machine.run("--limit", "8")
        self.assertEqual(code, NOT_FINISHED, done.stderr)
        self.assertIn("cut", table["calibrate"])
        self.assertIn("waiting", table["report"])
        self.assertEqual(machine.archived_table(), table)
        code, table, done = machine.run()
        self.assertEqual(code, 0, done.stderr)
        self.assertEqual(list(table), STAGES)
        self.assertTrue(all("passed" in line for line in table.values()), table)
        self.assertEqual(len(machine.calls("nvidia-smi -q")), 1)  # facts passed in the first call
        self.assertEqual(len(machine.calls("meshwright calibrate --backend cuda --for")), 2)

    def test_the_table_is_there_after_a_stop(self):
        machine = self.machine(slow=True)
        running = machine.start_and_wait_for("calibrate")
        running.send_signal(signal.SIGTERM)
        table = rows_of(running.communicate(timeout=60)[0])
        self.assertEqual(running.returncode, NOT_FINISHED)
        self.assertIn("passed", table["device"])
        self.assertIn("stopped by a signal", table["calibrate"])
        self.assertEqual(machine.archived_table(), table)

    def test_a_killed_call_goes_on_elsewhere_from_its_archive(self):
        machine = self.machine(slow=True)
        running = machine.start_and_wait_for("calibrate")
        running.kill()
        running.communicate(timeout=60)
        self.assertIn("running", machine.archived_table()["calibrate"])
        archive = machine.folder / "carried.tar.gz"
        archive.write_bytes((machine.results / "gpu-results.tar.gz").read_bytes())
        machine.environment["SLOW"] = ""
        elsewhere = machine.folder / "elsewhere"
        machine.fill(elsewhere / "build/bin")
        code, table, done = machine.run("--from", str(archive), out=elsewhere)
        self.assertEqual(code, 0, done.stderr)
        self.assertEqual(list(table), STAGES)
        self.assertEqual(len(machine.calls("nvidia-smi -q")), 1)

    def test_wrong_arguments_are_named(self):
        machine = self.machine()
        code, _, done = machine.run("--stages", "device,nonsense")
        self.assertEqual(code, 2)
        self.assertIn('unknown stage "nonsense"', done.stderr)
        self.assertEqual(machine.run("--limit", "ten")[0], 2)
        self.assertEqual(machine.run("--from", "/nowhere.tar.gz")[0], 2)

    def test_each_stage_has_a_limit_that_one_call_can_hold(self):
        text = SCRIPT.read_text()
        stages = re.findall(r"^ *stage (\S+) (\S+)", text, re.M)
        self.assertEqual(sorted(name for name, _ in stages), sorted(STAGES))
        for name, seconds in stages:
            self.assertTrue(seconds.isdigit(), name)
            if name not in ("build", "calibrate"):  # these go on where they were
                self.assertLessEqual(int(seconds), 540, name)


if __name__ == "__main__":
    unittest.main()
