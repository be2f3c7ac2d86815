// SPDX-License-Identifier: Apache-2.0
// The cost tables that the searches of one scenario share: each fills what the others have not
// looked at yet.
#pragma once

#include <tbb/enumerable_thread_specific.h>

#include <memory>

#include "planner/search/search.h"
#include "sim/step/cost_table.h"

namespace meshwright::planner {

class SharedTables {
 public:
  explicit SharedTables(Scenario scenario)
      : scenario_(std::move(scenario)), tables_([this] { return CostTable(scenario_); }) {}
  [[nodiscard]] bool are_of(const Scenario& other) const {
    return scenario_.model == other.model && scenario_.cluster == other.cluster &&
           scenario_.job == other.job;
  }
  // This thread's.
  CostTable& local() { return tables_.local(); }

 private:
  Scenario scenario_;
  tbb::enumerable_thread_specific<CostTable> tables_;
};

// Those of the options where they are this scenario's, else new ones.
std::shared_ptr<SharedTables> tables_of(const SearchOptions& options, const Scenario& scenario);

}  // namespace meshwright::planner
