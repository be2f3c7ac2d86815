// SPDX-License-Identifier: Apache-2.0
// Nsight Systems' SQLite export (nsys export --type sqlite; schema 3 of 2023 to 2026). GEMMs: an
// NVTX range of PyTorch that states sizes, "aten::mm, seq = 5, op_id = 12, sizes = [[8192, 4096],
// [4096, 1024]]" (torch/csrc/profiler/util.cpp, getNvtxStr), the launches on its thread while it
// lasts (CUPTI_ACTIVITY_KIND_RUNTIME), and the kernels with their correlation ids
// (CUPTI_ACTIVITY_KIND_KERNEL). The number format is that of the kernel's name (StringIds). Times
// are nanoseconds. A thread's number holds its process above 24 bits.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "calibrate/imported/database.h"
#include "calibrate/imported/imported.h"
#include "calibrate/imported/traced_products.h"
#include "sim/base/error.h"
#include "sim/base/text.h"

namespace meshwright::calibrate {
namespace {

constexpr char kKernelTable[] = "CUPTI_ACTIVITY_KIND_KERNEL";
constexpr char kLaunchTable[] = "CUPTI_ACTIVITY_KIND_RUNTIME";
constexpr char kRangeTable[] = "NVTX_EVENTS";
constexpr char kDeviceTable[] = "TARGET_INFO_GPU";
constexpr double kLongestKernel = 1e12;  // nanoseconds
constexpr std::size_t kLongestText = 4096;
constexpr std::ptrdiff_t kDeepestNest = 8;  // products of one thread that lie inside each other

std::int64_t process_of(std::int64_t thread) { return thread & ~std::int64_t{0xFFFFFF}; }

// A product's range on the host, and what ran for it on the device.
struct ProductRange {
  std::int64_t thread = 0, start = 0, end = 0;
  GemmShape shape{};
  double nanoseconds = 0.0;
  bool is_gemm = false;
  std::optional<Precision> precision{};
};

struct LaunchCall {
  std::int64_t thread = 0, start = 0;
};

// "aten::mm" of "aten::mm, seq = 5"; the list behind "sizes = ".
std::string operator_in(const std::string& text) { return text.substr(0, text.find(", ")); }
Json sizes_in(const std::string& text) {
  const std::size_t at = text.find("sizes = [");
  if (at == std::string::npos || text.size() > kLongestText) return {};
  const std::size_t end = text.find("]]", at);
  if (end == std::string::npos) return {};
  return Json::parse(text.substr(at + 8, end + 2 - at - 8), nullptr, false);
}

class ExportReader {
 public:
  ExportReader(const Database& database, const std::string& file) : db_(database), file_(file) {}

  Imported read() {
    for (const char* table : {kKernelTable, "StringIds"}) {
      if (db_.has_table(table)) continue;
      throw InputError(file_, "", fmt::format("is an SQLite database without {}", table),
                       "expected the export of a CUDA trace: nsys profile --trace cuda,nvtx, then "
                       "nsys export --type sqlite");
    }
    read_strings();
    read_devices();
    read_ranges();
    read_launches();
    read_kernels();
    add_products();
    return std::move(result_);
  }

 private:
  void read_strings() {
    db_.each("SELECT id, value FROM StringIds",
             [this](const DatabaseRow& row) { strings_[row.integer(0)] = row.text(1); });
  }

  void read_devices() {
    if (!db_.has_table(kDeviceTable) || !db_.has_column(kDeviceTable, "name")) return;
    db_.each("SELECT name FROM TARGET_INFO_GPU", [this](const DatabaseRow& row) {
      const std::string name = row.text(0);
      auto& names = result_.devices;
      if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) {
        names.push_back(name);
      }
    });
  }

  // Ranges have their text, or its number among the strings.
  void read_ranges() {
    if (!db_.has_table(kRangeTable)) return;
    const bool numbered = db_.has_column(kRangeTable, "textId");
    db_.each(fmt::format(R"(SELECT globalTid, start, "end", text, {} FROM NVTX_EVENTS
                            WHERE "end" IS NOT NULL)",
                         numbered ? "textId" : "NULL"),
             [this](const DatabaseRow& row) {
               const auto found = row.is_null(3) ? strings_.find(row.integer(4)) : strings_.end();
               add_range(row, found == strings_.end() ? row.text(3) : found->second);
             });
    std::sort(ranges_.begin(), ranges_.end(), [](const ProductRange& a, const ProductRange& b) {
      return std::pair(a.thread, a.start) < std::pair(b.thread, b.start);
    });
  }

  void add_range(const DatabaseRow& row, const std::string& text) {
    const std::string name = operator_in(text);
    if (!first_factor(name)) return;
    if (const auto shape = traced_shape(name, sizes_in(text))) {
      ranges_.push_back({.thread = row.integer(0),
                         .start = row.integer(1),
                         .end = row.integer(2),
                         .shape = *shape});
    } else {
      ++without_sizes_;
    }
  }

