// SPDX-License-Identifier: Apache-2.0
// A trace of PyTorch's profiler (Kineto's Chrome trace). Products: kernels whose "External id" is
// of an operator with "Input Dims" (record_shapes=True). Collectives: NCCL's kernels with
// "Collective name", "In msg nelems", "Out msg nelems", "dtype", "Group size" and "Process Group
// Ranks", on the kernel or on its record_param_comms. Durations are microseconds. Traces are large:
// events are looked at one by one and not kept.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "calibrate/imported/imported.h"
#include "calibrate/imported/lines.h"
#include "calibrate/imported/traced_products.h"
#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/record/json.h"

namespace meshwright::calibrate {
namespace {

constexpr double kMostSize = 1e12;

// A member under its name in any case: "External id" was "external id" once.
const Json& traced(const Json& object, const char* name) {
  static const Json none;
  if (!object.is_object()) return none;
  for (const auto& [key, value] : object.items()) {
    if (same_letters(key, name)) return value;
  }
  return none;
}

std::string traced_text(const Json& object, const char* name) {
  const Json& value = traced(object, name);
  return value.is_string() ? value.get<std::string>() : "";
}

// Numbers, and strings that hold one.
std::optional<double> traced_number(const Json& object, const char* name) {
  const Json& value = traced(object, name);
  if (value.is_number()) return value.get<double>();
  return value.is_string() ? number_in(value.get<std::string>()) : std::nullopt;
}

struct OperatorCall {
  std::string name;
  GemmShape shape;
  std::string type;
};

struct ProductKernels {
  double us = 0.0;
  bool is_gemm = false, tf32 = false;
};

struct CollectiveArgs {
  std::string name, type;
  double in = 0.0, out = 0.0;
  int group_size = 0;
  std::vector<int> ranks;
};

struct CollectiveKernel {
  double us = 0.0;
  std::optional<std::int64_t> operator_id;
  CollectiveArgs args;
};

std::optional<OperatorCall> product_in(const std::string& name, const Json& args) {
  const auto shape = traced_shape(name, traced(args, "Input Dims"));
  if (!shape) return std::nullopt;
  OperatorCall call{name, *shape, ""};
  const Json& types = traced(args, "Input type");
  const std::size_t first = first_factor(name).value_or(0);
  if (types.is_array() && types.size() > first && types[first].is_string()) {
    call.type = types[first].get<std::string>();
  }
  return call;
}

std::optional<Precision> product_precision(const std::string& type, bool tf32) {
  if (type == "c10::BFloat16") return Precision::bf16;
  if (type == "c10::Half") return Precision::fp16;
  if (type == "float") return tf32 ? Precision::tf32 : Precision::fp32;
  if (type.starts_with("c10::Float8_")) return Precision::fp8;
  return std::nullopt;
}

// "[0, 1, 2, 3]"; long lists are cut: "[0, 8, ..., 56]". A list of numbers, too.
std::vector<int> ranks_in(const Json& value, int group_size) {
  std::vector<int> ranks;
  constexpr double kHighestRank = 1e6;
  std::vector<std::string> words;
  if (value.is_array()) {
    for (const auto& rank : value) words.push_back(rank.dump());
  } else if (value.is_string()) {
    const std::string list = replaced(replaced(value.get<std::string>(), "[", " "), "]", " ");
    words = split_words(replaced(list, ",", " "));
  }
  bool cut = false;
  for (const std::string& word : words) {
    const auto rank = number_in(word);
    cut = cut || !rank;
    if (rank && *rank >= 0.0 && *rank <= kHighestRank) ranks.push_back(static_cast<int>(*rank));
  }
  if (!cut || ranks.size() < 3) return cut ? std::vector<int>{} : ranks;
  const int stride = ranks[1] - ranks[0];
  std::vector<int> all;
  for (int i = 0; i < group_size && i <= static_cast<int>(kHighestRank); ++i) {
    all.push_back(ranks[0] + i * stride);
  }
  return all.empty() || all.back() != ranks.back() ? std::vector<int>{} : all;
}

CollectiveArgs collective_args(const Json& args) {
  CollectiveArgs found;
  found.name = traced_text(args, "Collective name");
  found.type = traced_text(args, "dtype");
  found.in = traced_number(args, "In msg nelems").value_or(0.0);
  found.out = traced_number(args, "Out msg nelems").value_or(0.0);
  found.group_size =
      static_cast<int>(std::clamp(traced_number(args, "Group size").value_or(0.0), 0.0, 1e6));
  found.ranks = ranks_in(traced(args, "Process Group Ranks"), found.group_size);
  return found;
}

std::optional<Collective> collective_called(const std::string& name) {
  constexpr std::pair<const char*, Collective> kNames[] = {
      {"allreduce", Collective::all_reduce},
      {"all_reduce", Collective::all_reduce},
      {"allreduce_coalesced", Collective::all_reduce},
      {"allgather", Collective::all_gather},
      {"all_gather", Collective::all_gather},
      {"_allgather_base", Collective::all_gather},
      {"all_gather_into_tensor", Collective::all_gather},
      {"allgather_into_tensor_coalesced", Collective::all_gather},
      {"all_gather_into_tensor_coalesced", Collective::all_gather},
      {"reduce_scatter", Collective::reduce_scatter},
      {"_reduce_scatter_base", Collective::reduce_scatter},
      {"reduce_scatter_tensor_coalesced", Collective::reduce_scatter},
      {"all_to_all", Collective::all_to_all},
      {"alltoall", Collective::all_to_all},
      {"alltoall_base", Collective::all_to_all},
      {"broadcast", Collective::broadcast}};
  for (const auto& [typed, collective] : kNames) {
    if (same_letters(name, typed)) return collective;
  }
  return std::nullopt;
}

double bytes_of_type(const std::string& type) {
  if (type == "BFloat16" || type == "Half" || type == "Short") return 2.0;
  if (type == "Float" || type == "Int") return 4.0;
  if (type == "Double" || type == "Long") return 8.0;
  const bool one = type == "Byte" || type == "Char" || type == "Bool" || type.starts_with("Float8");
  return one ? 1.0 : 0.0;
}

class TraceReader {
 public:
  TraceReader(const std::string& text, const std::string& file) {
    constexpr int kOfEvents = 2;  // objects in the lists of the outermost one
    const auto look = [this](int depth, Json::parse_event_t event, Json& parsed) {
      if (event != Json::parse_event_t::object_end || depth != kOfEvents) return true;
      if (traced(parsed, "ph").is_null()) {
        add_device(parsed);
        return true;
      }
      add_event(parsed);
      return false;
    };
    try {
      const Json rest = Json::parse(text, look);
      is_trace_ = rest.is_object() && rest.contains("traceEvents");
    } catch (const Json::exception& error) {
      throw InputError(file, "", fmt::format("is no JSON: {}", error.what()),
                       "a trace that was cut off, perhaps: export it again");
    }
  }

