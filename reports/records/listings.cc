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

const Record<planner::ModelPart>& model_part_record() {
  return described([](Record<planner::ModelPart>& r) {
    using R = planner::ModelPart;
    r.about("A part of all layers, or one outside them.");
    r.row<&R::name>("What it is.");
    r.row<&R::parameters>(kind::count(), "Of all layers together.");
    r.all_required();
  });
}

const Record<planner::AlikeLayers>& alike_layers_record() {
  return described([](Record<planner::AlikeLayers>& r) {
    using R = planner::AlikeLayers;
    r.about("Layers of one kind.");
    r.row<&R::mixer>("Token mixer; empty: none.");
    r.row<&R::mlp>("MLP or experts; empty: none.");
    r.row<&R::layers>(IntRange{.low = 1}, "Number of such layers.");
    r.all_required();
  });
}

const Record<planner::TokenFlops>& token_flops_record() {
  return described([](Record<planner::TokenFlops>& r) {
    using R = planner::TokenFlops;
    r.about("Work of a token at one length.");
    r.row<&R::seq_length>("Tokens of the sequence.");
    r.row<&R::forward>(
        "For one token, mean over the sequence, with multi-token prediction; causal attention "
        "counts half.");
    r.all_required();
  });
}

const Record<planner::ModelDescription>& model_description_record() {
  return described([](Record<planner::ModelDescription>& r) {
    using R = planner::ModelDescription;
    r.about("What follows from the model's sizes.");
    r.row<&R::parameters>(kind::count(), "Of the checkpoint, without multi-token prediction.");
    r.row<&R::active_parameters>(kind::count(), "That one token passes through.");
    r.row<&R::mtp_parameters>(kind::count(), "Of multi-token prediction, beside these.");
    r.row<&R::parts>(model_part_record, "Their sum is the parameters.");
    r.row<&R::kinds>(alike_layers_record, "Layers by kind.");
    r.row<&R::cache_per_token>("Of layers that keep the whole context, in 16 bits.");
    r.row<&R::window_cache_per_token>("Of layers that keep a window, in 16 bits.");
    r.row<&R::state_per_sequence>("States of recurrent mixers.");
    r.row<&R::flops>(token_flops_record, "By length.");
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

const Record<ModelView>& model_view_record() {
  return described([](Record<ModelView>& r) {
    using R = ModelView;
    r.about("A model as it was read, and what follows from it.");
    r.file_of({"meshwright.model_view/1"}, true);
    add_origin(r);
    r.row<&R::model>(model_record, "As a model file has it.");
    r.row<&R::description>(model_description_record, "What follows.");
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
