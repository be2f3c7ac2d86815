#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Seven layouts worked by hand from the papers, beside what the program says.

  tests/by_hand/by_hand.py PROGRAM [--show]

Parameters, model states, bytes sent and FLOPs are exact, and must agree to 1e-6. Activations are Korthikanti's formulas
with FlashAttention's sums in place of the stored scores. They leave out the loss's few numbers a token, and must agree
to 1e-4. This file takes nothing from the program but its answers.

Sources
  [N21] Narayanan et al. 2021, arXiv 2104.04473: sends of an interleaved pipeline (2.2), FLOPs (appendix)
  [K22] Korthikanti et al. 2022, arXiv 2205.05198: activations (tables 2 and 4.1, 4.2), sequence parallelism, FLOPs (A)
  [R20] Rajbhandari et al. 2020, arXiv 1910.02054: states of mixed-precision Adam (3.1), volume of each stage (7)
  [L23] Liu et al. 2023, arXiv 2310.01889: keys and values round a ring
  [F20] Fedus et al. 2021, arXiv 2101.03961, and [L20] Lepikhin et al. 2020, arXiv 2006.16668: tokens to experts and back
  [S19] Shoeybi et al. 2019, arXiv 1909.08053: two all-reduces of a layer forward, two backward; the loss on a split vocabulary
Exit codes: 0 all agree, 1 a number differs, 2 wrong usage."""

import argparse
import dataclasses
import json
import subprocess
import sys
from typing import Callable

WEIGHT, GRADIENT, OPTIMIZER = 2, 4, 12  # bytes a parameter: bf16; fp32; fp32 copy and two moments [R20, 3.1]
ACTIVATION, SUM = 2, 4  # bytes of a bf16 number and of an fp32 one
EXACT, NEARLY = 1e-6, 1e-4  # relative differences allowed


def ring_all_reduce(n):
    """Bytes that a rank sends for each byte reduced over n ranks: reduce-scatter, then all-gather."""
    return 2 * (n - 1) / n


def ring_half(n):
    """The same of a reduce-scatter or an all-gather alone, and of an all-to-all."""
    return (n - 1) / n


@dataclasses.dataclass(frozen=True)
class Shape:
    """Sizes of a transformer, in the papers' letters."""

    l: int  # layers
    h: int  # hidden size
    f: int  # width of the MLP
    a: int  # attention heads
    kv: int  # width of all keys, and of all values
    v: int  # vocabulary, padded
    learned: int = 0  # rows of a learned position table
    gated: bool = False  # SwiGLU: three matrices, no biases, RMSNorm; else GeLU: two, biases, LayerNorm
    tied: bool = False  # one matrix is the embedding and the head
    experts: int = 1
    topk: int = 1

    def matrices(self):
        """Parameters of a layer's attention, and of one MLP, without biases and norms."""
        return self.h * (2 * self.h + 2 * self.kv), (3 if self.gated else 2) * self.h * self.f

    def layer(self, t=1, e=1):
        """Parameters of a layer on one of t tensor ranks and e expert ranks: those that data ranks share, those of
        experts. Norms, biases behind a row-parallel product and the router are whole on each rank [S19]."""
        attention, mlp = self.matrices()
        split = attention + (0 if self.gated else self.h + 2 * self.kv)
        whole = 2 * self.h if self.gated else 4 * self.h + 2 * self.h
        if self.experts > 1:
            return split / t + whole + self.h * self.experts, self.experts / e * mlp / t
        return (split + mlp + (0 if self.gated else self.f)) / t + whole, 0

    def embedding(self, t=1):
        return self.v / t * self.h + self.learned * self.h

    def head(self, t=1):
        """The last norm, and a head of its own."""
        return self.h * (1 if self.gated else 2) + (0 if self.tied else self.v / t * self.h)

    def flops(self, sequences, s):
        """Forward and backward of a step; backward is twice forward [N21]. Scores of a causal mask are half of s."""
        attention, mlp = self.matrices()
        dense = 2 * s * (attention + self.topk * mlp + (self.h * self.experts if self.experts > 1 else 0))
        scores = 2 * 2 * s * (s / 2) * self.h
        return 3 * sequences * (self.l * (dense + scores) + 2 * s * self.h * self.v)


