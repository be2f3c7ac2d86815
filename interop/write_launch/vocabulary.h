// SPDX-License-Identifier: Apache-2.0
// Fields of a layout that a launcher has words for. A field without a word has the value that the
// launcher's software always uses; a layout with another value is refused.
#pragma once

#include <bitset>
#include <initializer_list>
#include <string>
#include <string_view>

#include "sim/layout/fields.h"
#include "sim/model/model.h"

namespace meshwright::interop {

class Vocabulary {
 public:
  // Names of fields. The micro-batch and the data-parallel size are said by everybody.
  Vocabulary(std::initializer_list<std::string_view> said);
  // "it has no word for tp_comm_overlap true"; empty: nothing is left unsaid.
  [[nodiscard]] std::string refusal(const Layout& layout, const Model& model,
                                    const Layout& as_it_runs) const;

 private:
  std::bitset<kNumLayoutFields> said_;
};

// The layout with `otherwise`'s values in the fields that nothing hangs on: those of experts in a
// dense model, of stages where there is one, of recompute that is off.
Layout without_idle_fields(Layout layout, const Model& model, const Layout& otherwise);

}  // namespace meshwright::interop
