// SPDX-License-Identifier: Apache-2.0
// How large a space may be, so that a search ends within seconds and in little memory. The limits
// count, and look at no clock: whether a space is refused depends on the space alone.
#pragma once

#include <atomic>
#include <cstdint>

#include "planner/search/search.h"

namespace meshwright::planner {

// Throws InputError when the lists of one level (the parallel sizes, the pipeline, a
// stage's switches, the data-parallel side) make more than 20,000 combinations: all of a level are
// held at once.
void check_lists(const SearchSpace& space);

// The same of the pipeline settings of one choice of parallel sizes, defaults included.
void check_pipeline_settings(const SearchSpace& space, std::size_t settings);

// Work that all threads of a search have done, in units of a layout whose sizes break a rule.
// Throws InputError past SearchOptions::most_work.
class SearchWork {
 public:
  explicit SearchWork(const SearchOptions& options) : options_(options) {}
  void look_at(std::size_t stage_settings) { add(static_cast<std::int64_t>(stage_settings)); }
  // A legal stage setting, weighed and priced with each of so many data settings.
  void price(std::size_t data_settings);

 private:
  void add(std::int64_t units);

  const SearchOptions& options_;
  std::atomic<std::int64_t> done_{0};
};

}  // namespace meshwright::planner
