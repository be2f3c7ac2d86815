// SPDX-License-Identifier: Apache-2.0
// What DeepEP's own tests print (deepseek-ai/DeepEP, tests/ at 031a5c49 to 59b6bedc, later in
// tests/legacy/). Rates are in GB/s (1e9) of bytes that include the rank's own copies:
//   test_intranode.py  "[tuning] Best dispatch (FP8): SMs 24, NVL chunk 6, 320.68 GB/s (NVL), t:
//                      499.58 us"; before 59b6bedc without the time
//   test_internode.py  "[tuning] Best combine: SMs 24, NVL chunk 4, RDMA chunk 20: 62.1 GB/s
//   (RDMA),
//                      203.2 GB/s (NVL)"; some versions say "437 + 2412 us, " first: the notice and
//                      the kernel that the rates are of
//   test_low_latency.py "[rank 3] Dispatch bandwidth: 42.66 GB/s, avg_t=176.01 us | Combine
//                      bandwidth: 43.07 GB/s, avg_t=337.56 us", one line a rank
// A time that is not printed follows from the sizes of "[config] num_tokens=4096, hidden=7168,
// num_topk_groups=2, num_topk=8" and a random choice of 256 experts, the tests' default.
#include "calibrate/measure/deepep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "calibrate/imported/imported.h"
#include "calibrate/imported/lines.h"
#include "sim/base/number_text.h"
#include "sim/base/statistics.h"
#include "sim/base/text.h"
#include "sim/model/routing.h"

namespace meshwright::calibrate {
namespace {

constexpr int kRanksPerNode = 8;  // --num-processes of the tests
constexpr int kTestedExperts = 256;
constexpr double kFp8Number = 1.0 + 4.0 / 128, kBf16Number = 2.0;  // bytes, with the blocks' scales
constexpr double kMostPrinted = 1e9, kMostRate = 1e5;
constexpr int kMostTestedRanks = 100'000;

// "[config] num_tokens=4096, ..."; 0: not stated.
struct TestSizes {
  double tokens = 0.0, hidden = 0.0;
  int topk = 0, groups = 0;
};

// The number behind "name=", up to kMostPrinted; 0: there is none.
double number_behind(const std::string& line, const std::string& name) {
  const std::size_t at = line.find(name);
  if (at == std::string::npos) return 0.0;
  const double value = std::strtod(line.c_str() + at + name.size(), nullptr);
  return value > 0.0 && value <= kMostPrinted ? value : 0.0;
}

// The last number before `unit`; none: the line has none.
std::optional<double> number_before(const std::string& line, const std::string& unit) {
  const std::size_t at = line.find(unit);
  if (at == std::string::npos) return std::nullopt;
  const std::vector<std::string> words = split_words(line.substr(0, at));
  const auto value = words.empty() ? std::nullopt : number_in(words.back());
  return value && *value > 0.0 && *value < kMostPrinted ? value : std::nullopt;
}

struct TunedKernel {
  bool across = false;  // between nodes
  std::string kernel;   // "dispatch fp8"
  double rate = 0.0;    // bytes a second
  std::optional<double> seconds;
};

// "[tuning] Best dispatch (BF16): ..."; none: another line.
std::optional<TunedKernel> tuned_in(const std::string& line) {
  const std::size_t at = line.find("[tuning] Best ");
  if (at == std::string::npos) return std::nullopt;
  const std::string rest = lower_case(line.substr(at + 14));
  TunedKernel tuned;
  const auto across = number_before(line, " GB/s (RDMA)"),
             inside = number_before(line, " GB/s (NVL)");
  const auto rate = across ? across : inside;
  if (!rate || *rate > kMostRate) return std::nullopt;
  tuned.across = across.has_value();
  tuned.rate = *rate * 1e9;
  if (const auto us = number_before(line, " us")) tuned.seconds = *us * 1e-6;
  if (rest.starts_with("combine")) {
    tuned.kernel = "combine bf16";
  } else if (rest.starts_with("dispatch (fp8)")) {
    tuned.kernel = "dispatch fp8";
  } else if (rest.starts_with("dispatch (bf16)")) {
    tuned.kernel = "dispatch bf16";
  } else {
    return std::nullopt;
  }
  return tuned;
}

// What one rank measured with low latency.
struct RankLine {
  int rank = 0;
  double bytes[2] = {}, seconds[2] = {};  // dispatch, combine
};

std::optional<RankLine> rank_line_in(const std::string& line) {
  const std::size_t label = line.find("[rank "), dispatch = line.find("] Dispatch bandwidth: ");
  const std::size_t combine = line.find("Combine bandwidth: ");
  if (label == std::string::npos || dispatch == std::string::npos || combine == std::string::npos ||
      combine < dispatch || dispatch < label) {
    return std::nullopt;
  }
  const auto rank = number_in(line.substr(label + 6, dispatch - label - 6));
  if (!rank || *rank < 0.0 || *rank >= kMostTestedRanks) return std::nullopt;
  RankLine found{.rank = static_cast<int>(*rank)};
  const std::string halves[2] = {line.substr(dispatch, combine - dispatch), line.substr(combine)};
  for (int i = 0; i < 2; ++i) {
    const auto rate = number_before(halves[i], " GB/s");
    const double us = number_behind(halves[i], "avg_t=");
    if (!rate || *rate > kMostRate || us <= 0.0) return std::nullopt;
    found.seconds[i] = us * 1e-6;
    found.bytes[i] = *rate * 1e9 * found.seconds[i];
  }
  return found;
}

class TestReader {
 public:
  explicit TestReader(const std::string& text) {
    for (const std::string& line : log_lines(text)) read_line(line);
  }

