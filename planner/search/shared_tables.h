// SPDX-License-Identifier: Apache-2.0
// The cost tables that the searches of one scenario share: each fills what the others have not
// looked at yet.
#pragma once

#include <memory>

#include "planner/search/search.h"
#include "sim/step/cost_table.h"

namespace meshwright::planner {

class SharedTables {
 public:
  explicit SharedTables(Scenario scenario);
  SharedTables(const SharedTables&) = delete;
  SharedTables& operator=(const SharedTables&) = delete;
  ~SharedTables();
  [[nodiscard]] bool are_of(const Scenario& other) const;
  // This thread's.
  CostTable& local();

 private:
  struct OfThreads;
  Scenario scenario_;
  std::unique_ptr<OfThreads> tables_;
};

// Returns the tables of the options if they are this scenario's, else new ones.
std::shared_ptr<SharedTables> tables_of(const SearchOptions& options, const Scenario& scenario);

}  // namespace meshwright::planner
