// SPDX-License-Identifier: Apache-2.0
// A record said once: a list of rows, each with a member, its JSON key, its kind (unit, range,
// names), when it is written, and one sentence of documentation. From the rows follow the reader,
// the writer, the JSON Schema, what two records differ in, and one record laid over another.
//
// Rows are read and written in their order. A member that a file does not say keeps the value it
// has: the C++ default, a framework's, or what `default_from` makes of the members before it.
// Reading throws InputError with file, JSON pointer, value, what is allowed and the nearest name.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/record/kind.h"

namespace meshwright {

// Schema of a row; `record.cc` builds the object from these.
struct RowSchema {
  std::string key{};
  std::optional<Unit> unit{};
  Json value{};         // schema of the value
  std::string about{};  // one sentence
  bool required = false;
};
// A schema of an object that has these rows and no others. An amount stands under either key.
Json object_schema(const std::vector<RowSchema>& rows, const std::string& about);
// A schema of a file: with the draft and a title. Named records inside of it become its
// definitions.
Json file_schema(std::string_view title, Json object);

// Members of `all` that `common` has not, or otherwise.
Json beyond(const Json& all, const Json& common);

struct RowDifference {
  std::string key{};
  Json a, b;  // null where the row is not written
};

// The rows of a record whose type they do not know: they get its address. Record<T> knows the type
// and is the one to use; what does not depend on it is compiled once, here.
class Rows {
 public:
  using Test = std::function<bool(const void*)>;
  // A part of a record, from the record.
  using Part = std::function<void*(void*)>;

  // Access from a row to its value.
  struct Access {
    virtual ~Access() = default;
    virtual void read(ObjectReader& reader, const std::string& key, void* record) const = 0;
    virtual void write(Json& json, const std::string& key, const void* record) const = 0;
    virtual void assign(void* to, const void* from) const = 0;
  };
  using Value = std::shared_ptr<const Access>;

  struct Row {
    std::string key{};
    std::optional<Unit> unit{};
    std::string about{};
    bool required = false;  // in a schema; reading asks for it unless `may_lack`
    bool may_lack = false;
    bool nullable = false;
    Value value{};  // none: a key that is not read, or a check
    Test exists_if{}, written_if{};
    std::function<void(void*, ObjectReader&)> complete{};
    std::function<void(const void*, ObjectReader&)> check{};
    std::function<Json(const void*)> derive{};
    std::function<Json()> schema{};
  };

  explicit Rows(std::string about_record) : about(std::move(about_record)) {}

  // Adds the rows of `base`, a part of the record, without changes; with `only_if` only if it
  // holds.
  void add(const Rows& base, const Part& part, const Test& only_if);
  void require_all();
  void read(ObjectReader& reader, void* record) const;
  [[nodiscard]] Json write(const void* record) const;
  [[nodiscard]] std::vector<RowDifference> differences(const void* a, const void* b) const;
  void overlay(void* record, const void* given, const std::vector<std::string>& keys,
               const std::string& source) const;
  [[nodiscard]] Json schema() const;
  // Tells whether both are written alike.
  static bool same(const Access& value, const void* a, const void* b);

  std::string about, name{};
  Json also{};
  std::vector<std::string> schema_names{};
  bool schema_required = false;
  std::vector<Row> rows{};
};

template <typename T>
class Record {
 public:
  using Test = std::function<bool(const T&)>;

  explicit Record(std::string about) : rows_(std::move(about)) {}

  // Schemas and the types made from them call the record so ("Term").
  Record& named(std::string name) {
    rows_.name = std::move(name);
    return *this;
  }
  // The record is a file: its "schema" is the first of `names`; the others are older and read, too.
  Record& file_of(std::vector<std::string> names, bool required) {
    rows_.schema_names = std::move(names);
    rows_.schema_required = required;
    return *this;
  }

  // A member of T or of a base of T.
  template <typename Owner, typename M>
  Record& row(M Owner::*member, std::string_view key, const Kind<M>& kind, std::string_view about) {
    return row_at<M>(
        [member](auto& record) -> auto& { return record.*member; }, key, kind, about);
  }
  // Type of the member that `at` finds in a record; a generic function for const and other records.
  template <typename M, typename At>
  Record& row_at(At at, std::string_view key, const Kind<M>& kind, std::string_view about) {
    Rows::Row& made = rows_.rows.emplace_back();
    made.key = key;
    made.unit = kind.unit;
    made.nullable = kind.nullable;
    made.about = about;
    made.value = Rows::Value(static_cast<const Rows::Access*>(new MemberAccess<M, At>(at, kind)));
    made.schema = kind.schema;
    return *this;
  }
  // The rows of a base of T, or of what `at` finds in a record, among those of T. With `only_if`
  // they exist only where the members before them say so.
  template <typename B>
  Record& rows_of(const Record<B>& base, Test only_if = nullptr) {
    return rows_of(
        base, [](auto& record) -> B& { return record; }, std::move(only_if));
  }
  template <typename B, typename At>
  Record& rows_of(const Record<B>& base, At at, Test only_if = nullptr) {
    const auto part = [at](void* record) -> void* { return &at(*static_cast<T*>(record)); };
    rows_.add(base.rows_, part, only_if ? of_address(std::move(only_if)) : nullptr);
    return *this;
  }

