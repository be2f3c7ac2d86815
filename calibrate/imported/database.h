// SPDX-License-Identifier: Apache-2.0
// An SQLite database that somebody gave us, held in memory and only read. Views and triggers are
// off, so that a query reads tables and runs nothing of the file's. Built without SQLite, every
// database is refused with the way to get it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace meshwright::calibrate {

class DatabaseRow {
 public:
  virtual ~DatabaseRow() = default;
  [[nodiscard]] virtual bool is_null(int column) const = 0;
  [[nodiscard]] virtual std::int64_t integer(int column) const = 0;
  [[nodiscard]] virtual std::string text(int column) const = 0;  // valid UTF-8
};

class Database {
 public:
  // `bytes` outlive it; `file` names them in messages. Throws InputError: no readable database, or
  // this build has no SQLite.
  Database(const std::string& bytes, std::string file);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  [[nodiscard]] bool has_table(const std::string& table) const;
  [[nodiscard]] bool has_column(const std::string& table, const std::string& column) const;
  // Calls `visit` for each row of a SELECT. Throws InputError where the file is damaged.
  void each(const std::string& select, const std::function<void(const DatabaseRow&)>& visit) const;

 private:
  struct Connection;
  std::string file_;
  std::unique_ptr<Connection> connection_;
};

// Tells whether a file's first bytes are those of an SQLite database.
inline bool is_database(std::string_view bytes) {
  constexpr std::string_view kHeader("SQLite format 3\0", 16);
  return bytes.substr(0, kHeader.size()) == kHeader;
}

}  // namespace meshwright::calibrate
