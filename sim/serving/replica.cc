// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/replica.h"

#include <fmt/format.h>

namespace meshwright {

std::string short_name(const ReplicaLayout& l) {
  std::string text = fmt::format("tp{}", l.tensor_parallel_size);
  const auto add = [&](const char* word, int size) {
    if (size > 1) text += fmt::format(" {}{}", word, size);
  };
  add("pp", l.pipeline_parallel_size);
  add("dp", l.data_parallel_size);
  add("ep", l.expert_parallel_size);
  add("dcp", l.decode_context_parallel_size);
  return text;
}

}  // namespace meshwright
