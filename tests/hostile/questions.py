# SPDX-License-Identifier: Apache-2.0
"""What the program is asked: for each kind of artefact a good one, and the commands that read it."""

import dataclasses
import json
import pathlib
import re
import subprocess

from inputs import good_trials

DATA = pathlib.Path(__file__).resolve().parent / "data"
ROOT = DATA.parent.parent.parent
CONFIGS = ROOT / "configs"

HUGGING_FACE = {"model_type": "llama", "hidden_size": 1024, "num_hidden_layers": 8, "num_attention_heads": 8, "num_key_value_heads": 8,
                "intermediate_size": 2816, "vocab_size": 32000, "torch_dtype": "bfloat16", "rope_theta": 10000.0}
HUGGING_FACE_MOE = HUGGING_FACE | {"model_type": "qwen3_moe", "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 512,
                                   "decoder_sparse_step": 1, "mlp_only_layers": [], "norm_topk_prob": True, "head_dim": 128}
RUN = {"id": "a", "group": "g", "model": "llama-3-8b", "cluster": "h100-8", "gpus": 8,
       "job": {"seq_length": 4096, "global_batch_size": 128, "precision": "bf16"},
       "layout": {"tensor_parallel_size": 2, "micro_batch_size": 1, "zero_stage": 1}, "measured": {"status": "ok", "step_seconds": 6.8}}
MEASUREMENTS = {"schema": "meshwright.measurements/1", "name": "example", "source": "invented", "assumed": "",
                "runs": [RUN, RUN | {"id": "b", "measured": {"status": "oom"}}]}

# FILE is the attacked file, FOLDER a fresh folder; other capitals name a good artefact of that kind.
READERS = [
    ("model", "estimate --model FILE --cluster h100-8 --layout dp=8 --format json"),
    ("model", "plan --model FILE --cluster h100-8 --job quickstart --ranking-only --format json"),
    ("model", "volume --model FILE --layout dp=8 --format json"),
    ("hugging_face", "estimate --model FILE --cluster h100-8 --layout dp=8 --trace FOLDER/trace.json"),
    ("hugging_face_moe", "estimate --model FILE --cluster h100-8 --layout dp=8 --format json"),
    ("cluster", "cluster show FILE --format json"),
    ("cluster", "plan --model quickstart-gpt --cluster FILE --job quickstart --ranking-only --out FOLDER/plan.json"),
    ("cluster", "estimate --model quickstart-gpt --cluster FILE --layout dp=8 --format csv"),
    ("device", "estimate --model quickstart-gpt --cluster WITH_DEVICE --layout dp=8 --format json"),
    ("framework", "estimate --model quickstart-gpt --cluster WITH_FRAMEWORK --layout dp=8 --format json"),
    ("job", "plan --model quickstart-gpt --cluster h100-8 --job FILE --ranking-only --format json"),
    ("job", "estimate --model quickstart-gpt --cluster h100-8 --job FILE --layout dp=8"),
    ("layout", "estimate --model llama-3-8b --cluster h100-8 --layout FILE --format json"),
    ("layout", "explain PLAN --layout FILE"),
    ("plan", "explain FILE --layout 1"),
    ("plan", "report FILE --out FOLDER/report.html"),
    ("plan", "diff FILE PLAN --format json"),
    ("plan", "diff PLAN FILE"),
    ("plan", "validate FILE TRIALS --format json"),
    ("plan", "trial FILE --backend none"),
    ("trials", "validate PLAN FILE --format json"),
    ("trials", "report PLAN --trials FILE --out FOLDER/report.html"),
    ("profile", "report PLAN --profile FILE --out FOLDER/report.html"),
    ("profile", "cluster show FILE --format json"),
    ("profile", "calibrate --plot FILE --out FOLDER/fits.html"),
    ("profile", "calibrate merge FILE PROFILE --out FOLDER/merged.json"),
    ("profile", "calibrate --import NCCL --onto FILE --out FOLDER/profile.json"),
    ("record", "report --compare FILE RECORD --out FOLDER/compared.html"),
    ("record", "report --compare RECORD FILE --out FOLDER/compared.html --format json"),
    ("measurements", "backtest FILE --format json"),
    ("csv", "import measurements FILE --map MAP --out FOLDER/set.json"),
    ("map", "import measurements CSV --map FILE --out FOLDER/set.json"),
    ("nccl", "calibrate --import FILE --onto PROFILE --out FOLDER/profile.json"),
    ("nccl_json", "calibrate --import FILE --onto PROFILE --out FOLDER/profile.json"),
    ("ib_write_bw", "calibrate --import FILE --onto PROFILE --out FOLDER/profile.json"),
    ("babelstream", "calibrate --import FILE --onto PROFILE --out FOLDER/profile.json"),
]
REFUSED_BEFORE_RANKS = "--backend none"  # trial reads the plan, then refuses: no ranks are started

