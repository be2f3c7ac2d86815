// SPDX-License-Identifier: Apache-2.0
// NVIDIA's nvbandwidth, text and -j JSON: "Running NAME.", a title, a row of column numbers, rows
// of GB/s (1e9) with N/A for a device and itself, "SUM NAME value". A copy is of 512 MiB unless
// --bufferSize says otherwise (nvbandwidth.cpp). Copies by the copy engines (_ce) in one direction
// count; those by multiprocessors (_sm) where there is no other.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "calibrate/imported/imported.h"
#include "calibrate/imported/lines.h"
#include "sim/base/number_text.h"
#include "sim/base/text.h"
#include "sim/record/json.h"
#include "sim/record/parse.h"

namespace meshwright::calibrate {
namespace {

constexpr double kDefaultMebibytes = 512.0;

struct Cell {
  int row = 0, column = 0;
  double rate = 0.0;  // bytes a second
};
using Matrices = std::map<std::string, std::vector<Cell>>;  // by the test's name

struct Bandwidths {
  Matrices tests;
  std::vector<std::string> devices;
  double mebibytes = kDefaultMebibytes;
};

void add_rate(std::vector<Cell>& cells, int row, int column, const std::string& word) {
  constexpr double kMost = 1e6;  // GB/s
  const auto rate = number_in(word);
  if (rate && *rate > 0.0 && *rate < kMost) cells.push_back({row, column, *rate * 1e9});
}

// "Device 0: NVIDIA H100 80GB HBM3 (00000000:18:00)"; of several hosts "Process 0 (h): device 0:
// ..".
void add_named_device(const std::string& line, std::vector<std::string>& devices) {
  const std::size_t at = line.find("evice ");
  const std::size_t colon = at == std::string::npos ? at : line.find(": ", at);
  if (colon == std::string::npos) return;
  const std::string number = line.substr(at + 6, colon - at - 6);
  if (number.empty() || number.find_first_not_of("0123456789") != std::string::npos) return;
  const std::string name =
      line.substr(colon + 2, std::min(line.find(" (", colon), line.size()) - colon - 2);
  if (std::find(devices.begin(), devices.end(), name) == devices.end()) devices.push_back(name);
}

void read_buffer_size(const std::string& line, double& mebibytes) {
  if (!contains(line, "nvbandwidth")) return;
  const std::vector<std::string> words = split_words(replaced(line, "=", " "));
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] != "-b" && words[i] != "--bufferSize") continue;
    if (const auto size = number_in(words[i + 1]); size && *size >= 1.0 && *size < 1e6) {
      mebibytes = *size;
    }
  }
}

Bandwidths bandwidths_in(const std::string& text) {
  Bandwidths found;
  std::string test;
  bool matrix = false;
  for (const std::string& line : log_lines(text)) {
    const std::vector<std::string> words = split_words(line);
    read_buffer_size(line, found.mebibytes);
    if (words.empty()) continue;
    if (words[0] == "Running" && words.size() == 2 && contains(words[1], "_")) {
      test = words[1].substr(0, words[1].find_last_not_of('.') + 1);
      matrix = false;
    } else if (contains(line, "(GB/s)") && contains(line, "bandwidth")) {
      matrix = !test.empty();
    } else if (words[0] == "SUM") {
      matrix = false;
    } else if (matrix && words.size() > 1 && words[0] == "0" && words[1] == "1") {
      continue;  // the columns' numbers
    } else if (matrix && number_in(words[0]) && words.size() > 1) {
      const int row = static_cast<int>(std::clamp(*number_in(words[0]), 0.0, 1e4));
      for (std::size_t i = 1; i < words.size(); ++i) {
        add_rate(found.tests[test], row, static_cast<int>(i) - 1, words[i]);
      }
    } else {
      add_named_device(line, found.devices);
    }
  }
  return found;
}

// {"nvbandwidth": {"testcases": [{"name": .., "status": .., "bandwidth_matrix": [["N/A",
// "27.1"]]}]}}
Bandwidths bandwidths_in_json(const Json& document) {
  Bandwidths found;
  const auto member_of = [](const Json& object, const char* name) {
    const auto at = object.is_object() ? object.find(name) : object.end();
    return object.is_object() && at != object.end() ? *at : Json();
  };
  const Json tool = member_of(document, "nvbandwidth");
  for (const auto& device : member_of(tool, "GPU Device list")) {
    if (device.is_string()) add_named_device("Device " + device.get<std::string>(), found.devices);
  }
  for (const auto& test : member_of(tool, "testcases")) {
    const Json name = member_of(test, "name");
    if (!name.is_string()) continue;
    const Json matrix = member_of(test, "bandwidth_matrix");
    for (std::size_t row = 0; matrix.is_array() && row < matrix.size(); ++row) {
      for (std::size_t column = 0; matrix[row].is_array() && column < matrix[row].size();
           ++column) {
        const Json& cell = matrix[row][column];
        add_rate(found.tests[name.get<std::string>()], static_cast<int>(row),
                 static_cast<int>(column),
                 cell.is_string() ? cell.get<std::string>() : cell.dump());
      }
    }
  }
  return found;
}

