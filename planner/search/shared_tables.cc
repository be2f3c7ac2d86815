// SPDX-License-Identifier: Apache-2.0
#include "planner/search/shared_tables.h"

#include <tbb/enumerable_thread_specific.h>

#include <utility>

namespace meshwright::planner {

struct SharedTables::OfThreads {
  tbb::enumerable_thread_specific<CostTable> tables;
};

SharedTables::SharedTables(Scenario scenario)
    : scenario_(std::move(scenario)),
      tables_(new OfThreads{
          tbb::enumerable_thread_specific<CostTable>([this] { return CostTable(scenario_); })}) {}
SharedTables::~SharedTables() = default;

bool SharedTables::are_of(const Scenario& other) const {
  return scenario_.model == other.model && scenario_.cluster == other.cluster &&
         scenario_.job == other.job;
}

CostTable& SharedTables::local() { return tables_->tables.local(); }

std::shared_ptr<SharedTables> shared_tables(const Scenario& scenario) {
  return std::make_shared<SharedTables>(scenario);
}

std::shared_ptr<SharedTables> tables_of(const SearchOptions& options, const Scenario& scenario) {
  if (options.tables && options.tables->are_of(scenario)) return options.tables;
  return shared_tables(scenario);
}

}  // namespace meshwright::planner
