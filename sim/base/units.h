// SPDX-License-Identifier: Apache-2.0
// Amounts with their unit in the type: what a number means is checked by the compiler.
//
// A Quantity carries the exponents of byte, flop and second, so Bytes / BytesPerSecond is Seconds,
// Bytes / Bytes is a plain double, and Bytes + Seconds does not compile. Values come from named
// factories (gibibytes(80)). GiB is 2^30, GB is 10^9.
#pragma once

#include <compare>
#include <cstdint>

namespace meshwright {

template <int ByteExponent, int FlopExponent, int SecondExponent>
class Quantity {
 public:
  constexpr Quantity() = default;
  explicit constexpr Quantity(double value) : value_(value) {}

  // The bare number in base units. Only for units, JSON, fits and printing.
  [[nodiscard]] constexpr double value() const { return value_; }

  constexpr Quantity& operator+=(Quantity other) {
    value_ += other.value_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    value_ -= other.value_;
    return *this;
  }
  constexpr Quantity& operator*=(double factor) {
    value_ *= factor;
    return *this;
  }
  constexpr Quantity& operator/=(double divisor) {
    value_ /= divisor;
    return *this;
  }

  friend constexpr Quantity operator+(Quantity a, Quantity b) { return a += b; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return a -= b; }
  friend constexpr Quantity operator*(Quantity a, double factor) { return a *= factor; }
  friend constexpr Quantity operator*(double factor, Quantity a) { return a *= factor; }
  friend constexpr Quantity operator/(Quantity a, double divisor) { return a /= divisor; }
  friend constexpr auto operator<=>(Quantity, Quantity) = default;

 private:
  double value_ = 0.0;
};

template <int B1, int F1, int S1, int B2, int F2, int S2>
constexpr auto operator*(Quantity<B1, F1, S1> a, Quantity<B2, F2, S2> b) {
  if constexpr (B1 + B2 == 0 && F1 + F2 == 0 && S1 + S2 == 0) {
    return a.value() * b.value();
  } else {
    return Quantity<B1 + B2, F1 + F2, S1 + S2>(a.value() * b.value());
  }
}

template <int B1, int F1, int S1, int B2, int F2, int S2>
constexpr auto operator/(Quantity<B1, F1, S1> a, Quantity<B2, F2, S2> b) {
  if constexpr (B1 == B2 && F1 == F2 && S1 == S2) {
    return a.value() / b.value();
  } else {
    return Quantity<B1 - B2, F1 - F2, S1 - S2>(a.value() / b.value());
  }
}

using Bytes = Quantity<1, 0, 0>;
using Flops = Quantity<0, 1, 0>;
using Seconds = Quantity<0, 0, 1>;
using BytesPerSecond = Quantity<1, 0, -1>;
using FlopsPerSecond = Quantity<0, 1, -1>;

constexpr Bytes bytes(double n) { return Bytes(n); }
constexpr Bytes kibibytes(double n) { return Bytes(n * 1024.0); }
constexpr Bytes mebibytes(double n) { return Bytes(n * 1024.0 * 1024.0); }
constexpr Bytes gibibytes(double n) { return Bytes(n * 1024.0 * 1024.0 * 1024.0); }
constexpr Bytes gigabytes(double n) { return Bytes(n * 1e9); }
constexpr double in_gibibytes(Bytes b) { return b / gibibytes(1); }

constexpr Flops flops(double n) { return Flops(n); }

constexpr Seconds seconds(double n) { return Seconds(n); }
constexpr Seconds milliseconds(double n) { return Seconds(n * 1e-3); }
constexpr Seconds microseconds(double n) { return Seconds(n * 1e-6); }

constexpr BytesPerSecond bytes_per_second(double n) { return BytesPerSecond(n); }
constexpr BytesPerSecond gigabytes_per_second(double n) { return BytesPerSecond(n * 1e9); }

constexpr FlopsPerSecond flops_per_second(double n) { return FlopsPerSecond(n); }
constexpr FlopsPerSecond teraflops_per_second(double n) { return FlopsPerSecond(n * 1e12); }

}  // namespace meshwright
