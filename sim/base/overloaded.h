// SPDX-License-Identifier: Apache-2.0
// One function for each alternative of a variant, as std::visit takes them.
#pragma once

namespace meshwright {

template <typename... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <typename... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace meshwright
