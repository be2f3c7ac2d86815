// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/framework_scalars.h"

#include "sim/base/overloaded.h"

namespace meshwright {

double value_of(FrameworkScalar scalar, const Framework& f) {
  return std::visit(Overloaded{[&](double Framework::*member) { return f.*member; },
                               [&](Seconds Framework::*member) { return (f.*member).value(); },
                               [&](double ExpertFacts::*member) { return f.experts.*member; },
                               [&](double KernelFacts::*member) { return f.kernels.*member; }},
                    row_of(scalar).member);
}

Framework with_value(Framework f, FrameworkScalar scalar, double value) {
  std::visit(Overloaded{[&](double Framework::*member) { f.*member = value; },
                        [&](Seconds Framework::*member) { f.*member = seconds(value); },
                        [&](double ExpertFacts::*member) { f.experts.*member = value; },
                        [&](double KernelFacts::*member) { f.kernels.*member = value; }},
             row_of(scalar).member);
  return f;
}

}  // namespace meshwright
