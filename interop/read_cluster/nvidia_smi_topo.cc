// SPDX-License-Identifier: Apache-2.0
// `nvidia-smi topo -m`: a matrix of GPUs and NICs. Found wherever it stands in a log: a header line
// with GPU0, then a row each. NV18 are 18 links between two GPUs, whatever joins them; NVSwitch is
// not shown, and no rate. The outputs of rocm-smi --showtopo and amd-smi topology have several
// matrices, of which that of link types is read.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
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

// A column of a NIC: "NIC0", "mlx5_0", "rocep28s0", "ibp12s0": letters, digits and "_" or "-", and
// a digit among them. "CPU" and "NUMA" end the devices.
bool is_nic(const std::string& word) {
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  const auto in_a_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
  };
  return std::isalpha(static_cast<unsigned char>(word.front())) != 0 &&
         std::any_of(word.begin(), word.end(), is_digit) &&
         std::all_of(word.begin(), word.end(), in_a_name) && !gpu_number(word);
}

// Without the escapes that underline the header ("\x1b[4m"), also where a paste lost their first
// byte; and columns that a paste has glued ("NIC11NIC12") apart.
std::string plain_line(const std::string& typed) {
  std::string line;
  for (std::size_t i = 0; i < typed.size(); ++i) {
    const bool escape = typed[i] == '\x1b';
    const std::size_t open = escape ? i + 1 : i;
    const std::size_t end = typed.find_first_not_of("0123456789;", open + 1);
    if (open < typed.size() && typed[open] == '[' && end != std::string::npos &&
        typed[end] == 'm') {
      i = end;
    } else if (!escape) {
      const bool column = typed.compare(i, 3, "NIC") == 0 || typed.compare(i, 3, "GPU") == 0;
      const bool glued =
          column && !line.empty() && std::isdigit(static_cast<unsigned char>(line.back())) != 0;
      if (glued) line += ' ';
      line += typed[i];
    }
  }
  return line;
}

struct Matrix {
  int gpus = 0;
  std::vector<std::string> nics;               // as the header has them
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
    } else if (matrix.gpus > 0 && is_nic(*word)) {
      matrix.nics.push_back(*word);
    } else {
      break;
    }
  }
  // A row begins with its GPU, too: its next word is a cell.
  const bool alone = matrix.gpus == 1 &&
                     (first + 1 == words.end() || first[1] == "CPU" || first[1].starts_with("NIC"));
  return matrix.gpus > 1 || alone ? std::optional(matrix) : std::nullopt;
}

int width_of(const Matrix& matrix) { return matrix.gpus + static_cast<int>(matrix.nics.size()); }

