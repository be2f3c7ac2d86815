// SPDX-License-Identifier: Apache-2.0
// nccl-tests, src/util.cu: a header line names the columns of out-of-place and in-place results;
// "# Rank ..." lines say who took part. JSON (-J, version 3): numbers may be strings. Sizes are in
// bytes, times in microseconds, the size is the whole array (doc/PERFORMANCE.md).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "calibrate/imported/imported.h"
#include "calibrate/imported/lines.h"
#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/hardware/placement.h"
#include "sim/record/json.h"
#include "sim/record/parse.h"

namespace meshwright::calibrate {
namespace {

constexpr std::array kPrograms{std::pair{"all_reduce", Collective::all_reduce},
                               std::pair{"all_gather", Collective::all_gather},
                               std::pair{"reduce_scatter", Collective::reduce_scatter},
                               std::pair{"alltoall", Collective::all_to_all},
                               std::pair{"broadcast", Collective::broadcast},
                               std::pair{"sendrecv", Collective::send_recv}};

// The program's name, all_reduce_perf, in the log or, failing that, the file's own name.
Collective collective_in(const std::string& text, const std::string& file) {
  for (const auto& [name, collective] : kPrograms) {
    if (text.find(std::string(name) + "_perf") != std::string::npos) return collective;
  }
  const std::string base = file.substr(file.find_last_of('/') + 1);
  for (const auto& [name, collective] : kPrograms) {
    if (contains(base, name)) return collective;
  }
  throw InputError(file, "", "does not say which collective was measured",
                   "keep nccl-tests' command line in the log, or name the file all_reduce.txt");
}

struct ReportedSeats {
  int ranks = 0;
  std::map<std::string, int> on_host;
};

// NCCL_TESTS_SPLIT makes several groups, all at work at once; each is a communicator of its own.
using GroupSeats = std::map<int, ReportedSeats>;

int groups_on(const std::string& host, const GroupSeats& groups) {
  return static_cast<int>(std::count_if(groups.begin(), groups.end(), [&](const auto& group) {
    return group.second.on_host.contains(host);
  }));
}

// Of the first group; the others are like it.
Placement placement_of(const GroupSeats& groups, const std::string& file) {
  const ReportedSeats seats = groups.empty() ? ReportedSeats{} : groups.begin()->second;
  if (seats.ranks < 2) {
    throw InputError(file, "", "does not say that two or more ranks took part",
                     "keep nccl-tests' lines \"# Rank ...\"");
  }
  int most = 1;
  for (const auto& [host, ranks] : seats.on_host) most = std::max(most, ranks);
  const int nodes = std::max<int>(1, static_cast<int>(seats.on_host.size()));
  return {seats.ranks, nodes == 1 ? seats.ranks : most, nodes,
          groups_on(seats.on_host.begin()->first, groups)};
}

MeasuredPoint point_of(Collective collective, const Placement& place, double size, double us) {
  // Every rank sends to the next one and hears from the one before: pairs, all at once.
  const bool pairs = collective == Collective::send_recv;
  const bool across = pairs && place.num_nodes > 1;
  GroupCall call;
  call.collective = collective;
  call.tier = place.tier();
  call.group_size = pairs ? 2 : place.group_size;
  call.ranks_per_node = across ? 1 : std::min(place.ranks_per_node, call.group_size);
  call.groups_per_node = across ? place.ranks_per_node : place.groups_per_node;
  MeasuredPoint point;
  point.subject = timed::CollectiveCall{call};
  point.amount = bytes(size);
  point.measurement = told(microseconds(us));
  return point;
}

// Where the columns stand that are read; the first time column is out of place.
struct Columns {
  std::size_t size = 0, time = 0, wrong = 0, count = 0;
};

std::optional<Columns> columns_in(const std::vector<std::string>& words) {
  const auto at = [&](const char* name) {
    return static_cast<std::size_t>(std::find(words.begin(), words.end(), name) - words.begin());
  };
  Columns columns{at("size"), std::min(at("time"), at("cputime")), at("#wrong"), words.size()};
  const bool found = columns.size < words.size() && columns.time < words.size();
  return found ? std::optional(columns) : std::nullopt;
}

struct Seat {
  std::string host;
  int group = 0;
  std::string device;
};

// Behind the word that ends the device's number on its bus, "[0x31]" or "[0000:0f:00]".
std::string device_after_bus(std::vector<std::string>::const_iterator from,
                             std::vector<std::string>::const_iterator end) {
  const auto bus =
      std::find_if(from, end, [](const std::string& word) { return word.ends_with(']'); });
  std::string name;
  for (auto word = bus; word != end; ++word) {
    if (word != bus) append_to_list(name, " ", *word);
  }
  return name;
}

// "# Rank 0 Group 0 Pid 101 on alpha device 0 [0x31] NVIDIA A40" names alpha and NVIDIA A40.
std::optional<Seat> seat_in(const std::vector<std::string>& words) {
  if (words.size() < 3 || words[0] != "#" || words[1] != "Rank") return std::nullopt;
  const auto on = std::find(words.begin(), words.end(), "on");
  if (words.end() - on < 3 || on[2] != "device") return std::nullopt;
  const auto group = std::find(words.begin(), on, "Group");
  const auto number = on - group < 2 ? std::nullopt : number_in(group[1]);
  return Seat{on[1], static_cast<int>(std::clamp(number.value_or(0.0), 0.0, 1e6)),
              device_after_bus(on + 2, words.end())};
}

void add_device(std::vector<std::string>& devices, const std::string& name) {
  if (name.empty() || std::find(devices.begin(), devices.end(), name) != devices.end()) return;
  devices.push_back(name);
}

class TextReader {
 public:
  TextReader(const std::string& text, const std::string& file) : text_(text), file_(file) {}

