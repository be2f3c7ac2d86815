// SPDX-License-Identifier: Apache-2.0
// The kind of a value by its type, and what a row may say in place of a kind: the record of an
// object, the table of an enumeration's names, a range, a unit.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "sim/base/enum_names.h"
#include "sim/base/units.h"
#include "sim/record/kind.h"

namespace meshwright {

class Rows;
template <typename T>
class Record;

// Records inside of records. A record is made when it is first used, so that the order in which
// sources start does not matter.
template <typename R>
using RecordOf = const Record<R>& (*)();

// A value that is a record, whose rows are walked.
class ObjectValue : public Value {
 public:
  void read(ObjectReader& reader, const std::string& key, void* value) const final;
  void write(Json& json, const std::string& key, const void* value) const final;
  [[nodiscard]] Json schema() const final;

 protected:
  [[nodiscard]] virtual const Rows& rows() const = 0;
};

// A list of records.
class ListValue : public Value {
 public:
  void read(ObjectReader& reader, const std::string& key, void* value) const final;
  void write(Json& json, const std::string& key, const void* value) const final;
  [[nodiscard]] Json schema() const final;

 protected:
  [[nodiscard]] virtual const Rows& rows() const = 0;
  virtual void clear(void* list) const = 0;
  virtual void* append(void* list) const = 0;
  [[nodiscard]] virtual std::size_t size(const void* list) const = 0;
  [[nodiscard]] virtual const void* at(const void* list, std::size_t place) const = 0;
};

namespace kind {

template <typename R>
Kind<R> object(RecordOf<R> record) {
  struct OfRecord final : ObjectValue {
    explicit OfRecord(RecordOf<R> of) : record(of) {}
    const Rows& rows() const override { return record().all(); }
    RecordOf<R> record;
  };
  return Kind<R>(keep<OfRecord>(record));
}
// In a file, the name or path of another file may stand for the object.
template <typename R>
Kind<R> object_or_file(RecordOf<R> record) {
  return object(record).with({.schema = [record] {
    return Json{{"anyOf", Json::array({Json{{"type", "string"}}, record().schema()})}};
  }});
}
template <typename R>
Kind<std::vector<R>> list(RecordOf<R> record) {
  struct OfRecords final : ListValue {
    explicit OfRecords(RecordOf<R> one) : record(one) {}
    static std::vector<R>& of(void* list) { return *static_cast<std::vector<R>*>(list); }
    static const std::vector<R>& of(const void* list) {
      return *static_cast<const std::vector<R>*>(list);
    }
    const Rows& rows() const override { return record().all(); }
    void clear(void* list) const override { of(list).clear(); }
    void* append(void* list) const override { return &of(list).emplace_back(); }
    std::size_t size(const void* list) const override { return of(list).size(); }
    const void* at(const void* list, std::size_t place) const override { return &of(list)[place]; }
    RecordOf<R> record;
  };
  return Kind<std::vector<R>>(keep<OfRecords>(record));
}

}  // namespace kind

template <typename M>
inline constexpr bool kIsOptional = false;
template <typename M>
inline constexpr bool kIsOptional<std::optional<M>> = true;
template <typename M>
inline constexpr bool kIsQuantity = false;
template <int B, int F, int S>
inline constexpr bool kIsQuantity<Quantity<B, F, S>> = true;

// What the key of an amount in base units ends in.
template <typename M>
constexpr std::string_view base_suffix() {
  if constexpr (kIsOptional<M>) return base_suffix<typename M::value_type>();
  if constexpr (std::is_same_v<M, Bytes>) return "_bytes";
  if constexpr (std::is_same_v<M, Flops>) return "_flops";
  if constexpr (std::is_same_v<M, Seconds>) return "_seconds";
  if constexpr (std::is_same_v<M, BytesPerSecond>) return "_bytes_per_second";
  if constexpr (std::is_same_v<M, FlopsPerSecond>) return "_flops_per_second";
  return "";
}

// The kind that values of a type have if a row says no other.
template <typename M>
Kind<M> kind_for() {
  if constexpr (kIsOptional<M>) {
    return kind::optional(kind_for<typename M::value_type>());
  } else if constexpr (kIsQuantity<M>) {
    return kind::base_amount<M>();
  } else if constexpr (std::is_same_v<M, bool>) {
    return kind::flag();
  } else if constexpr (std::is_same_v<M, int>) {
    return kind::integer();
  } else if constexpr (std::is_same_v<M, std::int64_t>) {
    return kind::wide_integer();
  } else if constexpr (std::is_same_v<M, double>) {
    return kind::number();
  } else if constexpr (std::is_same_v<M, std::string>) {
    return kind::text();
  } else if constexpr (std::is_same_v<M, std::vector<std::string>>) {
    return kind::texts();
  } else if constexpr (std::is_same_v<M, std::vector<int>>) {
    return kind::integers();
  } else if constexpr (std::is_same_v<M, std::vector<double>>) {
    return kind::numbers();
  } else {
    static_assert(std::is_same_v<M, Json>, "values of this type have no kind of their own");
    return kind::anything();
  }
}

// The kind that a row says: itself, that of an optional's value, or by what values are made of.
template <typename M>
Kind<M> kind_for(const Kind<M>& kind) {
  return kind;
}
template <typename M, typename K>
Kind<M> kind_for(const K& said);

template <typename M>
Kind<M> kind_in(IntRange range) {
  if constexpr (std::is_same_v<M, int>) return kind::integer(range);
  if constexpr (std::is_same_v<M, std::int64_t>) return kind::wide_integer(range);
  if constexpr (std::is_same_v<M, std::vector<int>>) return kind::integers(range);
}
template <typename M>
Kind<M> kind_in(NumberRange range) {
  if constexpr (std::is_same_v<M, double>) {
    return kind::number(range);
  } else if constexpr (std::is_same_v<M, std::vector<double>>) {
    return kind::numbers(range);
  } else {
    return kind::base_amount<M>(range);
  }
}
template <typename M>
Kind<M> kind_in(const Unit& unit) {
  return kind::amount<M>(unit);
}
template <typename M, typename R>
Kind<M> kind_in(const Record<R>& (*record)()) {
  if constexpr (std::is_same_v<M, R>) {
    return kind::object<R>(record);
  } else {
    return kind::list<R>(record);
  }
}
template <typename M, typename Enum, std::size_t N>
Kind<M> kind_in(const std::array<EnumName<Enum>, N>& names) {
  if constexpr (std::is_same_v<M, Enum>) {
    return kind::choice(names);
  } else if constexpr (std::is_same_v<M, std::vector<Enum>>) {
    return kind::list_of_names(names);
  } else if constexpr (std::is_same_v<M, unsigned>) {
    return kind::bits_by_name(names);
  } else {
    return kind::set_of_names(names);
  }
}

// An optional that is written as null where there is none; `said`: the kind of its value.
template <typename K>
struct Nullable {
  const K& said;
};
template <>
struct Nullable<void> {};
template <typename K>
Nullable<K> nullable(const K& said) {
  return {said};
}
inline Nullable<void> nullable() { return {}; }

template <typename M>
Kind<M> kind_in(const Nullable<void>& /*said*/) {
  return kind::nullable(kind_for<typename M::value_type>());
}
template <typename M, typename K>
Kind<M> kind_in(const Nullable<K>& nullable) {
  return kind::nullable(kind_for<typename M::value_type>(nullable.said));
}

template <typename K>
inline constexpr bool kIsNullable = false;
template <typename K>
inline constexpr bool kIsNullable<Nullable<K>> = true;

template <typename M, typename K>
Kind<M> kind_for(const K& said) {
  if constexpr (kIsOptional<M> && !kIsNullable<K>) {
    return kind::optional(kind_for<typename M::value_type>(said));
  } else {
    return kind_in<M>(said);
  }
}

}  // namespace meshwright
