// SPDX-License-Identifier: Apache-2.0
// perftest's ib_write_bw: rows of bytes, iterations, peak, average; Gb/sec is 1e9 bits, its MB/sec
// and MiB/sec are 2^20 bytes (perftest_parameters.h). BabelStream: a table of function, MBytes/sec
// (1e6, from the shortest run), shortest, longest and average seconds; Copy reads and writes one
// array (src/main.cpp).
#include <algorithm>
#include <utility>

#include "calibrate/imported/imported.h"
#include "calibrate/imported/lines.h"
#include "sim/base/text.h"

namespace meshwright::calibrate {
namespace {

// ib_write_bw keeps many messages under way: a small one's share of the time is not its latency.
constexpr Bytes kSmallestMessage = kibibytes(64);

// Bytes a second of one unit of the header's "BW average[...]"; 0: no such header.
double unit_of(const std::string& header) {
  const auto at = header.find("BW average[");
  if (at == std::string::npos) return 0.0;
  const std::string unit = header.substr(at + 11, header.find(']', at) - at - 11);
  return unit == "Gb/sec" ? 1e9 / 8.0 : 1024.0 * 1024.0;
}

// Across nodes, one pair alone.
MeasuredPoint message_point(double size, double rate) {
  MeasuredPoint point;
  point.subject = timed::CollectiveCall{{.collective = Collective::send_recv,
                                         .tier = Tier::inter_node,
                                         .group_size = 2,
                                         .ranks_per_node = 1,
                                         .groups_per_node = 1}};
  point.amount = bytes(size);
  point.measurement = told(seconds(size / rate));
  return point;
}

}  // namespace

Imported from_ib_write_bw(const std::string& text) {
  Imported result;
  double unit = 0.0;
  int small = 0;
  for (const std::string& line : log_lines(text)) {
    if (const double found = unit_of(line); found > 0.0) unit = found;
    const std::vector<std::string> words = split_words(line);
    if (unit == 0.0 || words.size() < 4) continue;
    const auto size = number_in(words[0]), average = number_in(words[3]);
    if (!size || !average || *size <= 0.0 || *average <= 0.0) continue;
    result.tool = "ib_write_bw";
    if (bytes(*size) < kSmallestMessage) {
      ++small;
      continue;
    }
    result.points.push_back(message_point(*size, *average * unit));
  }
  if (small > 0) {
    result.notes.push_back(std::to_string(small) +
                           " sizes below 64 KiB left out: many messages were under way at once");
  }
  return result;
}

Imported from_babel_stream(const std::string& text) {
  Imported result;
  bool table = false;
  for (const std::string& line : log_lines(text)) {
    const std::vector<std::string> words = split_words(line);
    if (words.size() >= 2 && words[0] == "Function" && words[1] == "MBytes/sec") table = true;
    if (!table || words.size() < 5 || words[0] != "Copy") continue;
    const auto rate = number_in(words[1]), shortest = number_in(words[2]);
    const auto longest = number_in(words[3]), average = number_in(words[4]);
    if (!rate || !shortest || !longest || !average || *average <= 0.0) continue;
    MeasuredPoint copy;
    copy.subject = timed::MemoryCopy{};
    copy.amount = bytes(*rate * 1e6 * *shortest);
    copy.measurement = told(seconds(*average));
    copy.measurement.summary.min = copy.measurement.summary.p10 = seconds(*shortest);
    copy.measurement.summary.p90 = seconds(*longest);
    result.tool = "BabelStream";
    result.points.push_back(copy);
  }
  return result;
}

}  // namespace meshwright::calibrate
