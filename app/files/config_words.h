// SPDX-License-Identifier: Apache-2.0
// Shipped records by words of their names, as people type them: "H200", "8 x RTX 4090", "70b".
#pragma once

#include <string>
#include <vector>

namespace meshwright::app {

// "8 x RTX 4090" is 8 devices of "RTX 4090", "2x8xH100" 16 of "H100". 0: none are counted.
struct CountedName {
  int devices = 0;
  std::string name;
};
CountedName counted_name(const std::string& typed);

struct ConfigsWithWords {
  std::vector<std::string> names;
  bool all_words = true;  // else all but numbers
};
// The records of a folder of configs/ with all typed words in their names: "llama-2-70b" and
// "llama-3-70b" for "70b". Of clusters, one: titles and devices count as well, then the fewest
// other words, then the most devices.
ConfigsWithWords configs_with_words(const std::string& typed, const std::string& folder);

}  // namespace meshwright::app
