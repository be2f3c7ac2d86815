// SPDX-License-Identifier: Apache-2.0
// The two sides of a layout (sim/step/composition.h), each priced once for all layouts of some
// parallel sizes that share it.
#pragma once

#include <memory>
#include <vector>

#include "planner/search/space.h"
#include "sim/step/composition.h"

namespace meshwright::planner {

struct StageSetting {
  Layout layout;  // its data-parallel side has its defaults
  const PipelineShape* shape = nullptr;
  int shape_class = 0;  // shapes whose stages hold the same parameters
  const std::vector<MovingPeak>* memory = nullptr;
  const PipelinePart* pipeline = nullptr;  // once priced
};

struct DataSetting {
  const Layout* layout = nullptr;
  DataPart part;
  std::vector<FixedMemory> memory;
};

struct DataSettings {
  std::vector<DataSetting> settings;      // the legal ones, in order
  std::vector<FixedMemory> least_memory;  // by run, over all settings
};

// Costs of the settings of one set of parallel sizes, one pipeline setting after the other. A
// returned reference is valid until the next call of the same function.
class SettingsCost {
 public:
  SettingsCost(CostTable& table, const ParallelSizes& sizes);
  ~SettingsCost();
  SettingsCost(const SettingsCost&) = delete;
  SettingsCost& operator=(const SettingsCost&) = delete;

  // `legal` are indices into `layouts`, which must live on.
  void set_data_settings(const std::vector<Layout>& layouts, const std::vector<int>& legal);
  void begin_pipeline_setting();
  // For a valid layout; memory and time are unknown until they are computed.
  StageSetting& stage_of(const Layout& layout);
  void weigh(StageSetting& stage);
  // After weigh().
  void price(StageSetting& stage);
  // Time that no step with this stage setting is shorter than, wherever its states and inputs are:
  // without the data-parallel side; where that is dear, the busiest stage's part of it.
  Seconds least_step(StageSetting& stage);
  // The same for any division of the layers.
  Seconds balanced_work(const StageSetting& stage);
  const DataSettings& data_of(const StageSetting& stage);
  // Bytes that no layout with this stage setting is below, wherever its states and inputs are.
  Bytes least_memory(const StageSetting& stage);
  [[nodiscard]] Bytes reserve() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace meshwright::planner
