// SPDX-License-Identifier: Apache-2.0
// What a service is asked: how requests arrive, and how long they are.
//
//   closed loop   C users, each with its next request when the last one ends (InferenceX)
//   open loop     gaps of mean 1 / rate; burstiness 1: exponential gaps (Poisson), below 1:
//   burstier
//                 (gamma with that shape, as vllm bench serve --burstiness)
//   all at once   every request at time 0 (vllm bench throughput, MLPerf offline)
//   arrivals      times of a file
// Uniform lengths are whole numbers from share * L to L: their mean is (1 + share) / 2 * L.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/base/enum_names.h"
#include "sim/base/units.h"

namespace meshwright {

enum class LoadKind { closed_loop, open_loop, all_at_once, arrivals };
inline constexpr std::array kLoadKindNames{
    EnumName{LoadKind::closed_loop, "closed_loop"}, EnumName{LoadKind::open_loop, "open_loop"},
    EnumName{LoadKind::all_at_once, "all_at_once"}, EnumName{LoadKind::arrivals, "arrivals"}};
constexpr std::string_view name_of(LoadKind v) { return name_in(kLoadKindNames, v); }

enum class LengthKind { fixed, uniform, list };
inline constexpr std::array kLengthKindNames{EnumName{LengthKind::fixed, "fixed"},
                                             EnumName{LengthKind::uniform, "uniform"},
                                             EnumName{LengthKind::list, "list"}};
constexpr std::string_view name_of(LengthKind v) { return name_in(kLengthKindNames, v); }

// Tokens of a prompt and of its answer.
struct RequestLength {
  int input = 1024, output = 1024;
  int priority = 0;  // lower ones come first
  int prompt = -1;   // prompts with one number begin with the same tokens; -1: equal to none
  bool operator==(const RequestLength&) const = default;
};

struct RequestLengths {
  LengthKind kind = LengthKind::fixed;
  int input = 1024, output = 1024;    // fixed; the largest of uniform
  double least_share = 0.8;           // of uniform
  std::vector<RequestLength> list{};  // taken in turn
  bool operator==(const RequestLengths&) const = default;
};
double mean_input(const RequestLengths& lengths);
double mean_output(const RequestLengths& lengths);
// Tokens that a sequence attends to while it decodes, in the mean over its answer: the prompt and
// half of the answer.
double mean_context(const RequestLengths& lengths);
// The longest request, prompt and answer together.
double longest_request(const RequestLengths& lengths);

struct ServingLoad {
  LoadKind kind = LoadKind::closed_loop;
  double concurrency = 1;           // closed loop: users
  double request_rate = 1;          // open loop: requests a second
  double burstiness = 1;            // open loop: shape of the gaps
  std::vector<Seconds> arrivals{};  // arrivals: sorted
  RequestLengths lengths{};
  double prefix_hit_rate = 0;  // share of a prompt that is in the cache already
  double acceptance = 0;       // share of drafts that are accepted
  int num_requests = 0;        // of a simulation; 0: ten of each user, 1,000 at least else
  std::uint64_t seed = 1;
  bool operator==(const ServingLoad&) const = default;
};
// Requests that a simulation runs.
int simulated_requests(const ServingLoad& load);

struct ServingRequest {
  Seconds arrival{};  // closed loop: of the first of each user; the others start when one ends
  int input = 0, output = 0;
  int priority = 0, prompt = -1;  // as those of RequestLength
};
// Requests in the order of their arrival. The same load gives the same requests.
std::vector<ServingRequest> requests_of(const ServingLoad& load);

// Tokens of a prompt that are computed: the hit covers whole blocks without the last token.
double computed_input(double input, double hit_rate, int block_size);

}  // namespace meshwright
