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
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/record/kind.h"
#include "sim/record/kind_for.h"

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
  // From a record to one of its parts: a member, or what holds some.
  using Part = std::function<void*(void*)>;
  using Check = std::function<void(const void*, ObjectReader&)>;

  struct Row {
    std::string key{};
    const Value* value = nullptr;  // none: a key that is not read, or a check
    Part part{};                   // where the value is
    std::string about{};
    bool required = false;  // in a schema; reading asks for it unless `may_lack`
    bool may_lack = false;
    Test exists_if{}, written_if{};
    std::function<void(void*, ObjectReader&)> complete{};
    Check check{};
    std::function<Json(const void*)> derive{};
    std::function<Json()> schema{};

    [[nodiscard]] Json written(const std::string& name, const void* record) const;
  };

  Rows();
  ~Rows();
  Rows(const Rows&);
  Rows(Rows&&) noexcept;
  Rows& operator=(const Rows&);
  Rows& operator=(Rows&&) noexcept;

  Row& last() { return rows.back(); }
  void add(std::string_view key, const Value* value, Part part, std::string_view about_row);
  // The key is the member's name; that of a value without a unit of its own ends in base units.
  void add(std::string_view member, std::string_view base_suffix, const Value* value,
           void* (*part)(void*), std::string_view about_row);
  void add_check(Check check);
  void add_unread(std::string_view key, std::function<Json()> schema, std::string_view about_row);
  // Adds the rows of `base`, a part of the record, without changes; with `only_if` only if it
  // holds.
  void add(const Rows& base, const Part& part, const Test& only_if);
  // The last row is not written where it is as in `plain`, a record of this type.
  void omit_at_default(const void* (*plain)());
  void require_all();
  void read(ObjectReader& reader, void* record) const;
  [[nodiscard]] Json write(const void* record) const;
  [[nodiscard]] std::vector<RowDifference> differences(const void* a, const void* b) const;
  void overlay(void* record, const void* given, const std::vector<std::string>& keys,
               const std::string& source) const;
  [[nodiscard]] Json schema() const;

  std::string about, name{};
  Json also{};
  std::vector<std::string> schema_names{};
  bool schema_required = false;
  std::vector<Row> rows{};
};

// A value as a row writes it, without its key; null: it is not written.
Json written_alone(const Value& value, const void* written);

// The last member of a path, as it is spelled: &meshwright::Model::hidden_size is "hidden_size".
template <auto... Path>
constexpr std::string_view member_name() {
  // g++: [with auto ...Path = {&A::b, &{anonymous}::C::d}; ...]; clang: [Path = <&A::b, &C::d>].
  constexpr std::string_view kText = __PRETTY_FUNCTION__;
  constexpr std::string_view kBefore = kText.substr(0, kText.find(';', kText.find("Path = ")));
  constexpr std::string_view kPath = kBefore.substr(0, kBefore.find_last_not_of("]>}") + 1);
  return kPath.substr(kPath.rfind(':') + 1);
}

template <typename K>
inline constexpr bool kIsText = std::is_convertible_v<const K&, std::string_view>;

template <typename T>
class Record {
 public:
  Record() = default;
  explicit Record(std::string_view about_it) { about(about_it); }

  // One sentence about the record.
  Record& about(std::string_view sentence) {
    rows_.about = sentence;
    return *this;
  }
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

