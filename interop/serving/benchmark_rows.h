// SPDX-License-Identifier: Apache-2.0
// One result of each benchmark client as a row (benchmark_table.h).
#pragma once

#include "interop/serving/result_row.h"

namespace meshwright::interop {

// Whose result an object is, by the keys that only this client writes.
bool is_sglang_result(const ResultObject& result);
bool is_vllm_result(const ResultObject& result);
bool is_aiperf_result(const ResultObject& result);
bool is_inferencex_result(const ResultObject& result);

void read_sglang_result(const ResultObject& result, ResultRow& row);
void read_vllm_result(const ResultObject& result, ResultRow& row);
// The metrics lie in the object itself, or under "records".
void read_aiperf_result(const ResultObject& result, ResultRow& row);
// Output per GPU counts the decode GPUs of a disaggregated service.
void read_inferencex_result(const ResultObject& result, ResultRow& row);

}  // namespace meshwright::interop