  Imported read() {
    for (const std::string& line : log_lines(text_)) read_line(line);
    return std::move(result_);
  }

 private:
  void read_line(const std::string& line) {
    std::vector<std::string> words = split_words(line);
    if (words.empty()) return;
    if (const auto seat = seat_in(words)) {
      ReportedSeats& seats = seats_[seat->group];
      ++seats.ranks;
      ++seats.on_host[seat->host];
      add_device(result_.devices, seat->device);
      return;
    }
    if (words.front().front() == '#') {
      if (words.front() == "#") words.erase(words.begin());
      if (const auto columns = columns_in(words)) columns_ = columns;
      return;
    }
    if (columns_) read_row(words);
  }

  void read_row(const std::vector<std::string>& words) {
    if (words.size() <= columns_->time) return;
    const auto size = number_in(words[columns_->size]), us = number_in(words[columns_->time]);
    if (!size || !us || *size <= 0.0 || *us <= 0.0) return;
    if (columns_->wrong < words.size() && number_in(words[columns_->wrong]).value_or(0.0) > 0.0) {
      result_.notes.push_back(fmt::format("{}: {:.0f} bytes left out: {} wrong values", file_,
                                          *size, words[columns_->wrong]));
      return;
    }
    result_.tool = "nccl-tests";
    result_.points.push_back(
        point_of(collective_in(text_, file_), placement_of(seats_, file_), *size, *us));
  }

  const std::string& text_;
  const std::string& file_;
  GroupSeats seats_;
  std::optional<Columns> columns_;
  Imported result_;
};

// A member, or null where there is none.
const Json& member(const Json& object, const char* name) {
  static const Json none;
  const auto found = object.is_object() ? object.find(name) : object.end();
  return object.is_object() && found != object.end() ? *found : none;
}

// A number, or a string that holds one.
double loose_number(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return number_in(value.get<std::string>()).value_or(0.0);
  return 0.0;
}

double member_number(const Json& object, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (!member(object, name).is_null()) return loose_number(member(object, name));
  }
  return 0.0;
}

std::vector<std::string> devices_in(const Json& document) {
  std::vector<std::string> devices;
  for (const Json& device : member(member(document, "config"), "devices")) {
    const Json& name = member(device, "device_info");
    if (name.is_string()) add_device(devices, name.get<std::string>());
  }
  return devices;
}

GroupSeats seats_in(const Json& document) {
  GroupSeats groups;
  for (const Json& device : member(member(document, "config"), "devices")) {
    const double group = member_number(device, {"group"});
    ReportedSeats& seats = groups[static_cast<int>(std::clamp(group, 0.0, 1e6))];
    ++seats.ranks;
    ++seats.on_host[member(device, "hostname").dump()];
  }
  return groups;
}

}  // namespace

Imported from_nccl_tests(const std::string& text, const std::string& file) {
  return TextReader(text, file).read();
}

Imported from_nccl_tests_json(const std::string& text, const std::string& file) {
  Imported result;
  const Json document = parse_json(text, file);
  if (!member(document, "results").is_array()) return result;
  const std::string command = member(document, "args").dump();
  const Collective collective = collective_in(command, file);
  const Placement place = placement_of(seats_in(document), file);
  result.devices = devices_in(document);
  for (const Json& row : document["results"]) {
    const Json& outside = member(row, "out_of_place");
    const double size = member_number(row, {"size"});
    const double us = member_number(outside, {"time", "cpu_time"});
    if (size <= 0.0 || us <= 0.0) continue;
    if (member_number(outside, {"nwrong"}) > 0.0) {
      result.notes.push_back(fmt::format("{}: {:.0f} bytes left out: wrong values", file, size));
      continue;
    }
    result.tool = "nccl-tests";
    result.points.push_back(point_of(collective, place, size, us));
  }
  return result;
}

}  // namespace meshwright::calibrate