GPT_22B = Shape(l=48, h=6144, f=4 * 6144, a=64, kv=6144, v=51200, learned=2048, tied=True)
GPT_175B = Shape(l=96, h=12288, f=4 * 12288, a=96, kv=12288, v=51200, learned=2048, tied=True)
LLAMA_2_7B = Shape(l=32, h=4096, f=11008, a=32, kv=4096, v=32000, gated=True)
LLAMA_3_8B = Shape(l=32, h=4096, f=14336, a=32, kv=1024, v=128256, gated=True)
MIXTRAL = Shape(l=32, h=4096, f=14336, a=32, kv=1024, v=32000, gated=True, experts=8, topk=2)


def states(answer, parameters, *, expert=0, stage=0, weights_over=1, gradients_over=1, optimizer_over=1, expert_over=1):
    """A rank's weights, gradients and optimizer states, each shared by so many data ranks [R20, 5]."""
    memory = answer["memory"][stage]
    held = {
        "weights": WEIGHT * (parameters / weights_over + expert),
        "gradients": GRADIENT * (parameters / gradients_over + expert),
        "optimizer": OPTIMIZER * (parameters / optimizer_over + expert / expert_over),
    }
    return [(f"{name}, stage {stage}", memory[f"{name}_bytes"], value, EXACT) for name, value in held.items()]


def flops(question, answer, shape, sequences, s, gpus):
    """FLOPs of a step, out of the utilization that the program prints, its step time and the device's peak."""
    peak = next(g["peak_tflops"] for g in question["cluster"]["device"]["gemm"] if g["precision"] == "bf16")
    said = answer["model_flops_utilization"] * answer["step_time_seconds"] * gpus * peak * 1e12
    return [("FLOPs of a step", said, shape.flops(sequences, s), EXACT)]


def sent(answer, group, expected, stage=0):
    """Bytes that a rank of a stage sends over a group in a step."""
    said = answer["volume"]["stages"][stage]["sent_by_group_bytes"].get(group, 0)
    return [(f"sent over {group}, stage {stage}", said, expected, EXACT)]


def loss_sums(b, s, t, micro_batches):
    """Three all-reduces of one number a token: largest logit, the target's, sum of exponentials [S19, 3]."""
    return 3 * micro_batches * b * s * SUM * ring_all_reduce(t)


def no_sequence_parallelism(question, answer):
    shape, t, d, b, s, m = GPT_22B, 8, 2, 4, 2048, 2
    parameters = shape.l * shape.layer(t)[0] + shape.embedding(t) + shape.head(t)
    message = b * s * shape.h * ACTIVATION
    # Two forward and two backward of a layer; one of the embedding forward, one of the head backward.
    tensor = m * (4 * shape.l + 2) * message * ring_all_reduce(t) + loss_sums(b, s, t, m)
    # [K22, 4.1] 10 + 24/t + 5as/ht, without dropout's masks (2) and stored scores; FlashAttention keeps a sum a head.
    activations = shape.l * (b * s * shape.h * (8 + 24 / t) + b * s * shape.a / t * SUM)
    last = b * s * shape.h * 4  # inputs of the last norm and of the head
    return [
        *states(answer, parameters),
        *sent(answer, "tensor", tensor),
        *sent(answer, "data", parameters * GRADIENT * ring_all_reduce(d) + 8 * ring_all_reduce(d)),
        ("activations", answer["memory"][0]["activations_bytes"], activations + last, NEARLY),
        *flops(question, answer, shape, 16, s, t * d),
    ]