  // A row of a member of T, or of a member of a member (&T::run, &Run::duration). Its key is the
  // last member's name, its kind that of its type (kind_for). An amount's key ends in its unit.
  // `kind`: another kind, or what says it: a record, a table of names, a range, a unit, nullable().
  template <auto... Path>
  Record& row(std::string_view about = "") {
    return typed_row<Path...>(kind_for<MemberOf<Path...>>(), about);
  }
  template <auto... Path>
  Record& row(std::string_view key, std::string_view about) {
    return typed_row<Path...>(key, kind_for<MemberOf<Path...>>(), about);
  }
  template <auto... Path, typename K>
  requires(!kIsText<K>) Record& row(const K& kind, std::string_view about = "") {
    return typed_row<Path...>(kind_for<MemberOf<Path...>>(kind), about);
  }
  template <auto... Path, typename K>
  requires(!kIsText<K>) Record& row(std::string_view key, const K& kind,
                                    std::string_view about = "") {
    return typed_row<Path...>(key, kind_for<MemberOf<Path...>>(kind), about);
  }
  // A member that is known when the program runs.
  template <typename Owner, typename M, typename K>
  Record& row(M Owner::*member, std::string_view key, const K& kind, std::string_view about) {
    return row_at(
        [member](auto& record) -> auto& { return record.*member; }, key, kind, about);
  }
  // Members that need no word.
  template <auto... Members>
  Record& rows() {
    (row<Members>(), ...);
    return *this;
  }
  // What `at`, a generic function, finds in a record.
  template <typename At>
  Record& row_at(At at, std::string_view key, std::string_view about = "") {
    return row_at(at, key, kind_for<FoundBy<At>>(), about);
  }
  template <typename At, typename K>
  requires(!kIsText<K>) Record& row_at(At at, std::string_view key, const K& kind,
                                       std::string_view about = "") {
    rows_.add(key, kind_for<FoundBy<At>>(kind).value(), part_by(at), about);
    return *this;
  }
  // The rows of a base of T, or of what `at` finds in a record, among those of T. With `only_if`
  // they exist only where the members before them say so.
  template <typename B>
  Record& rows_of(const Record<B>& base) {
    return rows_of(base, [](auto& record) -> B& { return record; });
  }
  template <typename B, typename At>
  Record& rows_of(const Record<B>& base, At at_or_only_if) {
    if constexpr (std::is_same_v<std::invoke_result_t<At, T&>, bool>) {
      return rows_of(
          base, [](auto& record) -> B& { return record; }, at_or_only_if);
    } else {
      rows_.add(base.rows_, part_by(at_or_only_if), nullptr);
      return *this;
    }
  }
  template <typename B, typename At, typename Test>
  Record& rows_of(const Record<B>& base, At at, Test only_if) {
    rows_.add(base.rows_, part_by(at), of_address<>(only_if));
    return *this;
  }

  // Every row so far is required, but for those that are written, or exist, only sometimes.
  Record& all_required() {
    rows_.require_all();
    return *this;
  }
  // About the last row. It is always written, and a file of an earlier version may lack it.
  Record& absent_in_older_files() {
    rows_.last().required = rows_.last().may_lack = true;
    return *this;
  }
  // About the last row. `required`: a file must say it.
  Record& required() {
    rows_.last().required = true;
    return *this;
  }
  // Not written where it is as in T{}.
  Record& omitted_at_default() {
    rows_.omit_at_default([]() -> const void* {
      static const T plain{};
      return &plain;
    });
    return *this;
  }
  template <typename Test>
  Record& written_if(Test test) {
    rows_.last().written_if = of_address<>(test);
    return *this;
  }
  // An older spelling: read, never written.
  Record& only_read() {
    rows_.last().written_if = [](const void*) { return false; };
    return *this;
  }
  // The key exists only where the members before it say so.
  template <typename Test>
  Record& only_if(Test test) {
    rows_.last().exists_if = of_address<>(test);
    return *this;
  }
  // Sets members that a file does not state from the members before them: complete(T&), or
  // complete(T&, ObjectReader&), which may throw through the reader.
  template <typename Complete>
  Record& default_from(Complete complete) {
    rows_.last().complete = [complete](void* record, ObjectReader& reader) {
      if constexpr (std::is_invocable_v<Complete, T&, ObjectReader&>) {
        complete(*static_cast<T*>(record), reader);
      } else {
        complete(*static_cast<T*>(record));
      }
    };
    return *this;
  }

