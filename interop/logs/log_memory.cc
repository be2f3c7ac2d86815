// SPDX-License-Identifier: Apache-2.0
#include "interop/logs/log_memory.h"

#include <algorithm>
#include <array>

#include "interop/logs/log_numbers.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

constexpr double kMebibyteOfLog = 1'048'576.0;
constexpr double kGibibyteOfLog = 1024.0 * kMebibyteOfLog;

enum class PeakKind { allocated, reserved };

struct MemoryLabel {
  std::string_view line;  // text that the line also contains; empty: none needed
  std::string_view label;
  double unit;
  PeakKind peak;
};

constexpr std::array kMemoryLabels{
    // Megatron-LM
    MemoryLabel{"memory (MB)", "max allocated", kMebibyteOfLog, PeakKind::allocated},
    MemoryLabel{"memory (MB)", "max reserved", kMebibyteOfLog, PeakKind::reserved},
    // Primus: of the whole device, which little besides the allocator uses
    MemoryLabel{"", "hip mem usage/free/total/usage_ratio", kGibibyteOfLog, PeakKind::reserved},
    // DeepSpeed
    MemoryLabel{"", "MaxMemAllocated", kGibibyteOfLog, PeakKind::allocated},
    // nanotron
    MemoryLabel{"", "Peak allocated", kMebibyteOfLog, PeakKind::allocated},
    MemoryLabel{"", "Peak reserved", kMebibyteOfLog, PeakKind::reserved},
    // torchtitan
    MemoryLabel{"tps:", "memory:", kGibibyteOfLog, PeakKind::reserved},
    // Composer
    MemoryLabel{"", "memory/peak_allocated_mem", 1e9, PeakKind::allocated},
    MemoryLabel{"", "memory/peak_reserved_mem", 1e9, PeakKind::reserved},
    // NeMo 2.0
    MemoryLabel{"train_step_timing", "max_memory_allocated", 1.0, PeakKind::allocated},
    MemoryLabel{"train_step_timing", "peak_memory_usage", 1.0, PeakKind::allocated},
    MemoryLabel{"train_step_timing", "max_memory_reserved", 1.0, PeakKind::reserved},
    // NeMo AutoModel
    MemoryLabel{"/gpu)", "| mem", kGibibyteOfLog, PeakKind::allocated},
    // OLMo-core: tensors in use, and blocks that streams still hold
    MemoryLabel{"GPU active mem", "(GiB)=", kGibibyteOfLog, PeakKind::allocated},
    MemoryLabel{"GPU reserved mem", "(GiB)=", kGibibyteOfLog, PeakKind::reserved},
    // OLMo
    MemoryLabel{"", "Peak GPU Memory (MB)=", 1e6, PeakKind::allocated},
    // axolotl, in the spellings of three years
    MemoryLabel{"", "memory/max_allocated (GiB)", kGibibyteOfLog, PeakKind::allocated},
    MemoryLabel{"", "memory/max_mem_allocated(gib)", kGibibyteOfLog, PeakKind::allocated},
    MemoryLabel{"", "memory/max_memory_allocated", kGibibyteOfLog, PeakKind::allocated},
    MemoryLabel{"", "memory/device_reserved (GiB)", kGibibyteOfLog, PeakKind::reserved},
    MemoryLabel{"", "memory/device_mem_reserved(gib)", kGibibyteOfLog, PeakKind::reserved},
    MemoryLabel{"", "memory/device_memory_reserved", kGibibyteOfLog, PeakKind::reserved},
    // ms-swift
    MemoryLabel{"train_speed", "memory(GiB)", kGibibyteOfLog, PeakKind::reserved},
    // torchtune
    MemoryLabel{"tokens_per_second_per_gpu", "peak_memory_alloc", kGibibyteOfLog,
                PeakKind::allocated},
    MemoryLabel{"tokens_per_second_per_gpu", "peak_memory_reserved", kGibibyteOfLog,
                PeakKind::reserved},
};

constexpr double kMostMemory = 1e15;

}  // namespace

void read_peak_memory(std::string_view line, TrainingLog& log) {
  for (const MemoryLabel& known : kMemoryLabels) {
    if (!known.line.empty() && !contains(line, known.line)) continue;
    const auto amount = positive_value(line, known.label);
    if (!amount || *amount * known.unit > kMostMemory) continue;
    std::optional<Bytes>& peak =
        known.peak == PeakKind::allocated ? log.peak_allocated : log.peak_reserved;
    peak = std::max(peak.value_or(bytes(0)), bytes(*amount * known.unit));
  }
}

}  // namespace meshwright::interop
