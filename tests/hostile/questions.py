# SPDX-License-Identifier: Apache-2.0
"""For each kind of artefact: a good one, and the commands that read it."""

import dataclasses
import json
import pathlib
import re
import subprocess

from inputs import good_trials

DATA = pathlib.Path(__file__).resolve().parent / "data"
ROOT = DATA.parent.parent.parent
CONFIGS = ROOT / "configs"
RESULTS = ROOT / "tests/fuzz/corpus/serving_result"

HUGGING_FACE = {"model_type": "llama", "hidden_size": 1024, "num_hidden_layers": 8, "num_attention_heads": 8, "num_key_value_heads": 8,
                "intermediate_size": 2816, "vocab_size": 32000, "torch_dtype": "bfloat16", "rope_theta": 10000.0}
HUGGING_FACE_MOE = HUGGING_FACE | {"model_type": "qwen3_moe", "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 512,
                                   "decoder_sparse_step": 1, "mlp_only_layers": [], "norm_topk_prob": True, "head_dim": 128}
RUN = {"id": "a", "group": "g", "model": "llama-3-8b", "cluster": "h100-8", "gpus": 8,
       "job": {"seq_length": 4096, "global_batch_size": 128, "precision": "bf16"},
       "layout": {"tensor_parallel_size": 2, "micro_batch_size": 1, "zero_stage": 1}, "measured": {"status": "ok", "step_seconds": 6.8}}
MEASUREMENTS = {"schema": "meshwright.measurements/1", "name": "example", "source": "invented", "assumed": "",
                "runs": [RUN, RUN | {"id": "b", "measured": {"status": "oom"}}]}

SERVICE = "vllm serve meta-llama/Llama-3.1-8B-Instruct --tensor-parallel-size 1 --max-num-seqs 256\n"

LAUNCH = """#!/bin/bash
GPUS=8
ARGS=(--num-layers 8 --hidden-size 1024 --ffn-hidden-size 4096 --num-attention-heads 8 --seq-length 2048
  --max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 64 --vocab-size 32000 --bf16
  --tensor-model-parallel-size 2 --sequence-parallel)
torchrun --nproc-per-node $GPUS pretrain_gpt.py "${ARGS[@]}"
"""
LOG = "".join(f" iteration {i:8}/    1000 | consumed samples: {64 * i:12} | elapsed time per iteration (ms): {time} | global batch size:    64 |\n"
              for i, time in enumerate([9000.0, 500.5, 502.0, 499.5], 1))

# The same machine in each tool's words.
TOPO = "".join("\t".join(row) + "\n" for row in
               [["", *[f"GPU{i}" for i in range(8)], "NIC0", "CPU Affinity"],
                *[[f"GPU{i}", *[" X " if i == j else "NV18" for j in range(8)], "PIX", "0-55"] for i in range(8)]])
NCCL_XML = ("<system version=\"1\">\n <cpu host_hash=\"0x1\" numaid=\"0\">\n"
            + "".join(f"  <pci busid=\"0000:0{i}:00.0\" link_speed=\"32.0 GT/s PCIe\">\n   <gpu dev=\"{i}\" sm=\"90\" rank=\"{i}\">\n"
                      f"    <nvlink target=\"a\" count=\"18\" tclass=\"0x068000\"/>\n   </gpu>\n  </pci>\n" for i in range(8))
            + "  <nic><net name=\"mlx5_0\" dev=\"0\" speed=\"400000\"/></nic>\n </cpu>\n</system>\n")
TOPOLOGY_CONF = "SwitchName=leaf0 Nodes=gpu[01-16]\nSwitchName=leaf1 Nodes=gpu[17-32]\nSwitchName=spine Switches=leaf[0-1]\n"
TOPOLOGY_YAML = """- topology: ib
  cluster_default: true
  tree:
    switches:
      - switch: leaf0
        nodes: gpu[01-16]
      - switch: spine
        children: leaf0
"""
NODES = "NodeName=gpu[01-32] Arch=x86_64 Gres=gpu:h100:8(S:0-1) State=IDLE CfgTRES=cpu=224,gres/gpu=8\n"
TOPOGRAPH = {"instances": [{"id": f"gpu{i}", "network_layers": [f"leaf{i // 2}", "spine"],
                            "labels": {"accelerator.topograph.run/domain": f"d{i // 2}"}} for i in range(4)]}