  void read_launches() {
    if (!db_.has_table(kLaunchTable)) return;
    db_.each("SELECT globalTid, correlationId, start FROM CUPTI_ACTIVITY_KIND_RUNTIME",
             [this](const DatabaseRow& row) {
               launches_[{process_of(row.integer(0)), row.integer(1)}] = {row.integer(0),
                                                                          row.integer(2)};
             });
  }

  // The innermost range that was open on the thread; null: none states sizes.
  ProductRange* range_at(const LaunchCall& launch) {
    auto at = std::upper_bound(ranges_.begin(), ranges_.end(), launch,
                               [](const LaunchCall& l, const ProductRange& r) {
                                 return std::pair(l.thread, l.start) < std::pair(r.thread, r.start);
                               });
    for (std::ptrdiff_t i = 0; i < kDeepestNest && at != ranges_.begin(); ++i) {
      --at;
      if (at->thread != launch.thread) return nullptr;
      if (at->end >= launch.start) return &*at;
    }
    return nullptr;
  }

  void read_kernels() {
    const bool processes = db_.has_column(kKernelTable, "globalPid");
    db_.each(fmt::format(R"(SELECT {}, correlationId, start, "end", demangledName
                            FROM CUPTI_ACTIVITY_KIND_KERNEL)",
                         processes ? "globalPid" : "NULL"),
             [this](const DatabaseRow& row) { add_kernel(row); });
  }

  void add_kernel(const DatabaseRow& row) {
    const double time = static_cast<double>(row.integer(3)) - static_cast<double>(row.integer(2));
    const auto named = strings_.find(row.integer(4));
    if (named == strings_.end() || !(time > 0.0) || time > kLongestKernel) return;
    const bool is_gemm = is_gemm_kernel(named->second);
    ProductRange* range = nullptr;
    if (const auto launch = launch_of(row)) range = range_at(*launch);
    if (range == nullptr) {
      without_range_ += is_gemm ? 1 : 0;
      return;
    }
    range->nanoseconds += time;
    range->is_gemm = range->is_gemm || is_gemm;
    if (is_gemm && !range->precision) range->precision = kernel_precision(named->second);
    if (is_gemm && !range->precision) unknown_format_ = named->second;
  }

  // Without processes in the kernels' table there is one process.
  [[nodiscard]] std::optional<LaunchCall> launch_of(const DatabaseRow& row) const {
    std::int64_t process = process_of(row.integer(0));
    if (row.is_null(0) && !launches_.empty()) process = launches_.begin()->first.first;
    const auto found = launches_.find({process, row.integer(1)});
    return found == launches_.end() ? std::nullopt : std::optional(found->second);
  }

  void add_products() {
    ProductTimes times;
    for (const ProductRange& range : ranges_) {
      if (!range.is_gemm || !range.precision) continue;
      times.add(*range.precision, range.shape, seconds(range.nanoseconds * 1e-9));
    }
    times.write_points(result_);
    if (without_sizes_ > 0) {
      result_.notes.push_back(fmt::format("{} products without sizes left out", without_sizes_));
    }
    if (without_range_ > 0) {
      result_.notes.push_back(fmt::format(
          "{} GEMM kernels left out: no NVTX range with sizes launched them (CUDA graphs, "
          "Transformer Engine and other libraries launch without one)",
          without_range_));
    }
    if (!unknown_format_.empty()) {
      result_.notes.push_back(
          fmt::format("GEMM kernels left out whose name states no number format, for example {}",
                      unknown_format_));
    }
    if (!result_.points.empty()) result_.tool = "Nsight Systems";
  }

  const Database& db_;
  const std::string& file_;
  std::unordered_map<std::int64_t, std::string> strings_;
  std::vector<ProductRange> ranges_;
  std::map<std::pair<std::int64_t, std::int64_t>, LaunchCall> launches_;
  int without_sizes_ = 0, without_range_ = 0;
  std::string unknown_format_;
  Imported result_;
};

}  // namespace

Imported from_nsys(const std::string& bytes, const std::string& file) {
  if (!is_database(bytes)) return {};
  const Database database(bytes, file);
  Imported result = ExportReader(database, file).read();
  if (result.points.empty()) {
    std::string why;
    for (const std::string& note : result.notes) append_to_list(why, "; ", note);
    throw InputError(file, "",
                     "is an export of Nsight Systems without a GEMM that states its size" +
                         (why.empty() ? std::string() : ": " + why),
                     "profile with nsys profile --trace cuda,nvtx --pytorch=autograd-shapes-nvtx, "
                     "or under torch.autograd.profiler.emit_nvtx(record_shapes=True)");
  }
  return result;
}

}  // namespace meshwright::calibrate