def interleaved_with_sequence_parallelism(question, answer):
    shape, t, p, v, b, s, m = GPT_175B, 8, 8, 3, 1, 2048, 64
    layers = shape.l // p
    message = b * s * shape.h * ACTIVATION
    # [K22, 4.2.2] Forward a gather and a scatter for each block, backward likewise, and the input is gathered once
    # more for the weight's gradient.
    layer = 2 * 5 * message * ring_half(t)
    # Parameters that each rank holds whole (norms, two biases) are reduced over the tensor ranks: each saw a part of the tokens.
    replicated = layers * (4 + 2) * shape.h * GRADIENT * ring_all_reduce(t)
    gradient_norm = 4 * ring_all_reduce(t * p)
    send = message / t  # [N21, 4.1] scatter and gather
    table = shape.v / t * shape.h * GRADIENT * ring_all_reduce(2)  # first and last stage hold the table
    return [
        *states(answer, layers * shape.layer(t)[0] + shape.embedding(t), stage=0),
        *states(answer, layers * shape.layer(t)[0], stage=1),
        # Its own copy of the tied table, and the last norm.
        *states(answer, layers * shape.layer(t)[0] + shape.v / t * shape.h + shape.head(t), stage=p - 1),
        *sent(answer, "tensor", m * layers * layer + replicated, stage=1),
        # The first stage sends all chunks forward, and all but its first backward; the last one the other way round.
        *sent(answer, "pipeline", m * (2 * v - 1) * send, stage=0),
        *sent(answer, "pipeline", m * 2 * v * send, stage=1),
        *sent(answer, "pipeline", m * (2 * v - 1) * send, stage=p - 1),
        *sent(answer, "embedding", table, stage=0),
        *sent(answer, "model", gradient_norm, stage=1),
        *flops(question, answer, shape, 64, s, t * p),
    ]


def zero_2(question, answer):
    shape, d, s, m = LLAMA_2_7B, 8, 4096, 2
    parameters = shape.l * shape.layer()[0] + shape.embedding() + shape.head()
    # [R20, 7.1] Gradients are scattered in each micro-batch, as no rank keeps all of them; weights gathered once.
    data = (m * parameters * GRADIENT + parameters * WEIGHT) * ring_half(d) + (4 + 8) * ring_all_reduce(d)
    return [
        *states(answer, parameters, gradients_over=d, optimizer_over=d),
        *sent(answer, "data", data),
        *flops(question, answer, shape, 32, s, d),
    ]


def zero_3(question, answer):
    shape, d, s, m = LLAMA_2_7B, 8, 4096, 2
    parameters = shape.l * shape.layer()[0] + shape.embedding() + shape.head()
    # [R20, 7.2] Gathered for the forward pass and again for the backward pass.
    data = m * parameters * (2 * WEIGHT + GRADIENT) * ring_half(d) + (4 + 8) * ring_all_reduce(d)
    return [
        *states(answer, parameters, weights_over=d, gradients_over=d, optimizer_over=d),
        *sent(answer, "data", data),
        *flops(question, answer, shape, 32, s, d),
    ]


def context_parallelism(question, answer):
    shape, c, d, b, s, m = LLAMA_3_8B, 4, 2, 1, 32768, 4
    parameters = shape.l * shape.layer()[0] + shape.embedding() + shape.head()
    # [L23, 3] A rank's keys and values go round in c - 1 sends; backward they go round again, and so do their gradients.
    block = b * s / c * 2 * shape.kv * ACTIVATION
    return [
        *states(answer, parameters),
        *sent(answer, "context", 3 * m * shape.l * (c - 1) * block),
        *sent(answer, "data", parameters * GRADIENT * ring_all_reduce(c * d) + 8 * ring_all_reduce(c * d)),
        *flops(question, answer, shape, 8, s, c * d),
    ]