ACCELERATE = """distributed_type: FSDP
fsdp_config:
  fsdp_version: 2
  fsdp_reshard_after_forward: true
  fsdp_activation_checkpointing: true
mixed_precision: bf16
num_machines: 1
num_processes: 8
parallelism_config:
  parallelism_config_dp_shard_size: 8
"""

# A training and a service that are answered within a second.
SHARED_JOB = {"name": "both", "seq_length": 256, "global_batch_size": 16, "precision": "bf16", "train_tokens": 1e9,
              "capacity": {"model": "quickstart-gpt", "clusters": ["h100-8"], "gpus": [16], "limits": {"deadline_days": 90, "max_gpus": 32},
                           "failures": {"spare_nodes": 0}, "prices": "example-2026"},
              "service": {"model": "llama-3-8b", "engine": "vllm-0.24", "weights": "fp8", "kv_cache": "fp8", "isl": 64, "osl": 64,
                          "ttft_seconds": 2.0, "tpot_seconds": 0.1, "percentile": 0, "tensor_parallel_size": [1, 2],
                          "load_curve": {"points": [{"hour": 0, "requests_per_second": 1}, {"hour": 9.5, "requests_per_second": 8}],
                                         "period_hours": 24, "between": "linear"},
                          "least_replicas": 1, "replica_start_seconds": 300, "least_release_hours": 2, "training_gpus": "elastic"}}

JOURNAL = ".partial.jsonl"  # of a calibration that was ended, beside its --out

ACCURACY = {"schema": "meshwright.accuracy/1",
            "rows": [{"name": "a", "set": str(CONFIGS / "datasets/korthikanti-2022-table-5.json")},
                     {"name": "b", "set": str(CONFIGS / "datasets/mt-nlg-2022.json"), "framework": "megatron-core-2026"}]}

