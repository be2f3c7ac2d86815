// SPDX-License-Identifier: Apache-2.0
// Built where SQLite was found; no_database.cc is built elsewhere.
#include "calibrate/imported/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <utility>

#include "sim/base/error.h"
#include "sim/base/utf8.h"

namespace meshwright::calibrate {
namespace {

struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

class StatementRow final : public DatabaseRow {
 public:
  explicit StatementRow(sqlite3_stmt* statement) : statement_(statement) {}
  [[nodiscard]] bool is_null(int column) const override {
    return sqlite3_column_type(statement_, column) == SQLITE_NULL;
  }
  [[nodiscard]] std::int64_t integer(int column) const override {
    return sqlite3_column_int64(statement_, column);
  }
  [[nodiscard]] std::string text(int column) const override {
    const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
    const int size = sqlite3_column_bytes(statement_, column);
    return data == nullptr ? "" : valid_utf8({data, static_cast<std::size_t>(size)});
  }

 private:
  sqlite3_stmt* statement_;
};

}  // namespace

struct Database::Connection {
  sqlite3* handle = nullptr;
  Connection() = default;
  ~Connection() { sqlite3_close_v2(handle); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] Statement prepared(const std::string& sql) const {
    sqlite3_stmt* statement = nullptr;
    sqlite3_prepare_v2(handle, sql.c_str(), static_cast<int>(sql.size()), &statement, nullptr);
    return Statement(statement);
  }
};

Database::Database(const std::string& bytes, std::string file)
    : file_(std::move(file)), connection_(std::make_unique<Connection>()) {
  sqlite3*& db = connection_->handle;
  const int opened = sqlite3_open_v2(":memory:", &db, SQLITE_OPEN_READWRITE, nullptr);
  if (opened != SQLITE_OK) {
    throw SystemError(fmt::format("SQLite does not open: {}", sqlite3_errstr(opened)));
  }
  for (const auto& [option, value] :
       {std::pair{SQLITE_DBCONFIG_DEFENSIVE, 1}, std::pair{SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        std::pair{SQLITE_DBCONFIG_ENABLE_VIEW, 0}, std::pair{SQLITE_DBCONFIG_ENABLE_TRIGGER, 0}}) {
    sqlite3_db_config(db, option, value, nullptr);
  }
  // SQLite reads and never writes these bytes, but takes all databases as writable ones.
  auto* data = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(bytes.data()));
  const auto size = static_cast<sqlite3_int64>(bytes.size());
  int code = sqlite3_deserialize(db, "main", data, size, size, SQLITE_DESERIALIZE_READONLY);
  if (code == SQLITE_OK) {
    code = sqlite3_exec(db, "SELECT count(*) FROM sqlite_schema", nullptr, nullptr, nullptr);
  }
  if (code != SQLITE_OK) {
    throw InputError(file_, "",
                     fmt::format("is no SQLite database that can be read: {}", sqlite3_errmsg(db)),
                     "export it again: nsys export --type sqlite REPORT.nsys-rep");
  }
}

Database::~Database() = default;

bool Database::has_table(const std::string& table) const {
  const Statement found = connection_->prepared(
      "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1 AND sql NOT LIKE "
      "'%VIRTUAL%'");
  if (found == nullptr) return false;
  sqlite3_bind_text(found.get(), 1, table.c_str(), static_cast<int>(table.size()),
                    SQLITE_TRANSIENT);
  return sqlite3_step(found.get()) == SQLITE_ROW;
}

bool Database::has_column(const std::string& table, const std::string& column) const {
  const Statement found =
      connection_->prepared("SELECT 1 FROM pragma_table_info(?1) WHERE name = ?2");
  if (found == nullptr) return false;
  sqlite3_bind_text(found.get(), 1, table.c_str(), static_cast<int>(table.size()),
                    SQLITE_TRANSIENT);
  sqlite3_bind_text(found.get(), 2, column.c_str(), static_cast<int>(column.size()),
                    SQLITE_TRANSIENT);
  return sqlite3_step(found.get()) == SQLITE_ROW;
}

void Database::each(const std::string& select,
                    const std::function<void(const DatabaseRow&)>& visit) const {
  const Statement rows = connection_->prepared(select);
  int code = rows == nullptr ? SQLITE_ERROR : SQLITE_ROW;
  while (code == SQLITE_ROW) {
    code = sqlite3_step(rows.get());
    if (code == SQLITE_ROW) visit(StatementRow(rows.get()));
  }
  if (code == SQLITE_DONE) return;
  throw InputError(file_, "", fmt::format("is damaged: {}", sqlite3_errmsg(connection_->handle)),
                   "export it again: nsys export --type sqlite REPORT.nsys-rep");
}

}  // namespace meshwright::calibrate