  [[nodiscard]] bool is_trace() const { return is_trace_; }

  Imported read() {
    add_products();
    add_collectives();
    if (!result_.points.empty()) result_.tool = "PyTorch profiler";
    return std::move(result_);
  }

 private:
  void add_device(const Json& device) {
    const std::string name = traced_text(device, "name");
    if (name.empty() || !traced_number(device, "numSms")) return;
    ++devices_;
    auto& names = result_.devices;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }

  void add_event(const Json& event) {
    const std::string name = traced_text(event, "name"), category = traced_text(event, "cat");
    const Json& args = traced(event, "args");
    const auto number = traced_number(args, "External id");
    std::optional<std::int64_t> id;
    if (number && std::abs(*number) < 1e15) id = static_cast<std::int64_t>(*number);
    if (same_letters(category, "cpu_op") && id) {
      if (const auto product = product_in(name, args)) operators_[*id] = *product;
      if (first_factor(name) && traced(args, "Input Dims").is_null()) ++without_sizes_;
      if (name == "record_param_comms") comms_[*id] = collective_args(args);
    } else if (same_letters(category, "kernel")) {
      add_kernel(name, args, id, traced_number(event, "dur").value_or(0.0));
    }
  }

  void add_kernel(const std::string& name, const Json& args, std::optional<std::int64_t> id,
                  double us) {
    if (!(us > 0.0) || us > kMostSize) return;
    if (name.starts_with("nccl") || name.starts_with("rccl")) {
      collectives_.push_back({us, id, collective_args(args)});
    } else if (id) {
      ProductKernels& kernels = kernels_[*id];
      kernels.us += us;
      kernels.is_gemm = kernels.is_gemm || is_gemm_kernel(name);
      kernels.tf32 = kernels.tf32 || contains(lower_case(name), "tf32");
    }
  }

  void add_products() {
    ProductTimes times;
    for (const auto& [id, call] : operators_) {
      const auto kernels = kernels_.find(id);
      if (kernels == kernels_.end() || !kernels->second.is_gemm) continue;
      const auto precision = product_precision(call.type, kernels->second.tf32);
      if (precision) times.add(*precision, call.shape, microseconds(kernels->second.us));
    }
    times.write_points(result_);
    if (without_sizes_ > 0) {
      result_.notes.push_back(fmt::format(
          "{} products without sizes left out: profile with record_shapes=True", without_sizes_));
    }
  }