# Commands that end within a second; their value options are taken from their own --help.
ASKED_WITH_OPTIONS = [
    "plan --model quickstart-gpt --cluster h100-8 --job quickstart --ranking-only",
    "plan --model quickstart-gpt --cluster h100-8 --gpus 8",
    "estimate --model quickstart-gpt --cluster h100-8 --layout dp=8",
    "volume --model quickstart-gpt --cluster h100-8 --layout dp=8",
    "cluster show h100-8",
    "explain PLAN --layout 1",
    "validate PLAN TRIALS",
    "report PLAN --out FOLDER/report.html",
    "diff PLAN PLAN",
    "backtest MEASUREMENTS",
    "import measurements CSV --map MAP",
    "calibrate --plot PROFILE",
    "trial PLAN --backend none",
]
VALUE_OPTION = re.compile(r"^ +(?:-\w,)?(--[\w-]+)(?:,--[\w-]+)* (?:TEXT|INT|FLOAT|ENUM)", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Question:
    kind: str     # the artefact, or "option"
    command: str
    option: str = ""


def ask(program, arguments, folder):
    subprocess.run([program, *arguments.split()], cwd=folder, check=True, capture_output=True, timeout=300)


def make_good_artefacts(program, folder):
    """Kind to file. The plan and the record are made by the program itself, so that they are of today's schema."""
    text = lambda value: json.dumps(value, indent=1) + "\n"
    cluster = json.loads((CONFIGS / "clusters/h100-8.json").read_text())
    contents = {
        "hugging_face": text(HUGGING_FACE), "hugging_face_moe": text(HUGGING_FACE_MOE), "measurements": text(MEASUREMENTS),
        "layout": text({"tensor_parallel_size": 2, "data_parallel_size": 4, "sequence_parallel": True, "micro_batch_size": 1, "zero_stage": 1}),
        "profile": (DATA / "profile.json").read_text(), "nccl": (DATA / "nccl.log").read_text(),
        "nccl_json": (DATA / "nccl.json").read_text(), "ib_write_bw": (DATA / "ib_write_bw.txt").read_text(),
        "babelstream": (DATA / "babelstream.txt").read_text(),
        "model": (CONFIGS / "models/deepseek-v3.json").read_text(), "job": (CONFIGS / "jobs/quickstart.json").read_text(),
        "cluster": text(cluster | {part: json.loads((CONFIGS / "clusters" / cluster[part]).read_text()) for part in ("device", "framework")}),
        "device": (CONFIGS / "hardware/h100-sxm-80gb.json").read_text(),
        "framework": (CONFIGS / "frameworks/megatron-core-2026.json").read_text(),
        "csv": (CONFIGS / "datasets/example-runs.csv").read_text(), "map": (CONFIGS / "datasets/example-map.json").read_text(),
    }
    files = {}
    for kind, content in contents.items():
        files[kind] = folder / (kind + (".csv" if kind == "csv" else ".txt" if not content.startswith("{") else ".json"))
        files[kind].write_text(content)
    files["plan"], files["record"], files["trials"] = folder / "plan.json", folder / "report.json", folder / "trials.json"
    ask(program, "plan --model quickstart-gpt --cluster h100-8 --job quickstart --top 3 --format json --out plan.json", folder)
    ask(program, "report plan.json --out report.html", folder)
    files["trials"].write_text(text(good_trials(json.loads(files["plan"].read_text()))))
    return files


def options_of(program, command):
    """The options of a command that take a value, without those that stand in the command."""
    words = command.split()
    names = [words[0]] + ([words[1]] if words[1] in ("show", "measurements") else [])
    text = subprocess.run([program, *names, "--help"], capture_output=True, text=True, check=True).stdout
    return [option for option in VALUE_OPTION.findall(text) if option != "--mpirun-args"]


def questions_with_files():
    return [Question(kind, command) for kind, command in READERS]


def questions_with_options(program):
    return [Question("option", command, option) for command in ASKED_WITH_OPTIONS for option in options_of(program, command)]
