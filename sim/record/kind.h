// SPDX-License-Identifier: Apache-2.0
// Kinds of values in a record: how a value of one type is read, written and described. A row of a
// record (record.h) joins a kind with a member and a key.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/enum_names.h"
#include "sim/base/units.h"
#include "sim/record/reader.h"

namespace meshwright {

// The unit in which people write an amount: its suffix on the key, how many base units it holds
// (or, for times, how many of it a base unit holds), and the base unit's suffix.
struct Unit {
  std::string_view suffix;
  double scale;
  std::string_view base_suffix;
};
inline constexpr Unit kGibibytes{"_gib", 1073741824.0, "_bytes"};
inline constexpr Unit kKibibytes{"_kib", 1024.0, "_bytes"};
inline constexpr Unit kGigabytesPerSecond{"_gb_per_s", 1e9, "_bytes_per_s"};
inline constexpr Unit kTeraflops{"_tflops", 1e12, "_flops_per_s"};
inline constexpr Unit kMicroseconds{"_us", 1e6, "_seconds"};
inline constexpr Unit kNanoseconds{"_ns", 1e9, "_seconds"};

// How a value is read, written and described, for the engine that walks rows: it knows the value's
// address and not its type. Compiled once a type, not once a row.
class Value {
 public:
  Value() = default;
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;
  virtual ~Value() = default;

  // Reads the key's value over `value`; the key is there. Throws InputError.
  virtual void read(ObjectReader& reader, const std::string& key, void* value) const = 0;
  virtual void write(Json& json, const std::string& key, const void* value) const = 0;
  // The JSON Schema of the value.
  [[nodiscard]] virtual Json schema() const = 0;
  // The value is none, if it can be.
  virtual void forget(void* /*value*/) const {}

  // An amount's unit: the key gets its suffix, or that of the base unit.
  std::optional<Unit> unit{};
  // A file may say null; then the value stays as it is.
  bool nullable = false;
};

// Holds it while the program runs: kinds are said in records, which are made once.
const Value* kept(std::unique_ptr<const Value> value);
template <typename V, typename... Arguments>
const Value* keep(Arguments&&... arguments) {
  return kept(std::unique_ptr<const Value>(new V(std::forward<Arguments>(arguments)...)));
}

// A Value whose type is known to the compiler.
template <typename M>
class Kind {
 public:
  struct Functions {
    std::function<void(ObjectReader& reader, const std::string& key, M& value)> read{};
    std::function<void(Json& json, const std::string& key, const M& value)> write{};
    std::function<Json()> schema{};
    std::optional<Unit> unit{};
    bool nullable = false;
  };
  // NOLINTNEXTLINE(google-explicit-constructor): a kind is often said by its three functions.
  Kind(Functions functions) : value_(keep<OfFunctions>(std::move(functions))) {}
  explicit Kind(const Value* value) : value_(value) {}

  [[nodiscard]] const Value* value() const { return value_; }
  void read(ObjectReader& reader, const std::string& key, M& value) const {
    value_->read(reader, key, &value);
  }
  void write(Json& json, const std::string& key, const M& value) const {
    value_->write(json, key, &value);
  }
  [[nodiscard]] Json schema() const { return value_->schema(); }
  // The same kind, but for the functions that `other` has.
  [[nodiscard]] Kind with(Functions other) const {
    const Value* const base = value_;
    if (!other.read) {
      other.read = [base](ObjectReader& reader, const std::string& key, M& value) {
        base->read(reader, key, &value);
      };
    }
    if (!other.write) {
      other.write = [base](Json& json, const std::string& key, const M& value) {
        base->write(json, key, &value);
      };
    }
    if (!other.schema) other.schema = [base] { return base->schema(); };
    if (!other.unit) other.unit = base->unit;
    other.nullable = other.nullable || base->nullable;
    return Kind(std::move(other));
  }

 private:
  struct OfFunctions final : Value {
    explicit OfFunctions(Functions said) : functions(std::move(said)) {
      unit = functions.unit;
      nullable = functions.nullable;
    }
    void read(ObjectReader& reader, const std::string& key, void* value) const override {
      functions.read(reader, key, *static_cast<M*>(value));
    }
    void write(Json& json, const std::string& key, const void* value) const override {
      functions.write(json, key, *static_cast<const M*>(value));
    }
    Json schema() const override { return functions.schema(); }
    Functions functions;
  };

  const Value* value_;
};

// Values whose shape is known and whose type is not: what they do is compiled once, in kind.cc. The
// classes of their types say where a part of the value is.
class OptionalValue : public Value {
 public:
  OptionalValue(const Value* inside, bool writes_null);
  void read(ObjectReader& reader, const std::string& key, void* value) const final;
  void write(Json& json, const std::string& key, const void* value) const final;
  [[nodiscard]] Json schema() const final;

