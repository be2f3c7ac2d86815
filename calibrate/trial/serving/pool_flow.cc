// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/serving/pool_flow.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

#include "calibrate/launch/rank_progress.h"
#include "sim/base/error.h"
#include "sim/serving/kv_transfer.h"

namespace meshwright::calibrate {
namespace {

constexpr double kLookSeconds = 1e-4;     // between two looks for the last notices
constexpr double kSlowLookSeconds = 0.5;  // that a busy host may make of it

constexpr std::int32_t kNoToken = -1;

// An arrival as the first rank of a replica says it to the others.
struct SaidArrival {
  std::int32_t request = 0, token = kNoToken;
  double arrival = 0;
};
struct SaidHeader {
  std::int32_t count = 0, over = 0;
};

std::vector<int> senders_of(const PoolRun& run, const PoolPlace& place) {
  std::vector<int> senders;
  if (place.rank != 0) return senders;
  if (!place.prefill) {
    for (int i = 0; i < run.sizes.prefill_replicas; ++i) {
      senders.push_back(run.sizes.first_prefill(i));
    }
    return senders;
  }
  for (int i = 0; i < run.sizes.decode_replicas; ++i) senders.push_back(run.sizes.first_decode(i));
  if (place.replica > 0) senders.push_back(run.sizes.first_prefill(0));
  return senders;
}

PoolPlace own_place(const PoolRun& run) { return run.sizes.place(run.pools.rank()); }

}  // namespace

PoolFlow::PoolFlow(const PoolRun& run, std::vector<int> senders)
    : run_(run),
      place_(own_place(run)),
      asked_(requests_of(run.load)),
      data_(run.pools.split(0, run.pools.rank())),
      messages_(run.pools.split(0, run.pools.rank())) {
  const PoolSizes& sizes = run.sizes;
  for (const CachePiece& piece : cache_pieces(cached_groups(run.served.context().model),
                                              sizes.prefill_ranks, sizes.decode_ranks)) {
    if ((place_.prefill ? piece.from : piece.to) == place_.rank) pieces_.push_back(piece);
  }
  if (place_.rank == 0) notices_.emplace(*messages_, senders);
}

std::size_t PoolFlow::own_requests(int replica, int replicas) const {
  const auto first = static_cast<std::size_t>(replica), all = asked_.size();
  const auto stride = static_cast<std::size_t>(replicas);
  return first < all ? (all - first - 1) / stride + 1 : 0;
}

Precision PoolFlow::format() const {
  return message_formats(run_.served.context().job).activations;
}

std::vector<RequestFlow::Arrival> PoolFlow::shared(const std::vector<Arrival>& found, bool& over) {
  if (run_.replica.size() == 1) return found;
  SaidHeader header{static_cast<std::int32_t>(found.size()), over ? 1 : 0};
  run_.replica.host_broadcast(&header, sizeof header, 0);
  over = header.over != 0;
  std::vector<SaidArrival> said(static_cast<std::size_t>(header.count));
  for (std::size_t i = 0; i < found.size(); ++i) {
    said[i] = {found[i].request, found[i].first_token.value_or(kNoToken), found[i].arrival.value()};
  }
  if (said.empty()) return {};
  run_.replica.host_broadcast(said.data(), said.size() * sizeof(SaidArrival), 0);
  std::vector<Arrival> all;
  for (const SaidArrival& one : said) {
    Arrival arrival{one.request, seconds(one.arrival), {}};
    if (one.token != kNoToken) arrival.first_token = one.token;
    all.push_back(arrival);
  }
  return all;
}

void PoolFlow::wait_for_last() {
  while (!notices_->closed()) {
    begin_operation({.name = "wait for the other pool's end", .slow = seconds(kSlowLookSeconds)});
    // Requests that end when no other is left to be asked.
    (void)notices_->arrived();
    (void)data_->finished_sends();
    std::this_thread::sleep_for(std::chrono::duration<double>(kLookSeconds));
  }
  notices_->wait_sends();
}

PrefillFlow::PrefillFlow(const PoolRun& run) : PoolFlow(run, senders_of(run, own_place(run))) {
  next_ = static_cast<std::size_t>(place_.replica);
}

void PrefillFlow::ask_first_users(std::vector<Arrival>& found) {
  const auto users =
      std::min(asked_.size(), static_cast<std::size_t>(std::max(1.0, run_.load.concurrency)));
  const auto stride = static_cast<std::size_t>(run_.sizes.prefill_replicas);
  for (auto i = static_cast<std::size_t>(place_.replica); i < users; i += stride) {
    found.push_back({static_cast<int>(i), {}, {}});
  }
  next_ = users;
}

void PrefillFlow::ask_arrived(Seconds now, std::vector<Arrival>& found) {
  const auto stride = static_cast<std::size_t>(run_.sizes.prefill_replicas);
  for (; next_ < asked_.size() && asked_[next_].arrival <= now; next_ += stride) {
    found.push_back({static_cast<int>(next_), asked_[next_].arrival, {}});
  }
}

void PrefillFlow::hand_out(Seconds when, std::vector<Arrival>& found) {
  if (next_ >= asked_.size()) return;
  const auto request = static_cast<int>(next_++);
  const int replica = request % run_.sizes.prefill_replicas;
  if (replica == place_.replica) {
    found.push_back({request, when, {}});
    return;
  }
  notices_->send(run_.sizes.first_prefill(replica), {.kind = NoticeKind::asked,
                                                     .request = request,
                                                     .arrival = when.value(),
                                                     .when = when.value()});
}

std::vector<RequestFlow::Arrival> PrefillFlow::arrivals(Seconds now) {
  for (std::size_t n = data_->finished_sends(); n > 0; --n) sent_.pop_front();
  std::vector<Arrival> found;
  if (notices_) {
    if (!closed_loop()) {
      ask_arrived(now, found);
    } else if (!begun_) {
      ask_first_users(found);
    }
    begun_ = true;
    for (const Notice& notice : notices_->arrived()) {
      if (notice.kind == NoticeKind::ended) hand_out(seconds(notice.when), found);
      if (notice.kind == NoticeKind::asked) {
        found.push_back({notice.request, seconds(notice.arrival), {}});
      }
    }
    asked_here_ += found.size();
    const bool all_here = asked_here_ == own_requests(place_.replica, run_.sizes.prefill_replicas);
    over_ = all_here && (!hands_out() || next_ >= asked_.size());
  }
  return shared(found, over_);
}

void PrefillFlow::fetch(int /*request*/, std::int64_t /*positions*/, const BlockTable& /*blocks*/,
                        Seconds /*now*/) {
  invariant(false, "a prompt is computed where it came to");
}

void PrefillFlow::send_piece(const CachePiece& piece, const Departure& departure, int to) {
  const TrialContext& context = run_.served.context();
  Tensor numbers = run_.served.cache().copied(*departure.blocks, departure.cached, piece.first_sent,
                                              piece.groups);
  const std::int64_t count = numbers.count();
  Numbers message = numbers.data();
  if (has_sixteen_bits(format())) {
    Tensor narrow = context.tensor((count + 1) / 2);
    context.compute.convert(narrow.data(), format(), numbers.data(), count);
    numbers = std::move(narrow);
    message = {numbers.data(), format()};
  }
  context.compute.synchronize();
  data_->send(message, count, to);
  sent_bytes_ += bytes(static_cast<double>(count) * bytes_per_element(format()));
  sent_.push_back(std::move(numbers));
}

void PrefillFlow::leave(const Departure& departure) {
  const PoolSizes& sizes = run_.sizes;
  const int first = sizes.first_decode(departure.request % sizes.decode_replicas);
  for (const CachePiece& piece : pieces_) send_piece(piece, departure, first + piece.to);
  if (!notices_) return;
  notices_->send(first, {.kind = NoticeKind::computed,
                         .request = departure.request,
                         .token = departure.last_token,
                         .arrival = departure.arrival.value(),
                         .when = departure.when.value()});
}

void PrefillFlow::finish() {
  const PoolSizes& sizes = run_.sizes;
  if (notices_) {
    for (int i = 0; i < sizes.decode_replicas; ++i) notices_->send(sizes.first_decode(i), {});
    for (int i = 1; place_.replica == 0 && i < sizes.prefill_replicas; ++i) {
      notices_->send(sizes.first_prefill(i), {});
    }
    wait_for_last();
  }
  run_.replica.barrier();
  // The decode pool has ended: all is received.
  data_->wait_sends();
  sent_.clear();
}

DecodeFlow::DecodeFlow(const PoolRun& run)
    : PoolFlow(run, senders_of(run, own_place(run))),
      own_total_(own_requests(place_.replica, run.sizes.decode_replicas)) {}

std::vector<RequestFlow::Arrival> DecodeFlow::arrivals(Seconds /*now*/) {
  std::vector<Arrival> found;
  if (notices_) {
    for (const Notice& notice : notices_->arrived()) {
      ready_[notice.request] = seconds(notice.when);
      found.push_back({notice.request, seconds(notice.arrival), notice.token});
    }
  }
  bool unused = false;
  return shared(found, unused);
}

// Of one prefill rank messages come in the order in which its prompts were computed, and the
// scheduler takes the prompts in the order in which it heard of them.
void DecodeFlow::fetch(int request, std::int64_t positions, const BlockTable& blocks, Seconds now) {
  const TrialContext& context = run_.served.context();
  OnTheWay& one = on_the_way_.emplace_back();
  one.observed.request = request;
  one.observed.begin = now;
  one.positions = positions;
  one.blocks = &blocks;
  const int first = run_.sizes.first_prefill(request % run_.sizes.prefill_replicas);
  const bool narrow = has_sixteen_bits(format());
  for (const CachePiece& piece : pieces_) {
    const std::int64_t count = run_.served.cache().copy_count(positions, piece.groups);
    Part part{piece, context.tensor(narrow ? (count + 1) / 2 : count), 0};
    part.receive = data_->start_receive({part.numbers.data(), format()}, count, first + piece.from);
    one.observed.received += bytes(static_cast<double>(count) * bytes_per_element(format()));
    one.parts.push_back(std::move(part));
  }
  // The ledger's numbers have two bytes.
  const double width = bytes_per_element(format()) / 2.0;
  const Bytes said = kv_rank_bytes(context.model, run_.decode, static_cast<double>(positions));
  one.observed.bytes_as_said = one.observed.received == said * width;
}

bool DecodeFlow::is_here(const OnTheWay& one) {
  return std::all_of(one.parts.begin(), one.parts.end(),
                     [&](const Part& part) { return data_->has_arrived(part.receive); });
}

void DecodeFlow::put_into_cache(OnTheWay& one) {
  const TrialContext& context = run_.served.context();
  for (const Part& part : one.parts) {
    const PagedCache& cache = run_.served.cache();
    const CachePiece& piece = part.piece;
    if (!has_sixteen_bits(format())) {
      cache.fill(*one.blocks, one.positions, piece.first_received, piece.groups,
                 part.numbers.data());
      continue;
    }
    const Tensor wide = context.tensor(cache.copy_count(one.positions, piece.groups));
    context.compute.widen(wide.data(), part.numbers.data(), format(), wide.count());
    cache.fill(*one.blocks, one.positions, piece.first_received, piece.groups, wide.data());
  }
  context.compute.synchronize();
}

std::vector<int> DecodeFlow::landed() {
  std::vector<int> requests;
  if (on_the_way_.empty()) return requests;
  std::size_t here = 0;
  while (here < on_the_way_.size() && is_here(on_the_way_[here])) ++here;
  // On every rank of the replica.
  if (run_.replica.size() > 1) {
    here = static_cast<std::size_t>(-run_.replica.host_max(-static_cast<double>(here)));
  }
  for (; here > 0; --here) {
    OnTheWay& one = on_the_way_.front();
    put_into_cache(one);
    ObservedHandover observed = one.observed;
    if (run_.replica.size() > 1) {
      observed.bytes_as_said = run_.replica.host_max(observed.bytes_as_said ? 0.0 : 1.0) == 0.0;
    }
    if (notices_) observed.ready = ready_[observed.request];
    handovers_.push_back(observed);
    requests.push_back(observed.request);
    on_the_way_.pop_front();
  }
  return requests;
}

void DecodeFlow::leave(const Departure& departure) {
  ++ended_;
  if (!notices_ || !closed_loop()) return;
  notices_->send(
      run_.sizes.first_prefill(0),
      {.kind = NoticeKind::ended, .request = departure.request, .when = departure.when.value()});
}

void DecodeFlow::finish() {
  if (notices_) {
    for (int i = 0; i < run_.sizes.prefill_replicas; ++i) {
      notices_->send(run_.sizes.first_prefill(i), {});
    }
    wait_for_last();
  }
  run_.replica.barrier();
}

}  // namespace meshwright::calibrate
