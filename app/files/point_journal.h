// SPDX-License-Identifier: Apache-2.0
// Measured points on disk as they come, one JSON line each, so that a calibration that was killed
// goes on where it stopped. The first line says which machine they are of. A point has a line when
// it is begun, too: one that ended two calibrations is not begun a third time.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "app/files/descriptor.h"
#include "calibrate/measure/points.h"

namespace meshwright::app {

// Points are only taken over by a run on the same device, by as many ranks on the same hosts.
struct JournalOwner {
  std::string device;
  std::string backend;
  std::vector<std::string> hosts;  // by rank
  bool operator==(const JournalOwner&) const = default;
};

// A point without a time.
struct JournalNote {
  std::string point;   // its label
  std::string key;     // of what it is, without its times
  int ended = 0;       // calibrations that ended while it was measured
  std::string reason;  // why it was dropped; empty: it was not
};

struct JournalContent {
  std::vector<calibrate::MeasuredPoint> points;
  double used_seconds = 0.0;  // of the budget, when the last point was done
  std::vector<JournalNote> notes{};

  // Why this point is not tried again; empty: it may be. A first end may have been somebody's
  // interrupt.
  [[nodiscard]] std::string given_up(const calibrate::MeasuredPoint& point) const;
};

// Throws InputError when something is there that is no journal: it is never written over.
void check_journal(const std::string& path);

// Reads the points of an earlier run if they are this owner's and not older than a day. Otherwise
// returns nothing, and `refused` has the reason. Reading ends before a cut-off line or one that is
// no point.
JournalContent read_journal(const std::string& path, const JournalOwner& owner,
                            std::string& refused);

class PointJournal {
 public:
  // Starts anew with `content`. Throws SystemError when the file cannot be written.
  PointJournal(std::string path, const JournalOwner& owner, const JournalContent& content);
  // Notes that the point is measured now. A disk that is full loses the note alone.
  void begin(const calibrate::MeasuredPoint& point);
  // Notes that it has no time.
  void drop(const calibrate::MeasuredPoint& point, const std::string& reason);
  // Empty, or why the point is not on disk: then it is written with the next one.
  [[nodiscard]] std::string add(const calibrate::MeasuredPoint& point, double used_seconds);
  void remove();

 private:
  void note(const std::string& line);

  std::string path_;
  Descriptor file_;
  off_t size_ = 0;       // of whole lines
  std::string pending_;  // lines that are not on disk
};

}  // namespace meshwright::app
