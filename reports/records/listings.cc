// SPDX-License-Identifier: Apache-2.0
#include "reports/records/listings.h"

#include "sim/block/parameters.h"

namespace meshwright::reports {
namespace {

const Record<ListedModel>& listed_model_record() {
  return described([](Record<ListedModel>& r) {
    using R = ListedModel;
    r.about("A shipped model.");
    r.row<&R::file>("Its name for --model.");
    r.row_at(
        [](auto& listed) -> auto& { return listed.model.name; }, "name", "Its name for people.");
    r.derived<double>(
        "parameters", kind::number(), "Parameters of the whole model.",
        [](const R& listed) { return static_cast<double>(total_parameters(listed.model)); });
    r.all_required();
  });
}

const Record<ListedCluster>& listed_cluster_record() {
  return described([](Record<ListedCluster>& r) {
    using R = ListedCluster;
    r.about("A shipped cluster.");
    r.row<&R::file>("Its name for --cluster.");
    r.row_at(
        [](auto& listed) -> auto& { return listed.cluster.name; }, "name", "Its name for people.");
    r.row_at(
        [](auto& listed) -> auto& { return listed.cluster.source; }, "source",
        "Where its numbers come from.");
    r.all_required();
  });
}

}  // namespace

const Record<ModelList>& model_list_record() {
  return described([](Record<ModelList>& r) {
    using R = ModelList;
    r.about("The shipped models.");
    r.file_of({"meshwright.model_list/1"}, true);
    add_origin(r);
    r.row<&R::models>(listed_model_record, "Each, by name.");
    r.all_required();
  });
}

const Record<ClusterList>& cluster_list_record() {
  return described([](Record<ClusterList>& r) {
    using R = ClusterList;
    r.about("The shipped clusters.");
    r.file_of({"meshwright.cluster_list/1"}, true);
    add_origin(r);
    r.row<&R::clusters>(listed_cluster_record, "Each, by name.");
    r.all_required();
  });
}

}  // namespace meshwright::reports
