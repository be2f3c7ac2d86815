// SPDX-License-Identifier: Apache-2.0
// nccl-tests, src/util.cu: a header line names the columns of out-of-place and in-place results;
// "# Rank ..." lines say who took part. JSON (-J, version 3): numbers may be strings. Sizes are in
// bytes, times in microseconds, the size is the whole array (doc/PERFORMANCE.md).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "calibrate/imported/imported.h"
#include "calibrate/imported/lines.h"
#include "calibrate/imported/nccl_rows.h"
#include "sim/base/error.h"
#include "sim/base/number_text.h"
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
                               std::pair{"alltoallv", Collective::all_to_all},  // even parts
                               std::pair{"broadcast", Collective::broadcast},
                               std::pair{"sendrecv", Collective::send_recv}};

std::optional<Collective> collective_named(const std::string& name) {
  for (const auto& [program, collective] : kPrograms) {
    if (name == program) return collective;
  }
  return std::nullopt;
}

// "all_reduce" of every "all_reduce_perf" in a line, each once.
std::set<std::string> programs_in(const std::string& line) {
  std::set<std::string> programs;
  for (std::size_t at = line.find("_perf"); at != std::string::npos;
       at = line.find("_perf", at + 1)) {
    std::size_t first = at;
    while (first > 0 && (std::islower(static_cast<unsigned char>(line[first - 1])) != 0 ||
                         line[first - 1] == '_')) {
      --first;
    }
    if (at > first) programs.insert(line.substr(first, at - first));
  }
  return programs;
}

[[noreturn]] void fail_unnamed(const std::string& file) {
  throw InputError(file, "", "does not say which collective was measured",
                   "keep nccl-tests' command line in the log, or name the file all_reduce.txt");
}

// The program that the file's own name has.
std::optional<std::string> program_of_file(const std::string& file) {
  const std::string base = file.substr(file.find_last_of('/') + 1);
  for (const auto& [name, collective] : kPrograms) {
    if (contains(base, name)) return name;
  }
  return std::nullopt;
}

struct ReportedSlots {
  int ranks = 0;
  std::map<std::string, int> on_host;
  std::set<int> numbers;  // of ranks
};

// NCCL_TESTS_SPLIT makes several groups, all at work at once; each is a communicator of its own.
using GroupSlots = std::map<int, ReportedSlots>;

int groups_on(const std::string& host, const GroupSlots& groups) {
  return static_cast<int>(std::count_if(groups.begin(), groups.end(), [&](const auto& group) {
    return group.second.on_host.contains(host);
  }));
}

// Placement of the first group; the others are like it.
Placement placement_of(const GroupSlots& groups, const std::string& file) {
  const ReportedSlots slots = groups.empty() ? ReportedSlots{} : groups.begin()->second;
  if (slots.ranks < 2) {
    throw InputError(file, "", "does not say that two or more ranks took part",
                     "keep nccl-tests' lines \"# Rank ...\"");
  }
  int most = 1;
  for (const auto& [host, ranks] : slots.on_host) most = std::max(most, ranks);
  const int nodes = std::max<int>(1, static_cast<int>(slots.on_host.size()));
  return {slots.ranks, nodes == 1 ? slots.ranks : most, nodes,
          groups_on(slots.on_host.begin()->first, groups)};
}

// Where the columns stand that are read; the first time column is out of place.
struct Columns {
  std::size_t size = 0, time = 0, wrong = 0, type = 0, redop = 0, algbw = 0, busbw = 0;
};

std::optional<Columns> columns_in(const std::vector<std::string>& words) {
  const auto at = [&](const char* name) {
    return static_cast<std::size_t>(std::find(words.begin(), words.end(), name) - words.begin());
  };
  Columns columns{.size = at("size"),
                  .time = std::min(at("time"), at("cputime")),
                  .wrong = at("#wrong"),
                  .type = at("type"),
                  .redop = at("redop"),
                  .algbw = at("algbw"),
                  .busbw = at("busbw")};
  const bool found = columns.size < words.size() && columns.time < words.size();
  return found ? std::optional(columns) : std::nullopt;
}

