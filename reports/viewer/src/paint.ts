// SPDX-License-Identifier: Apache-2.0
// Colour and pattern of each name; the same as in reports/html/elements.cc, so that a chart and the
// bars that it replaces look alike.

const kPlain = undefined;
const kStripes = { symbol: "rect", dashArrayX: [1, 0], dashArrayY: [1.5, 5], rotation: -Math.PI / 4, color: "rgba(255,255,255,.55)" };
const kDots = { symbol: "circle", dashArrayX: [[6, 0]], dashArrayY: [6, 0], symbolSize: 0.4, color: "rgba(0,0,0,.35)" };
const kCounter = { symbol: "rect", dashArrayX: [1, 0], dashArrayY: [1.5, 5], rotation: Math.PI / 4, color: "rgba(0,0,0,.35)" };
const kDecals = [kPlain, kStripes, kDots, kCounter];

const kPaints: Record<string, [colour: string, pattern: number]> = {
  forward_compute: ["#1f6fb4", 0],
  backward_compute: ["#5aa9e0", 1],
  recompute: ["#a9d3f0", 2],
  tensor_parallel_communication: ["#d1495b", 0],
  context_parallel_communication: ["#edae49", 1],
  expert_parallel_communication: ["#b5651d", 2],
  pipeline_communication: ["#8e5ea2", 3],
  pipeline_bubble: ["#9aa3ad", 1],
  data_parallel_communication: ["#e07b39", 3],
  optimizer: ["#3a9d6e", 0],
  host: ["#6b5b95", 1],
  offload: ["#7d6b5d", 2],
  weights: ["#1f6fb4", 0],
  gradients: ["#5aa9e0", 1],
  activations: ["#e07b39", 0],
  recompute_workspace: ["#a9d3f0", 2],
  operator_workspace: ["#edae49", 1],
  logits: ["#d1495b", 1],
  communication_buffers: ["#8e5ea2", 3],
  reserve: ["#9aa3ad", 1],
  intra_node: ["#3a9d6e", 0],
  inter_node: ["#e07b39", 1],
  tensor: ["#d1495b", 0],
  context: ["#edae49", 1],
  expert: ["#b5651d", 2],
  expert_tensor: ["#7d6b5d", 1],
  pipeline: ["#8e5ea2", 3],
  data: ["#e07b39", 3],
  expert_data: ["#3a9d6e", 1],
  embedding: ["#5aa9e0", 2],
  forward: ["#1f6fb4", 0],
  backward: ["#5aa9e0", 0],
  backward_input: ["#5aa9e0", 0],
  backward_weight: ["#3a9d6e", 0],
};

export function paint_of(name: string): { color: string; decal: object | undefined } {
  const [color, pattern] = kPaints[name] ?? ["#777777", 0];
  return { color, decal: kDecals[pattern] };
}
