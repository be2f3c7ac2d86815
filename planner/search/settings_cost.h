// SPDX-License-Identifier: Apache-2.0
// The two sides of a layout priced apart: what its stages compute, send and hold for each
// micro-batch, and what its data-parallel ranks reduce, gather and keep. Numbers without spreads.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "planner/search/space.h"
#include "sim/step/data_parallel.h"
#include "sim/step/pipeline.h"

namespace meshwright::planner {

// By runs of alike stages (PipelineShape::runs).
struct RunTimes {
  Seconds forward, backward;
};

struct StageSetting {
  Layout layout;  // its data-parallel side has its defaults
  const PipelineShape* shape = nullptr;
  int shape_class = 0;        // shapes whose stages hold the same parameters
  std::vector<Bytes> memory;  // by run: what comes and goes
  // Once priced:
  Seconds time, host, offload;
  std::vector<RunTimes> runs;
  double micro_batches = 1;
};

struct DataSetting {
  const Layout* layout = nullptr;
  DataOverlap overlap;
  Seconds optimizer;                       // slowest stage
  std::vector<DataCostOf<Seconds>> costs;  // by run
  std::vector<Bytes> memory;               // by run: what stays
};

struct DataSettings {
  std::vector<DataSetting> settings;  // the legal ones, in order
  std::vector<Bytes> least_memory;    // by run, over all settings
};

// The fullest stage, the allocator's reserve left out.
inline Bytes peak_memory(const std::vector<Bytes>& stays, const StageSetting& stage) {
  Bytes peak;
  for (std::size_t run = 0; run < stays.size(); ++run) {
    peak = std::max(peak, stays[run] + stage.memory[run]);
  }
  return peak;
}

// Of one cell, family by family. What is returned lives until the next call of the same function.
class SettingsCost {
 public:
  SettingsCost(CostTable& table, const Cell& cell);
  ~SettingsCost();
  SettingsCost(const SettingsCost&) = delete;
  SettingsCost& operator=(const SettingsCost&) = delete;

  // `legal` are indices into `layouts`, which must live on.
  void set_data_settings(const std::vector<Layout>& layouts, const std::vector<int>& legal);
  void set_family(const Layout& family);
  // A legal layout's memory; its time is not known until it is priced.
  StageSetting& memory_of(const Layout& layout);
  void price(StageSetting& stage);
  const DataSettings& data_of(const StageSetting& stage);
  [[nodiscard]] Bytes reserve() const;
  [[nodiscard]] Seconds step_time(const StageSetting& stage, const DataSetting& data) const {
    Seconds exposed;
    for (std::size_t run = 0; run < data.costs.size(); ++run) {
      const RunTimes& times = stage.runs[run];
      exposed = std::max(exposed, exposed_data(data.costs[run], data.overlap, times.forward,
                                               times.backward, stage.micro_batches, slowdown_));
    }
    return meshwright::step_time(stage.time, exposed, data.optimizer, stage.host, stage.offload);
  }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  double slowdown_ = 0;
};

}  // namespace meshwright::planner
