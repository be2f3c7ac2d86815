// SPDX-License-Identifier: Apache-2.0
// Built where SQLite was not found; database.cc is built elsewhere.
#include <utility>

#include "calibrate/imported/database.h"
#include "sim/base/error.h"

namespace meshwright::calibrate {

struct Database::Connection {};

Database::Database(const std::string& /*bytes*/, std::string file)
    : file_(std::move(file)), connection_(nullptr) {
  throw InputError(file_, "", "is an SQLite database, and this build has no SQLite",
                   "install libsqlite3-dev and build again, or use a package of this program");
}

Database::~Database() = default;

bool Database::has_table(const std::string& /*table*/) const { return false; }
bool Database::has_column(const std::string& /*table*/, const std::string& /*column*/) const {
  return false;
}
void Database::each(const std::string& /*select*/,
                    const std::function<void(const DatabaseRow&)>& /*visit*/) const {}

}  // namespace meshwright::calibrate
