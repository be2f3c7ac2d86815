# SPDX-License-Identifier: Apache-2.0
"""The Python module against the program: python_test.py PROGRAM ROOT."""

import doctest
import importlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])
LAUNCH = """torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 \\
  --num-attention-heads 32 --group-query-attention --num-query-groups 8 --swiglu --seq-length 4096 \\
  --max-position-embeddings 4096 --vocab-size 128256 --micro-batch-size 1 --global-batch-size 64 \\
  --tensor-model-parallel-size 8 --untie-embeddings-and-output-weights --bf16
"""


def content(value):
    """JSON without what differs by how it was asked, and without nulls: an answer leaves those out."""
    if isinstance(value, dict):
        return {key: content(one) for key, one in value.items() if one is not None and key not in ("command", "inputs")}
    return [content(one) for one in value] if isinstance(value, list) else value


class ModuleTest(unittest.TestCase):
    """Each answer has what the command's JSON has, as records."""

    def same(self, record, *words):
        printed = subprocess.run([PROGRAM, *words, "--format", "json"], capture_output=True, text=True, check=False).stdout
        self.assertEqual(content(record.to_dict()), content(json.loads(printed)))

    def test_training(self):
        basis = ["--model", "llama-3-8b", "--cluster", "h100-8"]
        plan = meshwright.plan("llama-3-8b", "h100-8", train_tokens="1T", top=3)
        self.same(plan, "plan", *basis, "--train-tokens", "1T", "--top", "3")
        layout = "dp=8,mbs=1,zero=1"
        self.same(meshwright.estimate("llama-3-8b", "h100-8", layout), "estimate", *basis, "--layout", layout)
        self.same(meshwright.volume("llama-3-8b", "h100-8", layout), "volume", *basis, "--layout", layout)
        self.assertIsInstance(plan.ranked[0].layout.tensor_parallel_size, int)
        self.assertEqual(type(plan.ranked[0]).__name__, "PlannedLayout")

    def test_services_and_capacity(self):
        served = meshwright.serve("llama-3-8b", "h100-8", isl=1000, osl=100, concurrency=8)
        self.same(served, "serve", "--model", "llama-3-8b", "--cluster", "h100-8", "--isl", "1000", "--osl", "100",
                  "--concurrency", "8")
        capacity = meshwright.capacity("llama-3-8b", "h100-512", gpus=[64, 128], train_tokens="1T", rows_only=True)
        self.same(capacity, "capacity", "--model", "llama-3-8b", "--cluster", "h100-512", "--gpus", "64,128",
                  "--train-tokens", "1T", "--rows-only")
        self.assertEqual(len(capacity.to_rows()), len(capacity.capacity.rows))

    def test_an_input_may_be_content(self):
        model = json.loads((ROOT / "configs/models/llama-3-8b.json").read_text(encoding="utf-8"))
        by_name = meshwright.plan("llama-3-8b", "h100-8", ranking_only=True)
        self.assertEqual(meshwright.plan(model, "h100-8", ranking_only=True).ranked, by_name.ranked)

    def test_a_launch_is_reviewed(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "train.sh"
            file.write_text(LAUNCH, encoding="utf-8")
            review = meshwright.review(file, "h100-8", top=0)
            self.assertTrue(review.fits)
            service = pathlib.Path(folder) / "serve.sh"
            service.write_text("vllm serve meta-llama/Llama-3.1-8B --max-model-len 4096\n", encoding="utf-8")
            reviewed = meshwright.review(service, "h100-8", isl=128, osl=128, concurrency=4)
            self.assertEqual(type(reviewed).__name__, "ServeReview")

    def test_wrong_input_is_an_error_with_a_hint(self):
        with self.assertRaises(meshwright.InputError) as raised:
            meshwright.plan("llama-3-8x", "h100-8")
        self.assertIn("llama-3-8x: not found", raised.exception.message)
        self.assertIn("llama-3-8b", raised.exception.hint)
        self.assertEqual(raised.exception.exit_code, 2)
        with self.assertRaises(meshwright.InputError):
            meshwright.plan("llama-3-8b", "h100-8", no_such_option=1)

    def test_rows_are_flat_and_numbers_are_numbers(self):
        plan = meshwright.plan("llama-3-8b", "h100-8", ranking_only=True)
        row = plan.to_rows()[0]
        self.assertEqual(row["layout_tensor_parallel_size"], plan.ranked[0].layout.tensor_parallel_size)
        self.assertEqual(row["step_time_seconds"], plan.ranked[0].step_time_seconds)
        self.assertFalse([key for key, value in row.items() if isinstance(value, (dict, list))])
        with self.assertRaises(ValueError):
            plan.ranked[0].layout.to_rows()

    def test_a_notebook_shows_a_table_and_bars(self):
        shown = meshwright.plan("llama-3-8b", "h100-8", ranking_only=True)._repr_html_()
        self.assertIn("<th>step_time_seconds</th>", shown)
        self.assertIn("<svg", shown)

    def test_the_tutorial_prints_what_it_shows(self):
        page = str(ROOT / "docs/tutorials/plan-from-python.md")
        failed, tried = doctest.testfile(page, module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
        self.assertGreater(tried, 5)
        self.assertEqual(failed, 0)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        package = pathlib.Path(place) / "meshwright"
        shutil.copytree(ROOT / "python/meshwright", package)
        subprocess.run([sys.executable, ROOT / "python/record_types.py", PROGRAM, package / "records.py"], check=True)
        os.environ["MESHWRIGHT_PROGRAM"] = PROGRAM
        sys.path.insert(0, place)
        meshwright = importlib.import_module("meshwright")
        unittest.main(argv=sys.argv[:1])
