// SPDX-License-Identifier: Apache-2.0
// A record said once: a list of rows, each with a member, its JSON key, its kind (unit, range,
// names), when it is written, and one sentence of documentation. From the rows follow the reader,
// the writer, the JSON Schema, what two records differ in, and one record laid over another.
//
// Rows are read and written in their order. A member that a file does not say keeps the value it
// has: the C++ default, a framework's, or what `default_from` makes of the members before it.
// Reading throws InputError with file, JSON pointer, value, what is allowed and the nearest name.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/record/kind.h"

namespace meshwright {

// What a row is in a schema; `record.cc` puts objects together from these.
struct RowSchema {
  std::string key{};
  std::optional<Unit> unit{};
  Json value{};         // schema of the value
  std::string about{};  // one sentence
  bool required = false;
};
// A schema of an object that has these rows and no others. An amount stands under either key.
Json object_schema(const std::vector<RowSchema>& rows, const std::string& about);
// A file's: with the draft and a title. Named records inside of it become its definitions.
Json file_schema(std::string_view title, Json object);

// Whether a row's key, or one of an amount's two keys, is there.
bool says(const ObjectReader& reader, const std::string& key, const std::optional<Unit>& unit);
// Throws InputError: the key is required.
[[noreturn]] void fail_missing(ObjectReader& reader, const std::string& key,
                               const std::optional<Unit>& unit);
// What a file says of its kind: one of `names`. Throws InputError.
void check_schema_name(ObjectReader& reader, const std::vector<std::string>& names, bool required);

struct RowDifference {
  std::string key{};
  Json a, b;  // null where the row is not written
};

template <typename T>
class Record {
 public:
  using Test = std::function<bool(const T&)>;

  explicit Record(std::string about) : about_(std::move(about)) {}

  // Schemas and the types made from them call the record so ("Term").
  Record& named(std::string name) {
    name_ = std::move(name);
    return *this;
  }

  // The record is a file: its "schema" is the first of `names`; the others are older and read, too.
  Record& file_of(std::vector<std::string> names, bool required) {
    schema_names_ = std::move(names);
    schema_required_ = required;
    return *this;
  }

  // A member of T or of a base of T.
  template <typename Owner, typename M>
  Record& row(M Owner::*member, std::string_view key, const Kind<M>& kind, std::string_view about) {
    return row_at<M>(
        [member](auto& record) -> auto& { return record.*member; }, key, kind, about);
  }
  // What `at` finds in a record; a generic function for const and other records.
  template <typename M, typename At>
  Record& row_at(At at, std::string_view key, const Kind<M>& kind, std::string_view about);

  // The rows of a base of T, or of what `at` finds in a record, among those of T. With `only_if`
  // they exist only where the members before them say so.
  template <typename B>
  Record& rows_of(const Record<B>& base, Test only_if = nullptr) {
    return rows_of(
        base, [](auto& record) -> auto& { return record; }, std::move(only_if));
  }
  template <typename B, typename At>
  Record& rows_of(const Record<B>& base, At at, Test only_if = nullptr);

  // Every row so far is required, but for those that are written, or exist, only sometimes.
  Record& all_required() {
    for (Row& row : rows_) row.required = row.required || !(row.written_if || row.exists_if);
    return *this;
  }
  // About the last row. It is always written, and a file of an earlier version may lack it.
  Record& absent_in_older_files() {
    rows_.back().required = rows_.back().may_lack = true;
    return *this;
  }
  // About the last row. `required`: a file must say it.
  Record& required() {
    rows_.back().required = true;
    return *this;
  }
  // Not written where it is as in T{}.
  Record& omitted_at_default() {
    const auto value = rows_.back().value;
    return written_if([value](const T& record) { return !value->same(record, T{}); });
  }
  Record& written_if(Test test) {
    rows_.back().written_if = std::move(test);
    return *this;
  }
  // An older spelling: read, never written.
  Record& only_read() {
    return written_if([](const T&) { return false; });
  }
  // The key exists only where the members before it say so.
  Record& only_if(Test test) {
    rows_.back().exists_if = std::move(test);
    return *this;
  }
  // What a file does not say follows from the members before it.
  Record& default_from(std::function<void(T&, ObjectReader&)> complete) {
    rows_.back().complete = std::move(complete);
    return *this;
  }
  Record& default_from(std::function<void(T&)> complete) {
    return default_from(
        [complete = std::move(complete)](T& record, ObjectReader&) { complete(record); });
  }