  Imported read() {
    for (const auto& [what, kernels] : tuned_) add_tuned(what.first, what.second, kernels);
    end_run();
    if (!result_.points.empty()) {
      result_.tool = "DeepEP's tests";
      result_.notes.push_back(
          fmt::format("DeepEP: {} ranks per node are assumed where the log has no --num-processes",
                      kRanksPerNode));
    }
    return std::move(result_);
  }

 private:
  void read_line(const std::string& line) {
    if (const double processes = number_behind(line, "--num-processes ");
        processes >= 2.0 && processes <= 1024.0) {
      ranks_per_node_ = static_cast<int>(processes);
    }
    stated_nodes_ = std::max(stated_nodes_,
                             static_cast<int>(std::min(number_behind(line, "WORLD_SIZE="), 1e5)));
    if (contains(line, "[config] num_tokens=")) read_config(line);
    if (const auto tuned = tuned_in(line)) tuned_[{tuned->across, tuned->kernel}].push_back(*tuned);
    if (const auto rank = rank_line_in(line)) add_rank(*rank);
  }

  // The first rank of each node prints it.
  void read_config(const std::string& line) {
    sizes_ = {.tokens = number_behind(line, "num_tokens="),
              .hidden = number_behind(line, "hidden="),
              .topk = static_cast<int>(number_behind(line, "num_topk=")),
              .groups = static_cast<int>(number_behind(line, "num_topk_groups="))};
    configs_ += sizes_.groups > 0 ? 1 : 0;
  }

  // The tests take min(nodes, 4) groups: fewer than four groups are as many nodes.
  [[nodiscard]] int nodes() const {
    return std::max({2, stated_nodes_, configs_, std::min(sizes_.groups, kTestedExperts)});
  }