# FILE is the attacked file, FOLDER a fresh folder; WITH_KEY a good artefact that names the attacked file under that
# key; BESIDE_JOURNAL the profile whose journal is the attacked file; other capitals name a good artefact of that kind.
READERS = [
    ("model", "estimate --model FILE --cluster h100-8 --layout dp=8 --format json"),
    ("model", "plan --model FILE --cluster h100-8 --job quickstart --ranking-only --format json"),
    ("model", "volume --model FILE --layout dp=8 --format json"),
    ("hugging_face", "estimate --model FILE --cluster h100-8 --layout dp=8 --trace FOLDER/trace.json"),
    ("hugging_face_moe", "estimate --model FILE --cluster h100-8 --layout dp=8 --format json"),
    ("cluster", "cluster show FILE --format json"),
    ("cluster", "plan --model quickstart-gpt --cluster FILE --job quickstart --ranking-only --out FOLDER/plan.json"),
    ("cluster", "estimate --model quickstart-gpt --cluster FILE --layout dp=8 --format csv"),
    ("model", "calibrate --for FILE --backend none"),
    ("model", "backtest WITH_MODEL --format json"),
    ("hugging_face", "plan --model FILE --cluster h100-8 --job quickstart --ranking-only --format json"),
    ("hugging_face_moe", "plan --model FILE --cluster h100-8 --ranking-only --out FOLDER/plan.json"),
    ("cluster", "volume --model quickstart-gpt --cluster FILE --layout dp=8"),
    ("cluster", "validate PLAN TRIALS --cluster FILE --format json"),
    ("cluster", "backtest MEASUREMENTS --cluster FILE --format json"),
    ("cluster", "backtest WITH_CLUSTER --out FOLDER/backtest.csv --format csv"),
    ("framework", "cluster show WITH_FRAMEWORK"),
    ("framework", "plan --model quickstart-gpt --cluster h100-8 --framework FILE --job quickstart --ranking-only --format json"),
    ("framework", "backtest MEASUREMENTS --framework FILE --format json"),
    ("accuracy", "accuracy FILE --format json"),
    ("device", "cluster show WITH_DEVICE --out FOLDER/cluster.txt"),
    ("device", "cluster new --device FILE"),
    ("device", "estimate --model quickstart-gpt --cluster WITH_DEVICE --layout dp=8 --format json"),
    ("framework", "estimate --model quickstart-gpt --cluster WITH_FRAMEWORK --layout dp=8 --format json"),
    ("engine", "serve estimate --model llama-3-8b --cluster h100-8 --engine FILE --format json"),
    ("model", "serve estimate --model FILE --cluster h100-8 --isl 64 --osl 64 --format json"),
    ("device", "serve estimate --model llama-3-8b --cluster WITH_DEVICE --format csv"),
    ("model", "serve --model FILE --cluster h100-8 --isl 64 --osl 64 --rate 1 --format json"),
    ("cluster", "serve --model llama-3-8b --cluster FILE --rate 1 --format json"),
    ("engine", "serve --model llama-3-8b --cluster h100-8 --engine FILE --rate 1 --format json"),
    ("prices", "serve --model llama-3-8b --cluster h100-8 --rate 1 --prices FILE --format json"),
    ("lengths", "serve --model llama-3-8b --cluster h100-8 --lengths FILE --rate 1 --format json"),
    ("serving_points", "serve --model minimax-m2.5 --cluster hgx-b200 --engine vllm-0.19 --weights fp8 --isl 64 --osl 64 --rate 1 --gpus 8 --learn FILE --format json"),
    ("service", "serve --model llama-3-70b --cluster h100-8 --engine vllm-0.19 --weights int4 --isl 64 --osl 64 --rate 1 --gpus 1 --learn VLLM_RESULT --learn-launch FILE --format json"),
    ("model", "serve simulate --model FILE --cluster h100-8 --isl 64 --osl 64 --concurrency 4 --format json"),
    ("cluster", "serve simulate --model llama-3-8b --cluster FILE --concurrency 4 --format json"),
    ("engine", "serve simulate --model llama-3-8b --cluster h100-8 --engine FILE --concurrency 4 --format json"),
    ("arrivals", "serve simulate --model llama-3-8b --cluster h100-8 --arrivals FILE --format json"),
    ("serving_points", "serve backtest FILE --format json"),
    ("vllm_result", "serve backtest FILE --steady --format json"),
    ("sglang_result", "serve backtest FILE --steady --points-out FOLDER/points.csv --format json"),
    ("aiperf_result", "serve backtest FILE --steady --cluster h100-8 --engine vllm-0.24 --weights bf16 --tp 1 --format json"),
    ("inferencex_result", "serve backtest FILE --steady --format csv"),
    ("engine_log", "serve backtest FILE --cluster h100-8 --format json"),
    ("model", "serve backtest VLLM_RESULT --steady --model FILE --format json"),
    ("cluster", "serve backtest VLLM_RESULT --steady --cluster FILE --format json"),
    ("engine", "serve backtest VLLM_RESULT --steady --engine FILE --format json"),
    ("job", "plan --model quickstart-gpt --cluster h100-8 --job FILE --ranking-only --format json"),
    ("job", "estimate --model quickstart-gpt --cluster h100-8 --job FILE --layout dp=8"),
    ("layout", "estimate --model llama-3-8b --cluster h100-8 --layout FILE --format json"),
    ("job", "volume --model quickstart-gpt --job FILE --layout dp=8"),
    ("layout", "volume --model llama-3-8b --layout FILE --format csv"),
    ("layout", "explain PLAN --layout FILE"),
    ("layout", "explain PLAN --layout 1 --versus FILE"),
    ("plan", "explain FILE --layout 1"),
    ("plan", "report FILE --out FOLDER/report.html"),
    ("serve_plan", "report FILE --out FOLDER/service.html --format json"),
    ("shared_answer", "report FILE --out FOLDER/shared.html --format json"),
    ("plan", "diff FILE PLAN --format json"),
    ("plan", "diff PLAN FILE"),
    ("plan", "validate FILE TRIALS --format json"),
    ("plan", "trial FILE --backend none"),
    ("profile", "trial PLAN --profile FILE --backend none"),
    ("trials", "validate PLAN FILE --refit-out FOLDER/refitted.json"),
    ("trials", "validate PLAN FILE --format json"),
    ("trials", "report PLAN --trials FILE --out FOLDER/report.html"),
    ("profile", "report PLAN --profile FILE --out FOLDER/report.html"),
    ("profile", "cluster show FILE --format json"),
    ("profile", "calibrate --plot FILE --out FOLDER/fits.html"),
    ("profile", "calibrate merge FILE PROFILE --out FOLDER/merged.json"),
    ("profile", "calibrate merge PROFILE FILE --out FOLDER/merged.json"),
    ("profile", "calibrate --check FILE --backend none"),
    ("profile", "plan --model quickstart-gpt --cluster FILE --job quickstart --ranking-only --out FOLDER/plan.json"),
    ("journal", "calibrate --out BESIDE_JOURNAL --backend none"),
    ("profile", "calibrate --import NCCL --onto FILE --out FOLDER/profile.json"),
    ("record", "report --compare FILE RECORD --out FOLDER/compared.html"),
    ("record", "report --compare RECORD FILE --out FOLDER/compared.html --format json"),
    ("measurements", "backtest FILE --format json"),
    ("measurements", "backtest FILE --fit gemm_time_factor --fit-out FOLDER/fitted.json"),
    ("measurements", "backtest MEASUREMENTS --fit gemm_time_factor --fit-on FILE --out FOLDER/backtest.txt"),
    ("csv", "import measurements FILE --map MAP --out FOLDER/set.json"),
    ("map", "import measurements CSV --map FILE --out FOLDER/set.json"),
    ("nccl", "calibrate --import FILE --onto PROFILE --out FOLDER/profile.json"),
    ("nccl_json", "calibrate --import FILE --onto PROFILE --out FOLDER/profile.json"),
    ("ib_write_bw", "calibrate --import FILE --onto PROFILE --out FOLDER/profile.json"),
    ("babelstream", "calibrate --import FILE --onto PROFILE --out FOLDER/profile.json"),
    ("deepep", "calibrate --import FILE --onto PROFILE --out FOLDER/profile.json"),
    ("flash_attention", "calibrate --import FILE --onto PROFILE --out FOLDER/profile.json"),
    ("attention_times", "calibrate --import FILE --onto PROFILE --out FOLDER/profile.json"),
    ("prices", "capacity --model quickstart-gpt --cluster h100-8 --gpus 8 --train-tokens 1e9 --prices FILE --format json"),
    ("model", "capacity --model FILE --cluster h100-8 --gpus 8 --train-tokens 1e9 --format json"),
    ("capacity_job", "capacity --job FILE --model llama-3-8b --cluster h100-8 --gpus 8 --rows-only --format json"),
    ("shared_job", "capacity --job FILE --rows-only --format json"),
    ("shared_job", "estimate --model quickstart-gpt --cluster h100-8 --job FILE --layout dp=8"),
    ("record", "report --compare RECORD FILE RECORD --out FOLDER/compared.html"),
    ("measurements", "plan --model llama-3-8b --cluster h100-8 --learn FILE --ranking-only --format json"),
    ("launch", "review --from FILE --cluster h100-8 --json"),
    ("accelerate", "review --from FILE --cluster h100-8 --model llama-3-8b --seq-length 4096 --json"),
    *[(kind, "import cluster FILE --onto hgx-h100-400g --out FOLDER/cluster.json")
      for kind in ("topo", "nccl_xml", "topology_conf", "topology_yaml", "nodes", "topograph")],
    ("cluster", "import cluster TOPO --onto FILE --out FOLDER/cluster.json"),
    ("nccl", "calibrate --import FILE --onto hgx-h100-400g --out FOLDER/cluster.json"),
    ("cluster", "calibrate --import NCCL --onto FILE --out FOLDER/cluster.json"),
    ("model", "plan --model FILE --cluster h100-8 --job quickstart --target torchtitan --ranking-only --format json"),
    ("log", "review --from LAUNCH --log FILE --cluster h100-8 --json"),
    ("service", "serve read FILE --format json"),
    ("service", "review --from FILE --cluster h100-8 --weights bf16 --isl 64 --osl 64 --rate 1 --json"),
    ("engine", "review --from SERVICE --engine FILE --cluster h100-8 --weights bf16 --isl 64 --osl 64 --rate 1 --json"),
    ("cluster", "review --from LAUNCH --cluster FILE --json"),
    ("model", "review --from LAUNCH --model FILE --cluster h100-8 --json"),
]
REFUSED_BEFORE_RANKS = "--backend none"  # all is read, then that is refused: no ranks are started

