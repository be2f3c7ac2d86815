// SPDX-License-Identifier: Apache-2.0
#include "reports/html/drawing.h"

#include <span>

#include "reports/text/text.h"

namespace meshwright::reports::html {
namespace {

// Blue computes, warm colours communicate, grey waits.
constexpr std::array kPaints{
    Paint{"forward_compute", "#1f6fb4", 0},
    Paint{"backward_compute", "#5aa9e0", 1},
    Paint{"recompute", "#a9d3f0", 2},
    Paint{"tensor_parallel_communication", "#d1495b", 0},
    Paint{"context_parallel_communication", "#edae49", 1},
    Paint{"expert_parallel_communication", "#b5651d", 2},
    Paint{"pipeline_communication", "#8e5ea2", 3},
    Paint{"pipeline_bubble", "#9aa3ad", 1},
    Paint{"data_parallel_communication", "#e07b39", 3},
    Paint{"optimizer", "#3a9d6e", 0},
    Paint{"host", "#6b5b95", 1},
    Paint{"offload", "#7d6b5d", 2},
    Paint{"weights", "#1f6fb4", 0},
    Paint{"gradients", "#5aa9e0", 1},
    Paint{"activations", "#e07b39", 0},
    Paint{"recompute_workspace", "#a9d3f0", 2},
    Paint{"operator_workspace", "#edae49", 1},
    Paint{"logits", "#d1495b", 1},
    Paint{"communication_buffers", "#8e5ea2", 3},
    Paint{"reserve", "#9aa3ad", 1},
    Paint{"intra_node", "#3a9d6e", 0},
    Paint{"inter_node", "#e07b39", 1},
    Paint{"tensor", "#d1495b", 0},
    Paint{"context", "#edae49", 1},
    Paint{"expert", "#b5651d", 2},
    Paint{"expert_tensor", "#7d6b5d", 1},
    Paint{"pipeline", "#8e5ea2", 3},
    Paint{"data", "#e07b39", 3},
    Paint{"expert_data", "#3a9d6e", 1},
    Paint{"embedding", "#5aa9e0", 2},
    // Memory of a serving GPU, parts of an engine's step, use of a pool.
    Paint{"kv_cache", "#3a9d6e", 0},
    Paint{"runtime", "#8e5ea2", 3},
    Paint{"graphs", "#6b5b95", 1},
    Paint{"linears", "#1f6fb4", 0},
    Paint{"small_kernels", "#5aa9e0", 1},
    Paint{"prefill_attention", "#a9d3f0", 2},
    Paint{"decode_attention", "#3a9d6e", 0},
    Paint{"experts", "#b5651d", 2},
    Paint{"all_reduce", "#d1495b", 0},
    Paint{"exchange", "#edae49", 1},
    Paint{"context_exchange", "#e07b39", 3},
    Paint{"head", "#7d6b5d", 2},
    Paint{"drafts", "#c25a1b", 1},
    Paint{"prefill", "#1f6fb4", 0},
    Paint{"decode", "#3a9d6e", 0},
    Paint{"idle", "#9aa3ad", 1},
    // Elapsed time of a run.
    Paint{"productive_steps", "#1f6fb4", 0},
    Paint{"wasted_progress_from_disruption", "#e07b39", 3},
    Paint{"infrastructure_recovery_from_disruption", "#9aa3ad", 1},
    Paint{"unproductive_checkpoint_save_time", "#3a9d6e", 0},
    Paint{"unproductive_checkpoint_restore_time", "#6b5b95", 1},
    Paint{"custom_badput_events", "#edae49", 1},
    Paint{"step_time_deviation", "#d1495b", 1},
    Paint{"program_startup", "#7d6b5d", 2},
    // GPUs that a training and a service share.
    Paint{"service", "#e07b39", 3},
    Paint{"training", "#1f6fb4", 0},
    Paint{"spare", "#9aa3ad", 1},
    Paint{"free", "#d5dae0", 2},
    // Work of the timeline.
    Paint{"forward", "#1f6fb4", 0},
    Paint{"backward", "#5aa9e0", 0},
    Paint{"backward_input", "#5aa9e0", 0},
    Paint{"backward_weight", "#3a9d6e", 0},
    Paint{"tensor_communication", "#d1495b", 0},
    Paint{"context_communication", "#edae49", 1},
    Paint{"expert_communication", "#b5651d", 2},
    Paint{"message", "#8e5ea2", 3},
    Paint{"wait_for_parameters", "#e07b39", 3},
    Paint{"parameter_all-gather", "#e07b39", 3},
    Paint{"gradient_reduction", "#e07b39", 3},
    Paint{"last_bucket,_once_a_step", "#c25a1b", 3},
    Paint{"activation_offload", "#7d6b5d", 2},
    Paint{"host_launches", "#6b5b95", 1},
    Paint{"host,_once_a_step", "#6b5b95", 1},
};

constexpr std::string_view kAccent = "#1f6fb4";
constexpr std::string_view kContrast = "#e07b39";  // beside it
constexpr std::string_view kLimit = "#c0392b";     // a line that nothing may cross

Json scale_of(std::span<const TextScale> largest_first, int digits) {
  Json units = Json::array();
  for (const TextScale& scale : largest_first) {
    units.push_back(Json::array({scale.factor, scale.unit}));
  }
  return {{"digits", digits}, {"units", std::move(units)}};
}

}  // namespace

const Paint& paint_of(std::string_view name) {
  static constexpr Paint kOther{"", "#777777", 0};
  for (const Paint& paint : kPaints) {
    if (paint.name == name) return paint;
  }
  return kOther;
}

Json drawing() {
  Json paints = Json::array();
  for (const Paint& paint : kPaints) {
    paints.push_back({{"name", paint.name}, {"colour", paint.colour}, {"pattern", paint.pattern}});
  }
  Json tints = Json::array();
  for (const Tint& tint : kTints) tints.push_back(tint.colour);
  return {{"paints", std::move(paints)},
          {"tints", std::move(tints)},
          {"accent", kAccent},
          {"contrast", kContrast},
          {"limit", kLimit},
          {"scales",
           {{"seconds", scale_of(kSecondsScales, kSecondsDigits)},
            {"memory", scale_of(kMemoryScales, kMemoryDigits)},
            {"traffic", scale_of(kTrafficScales, kTrafficDigits)}}},
          {"seen_share", kSeenShare},
          {"most_bars", kMostBars},
          {"end_of_heat", kEndOfHeat}};
}

}  // namespace meshwright::reports::html
