// SPDX-License-Identifier: Apache-2.0
// The interval that nine of ten measured steps are meant to lie in.
//
// ln(measured / predicted) of a step = bias + shared + own: the regime's mean error; what all runs
// of one machine and software have in common, one draw a machine; and one draw a run. The spreads
// are those of published runs that were predicted without what had been learnt from them
// (configs/spreads/published.json, of cores cores.json; planner/accuracy/regime_fit.h says how).
#pragma once

#include <optional>
#include <string>

#include "sim/base/units.h"
#include "sim/hardware/interval_regime.h"
#include "sim/step/terms.h"

namespace meshwright {

// Natural logarithms. As a normal's standard deviations: a Student-t's 95 % quantile over 1.645
// stands in for few sets.
struct RegimeSpread {
  double bias = 0.0, shared = 0.0, own = 0.0;
  // Spread of the error that differs between layouts of one model. The spread itself is uncertain:
  // scaled inverse chi-squared with this scale and these degrees of freedom (0: known to be
  // between_layouts).
  double between_layouts = 0.0, between_degrees = 0.0;
  int sets = 0;  // number of data sets of the fit
};

// The shipped one; models with experts have their own.
const RegimeSpread& shipped_spread(IntervalRegime regime, bool experts);
// Spread of a step on this cluster: fitted on its own runs if there are enough, else the shipped
// one. Of calibrated cores the own spread is in quadrature with movement_of_passes(): a run meets
// another speed of the host than the calibration did.
RegimeSpread step_spread(const Cluster& cluster, bool experts);

// Spread of the terms in quadrature, relative to the step: terms err independently.
double spread_of_parts(const Terms& terms, Seconds step);

// Shortest possible time of a step of so many FLOPs (the model's, causal attention half) on so many
// devices. The rate is the fastest one that the device's file or profile has for GEMMs or fused
// attention, raised by fitted factors below 1. 0 if no rate is known.
Seconds least_step_time(Flops step, const Cluster& cluster, Precision precision, int gpus);

struct StepInterval {
  Seconds low, high;
};
// step x exp(bias -+ 1.645 x the larger of hypot(shared, own) and of_parts), the step itself always
// inside, and no end below `least`. of_parts: what the spreads of the step's terms add up to.
StepInterval step_interval(Seconds step, const RegimeSpread& spread, double of_parts = 0.0,
                           Seconds least = {});

// "-8 to +16 %": the ends over the step.
std::string relative_text(const StepInterval& interval, Seconds step);

// The cluster as it is known once its training software is named: the one that its file assumes.
// Nothing where that would tell nothing more: it is named, or no published run stands behind it.
std::optional<Cluster> with_named_software(Cluster cluster);

}  // namespace meshwright