# TARGET is a place where nothing, or nothing more, can be written.
WRITERS = [
    ("plan", "plan --model quickstart-gpt --cluster h100-8 --job quickstart --ranking-only --out TARGET"),
    ("plan", "estimate --model quickstart-gpt --cluster h100-8 --layout dp=8 --format json --out TARGET"),
    ("plan", "estimate --model quickstart-gpt --cluster h100-8 --layout dp=8 --trace TARGET"),
    ("plan", "volume --model quickstart-gpt --layout dp=8 --out TARGET"),
    ("plan", "report FILE --out TARGET"),
    ("serve_plan", "report FILE --out TARGET"),
    ("shared_answer", "report FILE --out TARGET"),
    ("plan", "diff FILE PLAN --out TARGET"),
    ("trials", "validate PLAN FILE --out TARGET"),
    ("trials", "validate PLAN FILE --refit-out TARGET"),
    ("cluster", "cluster show FILE --out TARGET"),
    ("measurements", "backtest FILE --out TARGET"),
    ("measurements", "backtest FILE --fit gemm_time_factor --fit-out TARGET"),
    ("csv", "import measurements FILE --map MAP --out TARGET"),
    ("profile", "calibrate merge FILE PROFILE --out TARGET"),
    ("profile", "calibrate --plot FILE --out TARGET"),
    ("nccl", "calibrate --import FILE --onto PROFILE --out TARGET"),
    ("record", "report --compare FILE RECORD --out TARGET"),
    ("plan", "trial FILE --backend none --out TARGET"),
    ("model", "calibrate --for FILE --backend none --out TARGET"),
]

