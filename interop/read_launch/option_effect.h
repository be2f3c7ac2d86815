// SPDX-License-Identifier: Apache-2.0
// What an option may change that no reader understood, judged by the words of its name, and which
// size it spells. The names of all launchers are compared, so that a size in another launcher's
// spelling is found.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "interop/read_launch/values.h"
#include "sim/base/enum_names.h"

namespace meshwright::interop {

enum class OptionEffect : std::uint8_t {
  none,     // data, learning rate, logging, files
  unknown,  // its name says nothing
  // Each of these changes the answer.
  sizes,
  memory,
  more_memory,  // takes memory, and nothing else
  precision,
  attention,
  optimizer,
  schedule,
  cost,  // known to change time or memory
  // What words of configs/launchers change.
  time,
  layout,
  batch,
  model
};
inline constexpr std::array kOptionEffectNames{EnumName{OptionEffect::none, "none"},
                                               EnumName{OptionEffect::unknown, "unknown"},
                                               EnumName{OptionEffect::sizes, "sizes"},
                                               EnumName{OptionEffect::memory, "memory"},
                                               EnumName{OptionEffect::more_memory, "more_memory"},
                                               EnumName{OptionEffect::precision, "precision"},
                                               EnumName{OptionEffect::attention, "attention"},
                                               EnumName{OptionEffect::optimizer, "optimizer"},
                                               EnumName{OptionEffect::schedule, "schedule"},
                                               EnumName{OptionEffect::cost, "cost"},
                                               EnumName{OptionEffect::time, "time"},
                                               EnumName{OptionEffect::layout, "layout"},
                                               EnumName{OptionEffect::batch, "batch"},
                                               EnumName{OptionEffect::model, "model"}};
constexpr std::string_view name_of(OptionEffect v) { return name_in(kOptionEffectNames, v); }

constexpr bool changes_answer(OptionEffect effect) { return effect > OptionEffect::unknown; }

// `key`: "--moe-router-topk", "model.optim.lr", "ACTOR_TP".
OptionEffect effect_of(std::string_view key);

// A size of a layout or batch in one launcher's spelling or another.
struct SizeSpelling {
  std::string_view field;       // "tensor_parallel_size"
  std::string_view short_name;  // of --layout, "tp"; empty: it is no part of a layout
  std::string_view names;       // "tp tp_size tensor_model_parallel_size"
};
// nullptr: the key spells none.
const SizeSpelling* size_spelled(std::string_view key);

// Tells whether a value leaves a size as it is without it: 1, 0, -1, none, null, false, auto.
bool is_off(const Value& value);

}  // namespace meshwright::interop