  // Bytes of a kernel whose time is not printed; 0: the sizes are not stated either.
  [[nodiscard]] double expected_bytes(bool across, const std::string& kernel) const {
    if (sizes_.tokens <= 0.0 || sizes_.hidden <= 0.0 || sizes_.topk <= 0) return 0.0;
    const double number = kernel == "dispatch fp8" ? kFp8Number : kBf16Number;
    Routing routing{.experts = kTestedExperts, .topk = std::min(sizes_.topk, kTestedExperts)};
    const int places = across ? nodes() : ranks_per_node_;
    if (kTestedExperts % places != 0) return 0.0;
    if (across && sizes_.groups > 0 && sizes_.groups < nodes() &&
        routing.topk % sizes_.groups == 0) {
      routing.groups = nodes();
      routing.group_topk = sizes_.groups;
    }
    return sizes_.tokens * sizes_.hidden * number * places_of_token(routing, places);
  }

  void add_tuned(bool across, const std::string& kernel, const std::vector<TunedKernel>& of_nodes) {
    std::vector<double> rates, times;
    for (const TunedKernel& tuned : of_nodes) {
      rates.push_back(tuned.rate);
      if (tuned.seconds) times.push_back(*tuned.seconds);
    }
    const double rate = upper_median(rates);
    const double time = times.empty() ? expected_bytes(across, kernel) / rate : upper_median(times);
    if (!(time > 0.0)) {
      result_.notes.push_back(fmt::format(
          "DeepEP {}: {} GB/s left out: neither its time nor the line [config] is in the log",
          kernel, number_text(rate / 1e9)));
      return;
    }
    const int num_nodes = across ? nodes() : 1;
    add_point(num_nodes, num_nodes * ranks_per_node_, fmt::format("{} {}", kDeepEp, kernel),
              rate * time, time);
    if (across && stated_nodes_ == 0 && configs_ < num_nodes) {
      result_.notes.push_back(
          fmt::format("DeepEP {}: {} nodes are assumed; WORLD_SIZE=N in the log states them",
                      kernel, num_nodes));
    }
  }

  // A rank that prints again begins another run, of another number of tokens.
  void add_rank(const RankLine& line) {
    if (!seen_.insert(line.rank).second) {
      end_run();
      seen_.insert(line.rank);
    }
    run_.push_back(line);
  }

  void end_run() {
    if (run_.empty()) return;
    const int ranks = *seen_.rbegin() + 1;
    const int num_nodes = std::max(1, (ranks + ranks_per_node_ - 1) / ranks_per_node_);
    for (int i = 0; i < 2 && ranks > 1; ++i) {
      std::vector<double> bytes_of, seconds_of;
      for (const RankLine& line : run_) {
        bytes_of.push_back(line.bytes[i]);
        seconds_of.push_back(line.seconds[i]);
      }
      add_point(num_nodes, ranks,
                std::string(i == 0 ? kDeepEpDispatchLowLatency : kDeepEpCombineLowLatency),
                median(bytes_of), median(seconds_of));
    }
    run_.clear();
    seen_.clear();
  }

  void add_point(int num_nodes, int ranks, const std::string& algorithm, double size, double time) {
    MeasuredPoint point;
    point.subject =
        timed::CollectiveCall{{.collective = Collective::all_to_all,
                               .tier = num_nodes == 1 ? Tier::intra_node : Tier::inter_node,
                               .group_size = ranks,
                               .ranks_per_node = std::min(ranks, ranks_per_node_),
                               .groups_per_node = 1,
                               .algorithm = algorithm}};
    point.amount = bytes(size);
    point.measurement = told(seconds(time));
    result_.points.push_back(std::move(point));
  }

  TestSizes sizes_;
  int ranks_per_node_ = kRanksPerNode, stated_nodes_ = 0, configs_ = 0;
  std::map<std::pair<bool, std::string>, std::vector<TunedKernel>> tuned_;
  std::vector<RankLine> run_;
  std::set<int> seen_;
  Imported result_;
};

}  // namespace

Imported from_deepep(const std::string& text) {
  if (!contains(text, "[tuning] Best ") && !contains(text, "] Dispatch bandwidth: ")) return {};
  return TestReader(text).read();
}

}  // namespace meshwright::calibrate