  // What else a schema says of the whole object, such as that one of two keys is needed.
  Record& also(Json schema) {
    also_ = std::move(schema);
    return *this;
  }
  // A key that is allowed and not read here.
  Record& unread(std::string_view key, Json schema, std::string_view about) {
    Row& made = rows_.emplace_back();
    made.key = key;
    made.about = about;
    made.schema = [schema = std::move(schema)] { return schema; };
    return *this;
  }
  // A key that repeats what others say: written where `value` gives something, not read.
  Record& derived(std::string_view key, Json schema, std::string_view about,
                  std::function<Json(const T&)> value) {
    unread(key, std::move(schema), about);
    rows_.back().derive = std::move(value);
    return *this;
  }
  // The same of a kind: a value that follows from the record.
  template <typename M>
  Record& derived(std::string_view key, const Kind<M>& kind, std::string_view about,
                  std::function<M(const T&)> value) {
    return derived(key, kind.schema(), about,
                   [kind, value = std::move(value), name = std::string(key)](const T& record) {
                     Json json = Json::object();
                     kind.write(json, name, value(record));
                     return json.empty() ? Json() : json.front();
                   });
  }
  // What must hold of the members before it; throws InputError through the reader.
  Record& check(std::function<void(const T&, ObjectReader&)> test) {
    rows_.emplace_back().check = std::move(test);
    return *this;
  }

  // Over `record`, which holds what a file does not say.
  void read(ObjectReader& reader, T& record) const;
  [[nodiscard]] T read(const Json& json, const std::string& file, const std::string& pointer = "",
                       T record = {}) const {
    ObjectReader reader(json, file, pointer);
    read(reader, record);
    return record;
  }
  [[nodiscard]] Json write(const T& record) const;
  // What is written of a record and not, or otherwise, of `plain`.
  [[nodiscard]] Json write_beyond(const T& record, const T& plain) const;
  [[nodiscard]] std::vector<RowDifference> differences(const T& a, const T& b) const;
  // `record` with those members of `given` whose keys are listed; the others follow as in reading
  // a file that says these keys alone. Throws InputError, which names `source`.
  [[nodiscard]] T overlay(T record, const T& given, const std::vector<std::string>& keys,
                          const std::string& source) const;
  [[nodiscard]] Json schema() const;
  // As the schema of a file.
  [[nodiscard]] Json schema(std::string_view title) const { return file_schema(title, schema()); }

 private:
  template <typename Other>
  friend class Record;

  // How a row reaches its value.
  struct Access {
    virtual ~Access() = default;
    virtual void read(ObjectReader& reader, const std::string& key, T& record) const = 0;
    virtual void write(Json& json, const std::string& key, const T& record) const = 0;
    // Whether both are written alike.
    [[nodiscard]] virtual bool same(const T& a, const T& b) const = 0;
    virtual void assign(T& to, const T& from) const = 0;
  };
  template <typename M, typename At>
  struct MemberAccess;
  template <typename B, typename At>
  struct BaseAccess;

  struct Row {
    std::string key{};
    std::optional<Unit> unit{};
    std::string about{};
    bool required = false;  // in a schema; reading asks for it unless `may_lack`
    bool may_lack = false;
    bool nullable = false;
    std::shared_ptr<const Access> value{};  // none: a key that is not read, or a check
    Test exists_if{}, written_if{};
    std::function<void(T&, ObjectReader&)> complete{};
    std::function<void(const T&, ObjectReader&)> check{};
    std::function<Json(const T&)> derive{};
    std::function<Json()> schema{};
  };

