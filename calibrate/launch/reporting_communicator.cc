// SPDX-License-Identifier: Apache-2.0
#include "calibrate/launch/reporting_communicator.h"

#include <cstdlib>
#include <numeric>
#include <utility>

#include "calibrate/launch/rank_progress.h"

namespace meshwright::calibrate {
namespace {

class TransferScope {
 public:
  explicit TransferScope(const char* name, Bytes amount = {}) : name_(name), amount_(amount) {
    begin_operation(
        {.name = name_, .amount = amount_, .slow = slow_transfer(amount_), .waits = true});
  }
  TransferScope(const TransferScope&) = delete;
  TransferScope& operator=(const TransferScope&) = delete;
  ~TransferScope() { begin_operation({.name = name_, .amount = amount_, .is_over = true}); }

 private:
  const char* name_;
  Bytes amount_;
};

Bytes payload_of(std::int64_t count, Precision format) {
  return bytes(static_cast<double>(count) * bytes_per_element(format));
}

class ReportingCommunicator : public Communicator {
 public:
  explicit ReportingCommunicator(std::unique_ptr<Communicator> inner) : inner_(std::move(inner)) {}

  [[nodiscard]] int rank() const override { return inner_->rank(); }
  [[nodiscard]] int size() const override { return inner_->size(); }
  [[nodiscard]] std::string host() const override { return inner_->host(); }

  [[nodiscard]] std::unique_ptr<Communicator> split(int color, int key) override {
    const TransferScope scope("split");
    return reporting(inner_->split(color, key));
  }
  void barrier() override {
    const TransferScope scope("barrier");
    inner_->barrier();
  }
  void host_barrier() override {
    const TransferScope scope("barrier");
    inner_->host_barrier();
  }
  void all_reduce(Numbers data, std::int64_t count, Reduction op) override {
    const TransferScope scope("all_reduce", payload_of(count, data.format));
    inner_->all_reduce(data, count, op);
  }
  void all_gather(ConstNumbers in, Numbers out, std::int64_t count_per_rank) override {
    const TransferScope scope("all_gather", payload_of(count_per_rank * size(), in.format));
    inner_->all_gather(in, out, count_per_rank);
  }
  void reduce_scatter(ConstNumbers in, Numbers out, std::int64_t count_per_rank) override {
    const TransferScope scope("reduce_scatter", payload_of(count_per_rank * size(), in.format));
    inner_->reduce_scatter(in, out, count_per_rank);
  }
  void all_to_all(ConstNumbers in, Numbers out, std::int64_t count_per_rank) override {
    const TransferScope scope("all_to_all", payload_of(count_per_rank * size(), in.format));
    inner_->all_to_all(in, out, count_per_rank);
  }
  void all_to_all_v(ConstNumbers in, const std::vector<std::int64_t>& send_counts, Numbers out,
                    const std::vector<std::int64_t>& receive_counts) override {
    const TransferScope scope(
        "all_to_all", payload_of(std::reduce(send_counts.begin(), send_counts.end()), in.format));
    inner_->all_to_all_v(in, send_counts, out, receive_counts);
  }
  void broadcast(Numbers data, std::int64_t count, int root) override {
    const TransferScope scope("broadcast", payload_of(count, data.format));
    inner_->broadcast(data, count, root);
  }
  void send(ConstNumbers data, std::int64_t count, int to) override {
    const TransferScope scope("send", payload_of(count, data.format));
    inner_->send(data, count, to);
  }
  void receive(Numbers data, std::int64_t count, int from) override {
    const TransferScope scope("receive", payload_of(count, data.format));
    inner_->receive(data, count, from);
  }
  void wait_sends() override {
    const TransferScope scope("wait for sends");
    inner_->wait_sends();
  }
  void exchange(std::span<const Message> messages) override {
    Bytes amount;
    for (const Message& m : messages) amount += payload_of(m.count, m.format());
    const TransferScope scope("exchange", amount);
    inner_->exchange(messages);
  }
  [[nodiscard]] std::size_t finished_sends() override { return inner_->finished_sends(); }
  [[nodiscard]] std::size_t start_receive(Numbers data, std::int64_t count, int from) override {
    const TransferScope scope("receive", payload_of(count, data.format));
    return inner_->start_receive(data, count, from);
  }
  [[nodiscard]] bool has_arrived(std::size_t receive) override {
    return inner_->has_arrived(receive);
  }
  [[nodiscard]] bool receives_alone() const override { return inner_->receives_alone(); }
  void start_sends() override {
    const TransferScope scope("start of sends");
    inner_->start_sends();
  }
  [[nodiscard]] bool sends_alone() const override { return inner_->sends_alone(); }
  [[nodiscard]] bool calls_block() const override { return inner_->calls_block(); }
  void run_beside_compute(bool beside) override { inner_->run_beside_compute(beside); }
  void wait_beside_compute() override {
    const TransferScope scope("transfers overlapped with GEMMs");
    inner_->wait_beside_compute();
  }
  [[nodiscard]] std::string chosen_algorithm() const override { return inner_->chosen_algorithm(); }

  void host_broadcast(void* data, std::size_t size, int root) override {
    const TransferScope scope("broadcast of a decision");
    inner_->host_broadcast(data, size, root);
  }
  double host_max(double value) override {
    const TransferScope scope("comparison of times");
    return inner_->host_max(value);
  }
  void host_gather(const void* in, void* out, std::size_t bytes_per_rank) override {
    const TransferScope scope("gathering of results");
    inner_->host_gather(in, out, bytes_per_rank);
  }
  [[noreturn]] void abort(int exit_code) override {
    inner_->abort(exit_code);
    std::_Exit(exit_code);
  }

 private:
  std::unique_ptr<Communicator> inner_;
};

}  // namespace

std::unique_ptr<Communicator> reporting(std::unique_ptr<Communicator> communicator) {
  if (communicator == nullptr) return nullptr;
  return std::make_unique<ReportingCommunicator>(std::move(communicator));
}

}  // namespace meshwright::calibrate
