// SPDX-License-Identifier: Apache-2.0
#include "app/files/point_journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <optional>
#include <sstream>
#include <utility>

#include "app/files/files.h"
#include "app/files/output_file.h"
#include "calibrate/profile/profile_json.h"
#include "reports/records/sha256.h"
#include "sim/base/error.h"
#include "sim/record/json.h"
#include "sim/record/parse.h"
#include "sim/record/record.h"

namespace meshwright::app {
namespace {

namespace fs = std::filesystem;

constexpr char kSchema[] = "meshwright.points/1";
constexpr auto kOldest = std::chrono::hours(24);

const Record<JournalOwner>& owner_record() {
  return described([](Record<JournalOwner>& r) {
    using O = JournalOwner;
    r.about("Which machine the points are of.");
    r.file_of({kSchema}, true);
    r.row<&O::device>("Name of the device.").required();
    r.row<&O::backend>("Backend that measured.").required();
    r.row<&O::hosts>("Host of each rank.").required();
  });
}

struct JournalLine {
  double used_seconds = 0.0;
  calibrate::MeasuredPoint point{};
};

const Record<JournalLine>& line_record() {
  return described([](Record<JournalLine>& r) {
    using L = JournalLine;
    r.about("A measured point.");
    r.row<&L::used_seconds>(NumberRange{0.0, 1e9},
                            "Seconds of the budget that were used when the point was done.");
    r.required();
    r.row<&L::point>(calibrate::point_record).required();
  });
}

// Without a reason and a number of ends the point was begun.
const Record<JournalNote>& note_record() {
  return described([](Record<JournalNote>& r) {
    using N = JournalNote;
    r.about("A point that was begun, or has no time.");
    r.row<&N::point>("note_on", "Label of the point.").required();
    r.row<&N::key>("Hash of what is measured.").required();
    r.row<&N::ended>(IntRange{.low = 0}, "Calibrations that ended while it was measured.");
    r.omitted_at_default();
    r.row<&N::reason>("Why the point was dropped.");
    r.omitted_at_default();
  });
}

constexpr int kMostEnds = 2;

// A planned point has no times.
std::string key_of(const calibrate::MeasuredPoint& point) {
  constexpr std::size_t kDigits = 16;
  return reports::sha256(calibrate::to_json(point).dump()).substr(0, kDigits);
}

JournalNote& note_of(std::vector<JournalNote>& notes, const JournalNote& like) {
  const auto same = std::find_if(notes.begin(), notes.end(),
                                 [&](const JournalNote& n) { return n.key == like.key; });
  if (same != notes.end()) return *same;
  notes.push_back({.point = like.point, .key = like.key, .ended = 0, .reason = ""});
  return notes.back();
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

// Reads a journal's lines one after the other.
class LineReader {
 public:
  LineReader(JournalContent& content, const std::string& path) : content_(content), path_(path) {}

  // Tells whether the line was one of a journal.
  bool read(const Json& line) {
    if (line.is_null()) return false;
    try {
      line.contains("note_on") ? take(note_record().read(line, path_))
                               : take(line_record().read(line, path_));
      return true;
    } catch (const InputError&) {
      return false;
    }
  }

  // What was begun last, and has neither a time nor a reason, ended the calibration.
  void finish() {
    if (begun_) ++note_of(content_.notes, *begun_).ended;
  }

 private:
  void take(JournalLine read) {
    begun_.reset();
    content_.points.push_back(std::move(read.point));
    content_.used_seconds = read.used_seconds;
  }
  void take(const JournalNote& read) {
    begun_.reset();
    if (read.ended == 0 && read.reason.empty()) {
      begun_ = read;
      return;
    }
    note_of(content_.notes, read) = read;
  }

  JournalContent& content_;
  const std::string& path_;
  std::optional<JournalNote> begun_;
};

// The text from its second line on; the first one goes to `owner`. Throws InputError when the file
// is no journal.
std::istringstream opened(const std::string& path, Json& owner) {
  std::istringstream in(read_text_file(path));
  owner = next_line(in);
  const bool is_journal = owner.is_object() && owner.value("schema", Json()) == kSchema;
  if (!is_journal && !in.str().empty()) {
    throw InputError(path, "", "is not a calibration journal; refusing to overwrite it",
                     "move it, or use another --out");
  }
  return in;
}

std::string line_of(const calibrate::MeasuredPoint& point, double used_seconds) {
  return line_record().write({used_seconds, point}).dump() + '\n';
}

std::string line_of(const JournalNote& note) { return note_record().write(note).dump() + '\n'; }

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
  } else if (found != owner_record().write(owner)) {
    refused = "is of another device, other hosts or another number of ranks";
  }
  if (!refused.empty()) return content;
  LineReader reader(content, path);
  while (reader.read(next_line(in))) {
  }
  reader.finish();
  return content;
}

std::string JournalContent::given_up(const calibrate::MeasuredPoint& point) const {
  if (notes.empty()) return "";
  const std::string key = key_of(point);
  for (const JournalNote& note : notes) {
    if (note.key != key) continue;
    if (!note.reason.empty()) return note.reason;
    if (note.ended >= kMostEnds) {
      return fmt::format("{} calibrations ended while it was measured", note.ended);
    }
  }
  return "";
}

PointJournal::PointJournal(std::string path, const JournalOwner& owner,
                           const JournalContent& content)
    : path_(std::move(path)) {
  std::string text = owner_record().write(owner).dump() + '\n';
  for (const JournalNote& note : content.notes) text += line_of(note);
  for (const auto& point : content.points) text += line_of(point, content.used_seconds);
  write_file_atomically(path_, text);  // the old one is whole until the new one is
  file_.reset(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  size_ = static_cast<off_t>(text.size());
}

void PointJournal::begin(const calibrate::MeasuredPoint& point) {
  note(line_of({.point = point.label(), .key = key_of(point), .ended = 0, .reason = ""}));
}

void PointJournal::drop(const calibrate::MeasuredPoint& point, const std::string& reason) {
  note(line_of({.point = point.label(), .key = key_of(point), .ended = 0, .reason = reason}));
}

// Without a flush: the next point's takes it along, and a process that ends loses nothing.
void PointJournal::note(const std::string& line) {
  if (!pending_.empty()) return;  // the disk is full
  if (file_.write_all(line) == 0) {
    size_ += static_cast<off_t>(line.size());
    return;
  }
  if (::ftruncate(file_.get(), size_) != 0) file_.reset(-1);  // add() says so
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
