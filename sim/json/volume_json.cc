// SPDX-License-Identifier: Apache-2.0
// The ledger as JSON.
#include <mutex>
#include <set>

#include "sim/hardware/placement.h"
#include "sim/json/result_records.h"

namespace meshwright {
namespace {

// Transfer::name views text that lives as long as the program: a literal, or, read from a file, an
// entry here. A run knows a few dozen names.
std::string_view lasting(const std::string& text) {
  static std::mutex mutex;
  static std::set<std::string> texts;
  const std::lock_guard lock(mutex);
  return *texts.insert(text).first;
}

Record<Transfer> make_transfer_record() {
  const auto amount = kind::base_amount<Bytes>();
  Record<Transfer> r("A collective or send, as one rank of one pipeline stage sees it.");
  r.named("Transfer");
  r.row<&Transfer::name>(lasting_text(), "What is transferred.").required();
  r.row<&Transfer::group>(kGroupNames, "The ranks that take part.").absent_in_older_files();
  r.row<&Transfer::collective>(kCollectiveNames, "The collective.").absent_in_older_files();
  r.row<&Transfer::phase>(kPhaseNames, "When in a step.").absent_in_older_files();
  r.row<&Transfer::group_size>("Ranks of the group.").required();
  r.row<&Transfer::times_per_step>("Calls of a rank in a step.").required();
  r.row<&Transfer::payload>("The array of one call (nccl-tests' S).").required();
  r.row<&Transfer::formula>(lasting_text(), "The payload in the field's letters.")
      .absent_in_older_files();
  r.derived<Bytes>("payload_per_step_bytes", amount, "The payloads of all calls.",
                   [](const Transfer& transfer) { return transfer.payload_per_step(); });
  r.derived<Bytes>("sent_per_step_bytes", amount, "What a rank sends in a step.",
                   [](const Transfer& transfer) { return transfer.sent_per_step(); });
  r.row<&Transfer::overlappable>("Something else may be computed meanwhile.")
      .absent_in_older_files();
  return r;
}

// Groups that send nothing are left out.
Json sent_by_group(const StageVolume& stage) {
  Json by_group = Json::object();
  for (const auto& entry : kGroupNames) {
    const Bytes sent = stage.sent(entry.value);
    if (sent > bytes(0)) by_group[std::string(entry.name)] = sent.value();
  }
  return by_group;
}

const Record<StageVolume>& stage_volume_record() {
  static const Record<StageVolume> record = [] {
    const auto amount = kind::base_amount<Bytes>();
    Record<StageVolume> r("What one rank of a pipeline stage sends in a step.");
    r.named("StageVolume");
    r.row<&StageVolume::stage>(IntRange{.low = 0}, "The stage, from 0.");
    r.derived<Bytes>("sent_bytes", amount, "What it sends to all groups.",
                     [](const StageVolume& stage) { return stage.sent(); });
    r.derived("sent_by_group_bytes",
              {{"type", "object"}, {"additionalProperties", amount.schema()}}, "The same by group.",
              sent_by_group);
    r.row<&StageVolume::transfers>(transfer_record,
                                   "Every transfer; groups of one rank are left out.");
    return r.all_required();
  }();
  return record;
}

Record<Volume> make_volume_record() {
  Record<Volume> r("Every transfer of a step.");
  r.named("Volume");
  r.derived<int>(
      "busiest_stage", kind::integer({.low = 0}), "The stage that sends most.",
      [](const Volume& volume) { return volume.stages.empty() ? 0 : volume.busiest().stage; });
  r.row<&Volume::stages>(stage_volume_record, "Each pipeline stage.");
  return r.all_required();
}

Record<PublishedOrders> make_published_orders_record() {
  Record<PublishedOrders> r(
      "The published orders of elements moved per batch, beside the bytes that one rank of the "
      "busiest stage sends in a step.");
  r.row<&PublishedOrders::data_parallel>("data_parallel_elements", "h^2 * l.");
  r.row<&PublishedOrders::pipeline_parallel>("pipeline_parallel_elements", "b * s * h * l / k.");
  r.row<&PublishedOrders::tensor_parallel>("tensor_parallel_elements", "b * s * h * l.");
  r.row<&PublishedOrders::data_exact>("data_sent_bytes", "Sent to data-parallel ranks.");
  r.row<&PublishedOrders::pipeline_exact>("pipeline_sent_bytes", "Sent to other stages.");
  r.row<&PublishedOrders::tensor_exact>("tensor_sent_bytes", "Sent to tensor-parallel ranks.");
  r.row<&PublishedOrders::tensor_exceeds_data>("Whether the bytes satisfy TP > DP.");
  r.row<&PublishedOrders::data_exceeds_pipeline>("Whether the bytes satisfy DP > PP.");
  return r.all_required();
}

}  // namespace

Kind<std::string_view> lasting_text() {
  return {{.read = [](ObjectReader& reader, const std::string& key,
                      std::string_view& value) { value = lasting(reader.required_string(key)); },
           .write = [](Json& json, const std::string& key,
                       const std::string_view& value) { json[key] = value; },
           .schema = [base = kind::text()] { return base.schema(); }}};
}

const Record<Transfer>& transfer_record() {
  static const Record<Transfer> record = make_transfer_record();
  return record;
}

const Record<Volume>& volume_record() {
  static const Record<Volume> record = make_volume_record();
  return record;
}

const Record<PublishedOrders>& published_orders_record() {
  static const Record<PublishedOrders> record = make_published_orders_record();
  return record;
}

}  // namespace meshwright