double median_rate(std::vector<Cell> cells) {
  const auto middle = cells.begin() + static_cast<std::ptrdiff_t>(cells.size() / 2);
  std::nth_element(cells.begin(), middle, cells.end(),
                   [](const Cell& a, const Cell& b) { return a.rate < b.rate; });
  return middle->rate;
}

std::string rate_text(double rate) { return number_text(rate / 1e9) + " GB/s"; }

// Says what is far from the median; whether enough lies near it to speak of one rate.
bool is_one_rate(const std::string& test, const std::vector<Cell>& cells, bool pairs,
                 Imported& result) {
  constexpr double kNear = 0.15, kMostOutside = 0.25;
  const double median = median_rate(cells);
  const Cell* slowest = nullptr;
  std::size_t outside = 0;
  for (const Cell& cell : cells) {
    if (std::abs(cell.rate - median) <= kNear * median) continue;
    ++outside;
    if (slowest == nullptr || cell.rate < slowest->rate) slowest = &cell;
  }
  if (slowest == nullptr) return true;
  const std::string where = pairs ? fmt::format("GPU{} and GPU{}", slowest->row, slowest->column)
                                  : fmt::format("GPU{}", slowest->column);
  const bool one = static_cast<double>(outside) <= kMostOutside * static_cast<double>(cells.size());
  result.notes.push_back(
      fmt::format("nvbandwidth, {}: {} of {} rates differ from the median of {}, {} has {}{}", test,
                  outside, cells.size(), rate_text(median), where, rate_text(slowest->rate),
                  one ? "" : ": GPUs are joined by several kinds of links, and none is taken"));
  return one;
}

class BandwidthImport {
 public:
  explicit BandwidthImport(const Bandwidths& found) : found_(found) {}

  Imported read() {
    result_.devices = found_.devices;
    take({"host_to_device_memcpy_ce", "host_to_device_memcpy_sm"},
         timed::HostLink{HostDirection::to_device});
    take({"device_to_host_memcpy_ce", "device_to_host_memcpy_sm"},
         timed::HostLink{HostDirection::to_host});
    take({"device_to_device_memcpy_write_ce", "device_to_device_memcpy_read_ce",
          "device_to_device_memcpy_write_sm", "device_to_device_memcpy_read_sm"},
         timed::CollectiveCall{{.collective = Collective::send_recv,
                                .tier = Tier::intra_node,
                                .group_size = 2,
                                .ranks_per_node = 2,
                                .groups_per_node = 1}});
    std::string left_out;
    for (const auto& [test, cells] : found_.tests) {
      if (std::find(taken_.begin(), taken_.end(), test) == taken_.end()) {
        append_to_list(left_out, ", ", test);
      }
    }
    if (!result_.points.empty() && !left_out.empty()) {
      result_.notes.push_back("nvbandwidth: left out: " + left_out);
    }
    return std::move(result_);
  }

 private:
  // The first of the tests that ran.
  void take(std::initializer_list<const char*> tests, const Subject& subject) {
    const bool pairs = std::holds_alternative<timed::CollectiveCall>(subject);
    for (const char* test : tests) {
      const auto found = found_.tests.find(test);
      if (found == found_.tests.end() || found->second.empty()) continue;
      taken_.emplace_back(test);
      if (!is_one_rate(test, found->second, pairs, result_)) return;
      MeasuredPoint point;
      point.subject = subject;
      point.amount = bytes(found_.mebibytes * 1024.0 * 1024.0);
      point.measurement = told(point.amount / bytes_per_second(median_rate(found->second)));
      result_.points.push_back(std::move(point));
      result_.tool = "nvbandwidth";
      return;
    }
  }

  const Bandwidths& found_;
  std::vector<std::string> taken_;
  Imported result_;
};

}  // namespace

Imported from_nvbandwidth(const std::string& text) {
  const Bandwidths found = bandwidths_in(text);
  return found.tests.empty() ? Imported{} : BandwidthImport(found).read();
}

Imported from_nvbandwidth_json(const std::string& text, const std::string& file) {
  if (!contains(text, "\"nvbandwidth\"")) return {};
  const Bandwidths found = bandwidths_in_json(parse_json(text, file));
  return BandwidthImport(found).read();
}

}  // namespace meshwright::calibrate