  // Adds a condition on the whole object to the schema, for example that one of two keys is needed.
  Record& also(Json schema) {
    rows_.also = std::move(schema);
    return *this;
  }
  // A key that is allowed and not read here.
  Record& unread(std::string_view key, Json schema, std::string_view about) {
    rows_.add_unread(
        key, [schema = std::move(schema)] { return schema; }, about);
    return *this;
  }
  // A key that repeats what others say: written where `value` gives something, not read.
  template <typename F>
  Record& derived(std::string_view key, std::string_view about, F value) {
    using M = std::decay_t<std::invoke_result_t<F, const T&>>;
    return derived<M>(key, kind_for<M>(), about, value);
  }
  template <typename M, typename F>
  Record& derived(std::string_view key, const Kind<M>& kind, std::string_view about, F value) {
    const Value* const writer = kind.value();
    rows_.add_unread(
        key, [writer] { return writer->schema(); }, about);
    rows_.last().derive = [writer, value](const void* record) {
      const M made = std::invoke(value, *static_cast<const T*>(record));
      return written_alone(*writer, &made);
    };
    return *this;
  }
  template <typename F>
  Record& derived(std::string_view key, Json schema, std::string_view about, F json) {
    unread(key, std::move(schema), about);
    rows_.last().derive = of_address<>(json);
    return *this;
  }
  // Adds a condition on the members before it; `test` throws InputError through the reader.
  template <typename Test>
  Record& check(Test test) {
    rows_.add_check(of_address<ObjectReader&>(test));
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
  // The rows, for a value that is a record.
  [[nodiscard]] const Rows& all() const { return rows_; }

 private:
  template <typename Other>
  friend class Record;

  template <auto... Path>
  using MemberOf = std::decay_t<decltype((std::declval<T&>().*....*Path))>;
  template <typename At>
  using FoundBy = std::decay_t<std::invoke_result_t<At, T&>>;

  template <auto... Path>
  static void* part_at(void* record) {
    return &(*static_cast<T*>(record).*....*Path);
  }
  template <auto... Path, typename M>
  Record& typed_row(std::string_view key, const Kind<M>& kind, std::string_view about) {
    rows_.add(key, "", kind.value(), part_at<Path...>, about);
    return *this;
  }
  template <auto... Path, typename M>
  Record& typed_row(const Kind<M>& kind, std::string_view about) {
    rows_.add(member_name<Path...>(), base_suffix<M>(), kind.value(), part_at<Path...>, about);
    return *this;
  }
  // What a generic function finds in a record.
  template <typename At>
  static void* found_by(const At& at, T& record) {
    return &at(record);
  }
  template <typename At>
  static Rows::Part part_by(At at) {
    if constexpr (std::is_empty_v<At>) {
      return +[](void* record) { return found_by(At{}, *static_cast<T*>(record)); };
    } else {
      return [at](void* record) { return found_by(at, *static_cast<T*>(record)); };
    }
  }
  // A function of a record as one of its address. One that captures nothing is a pointer, which
  // costs the compiler least.
  template <typename... More, typename F>
  static auto of_address(F function) {
    if constexpr (std::is_empty_v<F>) {
      return +[](const void* record, More... more) {
        return std::invoke(F{}, *static_cast<const T*>(record), more...);
      };
    } else {
      return [function](const void* record, More... more) {
        return std::invoke(function, *static_cast<const T*>(record), more...);
      };
    }
  }

  Rows rows_;
};

template <typename T, typename Fill>
T of_record(void (Fill::*)(Record<T>&) const);  // never defined: the T of a function of a Record<T>

// The one record of a function that returns it, made when it is first asked for: by `fill`, a
// function of a Record<T>&.
template <typename Fill>
const auto& described(Fill fill) {
  using T = decltype(of_record(&Fill::operator()));
  static const Record<T> made = [&] {
    Record<T> record;
    fill(record);
    return record;
  }();
  return made;
}

}  // namespace meshwright