  // Every row so far is required, but for those that are written, or exist, only sometimes.
  Record& all_required() {
    rows_.require_all();
    return *this;
  }
  // About the last row. It is always written, and a file of an earlier version may lack it.
  Record& absent_in_older_files() {
    last().required = last().may_lack = true;
    return *this;
  }
  // About the last row. `required`: a file must say it.
  Record& required() {
    last().required = true;
    return *this;
  }
  // Not written where it is as in T{}.
  Record& omitted_at_default() {
    last().written_if = [value = last().value](const void* record) {
      const T plain{};
      return !Rows::same(*value, record, &plain);
    };
    return *this;
  }
  Record& written_if(Test test) {
    last().written_if = of_address(std::move(test));
    return *this;
  }
  // An older spelling: read, never written.
  Record& only_read() {
    return written_if([](const T&) { return false; });
  }
  // The key exists only where the members before it say so.
  Record& only_if(Test test) {
    last().exists_if = of_address(std::move(test));
    return *this;
  }
  // Sets members that a file does not state from the members before them.
  Record& default_from(std::function<void(T&, ObjectReader&)> complete) {
    last().complete = [complete = std::move(complete)](void* record, ObjectReader& reader) {
      complete(*static_cast<T*>(record), reader);
    };
    return *this;
  }
  Record& default_from(std::function<void(T&)> complete) {
    return default_from(
        [complete = std::move(complete)](T& record, ObjectReader&) { complete(record); });
  }

  // Adds a condition on the whole object to the schema, for example that one of two keys is needed.
  Record& also(Json schema) {
    rows_.also = std::move(schema);
    return *this;
  }
  // A key that is allowed and not read here.
  Record& unread(std::string_view key, Json schema, std::string_view about) {
    Rows::Row& made = rows_.rows.emplace_back();
    made.key = key;
    made.about = about;
    made.schema = [schema = std::move(schema)] { return schema; };
    return *this;
  }
  // A key that repeats what others say: written where `value` gives something, not read.
  Record& derived(std::string_view key, Json schema, std::string_view about,
                  std::function<Json(const T&)> value) {
    unread(key, std::move(schema), about);
    last().derive = of_address(std::move(value));
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
  // Adds a condition on the members before it; `test` throws InputError through the reader.
  Record& check(std::function<void(const T&, ObjectReader&)> test) {
    rows_.rows.emplace_back().check = [test = std::move(test)](const void* record,
                                                               ObjectReader& reader) {
      test(*static_cast<const T*>(record), reader);
    };
    return *this;
  }

  // Over `record`, which holds what a file does not say.
  void read(ObjectReader& reader, T& record) const { rows_.read(reader, &record); }
  [[nodiscard]] T read(const Json& json, const std::string& file, const std::string& pointer = "",
                       T record = {}) const {
    ObjectReader reader(json, file, pointer);
    read(reader, record);
    return record;
  }
  [[nodiscard]] Json write(const T& record) const { return rows_.write(&record); }
  // Writes the members of a record that differ from those of `plain`.
  [[nodiscard]] Json write_beyond(const T& record, const T& plain) const {
    return beyond(write(record), write(plain));
  }
  [[nodiscard]] std::vector<RowDifference> differences(const T& a, const T& b) const {
    return rows_.differences(&a, &b);
  }
  // `record` with those members of `given` whose keys are listed; the others follow as in reading
  // a file that says these keys alone. Throws InputError, which names `source`.
  [[nodiscard]] T overlay(T record, const T& given, const std::vector<std::string>& keys,
                          const std::string& source) const {
    rows_.overlay(&record, &given, keys, source);
    return record;
  }
  [[nodiscard]] Json schema() const { return rows_.schema(); }
  // Returns the schema of a file.
  [[nodiscard]] Json schema(std::string_view title) const { return file_schema(title, schema()); }

 private:
  template <typename Other>
  friend class Record;

  template <typename M, typename At>
  struct MemberAccess final : Rows::Access {
    MemberAccess(At where, const Kind<M>& of) : at(where), kind(of) {}
    void read(ObjectReader& reader, const std::string& key, void* record) const override {
      kind.read(reader, key, member(record));
    }
    void write(Json& json, const std::string& key, const void* record) const override {
      kind.write(json, key, member(const_cast<void*>(record)));
    }
    void assign(void* to, const void* from) const override {
      member(to) = member(const_cast<void*>(from));
    }
    // One function for const and other records: `write` leaves the member as it is.
    M& member(void* record) const { return at(*static_cast<T*>(record)); }
    At at;
    Kind<M> kind;
  };

  // A function of a record as one of its address.
  template <typename Result>
  static std::function<Result(const void*)> of_address(std::function<Result(const T&)> function) {
    return [function = std::move(function)](const void* record) {
      return function(*static_cast<const T*>(record));
    };
  }
  Rows::Row& last() { return rows_.rows.back(); }

  Rows rows_;
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

}  // namespace meshwright
