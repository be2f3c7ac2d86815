// SPDX-License-Identifier: Apache-2.0
// `nvidia-smi topo -m`: a matrix of GPUs and NICs. Found wherever it stands in a log: a header line
// with GPU0, then a row each. NV18 are 18 links between two GPUs, whatever joins them; NVSwitch is
// not shown, and no rate.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>

#include "interop/read_cluster/read_cluster.h"
#include "sim/base/error.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

constexpr int kMostGpus = 1024;

// "GPU12": 12.
std::optional<int> gpu_number(const std::string& word) {
  if (!word.starts_with("GPU") || word.size() < 4 || word.size() > 8) return std::nullopt;
  int number = 0;
  for (const char c : word.substr(3)) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) return std::nullopt;
    number = 10 * number + (c - '0');
  }
  return number;
}

bool is_nic(const std::string& word) {
  const bool numbered = !word.empty() && std::isdigit(static_cast<unsigned char>(word.back())) != 0;
  return numbered && (word.starts_with("NIC") || word.starts_with("mlx") ||
                      word.starts_with("rdmap") || word.starts_with("bnxt"));
}

struct Matrix {
  int gpus = 0, nics = 0;
  std::vector<std::vector<std::string>> rows;  // of GPUs: their cells
  int line = 0;                                // of the header
};

// The columns of a header: words from GPU0 on, as long as they are GPUs and NICs.
std::optional<Matrix> header_in(const std::string& line) {
  const std::vector<std::string> words = split_words(line);
  const auto first = std::find(words.begin(), words.end(), "GPU0");
  if (first == words.end()) return std::nullopt;
  Matrix matrix;
  for (auto word = first; word != words.end(); ++word) {
    if (gpu_number(*word) == matrix.gpus) {
      ++matrix.gpus;
    } else if (is_nic(*word)) {
      ++matrix.nics;
    } else {
      break;
    }
  }
  // A row begins with its GPU, too: its next word is a cell.
  return matrix.gpus > 1 || (matrix.gpus == 1 && first + 1 == words.end()) ? std::optional(matrix)
                                                                           : std::nullopt;
}

Matrix matrix_in(std::string_view text, const std::string& file) {
  Matrix matrix;
  int number = 0;
  for (const std::string& line : split_lines(text)) {
    ++number;
    if (matrix.gpus == 0) {
      if (const auto header = header_in(line)) {
        matrix = *header;
        matrix.line = number;
      }
      continue;
    }
    if (static_cast<int>(matrix.rows.size()) == matrix.gpus) break;
    const std::vector<std::string> words = split_words(line);
    const auto label = std::find_if(words.begin(), words.end(), [&](const std::string& word) {
      return gpu_number(word) == static_cast<int>(matrix.rows.size());
    });
    if (label == words.end()) continue;
    if (words.end() - label <= matrix.gpus + matrix.nics) {
      throw InputError(fmt::format("{}:{}", file, number), "",
                       fmt::format("has {} cells, its header {}", words.end() - label - 1,
                                   matrix.gpus + matrix.nics));
    }
    matrix.rows.emplace_back(label + 1, label + 1 + matrix.gpus + matrix.nics);
  }
  if (matrix.gpus == 0) throw InputError(file, "", "has no header line with GPU0");
  if (matrix.gpus > kMostGpus) throw InputError(file, "", "has more than 1024 GPUs");
  if (static_cast<int>(matrix.rows.size()) != matrix.gpus) {
    throw InputError(
        fmt::format("{}:{}", file, matrix.line), "",
        fmt::format("the header has {} GPUs, and {} rows follow", matrix.gpus, matrix.rows.size()));
  }
  return matrix;
}

bool is_nvlink(const std::string& cell) { return cell.starts_with("NV") && cell.size() > 2; }

// GPUs that a GPU has links to, itself included.
std::set<int> neighbours(const Matrix& matrix, int gpu) {
  std::set<int> found{gpu};
  for (int other = 0; other < matrix.gpus; ++other) {
    const auto& row = matrix.rows[static_cast<std::size_t>(gpu)];
    if (is_nvlink(row[static_cast<std::size_t>(other)])) found.insert(other);
  }
  return found;
}

// Links of one size join whole groups, or something else is wired.
std::optional<int> island_size(const Matrix& matrix) {
  const std::set<int> first = neighbours(matrix, 0);
  for (int gpu = 0; gpu < matrix.gpus; ++gpu) {
    const std::set<int> mine = neighbours(matrix, gpu);
    if (mine.size() != first.size()) return std::nullopt;
    for (const int other : mine) {
      if (neighbours(matrix, other) != mine) return std::nullopt;
    }
  }
  return static_cast<int>(first.size());
}

}  // namespace

ClusterFacts read_nvidia_smi_topo(std::string_view text, const std::string& file) {
  const Matrix matrix = matrix_in(text, file);
  ClusterFacts facts;
  facts.gpus_per_host = matrix.gpus;
  if (matrix.nics > 0) facts.nics_per_host = matrix.nics;
  if (matrix.gpus == 1) return facts;
  const std::optional<int> island = island_size(matrix);
  if (!island) {
    facts.notes.emplace_back(
        "NVLink joins some GPUs and not others, in no whole groups (a cube "
        "mesh): the cluster's own fabric is kept");
    return facts;
  }
  facts.node_fabric = *island == matrix.gpus ? NodeFabric::nvswitch : NodeFabric::pcie;
  facts.gpus_per_island = *island > 1 && *island < matrix.gpus ? *island : 0;
  const std::string& links = matrix.rows[0][*island > 1 ? 1 : 0];
  if (is_nvlink(links)) {
    facts.notes.push_back(
        fmt::format("{} NVLinks per GPU; the rate is the cluster's", links.substr(2)));
  }
  return facts;
}

}  // namespace meshwright::interop
