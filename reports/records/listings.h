// SPDX-License-Identifier: Apache-2.0
// The shipped models and clusters, as meshwright model list, model show and cluster list answer.
#pragma once

#include <string>
#include <vector>

#include "planner/questions/model_description.h"
#include "reports/records/origin.h"
#include "sim/hardware/cluster.h"
#include "sim/model/model.h"
#include "sim/record/record.h"

namespace meshwright::reports {

struct ListedModel {
  std::string file{};  // its name in configs/models
  Model model{};
};
struct ModelList {
  Origin origin{};
  std::vector<ListedModel> models{};
};
const Record<ModelList>& model_list_record();

// What meshwright model show answers.
struct ModelView {
  Origin origin{};
  Model model{};
  planner::ModelDescription description{};
};
const Record<ModelView>& model_view_record();

struct ListedCluster {
  std::string file{};  // its name in configs/clusters
  Cluster cluster{};
};
struct ClusterList {
  Origin origin{};
  std::vector<ListedCluster> clusters{};
};
const Record<ClusterList>& cluster_list_record();

}  // namespace meshwright::reports