struct RankSeat {
  std::string host;
  int group = 0;
  std::optional<int> rank;
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
std::optional<RankSeat> seat_in(const std::vector<std::string>& words) {
  if (words.size() < 3 || words[0] != "#" || words[1] != "Rank") return std::nullopt;
  const auto on = std::find(words.begin(), words.end(), "on");
  if (words.end() - on < 3 || on[2] != "device") return std::nullopt;
  const auto group = std::find(words.begin(), on, "Group");
  const auto number = on - group < 2 ? std::nullopt : number_in(group[1]);
  const auto rank = number_in(words[2]);
  return RankSeat{
      on[1], static_cast<int>(std::clamp(number.value_or(0.0), 0.0, 1e6)),
      rank ? std::optional(static_cast<int>(std::clamp(*rank, 0.0, 1e7))) : std::nullopt,
      device_after_bus(on + 2, words.end())};
}

void add_device(std::vector<std::string>& devices, const std::string& name) {
  if (name.empty() || std::find(devices.begin(), devices.end(), name) != devices.end()) return;
  devices.push_back(name);
}

// A row of a log, before it is known what ran.
struct LoggedRow {
  std::string program;  // empty: not stated
  TimedRow row;
  double bus_ratio = 0.0;  // of the bus's bandwidth over the algorithm's; 0: too small to say
};

class TextReader {
 public:
  TextReader(const std::string& text, const std::string& file) : text_(text), file_(file) {}

  Imported read() {
    for (const std::string& line : log_lines(text_)) read_line(line);
    std::vector<TimedRow> rows;
    int left_out = 0;
    std::string program_left_out;
    for (LoggedRow& logged : rows_) {
      const std::string program = logged.program.empty() ? guessed_program() : logged.program;
      const std::optional<Collective> collective = collective_named(program);
      if (collective) {
        logged.row.collective = *collective;
        rows.push_back(logged.row);
      } else {
        ++left_out;
        program_left_out = program;
      }
    }
    add_nccl_points(rows, result_);
    if (left_out > 0) {
      result_.notes.push_back(
          fmt::format("{}: {} rows of {}_perf left out: no collective of a "
                      "training step",
                      file_, left_out, program_left_out));
    }
    return std::move(result_);
  }

 private:
  void read_line(const std::string& line) {
    const std::vector<std::string> all = split_words(line);
    if (all.empty()) return;
    if (contains(line, "_perf")) note_programs(line);
    // Pods' and hosts' names may stand before, as they do before the rows.
    constexpr std::ptrdiff_t kMostLabels = 4;
    const auto last = all.begin() + std::min<std::ptrdiff_t>(kMostLabels, std::ssize(all));
    const auto hash =
        std::find_if(all.begin(), last, [](const std::string& w) { return w.front() == '#'; });
    if (hash == last) {
      if (columns_) read_row(all);
      return;
    }
    read_comment({hash, all.end()}, static_cast<std::size_t>(hash - all.begin()));
  }

  void read_comment(std::vector<std::string> words, std::size_t labels) {
    if (const auto seat = seat_in(words)) {
      take_seat(*seat);
      return;
    }
    if (words.front() == "#") words.erase(words.begin());
    const bool begins = words.size() > 1 && words[0] == "Using" && words[1] == "devices";
    if (begins || (!words.empty() && words[0].starts_with("nThread"))) slots_.clear();
    if (const auto columns = columns_in(words)) {
      columns_ = columns;
      labels_ = labels;
    }
  }

  void take_seat(const RankSeat& seat) {
    ReportedSlots& slots = slots_[seat.group];
    if (seat.rank && !slots.numbers.insert(*seat.rank).second) {
      throw InputError(
          file_, "",
          fmt::format("names rank {} twice before one table: each process ran alone", *seat.rank),
          "build nccl-tests with MPI=1, or give one job's log a file");
    }
    ++slots.ranks;
    ++slots.on_host[seat.host];
    add_device(result_.devices, seat.device);
  }

  // A line that lists several programs, as a loop does, says nothing of the table that follows.
  void note_programs(const std::string& line) {
    const std::set<std::string> named = programs_in(line);
    if (named.size() != 1) return;
    if (table_read_) mentioned_.clear();
    table_read_ = false;
    starting_ = contains(line, "test starting:") ? *named.begin() : starting_;
    mentioned_.insert(*named.begin());
  }

  std::string program() {
    if (!table_read_ && (!mentioned_.empty() || !starting_.empty())) {
      if (starting_.empty() && mentioned_.size() > 1) {
        throw InputError(
            file_, "",
            fmt::format("names several programs before a table: {}", fmt::join(mentioned_, ", ")),
            "give each table's log a file, or keep each command before its table");
      }
      program_ = starting_.empty() ? *mentioned_.begin() : starting_;
      starting_.clear();
    }
    table_read_ = true;
    if (program_.empty()) program_ = program_of_file(file_).value_or("");
    return program_;
  }

