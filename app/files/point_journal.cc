// SPDX-License-Identifier: Apache-2.0
#include "app/files/point_journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <utility>

#include "app/files/files.h"
#include "app/files/output_file.h"
#include "calibrate/profile/profile_json.h"
#include "sim/base/error.h"
#include "sim/record/json.h"
#include "sim/record/parse.h"
#include "sim/record/reader.h"

namespace meshwright::app {
namespace {

namespace fs = std::filesystem;

constexpr char kSchema[] = "meshwright.points/1";
constexpr auto kOldest = std::chrono::hours(24);

Json to_json(const JournalOwner& owner) {
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
Json next_line(std::istream& in) {
  std::string line;
  if (!std::getline(in, line)) return nullptr;
  try {
    Json json = parse_json(line, "");
    return json.is_object() ? json : nullptr;
  } catch (const InputError&) {
    return nullptr;
  }
}

// Adds the line's point, unless the line holds none.
bool add_point(JournalContent& content, const Json& line, const std::string& path) {
  if (line.is_null()) return false;
  try {
    ObjectReader reader(line, path);
    const double used = reader.required_number("used_seconds", {0.0, 1e9});
    content.points.push_back(calibrate::point_from_json(reader.member("point"), path, "/point"));
    content.used_seconds = used;
    return true;
  } catch (const InputError&) {
    return false;
  }
}

// The text from its second line on; the first one goes to `owner`. Throws InputError when the file
// is no journal.
std::istringstream opened(const std::string& path, Json& owner) {
  std::istringstream in(read_text_file(path));
  owner = next_line(in);
  const bool is_journal = owner.is_object() && owner.value("schema", Json()) == kSchema;
  if (!is_journal && !in.str().empty()) {
    throw InputError(path, "", "holds no points of a calibration, and would be written over",
                     "move it away, or name another --out");
  }
  return in;
}

std::string line_of(const calibrate::MeasuredPoint& point, double used_seconds) {
  const Json line{{"used_seconds", used_seconds}, {"point", calibrate::to_json(point)}};
  return line.dump() + '\n';
}

}  // namespace

void check_journal(const std::string& path) {
  Json owner;
  if (fs::exists(path)) opened(path, owner);
}

JournalContent read_journal(const std::string& path, const JournalOwner& owner,
                            std::string& refused) {
  JournalContent content;
  if (!fs::exists(path)) return content;
  Json found;
  std::istringstream in = opened(path, found);
  if (is_old(path)) {
    refused = "is older than a day";
  } else if (found != to_json(owner)) {
    refused = "is of another device, other hosts or another number of ranks";
  }
  if (!refused.empty()) return content;
  while (add_point(content, next_line(in), path)) {
  }
  return content;
}

PointJournal::PointJournal(std::string path, const JournalOwner& owner,
                           const JournalContent& content)
    : path_(std::move(path)) {
  std::string text = to_json(owner).dump() + '\n';
  for (const auto& point : content.points) text += line_of(point, content.used_seconds);
  write_file_atomically(path_, text);  // the old one is whole until the new one is
  file_.reset(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  size_ = static_cast<off_t>(text.size());
}

std::string PointJournal::add(const calibrate::MeasuredPoint& point, double used_seconds) {
  pending_ += line_of(point, used_seconds);
  int error = file_.write_all(pending_);
  if (error == 0) error = file_.flush();
  if (error == 0) {
    size_ += static_cast<off_t>(pending_.size());
    pending_.clear();
    return "";
  }
  // Reading ends at a line that was cut off.
  if (::ftruncate(file_.get(), size_) != 0) return std::strerror(errno);
  return std::strerror(error);
}

void PointJournal::remove() {
  file_.reset(-1);
  std::error_code gone_already;
  fs::remove(path_, gone_already);
}

}  // namespace meshwright::app
