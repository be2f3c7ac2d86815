// SPDX-License-Identifier: Apache-2.0
// A training in words that differ from another: tp=3 num_query_groups=6 fp8_recipe=mxfp8 experts.
#pragma once

#include <functional>
#include <string>

#include "sim/record/json.h"

namespace meshwright::test {

struct TrainingWords {
  Json model, job;
  Json experts;        // of the model where the words say "experts"
  std::string layout;  // words that are no field of the others

  // `takes` is asked first; a word alone has the value "".
  void read(const std::string& text,
            const std::function<bool(const std::string& key, const std::string& value)>& takes);
};

}  // namespace meshwright::test
