// SPDX-License-Identifier: Apache-2.0
// The decision table, and what its what-ifs show in its place: rows and sentences for every cell of
// the grid, written here and only here, so that the viewer places texts and makes none.
#pragma once

#include <string>

#include "sim/json/records.h"

namespace meshwright::reports::html {

// "1,234" from a thousand on, else three digits.
std::string short_number(double value);

// Of a report's capacity answer. Empty where it has no rows.
std::string decision_table(const Json& report);

// {"axes": [{"key", "label", "values", "texts", "base"}], "cells": [{"sentence", "row",
// "options"}]} in the order of the record's grid; null where it has none.
Json what_if_block(const Json& report);

}  // namespace meshwright::reports::html
