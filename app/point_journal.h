// SPDX-License-Identifier: Apache-2.0
// Measured points on disk as they come, one JSON line each, so that a calibration that was killed
// goes on where it stopped. The first line says which machine they are of.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "calibrate/measure/points.h"

namespace meshwright::app {

// Points are only taken over by a run on the same device, by as many ranks on the same hosts.
struct JournalOwner {
  std::string device;
  std::string backend;
  std::vector<std::string> hosts;  // by rank
  bool operator==(const JournalOwner&) const = default;
};

struct JournalContent {
  std::vector<calibrate::MeasuredPoint> points;
  double used_seconds = 0.0;  // of the budget, when the last point was done
};

// What an earlier run left, if it is this owner's and not older than a day; else nothing, and
// `refused` says why. A last line that was cut off is left out.
JournalContent read_journal(const std::string& path, const JournalOwner& owner,
                            std::string& refused);

class PointJournal {
 public:
  // Starts anew with `content`. Throws InputError when the file cannot be written.
  PointJournal(std::string path, const JournalOwner& owner, const JournalContent& content);
  void add(const calibrate::MeasuredPoint& point, double used_seconds);
  void remove();

 private:
  std::string path_;
  std::ofstream file_;
};

}  // namespace meshwright::app
