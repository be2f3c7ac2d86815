// SPDX-License-Identifier: Apache-2.0
// What stands before the sections: the decision, how sure it is, the best layout's numbers. Parts
// that need a layout that fits are empty where none does.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/records/report.h"

namespace meshwright::reports {

const Record<Decision>& decision_record();
const Record<CertaintyItem>& certainty_item_record();
const Record<RestsOn>& rests_on_record();
const Record<Summary>& summary_record();

// "llama-3-70b on 512 GPUs: 8 x H100 SXM".
std::string title_of(const ReportContents& contents);
// The verdict over the capacity answer's rows, and how the recommended row runs.
Decision decision_of(const ReportContents& contents);
// `noise`: of the calibration.
std::vector<CertaintyItem> certainty_of(const ReportContents& contents,
                                        const std::optional<NoisePart>& noise);
// The inputs that the winner uses, the network first.
std::vector<RestsOn> rests_on_of(const ReportContents& contents);
// Returns sentences on effects that the model does not contain.
std::vector<std::string> left_out_of(const ReportContents& contents);
std::optional<Summary> summary_of(const ReportContents& contents);

// Steps of the training that the decision is about; one where nobody stated its tokens.
double train_steps(const Report& report);
// In so many steps; of one, "0.41 s per step".
std::string flag_effect(const RedFlagFacts& flag, double steps);
// What stands above the sections. `hash`: of the record.
std::string first_screen(const Report& report, const std::string& hash);

}  // namespace meshwright::reports
