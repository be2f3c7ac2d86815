// SPDX-License-Identifier: Apache-2.0
#include "reports/records/listings.h"

#include "sim/model/parameters.h"

namespace meshwright::reports {
namespace {

const Record<ListedModel>& listed_model_record() {
  static const Record<ListedModel> record = [] {
    using R = ListedModel;
    Record<R> r("A shipped model.");
    r.row(&R::file, "file", kind::text(), "Its name for --model.");
    r.row_at<std::string>(
        [](auto& listed) -> auto& { return listed.model.name; }, "name", kind::text(),
        "Its name for people.");
    r.derived<double>(
        "parameters", kind::number(), "Parameters of the whole model.",
        [](const R& listed) { return static_cast<double>(total_parameters(listed.model)); });
    return r.all_required();
  }();
  return record;
}

const Record<ListedCluster>& listed_cluster_record() {
  static const Record<ListedCluster> record = [] {
    using R = ListedCluster;
    Record<R> r("A shipped cluster.");
    r.row(&R::file, "file", kind::text(), "Its name for --cluster.");
    r.row_at<std::string>(
        [](auto& listed) -> auto& { return listed.cluster.name; }, "name", kind::text(),
        "Its name for people.");
    r.row_at<std::string>(
        [](auto& listed) -> auto& { return listed.cluster.source; }, "source", kind::text(),
        "Where its numbers come from.");
    return r.all_required();
  }();
  return record;
}

}  // namespace

const Record<ModelList>& model_list_record() {
  static const Record<ModelList> record = [] {
    using R = ModelList;
    Record<R> r("The shipped models.");
    r.file_of({"meshwright.model_list/1"}, true);
    r.row(&R::command, "command", kind::text(), "Makes the list again.");
    r.row(&R::models, "models", kind::list(listed_model_record), "Each, by name.");
    return r.all_required();
  }();
  return record;
}

const Record<ClusterList>& cluster_list_record() {
  static const Record<ClusterList> record = [] {
    using R = ClusterList;
    Record<R> r("The shipped clusters.");
    r.file_of({"meshwright.cluster_list/1"}, true);
    r.row(&R::command, "command", kind::text(), "Makes the list again.");
    r.row(&R::clusters, "clusters", kind::list(listed_cluster_record), "Each, by name.");
    return r.all_required();
  }();
  return record;
}

}  // namespace meshwright::reports
