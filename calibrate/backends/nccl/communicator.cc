// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/nccl/communicator.h"

#include <cstdlib>
#include <exception>
#include <utility>

#include "calibrate/backends/cuda/check.h"
#include "calibrate/backends/cuda/stream.h"
#include "calibrate/backends/nccl/check.h"
#include "calibrate/backends/nccl/error_watch.h"
#include "calibrate/backends/nccl/tuner_listener.h"

namespace meshwright::calibrate {
namespace {

std::size_t unsigned_count(std::int64_t count) { return static_cast<std::size_t>(count); }

ncclDataType_t nccl_type_of(Precision format) {
  switch (format) {
    case Precision::bf16:
      return ncclBfloat16;
    case Precision::fp16:
      return ncclFloat16;
    default:
      return ncclFloat32;
  }
}

void wait_for(cudaStream_t stream) { CUDA_CHECK(cudaStreamSynchronize(stream)); }

}  // namespace

NcclCommunicator::NcclCommunicator(std::unique_ptr<HostRanks> host, ncclComm_t device)
    : host_(std::move(host)), device_(device) {
  watch_errors(device_, host_->rank(), host_->host());
}

// A stream that does not wait for the legacy default stream, which compute uses.
void NcclCommunicator::run_beside_compute(bool beside) {
  start_noted();
  wait_for(stream_);
  if (stream_ != cuda::kStream) CUDA_CHECK(cudaStreamDestroy(stream_));
  stream_ = cuda::kStream;
  if (beside) CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
}

std::string NcclCommunicator::chosen_algorithm() const { return last_choice(); }

void NcclCommunicator::wait_beside_compute() { wait_for(stream_); }

// Destroying waits for the other ranks of the node; while an error is on its way they may never
// come.
NcclCommunicator::~NcclCommunicator() {
  unwatch_errors(device_);
  if (std::uncaught_exceptions() > 0) {
    ncclCommAbort(device_);
  } else {
    ncclCommDestroy(device_);
  }
}

// NCCL asks that nothing of the parent is under way while it is split.
std::unique_ptr<Communicator> NcclCommunicator::split(int color, int key) {
  start_noted();
  wait_for(stream_);
  std::unique_ptr<HostRanks> host = host_->split_ranks(color, key);
  ncclComm_t device = nullptr;
  static_assert(kNoGroup == NCCL_SPLIT_NOCOLOR);
  NCCL_CHECK(device_, ncclCommSplit(device_, color, key, &device, nullptr));
  if (device == nullptr) return nullptr;
  return std::make_unique<NcclCommunicator>(std::move(host), device);
}

void NcclCommunicator::barrier() {
  start_noted();
  wait_for(stream_);
  host_->barrier();
}

void NcclCommunicator::host_barrier() { host_->barrier(); }

void NcclCommunicator::all_reduce(Numbers data, std::int64_t count, Reduction op) {
  forget_choice();
  start_noted();
  NCCL_CHECK(device_,
             ncclAllReduce(data.data, data.data, unsigned_count(count), nccl_type_of(data.format),
                           op == Reduction::sum ? ncclSum : ncclMax, device_, stream_));
}

void NcclCommunicator::all_gather(ConstNumbers in, Numbers out, std::int64_t count_per_rank) {
  forget_choice();
  start_noted();
  NCCL_CHECK(device_, ncclAllGather(in.data, out.data, unsigned_count(count_per_rank),
                                    nccl_type_of(in.format), device_, stream_));
}

void NcclCommunicator::reduce_scatter(ConstNumbers in, Numbers out, std::int64_t count_per_rank) {
  forget_choice();
  start_noted();
  NCCL_CHECK(device_, ncclReduceScatter(in.data, out.data, unsigned_count(count_per_rank),
                                        nccl_type_of(in.format), ncclSum, device_, stream_));
}

// A group of sends and receives, as NCCL's guide writes it: its own call for it is younger than the
// versions that clusters have.
void NcclCommunicator::all_to_all(ConstNumbers in, Numbers out, std::int64_t count_per_rank) {
  forget_choice();
  start_noted();
  const std::size_t count = unsigned_count(count_per_rank);
  NCCL_CHECK(device_, ncclGroupStart());
  for (int peer = 0; peer < size(); ++peer) {
    const std::int64_t part = peer * count_per_rank;
    NCCL_CHECK(device_, ncclSend(in.from(part).data, count, nccl_type_of(in.format), peer, device_,
                                 stream_));
    NCCL_CHECK(device_, ncclRecv(out.from(part).data, count, nccl_type_of(out.format), peer,
                                 device_, stream_));
  }
  NCCL_CHECK(device_, ncclGroupEnd());
}

void NcclCommunicator::all_to_all_v(ConstNumbers in, const std::vector<std::int64_t>& send_counts,
                                    Numbers out, const std::vector<std::int64_t>& receive_counts) {
  forget_choice();
  start_noted();
  NCCL_CHECK(device_, ncclGroupStart());
  std::int64_t sent = 0, received = 0;
  for (int peer = 0; peer < size(); ++peer) {
    const std::size_t send = unsigned_count(send_counts[static_cast<std::size_t>(peer)]);
    const std::size_t receive = unsigned_count(receive_counts[static_cast<std::size_t>(peer)]);
    if (send > 0) {
      NCCL_CHECK(device_, ncclSend(in.from(sent).data, send, nccl_type_of(in.format), peer, device_,
                                   stream_));
    }
    if (receive > 0) {
      NCCL_CHECK(device_, ncclRecv(out.from(received).data, receive, nccl_type_of(out.format), peer,
                                   device_, stream_));
    }
    sent += send_counts[static_cast<std::size_t>(peer)];
    received += receive_counts[static_cast<std::size_t>(peer)];
  }
  NCCL_CHECK(device_, ncclGroupEnd());
}

void NcclCommunicator::broadcast(Numbers data, std::int64_t count, int root) {
  forget_choice();
  start_noted();
  NCCL_CHECK(device_, ncclBroadcast(data.data, data.data, unsigned_count(count),
                                    nccl_type_of(data.format), root, device_, stream_));
}

// Later work of the device comes after the sends on its stream. Only work on another stream must
// wait.
void NcclCommunicator::wait_sends() {
  start_noted();
  if (stream_ != cuda::kStream) wait_for(stream_);
}

void NcclCommunicator::start(std::span<const Message> group) {
  forget_choice();
  NCCL_CHECK(device_, ncclGroupStart());
  for (const Message& m : group) {
    const std::size_t count = unsigned_count(m.count);
    if (m.is_send()) {
      NCCL_CHECK(device_, ncclSend(m.from_here.data, count, nccl_type_of(m.format()), m.peer,
                                   device_, stream_));
    } else {
      NCCL_CHECK(device_, ncclRecv(m.to_here.data, count, nccl_type_of(m.format()), m.peer, device_,
                                   stream_));
    }
  }
  NCCL_CHECK(device_, ncclGroupEnd());
}

void NcclCommunicator::host_broadcast(void* data, std::size_t bytes, int root) {
  host_->host_broadcast(data, bytes, root);
}

double NcclCommunicator::host_max(double value) { return host_->host_max(value); }

void NcclCommunicator::host_gather(const void* in, void* out, std::size_t bytes_per_rank) {
  host_->host_gather(in, out, bytes_per_rank);
}

void NcclCommunicator::abort(int exit_code) {
  host_->abort(exit_code);
  std::_Exit(exit_code);
}

}  // namespace meshwright::calibrate
