// SPDX-License-Identifier: Apache-2.0
// Parts of reading torchtitan's settings.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "interop/read_launch/launch_reading.h"
#include "interop/read_launch/torchtitan.h"

namespace meshwright::interop {

inline constexpr IntRange kTitanCountOrRest{-1, 1'000'000'000};

struct TitanReading {
  LaunchReading& r;
  TitanForm form;
  int num_layers = 0;               // 0: the model is not known
  std::optional<int> seq_length{};  // that the user states

  [[nodiscard]] Layout& layout() const { return r.record().layout; }
  [[nodiscard]] Job& job() const { return r.record().job; }
  // The first that is there; all count as used.
  const Value* any(std::initializer_list<const char*> keys) const {
    const Value* found = nullptr;
    for (const char* key : keys) {
      const Value* value = r.find(key);
      if (found == nullptr) found = value;
    }
    return found;
  }
  // Sets the target where one of the keys is there, and returns whether it is.
  bool size(int& target, const char* field, std::initializer_list<const char*> keys) const {
    const Value* value = any(keys);
    if (value == nullptr) return false;
    target = integer_of(*value, kParallelSizes);
    r.note(field, std::to_string(target), *value);
    return true;
  }
  void settle(std::initializer_list<const char*> fields) const {
    for (const char* field : fields) r.settle_layout(field);
  }
};

// The words of a list, which a command line writes with commas.
std::vector<std::string> titan_list(const Value& value);

// Sets the model, or says why it is not known.
void name_titan_model(TitanReading& t);
// Schedule and stages, below a pipeline.
void read_titan_pipeline(const TitanReading& t);
void read_titan_recompute(const TitanReading& t);
// Compilation and number formats.
void read_titan_kernels(const TitanReading& t);

}  // namespace meshwright::interop
