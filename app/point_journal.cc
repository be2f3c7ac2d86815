// SPDX-License-Identifier: Apache-2.0
#include "app/point_journal.h"

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "calibrate/profile/profile_json.h"
#include "sim/base/error.h"
#include "sim/json/parse.h"
#include "sim/json/reader.h"

namespace meshwright::app {
namespace {

namespace fs = std::filesystem;

constexpr char kSchema[] = "meshwright.points/1";
constexpr auto kOldest = std::chrono::hours(24);

nlohmann::json to_json(const JournalOwner& owner) {
  return {{"schema", kSchema},
          {"device", owner.device},
          {"backend", owner.backend},
          {"hosts", owner.hosts}};
}

bool is_old(const std::string& path) {
  std::error_code error;
  const auto written = fs::last_write_time(path, error);
  return error || fs::file_time_type::clock::now() - written > kOldest;
}

// Empty at the end and at a line that is no JSON: a run that was killed may have cut it.
nlohmann::json next_line(std::istream& in) {
  std::string line;
  if (!std::getline(in, line)) return nullptr;
  try {
    nlohmann::json json = parse_json(line, "");
    return json.is_object() ? json : nullptr;
  } catch (const InputError&) {
    return nullptr;
  }
}

}  // namespace

JournalContent read_journal(const std::string& path, const JournalOwner& owner,
                            std::string& refused) {
  JournalContent content;
  std::ifstream in(path);
  if (!in) return content;
  if (is_old(path)) {
    refused = "is older than a day";
  } else if (next_line(in) != to_json(owner)) {
    refused = "is of another device, other hosts or another number of ranks";
  }
  if (!refused.empty()) return content;
  for (nlohmann::json line = next_line(in); !line.is_null(); line = next_line(in)) {
    if (!line.contains("point") || !line.contains("used_seconds")) break;
    ObjectReader reader(line, path);
    content.points.push_back(calibrate::point_from_json(reader.member("point"), path, "/point"));
    content.used_seconds = reader.required_number("used_seconds");
  }
  return content;
}

PointJournal::PointJournal(std::string path, const JournalOwner& owner,
                           const JournalContent& content)
    : path_(std::move(path)), file_(path_ + ".new", std::ios::trunc) {
  if (!file_) throw InputError("--out", "", "cannot write " + path_);
  file_ << to_json(owner).dump() << '\n';
  for (const auto& point : content.points) add(point, content.used_seconds);
  file_.flush();
  fs::rename(path_ + ".new", path_);  // the old one is whole until the new one is
}

void PointJournal::add(const calibrate::MeasuredPoint& point, double used_seconds) {
  const nlohmann::ordered_json line{{"used_seconds", used_seconds},
                                    {"point", calibrate::to_json(point)}};
  file_ << line.dump() << '\n' << std::flush;
}

void PointJournal::remove() {
  file_.close();
  std::error_code gone_already;
  fs::remove(path_, gone_already);
}

}  // namespace meshwright::app