def experts(question, answer):
    shape, e, d, b, s, m = MIXTRAL, 8, 16, 1, 4096, 4
    dense, expert = shape.layer(e=e)
    shared = shape.l * dense + shape.embedding() + shape.head()
    own = shape.l * expert
    # [L20, 3.2; F20] Tokens go to their experts and back, forward and backward, with the router's probability beside them.
    tokens = b * s * shape.topk
    # Before them each rank tells every other how many tokens each expert gets (int64).
    counts = m * shape.l * (e - 1) * shape.experts * 8
    exchanged = m * shape.l * tokens * (4 * shape.h * ACTIVATION + 2 * ACTIVATION) * ring_half(e) + counts
    dense_data = shared * (GRADIENT + WEIGHT) * ring_half(d) + (4 + 8) * ring_all_reduce(d)
    return [
        *states(answer, shared, expert=own, optimizer_over=d, expert_over=d // e),
        *sent(answer, "expert", exchanged),
        *sent(answer, "data", dense_data),
        *sent(answer, "expert_data", own * (GRADIENT + WEIGHT) * ring_half(d // e)),
        *flops(question, answer, shape, 64, s, d),
    ]


def full_recompute(question, answer):
    shape, t, b, s, m = GPT_22B, 4, 4, 2048, 4
    parameters = shape.l * shape.layer(t)[0] + shape.embedding(t) + shape.head(t)
    message = b * s * shape.h * ACTIVATION
    # The forward pass is made twice, and so are its two all-reduces.
    tensor = m * (6 * shape.l + 2) * message * ring_all_reduce(t) + loss_sums(b, s, t, m)
    return [
        *states(answer, parameters),
        *sent(answer, "tensor", tensor),
        # [K22, 5] Each layer's input, 2sbh.
        ("activations", answer["memory"][0]["activations_bytes"], shape.l * message, NEARLY),
        *flops(question, answer, shape, 16, s, t),
    ]


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    arguments: str
    by_hand: Callable


CASES = [
    Case("no sequence parallelism",
         "--model gpt-22b --cluster a100-80gb-512 --seq-length 2048 --global-batch-size 16 --layout tp=8,dp=2,mbs=4",
         no_sequence_parallelism),
    Case("interleaved, sequence parallelism",
         "--model gpt3-175b --cluster a100-80gb-512 --seq-length 2048 --global-batch-size 64 --layout tp=8,pp=8,vpp=3,dp=1,sp,mbs=1",
         interleaved_with_sequence_parallelism),
    Case("ZeRO-2", "--model llama-2-7b --cluster h100-8 --global-batch-size 32 --layout dp=8,zero=2,mbs=2", zero_2),
    Case("ZeRO-3", "--model llama-2-7b --cluster h100-8 --global-batch-size 32 --layout dp=8,zero=3,mbs=2", zero_3),
    Case("context parallelism",
         "--model llama-3-8b --cluster h100-8 --seq-length 32768 --global-batch-size 8 --layout dp=2,cp=4,mbs=1",
         context_parallelism),
    Case("experts", "--model mixtral-8x7b --cluster h100-512 --global-batch-size 64 --layout dp=16,ep=8,mbs=1,zero=1", experts),
    Case("full recompute",
         "--model gpt-22b --cluster a100-80gb-512 --seq-length 2048 --global-batch-size 16 --layout tp=4,dp=1,mbs=4,recompute=full",
         full_recompute),
]


def answers(program, command, case):
    """Answer of a command for a case, as JSON. A layout that does not fit (exit code 1) also has numbers."""
    arguments = [program, command, *case.arguments.split(), "--framework", "none", "--format", "json"]
    done = subprocess.run(arguments, capture_output=True, text=True)
    if done.returncode not in (0, 1) or not done.stdout:
        sys.exit(f"{' '.join(arguments)}: exit code {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--show", action="store_true", help="print every number, not only those that differ")
    arguments = parser.parse_args()
    compared, wrong = 0, 0
    for case in CASES:
        question = answers(arguments.program, "estimate", case)
        answer = question["estimate"]
        volume = answers(arguments.program, "volume", case)["volume"]
        if volume != answer["volume"]:
            wrong += 1
            print(f"{case.name}: volume and estimate say different bytes")
        for quantity, said, by_hand, tolerance in case.by_hand(question, answer):
            compared += 1
            differs = abs(said - by_hand) > tolerance * abs(by_hand)
            wrong += differs
            if differs or arguments.show:
                mark = "DIFFERS" if differs else "agrees"
                print(f"{mark:8}{case.name:34} {quantity:34} says {said:<24.12g} by hand {by_hand:.12g}")
    print(f"{compared} numbers of {len(CASES)} layouts, {wrong} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