  // The all-reduce is the only collective whose bus rate exceeds its payload rate.
  const std::string& guessed_program() {
    if (!guess_.empty()) return guess_;
    constexpr double kMore = 1.2;
    const auto above = [](const LoggedRow& logged) {
      return logged.program.empty() && logged.bus_ratio > kMore && logged.row.redop == "sum";
    };
    const auto unnamed = std::find_if(rows_.begin(), rows_.end(), above);
    if (unnamed == rows_.end()) fail_unnamed(file_);
    guess_ = "all_reduce";
    result_.notes.push_back(fmt::format(
        "{}: no program is named; a bus bandwidth {} times the algorithm's is an all-reduce's",
        file_, number_text(unnamed->bus_ratio, 3)));
    return guess_;
  }

  void read_row(const std::vector<std::string>& all) {
    if (all.size() <= labels_ + columns_->time) return;
    const std::vector<std::string> words(all.begin() + static_cast<std::ptrdiff_t>(labels_),
                                         all.end());
    const auto size = number_in(words[columns_->size]), us = number_in(words[columns_->time]);
    if (!size || !us || *size <= 0.0 || *us <= 0.0) return;
    if (columns_->wrong < words.size() && number_in(words[columns_->wrong]).value_or(0.0) > 0.0) {
      result_.notes.push_back(fmt::format("{}: {:.0f} bytes left out: {} wrong values", file_,
                                          *size, words[columns_->wrong]));
      return;
    }
    const auto cell = [&](std::size_t at) { return at < words.size() ? words[at] : ""; };
    const double algorithm = number_in(cell(columns_->algbw)).value_or(0.0);
    const double bus = number_in(cell(columns_->busbw)).value_or(0.0);
    constexpr double kLeast = 0.5;  // GB/s: two digits behind the point say enough
    rows_.push_back({program(),
                     {.place = placement_of(slots_, file_),
                      .size = *size,
                      .us = *us,
                      .type = cell(columns_->type),
                      .redop = cell(columns_->redop)},
                     algorithm >= kLeast ? bus / algorithm : 0.0});
  }

  const std::string& text_;
  const std::string& file_;
  GroupSlots slots_;
  std::set<std::string> mentioned_;  // programs since the last table
  std::string starting_, program_, guess_;
  bool table_read_ = false;
  std::optional<Columns> columns_;
  std::size_t labels_ = 0;  // words before a row
  std::vector<LoggedRow> rows_;
  Imported result_;
};

// A member, or null where there is none.
const Json& member(const Json& object, const char* name) {
  static const Json none;
  const auto found = object.is_object() ? object.find(name) : object.end();
  return object.is_object() && found != object.end() ? *found : none;
}

// A string; empty: none.
std::string member_text(const Json& object, const char* name) {
  const Json& value = member(object, name);
  return value.is_string() ? value.get<std::string>() : "";
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
    add_device(devices, member_text(device, "device_info"));
  }
  return devices;
}

GroupSlots slots_in(const Json& document) {
  GroupSlots groups;
  for (const Json& device : member(member(document, "config"), "devices")) {
    const double group = member_number(device, {"group"});
    ReportedSlots& slots = groups[static_cast<int>(std::clamp(group, 0.0, 1e6))];
    ++slots.ranks;
    ++slots.on_host[member(device, "hostname").dump()];
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
  const std::set<std::string> programs = programs_in(member(document, "args").dump());
  const std::string program =
      programs.empty() ? program_of_file(file).value_or("") : *programs.begin();
  const std::optional<Collective> collective = collective_named(program);
  if (!collective) fail_unnamed(file);
  const Placement place = placement_of(slots_in(document), file);
  result.devices = devices_in(document);
  std::vector<TimedRow> rows;
  for (const Json& row : document["results"]) {
    const Json& outside = member(row, "out_of_place");
    const double size = member_number(row, {"size"});
    const double us = member_number(outside, {"time", "cpu_time"});
    if (size <= 0.0 || us <= 0.0) continue;
    if (member_number(outside, {"nwrong"}) > 0.0) {
      result.notes.push_back(fmt::format("{}: {:.0f} bytes left out: wrong values", file, size));
      continue;
    }
    rows.push_back(
        {*collective, place, size, us, member_text(row, "type"), member_text(row, "redop")});
  }
  add_nccl_points(rows, result);
  return result;
}

}  // namespace meshwright::calibrate