# Commands that end within a second; their value options are taken from their own --help.
ASKED_WITH_OPTIONS = [
    "plan --model quickstart-gpt --cluster h100-8 --job quickstart --ranking-only",
    "plan --model quickstart-gpt --cluster h100-8 --gpus 8",
    "estimate --model quickstart-gpt --cluster h100-8 --layout dp=8",
    "volume --model quickstart-gpt --cluster h100-8 --layout dp=8",
    "cluster show h100-8",
    "cluster list",
    "model list",
    "explain PLAN --layout 1",
    "validate PLAN TRIALS",
    "report PLAN --out FOLDER/report.html",
    "diff PLAN PLAN",
    "backtest MEASUREMENTS",
    "backtest MEASUREMENTS --fit gemm_time_factor",
    "accuracy ACCURACY",
    "import measurements CSV --map MAP",
    "import cluster TOPO --onto h100-8",
    "plan --model llama-3-8b --cluster h100-8 --job quickstart --ranking-only --target torchtitan",
    "calibrate --plot PROFILE",
    "calibrate --backend none",
    "calibrate --import NCCL --onto PROFILE --out FOLDER/profile.json",
    "calibrate merge PROFILE PROFILE --out FOLDER/profile.json",
    "trial PLAN --backend none",
]
VALUE_OPTION = re.compile(r"^ +(?:-\w,)?(--[\w-]+)(?:,--[\w-]+)* [A-Z]", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Question:
    kind: str     # the artefact, or "option"
    command: str
    option: str = ""


def ask(program, arguments, folder):
    subprocess.run([program, *arguments.split()], cwd=folder, check=True, capture_output=True, timeout=300)


def journal():
    """A journal of this or another machine. The owner decides only whether its points are used."""
    owner = {"schema": "meshwright.points/1", "device": "Example CPU", "backend": "cpu", "hosts": ["vm", "vm"]}
    points = json.loads((DATA / "profile.json").read_text())["measurements"][:20]
    lines = [owner, *[{"used_seconds": 1.5 + i, "point": point} for i, point in enumerate(points)]]
    return "".join(json.dumps(line) + "\n" for line in lines)


def suffix_of(kind, content):
    if kind == "journal":
        return JOURNAL
    return ".csv" if kind in ("csv", "lengths", "arrivals", "serving_points") else ".json" if content.startswith("{") else ".txt"


def make_good_artefacts(program, folder):
    """Kind to file. The plan and the record are made by the program itself, so that they are of today's schema."""
    text = lambda value: json.dumps(value, indent=1) + "\n"
    cluster = json.loads((CONFIGS / "clusters/h100-8.json").read_text())
    contents = {
        "hugging_face": text(HUGGING_FACE), "hugging_face_moe": text(HUGGING_FACE_MOE), "measurements": text(MEASUREMENTS),
        "accuracy": text(ACCURACY), "launch": LAUNCH, "service": SERVICE, "log": LOG, "accelerate": ACCELERATE,
        "topo": TOPO, "nccl_xml": NCCL_XML, "topology_conf": TOPOLOGY_CONF, "topology_yaml": TOPOLOGY_YAML, "nodes": NODES,
        "topograph": text(TOPOGRAPH),
        "prices": (CONFIGS / "prices/example-2026.json").read_text(),
        "layout": text({"tensor_parallel_size": 2, "data_parallel_size": 4, "sequence_parallel": True, "micro_batch_size": 1, "zero_stage": 1}),
        "profile": (DATA / "profile.json").read_text(), "nccl": (DATA / "nccl.log").read_text(),
        "nccl_json": (DATA / "nccl.json").read_text(), "ib_write_bw": (DATA / "ib_write_bw.txt").read_text(),
        "babelstream": (DATA / "babelstream.txt").read_text(), "deepep": (DATA / "deepep.txt").read_text(),
        "flash_attention": (DATA / "flash_attention.txt").read_text(),
        "attention_times": (DATA / "attention_times.json").read_text(), "journal": journal(),
        "model": (CONFIGS / "models/deepseek-v3.json").read_text(), "job": (CONFIGS / "jobs/quickstart.json").read_text(),
        "capacity_job": (CONFIGS / "jobs/llama-3-405b.json").read_text(),
        "shared_job": text(SHARED_JOB),
        "cluster": text(cluster | {part: json.loads((CONFIGS / "clusters" / cluster[part]).read_text()) for part in ("device", "framework")}),
        "device": (CONFIGS / "hardware/h100-sxm-80gb.json").read_text(),
        "framework": (CONFIGS / "frameworks/megatron-core-2026.json").read_text(),
        "engine": (CONFIGS / "engines/vllm-0.24.json").read_text(),
        "lengths": "input_tokens,output_tokens\n100,20\n400,80\n", "arrivals": "arrival_s,input_tokens,output_tokens\n0,100,20\n0.5,400,80\n",
        "serving_points": "".join((CONFIGS / "datasets/serving-points.csv").read_text().splitlines(keepends=True)[:3]),
        "vllm_result": (RESULTS / "vllm.json").read_text(), "sglang_result": (RESULTS / "sglang.jsonl").read_text(),
        "aiperf_result": (RESULTS / "aiperf.json").read_text(), "inferencex_result": (RESULTS / "inferencex.json").read_text(),
        "engine_log": (RESULTS / "vllm.log").read_text(),
        "csv": (CONFIGS / "datasets/example-runs.csv").read_text(), "map": (CONFIGS / "datasets/example-map.json").read_text(),
    }
    files = {kind: folder / (kind + suffix_of(kind, content)) for kind, content in contents.items()}
    for kind, content in contents.items():
        files[kind].write_text(content)
    files["plan"], files["record"], files["trials"] = folder / "plan.json", folder / "report.json", folder / "trials.json"
    ask(program, "plan --model quickstart-gpt --cluster h100-8 --job quickstart --top 3 --format json --out plan.json", folder)
    ask(program, "report plan.json --out report.html", folder)
    files["serve_plan"] = folder / "serve_plan.json"
    ask(program, "serve --model llama-3-8b --cluster h100-8 --isl 64 --osl 16 --rate 1 --num-prompts 20 --what-if --format json "
                 "--out serve_plan.json", folder)
    files["shared_answer"] = folder / "shared_answer.json"
    ask(program, f"capacity --job {files['shared_job'].name} --format json --out shared_answer.json", folder)
    files["trials"].write_text(text(good_trials(json.loads(files["plan"].read_text()))))
    return files


def options_of(program, command):
    """The options of a command that take a value, without those that stand in the command."""
    words = command.split()
    names = [words[0]] + ([words[1]] if words[1] in ("show", "list", "measurements", "merge", "cluster") else [])
    text = subprocess.run([program, *names, "--help"], capture_output=True, text=True, check=True).stdout
    return [option for option in VALUE_OPTION.findall(text) if option != "--mpirun-args"]


def readers_left_out():
    """Options that read a file, as the sources name them, which no question attacks."""
    left_out = []
    for source in sorted((ROOT / "app").glob("*/*.cc")):
        for option in re.findall(r'[.]reads\(\s*"(--[\w-]+)"', source.read_text()):
            name = source.stem.removesuffix("_options").removesuffix("_plan").removeprefix("service_")
            asked = [command for _, command in READERS if name in ("inputs", command.split()[0], "_".join(command.split()[:2]))]
            attacked = re.compile(option + r" (?:RECORD )?(?:FILE|WITH_)")
            if not any(attacked.search(command) for command in asked):
                left_out.append(f"{source.stem} {option}")
    return left_out


def questions_with_targets():
    return [Question(kind, command) for kind, command in WRITERS]


def questions_with_files():
    return [Question(kind, command) for kind, command in READERS]


def questions_with_options(program):
    return [Question("option", command, option) for command in ASKED_WITH_OPTIONS for option in options_of(program, command)]