  std::string about_, name_{};
  Json also_{};
  std::vector<std::string> schema_names_{};
  bool schema_required_ = false;
  std::vector<Row> rows_{};
};

// Records inside of records. A record is made when it is first used, so that the order in which
// sources start does not matter.
template <typename R>
using RecordOf = const Record<R>& (*)();

namespace kind {

template <typename R>
Kind<R> object(RecordOf<R> record) {
  return {.read =
              [record](ObjectReader& reader, const std::string& key, R& value) {
                ObjectReader inside = reader.required_object(key);
                record().read(inside, value);
              },
          .write = [record](Json& json, const std::string& key,
                            const R& value) { json[key] = record().write(value); },
          .schema = [record] { return record().schema(); }};
}
// In a file, the name or path of another file may stand for the object.
template <typename R>
Kind<R> object_or_file(RecordOf<R> record) {
  Kind<R> kind = object(record);
  kind.schema = [record] {
    return Json{{"anyOf", Json::array({Json{{"type", "string"}}, record().schema()})}};
  };
  return kind;
}
template <typename R>
Kind<std::vector<R>> list(RecordOf<R> record) {
  return {.read =
              [record](ObjectReader& reader, const std::string& key, std::vector<R>& values) {
                values.clear();
                const Json& array = reader.required_array(key);
                for (std::size_t i = 0; i < array.size(); ++i) {
                  values.push_back(record().read(array[i], reader.file(),
                                                 reader.pointer_to(key) + "/" + std::to_string(i)));
                }
              },
          .write =
              [record](Json& json, const std::string& key, const std::vector<R>& values) {
                Json& array = json[key] = Json::array();
                for (const R& value : values) array.push_back(record().write(value));
              },
          .schema =
              [record] {
                return Json{{"type", "array"}, {"items", record().schema()}};
              }};
}

}  // namespace kind

template <typename T>
template <typename M, typename At>
struct Record<T>::MemberAccess final : Record<T>::Access {
  MemberAccess(At where, const Kind<M>& of) : at(where), kind(of) {}
  void read(ObjectReader& reader, const std::string& key, T& record) const override {
    kind.read(reader, key, at(record));
  }
  void write(Json& json, const std::string& key, const T& record) const override {
    kind.write(json, key, at(record));
  }
  [[nodiscard]] bool same(const T& a, const T& b) const override {
    Json of_a = Json::object(), of_b = Json::object();
    kind.write(of_a, "", at(a));
    kind.write(of_b, "", at(b));
    return of_a == of_b;
  }
  void assign(T& to, const T& from) const override { at(to) = at(from); }
  At at;
  Kind<M> kind;
};

template <typename T>
template <typename B, typename At>
struct Record<T>::BaseAccess final : Record<T>::Access {
  using Value = std::shared_ptr<const typename Record<B>::Access>;
  BaseAccess(At where, Value of) : at(where), value(std::move(of)) {}
  void read(ObjectReader& reader, const std::string& key, T& record) const override {
    value->read(reader, key, at(record));
  }
  void write(Json& json, const std::string& key, const T& record) const override {
    value->write(json, key, at(record));
  }
  [[nodiscard]] bool same(const T& a, const T& b) const override {
    return value->same(at(a), at(b));
  }
  void assign(T& to, const T& from) const override { value->assign(at(to), at(from)); }
  At at;
  Value value;
};

template <typename T>
template <typename B, typename At>
Record<T>& Record<T>::rows_of(const Record<B>& base, At at, Test only_if) {
  // A function of the base as one of the record.
  const auto of_record = [at](const auto& function) {
    return [at, function](const T& record) { return function(at(record)); };
  };
  for (const typename Record<B>::Row& row : base.rows_) {
    Row& made = rows_.emplace_back();
    made.key = row.key;
    made.unit = row.unit;
    made.about = row.about;
    made.required = row.required;
    made.may_lack = row.may_lack;
    made.nullable = row.nullable;
    made.schema = row.schema;
    if (row.value) made.value = std::make_shared<const BaseAccess<B, At>>(at, row.value);
    made.exists_if = only_if;
    if (row.exists_if) {
      made.exists_if = [only_if, exists_if = of_record(row.exists_if)](const T& record) {
        return (!only_if || only_if(record)) && exists_if(record);
      };
    }
    if (row.written_if) made.written_if = of_record(row.written_if);
    if (row.derive) made.derive = of_record(row.derive);
    if (row.complete) {
      made.complete = [at, complete = row.complete](T& record, ObjectReader& reader) {
        complete(at(record), reader);
      };
    }
    if (row.check) {
      made.check = [at, check = row.check](const T& record, ObjectReader& reader) {
        check(at(record), reader);
      };
    }
  }
  return *this;
}

template <typename T>
template <typename M, typename At>
Record<T>& Record<T>::row_at(At at, std::string_view key, const Kind<M>& kind,
                             std::string_view about) {
  Row& made = rows_.emplace_back();
  made.key = key;
  made.unit = kind.unit;
  made.nullable = kind.nullable;
  made.about = about;
  made.value = std::make_shared<const MemberAccess<M, At>>(at, kind);
  made.schema = kind.schema;
  return *this;
}

template <typename T>
void Record<T>::read(ObjectReader& reader, T& record) const {
  if (!schema_names_.empty()) check_schema_name(reader, schema_names_, schema_required_);
  std::vector<std::string_view> unread;
  for (const Row& row : rows_) {
    if (row.exists_if && !row.exists_if(record)) continue;
    if (row.check) {
      row.check(record, reader);
    } else if (!row.value) {
      unread.push_back(row.key);
    } else if (says(reader, row.key, row.unit)) {
      row.value->read(reader, row.key, record);
    } else if (row.required && !row.may_lack && !(row.nullable && reader.is_null(row.key))) {
      fail_missing(reader, row.key, row.unit);
    } else if (row.complete) {
      row.complete(record, reader);
    }
  }
  reader.finish(unread);
}

template <typename T>
Json Record<T>::write(const T& record) const {
  Json json = Json::object();
  if (!schema_names_.empty()) json["schema"] = schema_names_.front();
  for (const Row& row : rows_) {
    if (row.exists_if && !row.exists_if(record)) continue;
    if (row.written_if && !row.written_if(record)) continue;
    if (row.value) row.value->write(json, row.key, record);
    if (!row.derive) continue;
    const Json said = row.derive(record);
    if (!said.is_null()) json[row.key] = said;
  }
  return json;
}

template <typename T>
Json Record<T>::write_beyond(const T& record, const T& plain) const {
  const Json all = write(record), common = write(plain);
  Json said = Json::object();
  for (const auto& [key, value] : all.items()) {
    if (!common.contains(key) || common[key] != value) said[key] = value;
  }
  return said;
}

template <typename T>
std::vector<RowDifference> Record<T>::differences(const T& a, const T& b) const {
  std::vector<RowDifference> found;
  for (const Row& row : rows_) {
    if (!row.value || row.value->same(a, b)) continue;
    Json of_a = Json::object(), of_b = Json::object();
    row.value->write(of_a, row.key, a);
    row.value->write(of_b, row.key, b);
    const auto value = [](const Json& json) { return json.empty() ? Json() : json.front(); };
    found.push_back({row.key, value(of_a), value(of_b)});
  }
  return found;
}

template <typename T>
T Record<T>::overlay(T record, const T& given, const std::vector<std::string>& keys,
                     const std::string& source) const {
  const Json none = Json::object();
  ObjectReader reader(none, source);
  for (const Row& row : rows_) {
    if (row.exists_if && !row.exists_if(record)) continue;
    if (row.check) {
      row.check(record, reader);
    } else if (row.value && std::find(keys.begin(), keys.end(), row.key) != keys.end()) {
      row.value->assign(record, given);
    } else if (row.complete) {
      row.complete(record, reader);
    }
  }
  return record;
}

template <typename T>
Json Record<T>::schema() const {
  std::vector<RowSchema> rows;
  if (!schema_names_.empty()) {
    const Json name = schema_names_.size() == 1 ? Json{{"const", schema_names_.front()}}
                                                : Json{{"enum", schema_names_}};
    rows.push_back({.key = "schema", .value = name, .required = schema_required_});
  }
  for (const Row& row : rows_) {
    if (!row.schema) continue;
    rows.push_back({row.key, row.unit, row.schema(), row.about, row.required && !row.exists_if});
  }
  Json schema = object_schema(rows, about_);
  if (!name_.empty()) schema["title"] = name_;
  if (!also_.is_null()) schema.update(also_);
  return schema;
}

}  // namespace meshwright
