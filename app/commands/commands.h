// SPDX-License-Identifier: Apache-2.0
// Every sub-command, in the order of the help text. A new one is its source file, a line here and
// one in CMakeLists.txt.
#pragma once

namespace meshwright::app {

class Commands;

void add_calibrate(Commands& commands);
void add_plan(Commands& commands);
void add_review(Commands& commands);
void add_trial(Commands& commands);
void add_validate(Commands& commands);
void add_backtest(Commands& commands);
void add_accuracy(Commands& commands);
void add_import(Commands& commands);
void add_report(Commands& commands);
void add_diff(Commands& commands);
void add_estimate(Commands& commands);
void add_volume(Commands& commands);
void add_explain(Commands& commands);
void add_model(Commands& commands);
void add_cluster(Commands& commands);
void add_capacity(Commands& commands);
void add_schema(Commands& commands);
void add_serve(Commands& commands);
void add_mcp(Commands& commands);
void add_reference(Commands& commands);

inline constexpr void (*kAddEach[])(Commands&) = {
    add_calibrate, add_plan,     add_capacity, add_serve,  add_review, add_trial,    add_validate,
    add_backtest,  add_accuracy, add_import,   add_report, add_diff,   add_estimate, add_volume,
    add_explain,   add_model,    add_cluster,  add_schema, add_mcp,    add_reference};

}  // namespace meshwright::app