 protected:
  virtual void* emplaced(void* value) const = 0;
  virtual const void* held(const void* value) const = 0;  // null: none

 private:
  const Value* inside_;
};

// One of a table's names.
class ChoiceValue : public Value {
 public:
  explicit ChoiceValue(std::vector<std::string_view> names) : names_(std::move(names)) {}
  void read(ObjectReader& reader, const std::string& key, void* value) const final;
  void write(Json& json, const std::string& key, const void* value) const final;
  [[nodiscard]] Json schema() const final;

 protected:
  virtual void set(void* value, std::size_t place) const = 0;
  virtual std::size_t place(const void* value) const = 0;  // past the end: it has no name

 private:
  std::vector<std::string_view> names_;
};

// Some of a table's names, as an array: bits, or a list.
class NamesValue : public Value {
 public:
  explicit NamesValue(std::vector<std::string_view> names) : names_(std::move(names)) {}
  void read(ObjectReader& reader, const std::string& key, void* value) const final;
  void write(Json& json, const std::string& key, const void* value) const final;
  [[nodiscard]] Json schema() const final;

 protected:
  virtual void clear(void* value) const = 0;
  virtual void add(void* value, std::size_t place) const = 0;
  virtual std::vector<std::size_t> held(const void* value) const = 0;

 private:
  std::vector<std::string_view> names_;
};

// The place of a value's name among `names`. Throws InputError that names the nearest.
std::size_t read_choice(ObjectReader& reader, const std::string& key,
                        const std::vector<std::string_view>& names);
Json choice_schema(const std::vector<std::string_view>& names);
// A value, or null.
Json or_null(Json schema);

template <typename Names>
std::vector<std::string_view> words_of_names(const Names& names) {
  std::vector<std::string_view> words;
  for (const auto& entry : names) words.push_back(entry.name);
  return words;
}

inline constexpr NumberRange kAnyNumber{.low = -1e300};
inline constexpr NumberRange kNotNegative{};
inline constexpr NumberRange kAboveZero{.low = 0.0, .low_excluded = true};

namespace kind {

Kind<int> integer(IntRange range = {});
Kind<std::int64_t> wide_integer(IntRange range = {});
// A count: 0 or more, beyond any int.
Kind<std::int64_t> count();
Kind<double> number(NumberRange range = {});
// A part of a whole: above 0 (or 0 with `may_be_none`) and at most 1.
Kind<double> fraction(bool may_be_none = false);
// 0 in a file says that the number is not stated.
Kind<std::optional<double>> stated_number();
Kind<std::optional<double>> optional_number(NumberRange range = {});
Kind<std::optional<int>> optional_integer(IntRange range = {});
Kind<bool> flag();
Kind<std::string> text();
Kind<std::vector<std::string>> texts();
Kind<std::vector<int>> integers(IntRange range = {});
Kind<std::vector<double>> numbers(NumberRange range = kAnyNumber);
// Each a number or null.
Kind<std::vector<std::optional<double>>> numbers_or_null();
// An object with a key per name, in their order.
Kind<std::vector<std::pair<std::string, double>>> numbers_by_name(NumberRange range = kAnyNumber);
// Rows of numbers, each as long as `columns` says.
Kind<std::vector<std::vector<double>>> number_rows(std::size_t columns);
// Anything at all: what other programs or other records say.
Kind<Json> anything();

// An amount is written in the unit of its friendly key (rate_gb_per_s, latency_us) when that reads
// back to the same bits, else in base units (rate_bytes_per_s, latency_seconds). Both are read, so
// that a measured profile reloads exactly.
Kind<double> amount_in(const Unit& unit, NumberRange range);

// An amount, read and written as its number in base units.
template <typename Q>
Kind<Q> of_number(const Kind<double>& number) {
  struct OfNumber final : Value {
    explicit OfNumber(const Value* of) : number(of) { unit = of->unit; }
    void read(ObjectReader& reader, const std::string& key, void* value) const override {
      double read = static_cast<Q*>(value)->value();
      number->read(reader, key, &read);
      *static_cast<Q*>(value) = Q(read);
    }
    void write(Json& json, const std::string& key, const void* value) const override {
      const double written = static_cast<const Q*>(value)->value();
      number->write(json, key, &written);
    }
    Json schema() const override { return number->schema(); }
    const Value* number;
  };
  return Kind<Q>(keep<OfNumber>(number.value()));
}
template <typename Q>
Kind<Q> amount(const Unit& unit, NumberRange range = kNotNegative) {
  return of_number<Q>(amount_in(unit, range));
}
// An amount in base units under a key that says so ("amount_bytes").
template <typename Q>
Kind<Q> base_amount(NumberRange range = kNotNegative) {
  return of_number<Q>(number(range));
}

// One of a table's names (enum_names.h).
template <typename Enum, std::size_t N>
Kind<Enum> choice(const std::array<EnumName<Enum>, N>& names) {
  struct OfEnum final : ChoiceValue {
    explicit OfEnum(const std::array<EnumName<Enum>, N>& names)
        : ChoiceValue(words_of_names(names)), table(names) {}
    void set(void* value, std::size_t place) const override {
      *static_cast<Enum*>(value) = table[place].value;
    }
    std::size_t place(const void* value) const override {
      std::size_t i = 0;
      while (i < N && table[i].value != *static_cast<const Enum*>(value)) ++i;
      return i;
    }
    std::array<EnumName<Enum>, N> table;
  };
  return Kind<Enum>(keep<OfEnum>(names));
}

// One of some names: `place_of` gives the place of a value's name, `at` the value of a place.
template <typename M, typename PlaceOf, typename At>
Kind<M> named(std::vector<std::string_view> names, PlaceOf place_of, At at) {
  struct OfName final : ChoiceValue {
    OfName(std::vector<std::string_view> names, PlaceOf to_place, At from_place)
        : ChoiceValue(std::move(names)), place_of(to_place), at(from_place) {}
    void set(void* value, std::size_t place) const override { *static_cast<M*>(value) = at(place); }
    std::size_t place(const void* value) const override {
      return place_of(*static_cast<const M*>(value));
    }
    PlaceOf place_of;
    At at;
  };
  return Kind<M>(keep<OfName>(std::move(names), place_of, at));
}

// Values of M, read and written as those of another kind: `to` makes such a value, `from` an M.
template <typename M, typename N, typename To, typename From>
Kind<M> as(const Kind<N>& other, To to, From from) {
  return {{.read =
               [other, from](ObjectReader& reader, const std::string& key, M& value) {
                 N read{};
                 other.read(reader, key, read);
                 value = from(std::move(read));
               },
           .write = [other, to](Json& json, const std::string& key,
                                const M& value) { other.write(json, key, to(value)); },
           .schema = [other] { return other.schema(); }}};
}

template <typename M>
Kind<std::optional<M>> optional_or_null(const Kind<M>& kind, bool writes_null) {
  struct OfOptional final : OptionalValue {
    using OptionalValue::OptionalValue;
    void* emplaced(void* value) const override {
      return &static_cast<std::optional<M>*>(value)->emplace();
    }
    const void* held(const void* value) const override {
      const auto& held = *static_cast<const std::optional<M>*>(value);
      return held ? &*held : nullptr;
    }
    void forget(void* value) const override { static_cast<std::optional<M>*>(value)->reset(); }
  };
  return Kind<std::optional<M>>(keep<OfOptional>(kind.value(), writes_null));
}
// A kind's value or none; none is not written.
template <typename M>
Kind<std::optional<M>> optional(const Kind<M>& kind) {
  return optional_or_null(kind, false);
}
// A kind's value or none; none is written as null.
template <typename M>
Kind<std::optional<M>> nullable(const Kind<M>& kind) {
  return optional_or_null(kind, true);
}

// An amount in base units for each name of a table, as an object.
template <typename Q, typename Enum, std::size_t N>
Kind<std::array<Q, N>> amount_by_name(const std::array<EnumName<Enum>, N>& names) {
  return {{.read =
               [names](ObjectReader& reader, const std::string& key, std::array<Q, N>& values) {
                 ObjectReader inside = reader.required_object(key);
                 for (const auto& [which, name] : names) {
                   values[static_cast<std::size_t>(which)] = Q(inside.required_number(name));
                 }
                 inside.finish();
               },
           .write =
               [names](Json& json, const std::string& key, const std::array<Q, N>& values) {
                 Json& object = json[key] = Json::object();
                 for (const auto& [which, name] : names) {
                   object[std::string(name)] = values[static_cast<std::size_t>(which)].value();
                 }
               },
           .schema =
               [names] {
                 Json properties = Json::object();
                 for (const auto& entry : names) {
                   properties[std::string(entry.name)] = number().schema();
                 }
                 return Json{{"type", "object"},
                             {"required", words_of_names(names)},
                             {"properties", properties},
                             {"additionalProperties", false}};
               }}};
}

// A number for each name of a table, as an object. Names that are not there keep their number.
template <typename Enum, std::size_t N>
Kind<std::array<int, N>> integer_by_name(const std::array<EnumName<Enum>, N>& names,
                                         IntRange range) {
  return {{.read =
               [names, range](ObjectReader& reader, const std::string& key,
                              std::array<int, N>& values) {
                 ObjectReader inside = reader.required_object(key);
                 for (const auto& [which, name] : names) {
                   int& value = values[static_cast<std::size_t>(which)];
                   value = inside.optional_int(name, value, range);
                 }
                 inside.finish();
               },
           .write =
               [names](Json& json, const std::string& key, const std::array<int, N>& values) {
                 Json& object = json[key] = Json::object();
                 for (const auto& [which, name] : names) {
                   object[std::string(name)] = values[static_cast<std::size_t>(which)];
                 }
               },
           .schema =
               [names, range] {
                 Json properties = Json::object();
                 for (const auto& entry : names) {
                   properties[std::string(entry.name)] = integer(range).schema();
                 }
                 return Json{{"type", "object"},
                             {"properties", properties},
                             {"additionalProperties", false}};
               }}};
}

// Some names of a table: `Access` has clear(M&), add(M&, place) and held(const M&), the places.
template <typename M, typename Access, typename Names>
Kind<M> some_names(const Names& names) {
  struct OfNames final : NamesValue {
    explicit OfNames(const Names& names) : NamesValue(words_of_names(names)), access{names} {}
    void clear(void* value) const override { access.clear(*static_cast<M*>(value)); }
    void add(void* value, std::size_t place) const override {
      access.add(*static_cast<M*>(value), place);
    }
    std::vector<std::size_t> held(const void* value) const override {
      std::vector<std::size_t> places;
      access.held(*static_cast<const M*>(value), places);
      return places;
    }
    Access access;
  };
  return Kind<M>(keep<OfNames>(names));
}

// The names of a table that hold.
template <typename Enum, std::size_t N>
Kind<std::array<bool, N>> set_of_names(const std::array<EnumName<Enum>, N>& names) {
  struct Flags {
    std::array<EnumName<Enum>, N> names;
    void clear(std::array<bool, N>& flags) const { flags.fill(false); }
    void add(std::array<bool, N>& flags, std::size_t place) const {
      flags[static_cast<std::size_t>(names[place].value)] = true;
    }
    void held(const std::array<bool, N>& flags, std::vector<std::size_t>& places) const {
      for (std::size_t i = 0; i < N; ++i) {
        if (flags[static_cast<std::size_t>(names[i].value)]) places.push_back(i);
      }
    }
  };
  return some_names<std::array<bool, N>, Flags>(names);
}

// The names of the bits that are set.
template <typename Bit, std::size_t N>
Kind<unsigned> bits_by_name(const std::array<EnumName<Bit>, N>& names) {
  struct Bits {
    std::array<EnumName<Bit>, N> names;
    void clear(unsigned& bits) const { bits = 0; }
    void add(unsigned& bits, std::size_t place) const { bits |= names[place].value; }
    void held(unsigned bits, std::vector<std::size_t>& places) const {
      for (std::size_t i = 0; i < N; ++i) {
        if ((bits & names[i].value) != 0) places.push_back(i);
      }
    }
  };
  return some_names<unsigned, Bits>(names);
}

// A list of a table's names, in its own order.
template <typename Enum, std::size_t N>
Kind<std::vector<Enum>> list_of_names(const std::array<EnumName<Enum>, N>& names) {
  struct List {
    std::array<EnumName<Enum>, N> names;
    void clear(std::vector<Enum>& list) const { list.clear(); }
    void add(std::vector<Enum>& list, std::size_t place) const {
      list.push_back(names[place].value);
    }
    void held(const std::vector<Enum>& list, std::vector<std::size_t>& places) const {
      for (const Enum value : list) {
        std::size_t i = 0;
        while (i + 1 < N && names[i].value != value) ++i;
        places.push_back(i);
      }
    }
  };
  return some_names<std::vector<Enum>, List>(names);
}

}  // namespace kind

// Rows of numbers ("points") as arrays: `columns` numbers, the first `positive` of them above zero,
// the others 0 or more.
struct PointTable {
  std::size_t columns = 0, positive = 0;
  std::string_view names;  // "bytes, seconds, relative spread"
};
std::vector<std::vector<double>> read_points(ObjectReader& reader, const std::string& key,
                                             const PointTable& table);
[[noreturn]] void fail_point(const ObjectReader& reader, const std::string& key, std::size_t index,
                             const std::string& what);
Json points_schema(const PointTable& table);

}  // namespace meshwright