Matrix matrix_in(std::string_view text, const std::string& file) {
  Matrix matrix;
  int number = 0;
  for (const std::string& typed : split_lines(text)) {
    ++number;
    const std::string line = plain_line(typed);
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
    if (words.end() - label <= width_of(matrix)) {
      throw InputError(
          fmt::format("{}:{}", file, number), "",
          fmt::format("has {} cells, its header {}", words.end() - label - 1, width_of(matrix)));
    }
    matrix.rows.emplace_back(label + 1, label + 1 + width_of(matrix));
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
bool is_link(const std::string& cell) { return is_nvlink(cell) || cell == "XGMI"; }

const std::string& cell_of(const Matrix& matrix, int gpu, int column) {
  return matrix.rows[static_cast<std::size_t>(gpu)][static_cast<std::size_t>(column)];
}

// GPUs that a GPU has links to, itself included.
std::set<int> neighbours(const Matrix& matrix, int gpu) {
  std::set<int> found{gpu};
  for (int other = 0; other < matrix.gpus; ++other) {
    if (is_link(cell_of(matrix, gpu, other))) found.insert(other);
  }
  return found;
}

// Links of one size join whole groups of these GPUs, or something else is wired.
std::optional<int> island_size(const Matrix& matrix, const std::vector<int>& gpus) {
  const std::set<int> first = neighbours(matrix, gpus.front());
  for (const int gpu : gpus) {
    const std::set<int> mine = neighbours(matrix, gpu);
    if (mine.size() != first.size()) return std::nullopt;
    for (const int other : mine) {
      if (neighbours(matrix, other) != mine) return std::nullopt;
    }
  }
  return static_cast<int>(first.size());
}

std::string gpu_names(const std::vector<int>& gpus) {
  std::string text;
  for (const int gpu : gpus) append_to_list(text, ", ", fmt::format("GPU{}", gpu));
  return text;
}

// NVLinks of a GPU to all others, as counted: "NV18" are 18.
int links_of(const Matrix& matrix, int gpu) {
  int links = 0;
  for (int other = 0; other < matrix.gpus; ++other) {
    const std::string& cell = cell_of(matrix, gpu, other);
    if (!is_nvlink(cell)) continue;
    links += std::atoi(cell.substr(2, 4).c_str());
  }
  return links;
}

// GPUs that have fewer links than the others.
void note_lost_links(const Matrix& matrix, ClusterFacts& facts) {
  int most = 0;
  for (int gpu = 0; gpu < matrix.gpus; ++gpu) most = std::max(most, links_of(matrix, gpu));
  std::vector<int> fewer;
  for (int gpu = 0; gpu < matrix.gpus; ++gpu) {
    if (links_of(matrix, gpu) < most) fewer.push_back(gpu);
  }
  if (fewer.empty()) return;
  // One GPU that lost a link shows it in every row.
  int worst = fewer.front();
  for (const int gpu : fewer) {
    if (links_of(matrix, gpu) < links_of(matrix, worst)) worst = gpu;
  }
  facts.notes.push_back(fmt::format(
      "GPU{} has the fewest NVLinks, {} to all others where {} are the most: look at `nvidia-smi "
      "nvlink -s`; the rate is the cluster's, as if all were up",
      worst, links_of(matrix, worst), most));
}

void read_links(const Matrix& matrix, ClusterFacts& facts) {
  std::vector<int> alone, joined;
  for (int gpu = 0; gpu < matrix.gpus; ++gpu) {
    (neighbours(matrix, gpu).size() == 1 ? alone : joined).push_back(gpu);
  }
  if (joined.empty()) {
    facts.node_fabric = NodeFabric::pcie;
    facts.gpus_per_island = 0;
    return;
  }
  if (!alone.empty()) {
    facts.notes.push_back(
        fmt::format("{} {} no NVLink to any GPU, and {} {}: links that are down (`nvidia-smi "
                    "nvlink -s`, fabric "
                    "manager, Xid 74). No layout runs well over it; the cluster's own fabric is "
                    "kept, as if they "
                    "were up",
                    gpu_names(alone), alone.size() == 1 ? "has" : "have", gpu_names(joined),
                    joined.size() == 1 ? "has" : "have"));
    return;
  }
  const std::optional<int> island = island_size(matrix, joined);
  if (!island) {
    facts.notes.emplace_back(
        "NVLink joins some GPUs and not others, in no whole groups (a cube "
        "mesh): the cluster's own fabric is kept");
    return;
  }
  facts.node_fabric = *island == matrix.gpus ? NodeFabric::nvswitch : NodeFabric::pcie;
  facts.gpus_per_island = *island < matrix.gpus ? *island : 0;
  const std::string& links = cell_of(matrix, 0, 1);
  if (is_nvlink(links)) {
    facts.notes.push_back(
        fmt::format("{} NVLinks per GPU; the rate is the cluster's", links.substr(2)));
  }
  if (*island == matrix.gpus) note_lost_links(matrix, facts);
}

// "NIC3: mlx5_3" of the legend below the matrix, by column.
std::map<std::string, std::string> legend_in(std::string_view text) {
  std::map<std::string, std::string> names;
  for (const std::string& line : split_lines(text)) {
    const std::vector<std::string> words = split_words(line);
    if (words.size() < 2) continue;
    const std::string& label = words[words.size() - 2];
    if (label.starts_with("NIC") && label.back() == ':') {
      names[label.substr(0, label.size() - 1)] = words.back();
    }
  }
  return names;
}

// A PCIe switch joins a NIC that carries a GPU's traffic with it (PIX, PXB). Ports of management
// and storage hang elsewhere (NODE, SYS).
void read_nics(const Matrix& matrix, std::string_view text, ClusterFacts& facts) {
  if (matrix.nics.empty()) return;
  const std::map<std::string, std::string> legend = legend_in(text);
  std::string far;
  int near = 0;
  for (std::size_t nic = 0; nic < matrix.nics.size(); ++nic) {
    bool beside = false;
    for (int gpu = 0; gpu < matrix.gpus; ++gpu) {
      const std::string& cell = cell_of(matrix, gpu, matrix.gpus + static_cast<int>(nic));
      beside = beside || cell == "PIX" || cell == "PXB";
    }
    near += beside ? 1 : 0;
    if (beside) continue;
    const auto named = legend.find(matrix.nics[nic]);
    append_to_list(far, ", ",
                   named == legend.end() ? matrix.nics[nic]
                                         : fmt::format("{} ({})", named->first, named->second));
  }
  if (near == 0) {
    facts.notes.push_back(fmt::format(
        "none of {} NICs is PIX or PXB to a GPU, as in virtual machines and where NICs hang on the "
        "CPU (Grace): which of them carry training is not said, and the cluster's number is kept. "
        "Give `ibstat`, too",
        matrix.nics.size()));
    return;
  }
  facts.nics_per_host = near;
  if (far.empty()) return;
  facts.notes.push_back(fmt::format(
      "{} NICs are PIX or PXB to a GPU and count; {} to none: of management or storage, "
      "not counted",
      near, far));
}

// The matrix of link types, from its last title to a blank line or the next title. amd-smi names a
// GPU by its place on the bus, "0000:0c:00.0": each is numbered.
std::string link_types_in(std::string_view text) {
  std::string table;
  std::map<std::string, std::string> numbered;
  bool inside = false;
  for (const std::string& line : split_lines(text)) {
    const std::vector<std::string> words = split_words(line);
    if (contains(line, "Link Type between two GPUs") || contains(line, "LINK TYPE TABLE")) {
      inside = true;
      table.clear();
    } else if (inside && (words.empty() || contains(line, "==="))) {
      inside = false;
    } else if (inside) {
      for (const std::string& word : words) {
        const bool on_bus = std::count(word.begin(), word.end(), ':') == 2;
        const std::string gpu = fmt::format("GPU{}", numbered.size());
        table += (on_bus ? numbered.try_emplace(word, gpu).first->second : word) + ' ';
      }
      table += '\n';
    }
  }
  return table;
}

}  // namespace

bool has_amd_topology(std::string_view text) {
  return contains(text, "between two GPUs") || contains(text, "LINK TYPE TABLE");
}

ClusterFacts read_amd_topology(std::string_view text, const std::string& file) {
  const std::string types = link_types_in(text);
  if (types.empty()) {
    throw InputError(file, "", "has no matrix of the types of links between GPUs",
                     "rocm-smi --showtopo and amd-smi topology print it");
  }
  const Matrix matrix = matrix_in(types, file);
  ClusterFacts facts;
  facts.gpus_per_host = matrix.gpus;
  if (matrix.gpus > 1) read_links(matrix, facts);
  if (facts.node_fabric == NodeFabric::nvswitch) facts.node_fabric = NodeFabric::mesh;
  return facts;
}

bool has_nvidia_smi_topo(std::string_view text) {
  if (has_amd_topology(text)) return false;
  for (const std::string& line : split_lines(text)) {
    if (contains(line, "GPU0") && header_in(plain_line(line))) return true;
  }
  return false;
}

ClusterFacts read_nvidia_smi_topo(std::string_view text, const std::string& file) {
  const Matrix matrix = matrix_in(text, file);
  ClusterFacts facts;
  facts.gpus_per_host = matrix.gpus;
  read_nics(matrix, text, facts);
  if (matrix.gpus > 1) read_links(matrix, facts);
  return facts;
}

}  // namespace meshwright::interop