  // Placement of the group on hosts of as many devices as the trace lists; none: not stated.
  std::optional<GroupCall> call_of_group(const CollectiveArgs& args, Collective collective) const {
    const int size = args.group_size;
    if (size < 2 || devices_ < 2 || static_cast<int>(args.ranks.size()) != size) {
      return std::nullopt;
    }
    std::map<int, int> on_host;
    for (const int rank : args.ranks) ++on_host[rank / devices_];
    int most = 0;
    for (const auto& [host, ranks] : on_host) most = std::max(most, ranks);
    GroupCall call;
    call.collective = collective;
    call.tier = on_host.size() == 1 ? Tier::intra_node : Tier::inter_node;
    call.group_size = size;
    call.ranks_per_node = most;
    call.groups_per_node = std::max(1, devices_ / most);
    call.stride = most > 1 ? std::max(1, args.ranks[1] - args.ranks[0]) : 1;
    return call;
  }

  void add_collectives() {
    using Key = std::tuple<Collective, int, int, int, double>;
    std::map<Key, std::pair<GroupCall, double>> shortest;
    std::set<std::string> unknown;
    int unplaced = 0;
    for (const CollectiveKernel& kernel : collectives_) {
      const auto comms = kernel.operator_id ? comms_.find(*kernel.operator_id) : comms_.end();
      const bool linked = kernel.args.name.empty() && comms != comms_.end();
      const CollectiveArgs& args = linked ? comms->second : kernel.args;
      const auto collective = collective_called(args.name);
      const double width = bytes_of_type(args.type);
      const bool whole_out = collective == Collective::all_gather;
      const double amount = width * (whole_out ? args.out : args.in);
      if (!collective || !(amount > 0.0) || amount > kMostSize) {
        unknown.insert(args.name.empty() ? "kernels without a name of their collective"
                                         : args.name);
        continue;
      }
      const auto call = call_of_group(args, *collective);
      if (!call) {
        ++unplaced;
        continue;
      }
      const Key key{*collective, call->group_size, call->ranks_per_node, call->stride, amount};
      const auto [at, is_new] = shortest.try_emplace(key, *call, kernel.us);
      if (!is_new) at->second.second = std::min(at->second.second, kernel.us);
    }
    for (const auto& [key, timed_call] : shortest) {
      MeasuredPoint point;
      point.subject = timed::CollectiveCall{timed_call.first};
      point.amount = bytes(std::get<4>(key));
      point.measurement = told(microseconds(timed_call.second));
      result_.points.push_back(std::move(point));
    }
    note_collectives(!shortest.empty(), unplaced, unknown);
  }

  void note_collectives(bool any, int unplaced, const std::set<std::string>& unknown) {
    if (any) {
      result_.notes.emplace_back(
          "a collective's kernel waits for the last rank, and runs beside others: the shortest of "
          "equal calls is taken, which may still be longer than it would be alone");
    }
    if (unplaced > 0) {
      result_.notes.push_back(fmt::format(
          "{} collectives left out: the trace does not say their ranks, or lists {} of a host's "
          "devices",
          unplaced, devices_));
    }
    std::string names;
    for (const std::string& name : unknown) append_to_list(names, ", ", name);
    if (!names.empty()) result_.notes.push_back("collectives left out: " + names);
  }

  std::map<std::int64_t, OperatorCall> operators_;
  std::map<std::int64_t, ProductKernels> kernels_;
  std::map<std::int64_t, CollectiveArgs> comms_;
  std::vector<CollectiveKernel> collectives_;
  int devices_ = 0, without_sizes_ = 0;
  bool is_trace_ = false;
  Imported result_;
};

}  // namespace

Imported from_kineto(const std::string& text, const std::string& file) {
  if (!contains(text, "\"traceEvents\"")) return {};
  TraceReader trace(text, file);
  if (!trace.is_trace()) return {};
  Imported result = trace.read();
  if (result.points.empty()) {
    std::string why;
    for (const std::string& note : result.notes) append_to_list(why, "; ", note);
    throw InputError(file, "",
                     "is a trace of PyTorch's profiler without a product or a collective that says "
                     "its size" +
                         (why.empty() ? std::string() : ": " + why),
                     "profile with record_shapes=True and the CUDA activity");
  }
  return result;
}

}  // namespace meshwright::calibrate
