// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/mpi/communicator.h"

#include <array>
#include <climits>
#include <cstdlib>

#include "calibrate/backends/bf16.h"
#include "calibrate/backends/mpi/check.h"

namespace meshwright::calibrate {
namespace {

// MPI counts are int (before MPI 4).
int mpi_count(std::int64_t count, const char* call) {
  if (count >= 0 && count <= INT_MAX) return static_cast<int>(count);
  throw SystemError(fmt::format("{}: {} elements in one call, MPI allows {}", call, count, INT_MAX),
                    "use a smaller micro-batch or a larger tensor-parallel size");
}

// MPI before version 5 knows no numbers of 16 bits: they travel as integers of as many.
MPI_Datatype type_of(Precision format) {
  return size_of_number(format) == sizeof(float) ? MPI_FLOAT : MPI_UINT16_T;
}

// The second of each pair becomes their sum, rounded.
void add_bf16(void* in, void* inout, int* count, MPI_Datatype* /*type*/) {
  const auto* a = static_cast<const std::uint16_t*>(in);
  auto* sum = static_cast<std::uint16_t*>(inout);
  for (int i = 0; i < *count; ++i) sum[i] = bf16_of(float_of_bf16(a[i]) + float_of_bf16(sum[i]));
}

MPI_Op sum_of(Precision format) {
  if (format == Precision::fp32) return MPI_SUM;
  invariant(format == Precision::bf16, "the mpi backend adds fp32 and bf16 only");
  static const MPI_Op sum = [] {
    MPI_Op op = MPI_OP_NULL;
    check_mpi(MPI_Op_create(&add_bf16, 1, &op), "MPI_Op_create");
    return op;
  }();
  return sum;
}

MPI_Op operation_of(Reduction op, Precision format) {
  if (op == Reduction::sum) return sum_of(format);
  invariant(format == Precision::fp32, "numbers of 16 bits are only summed");
  return MPI_MAX;
}

// Blocks that follow each other without gaps.
struct Blocks {
  std::vector<int> counts, begins;
};
Blocks blocks_of(const std::vector<std::int64_t>& counts) {
  Blocks blocks;
  std::int64_t next = 0;
  for (const std::int64_t count : counts) {
    blocks.begins.push_back(mpi_count(next, "MPI_Alltoallv"));
    blocks.counts.push_back(mpi_count(count, "MPI_Alltoallv"));
    next += count;
  }
  return blocks;
}

}  // namespace

MpiCommunicator::MpiCommunicator(MPI_Comm communicator) : communicator_(communicator) {
  check_mpi(MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check_mpi(MPI_Comm_rank(communicator_, &rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(communicator_, &size_), "MPI_Comm_size");
}

MpiCommunicator::~MpiCommunicator() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized != 0) return;
  if (!sends_.empty()) {
    MPI_Waitall(static_cast<int>(sends_.size()), sends_.data(), MPI_STATUSES_IGNORE);
  }
  // Only where an error ends the rank early.
  for (auto& [number, request] : receives_) {
    MPI_Cancel(&request);
    MPI_Request_free(&request);
  }
  MPI_Comm_free(&communicator_);
}

std::string MpiCommunicator::host() const {
  std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
  int length = 0;
  check_mpi(MPI_Get_processor_name(name.data(), &length), "MPI_Get_processor_name");
  return {name.data(), static_cast<std::size_t>(length)};
}

std::unique_ptr<Communicator> MpiCommunicator::split(int color, int key) {
  MPI_Comm part = MPI_COMM_NULL;
  const int of_mpi = color == kNoGroup ? MPI_UNDEFINED : color;
  check_mpi(MPI_Comm_split(communicator_, of_mpi, key, &part), "MPI_Comm_split");
  if (part == MPI_COMM_NULL) return nullptr;
  return std::make_unique<MpiCommunicator>(part);
}

void MpiCommunicator::barrier() { check_mpi(MPI_Barrier(communicator_), "MPI_Barrier"); }

void MpiCommunicator::all_reduce(Numbers data, std::int64_t count, Reduction op) {
  const int n = mpi_count(count, "MPI_Allreduce");
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, data.data, n, type_of(data.format),
                          operation_of(op, data.format), communicator_),
            "MPI_Allreduce");
}

void MpiCommunicator::all_gather(ConstNumbers in, Numbers out, std::int64_t count_per_rank) {
  const int n = mpi_count(count_per_rank, "MPI_Allgather");
  check_mpi(MPI_Allgather(in.data, n, type_of(in.format), out.data, n, type_of(out.format),
                          communicator_),
            "MPI_Allgather");
}

void MpiCommunicator::reduce_scatter(ConstNumbers in, Numbers out, std::int64_t count_per_rank) {
  const int n = mpi_count(count_per_rank, "MPI_Reduce_scatter_block");
  check_mpi(MPI_Reduce_scatter_block(in.data, out.data, n, type_of(in.format), sum_of(in.format),
                                     communicator_),
            "MPI_Reduce_scatter_block");
}

void MpiCommunicator::all_to_all(ConstNumbers in, Numbers out, std::int64_t count_per_rank) {
  const int n = mpi_count(count_per_rank, "MPI_Alltoall");
  check_mpi(
      MPI_Alltoall(in.data, n, type_of(in.format), out.data, n, type_of(out.format), communicator_),
      "MPI_Alltoall");
}

void MpiCommunicator::all_to_all_v(ConstNumbers in, const std::vector<std::int64_t>& send_counts,
                                   Numbers out, const std::vector<std::int64_t>& receive_counts) {
  const auto send = blocks_of(send_counts), receive = blocks_of(receive_counts);
  check_mpi(MPI_Alltoallv(in.data, send.counts.data(), send.begins.data(), type_of(in.format),
                          out.data, receive.counts.data(), receive.begins.data(),
                          type_of(out.format), communicator_),
            "MPI_Alltoallv");
}

void MpiCommunicator::broadcast(Numbers data, std::int64_t count, int root) {
  const int n = mpi_count(count, "MPI_Bcast");
  check_mpi(MPI_Bcast(data.data, n, type_of(data.format), root, communicator_), "MPI_Bcast");
}

void MpiCommunicator::send(ConstNumbers data, std::int64_t count, int to) {
  const int n = mpi_count(count, "MPI_Isend");
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Isend(data.data, n, type_of(data.format), to, 0, communicator_, &request),
            "MPI_Isend");
  sends_.push_back(request);
}

void MpiCommunicator::receive(Numbers data, std::int64_t count, int from) {
  const int n = mpi_count(count, "MPI_Recv");
  check_mpi(MPI_Recv(data.data, n, type_of(data.format), from, 0, communicator_, MPI_STATUS_IGNORE),
            "MPI_Recv");
}

void MpiCommunicator::wait_sends() {
  const int n = static_cast<int>(sends_.size());
  check_mpi(MPI_Waitall(n, sends_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
  sends_.clear();
}

std::size_t MpiCommunicator::finished_sends() {
  std::size_t finished = 0;
  for (; finished < sends_.size(); ++finished) {
    int through = 0;
    check_mpi(MPI_Test(&sends_[finished], &through, MPI_STATUS_IGNORE), "MPI_Test");
    if (through == 0) break;
  }
  sends_.erase(sends_.begin(), sends_.begin() + static_cast<std::ptrdiff_t>(finished));
  return finished;
}

std::size_t MpiCommunicator::start_receive(Numbers data, std::int64_t count, int from) {
  const int n = mpi_count(count, "MPI_Irecv");
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Irecv(data.data, n, type_of(data.format), from, 0, communicator_, &request),
            "MPI_Irecv");
  receives_.emplace(next_receive_, request);
  return next_receive_++;
}

bool MpiCommunicator::has_arrived(std::size_t receive) {
  const auto found = receives_.find(receive);
  if (found == receives_.end()) return true;
  int through = 0;
  check_mpi(MPI_Test(&found->second, &through, MPI_STATUS_IGNORE), "MPI_Test");
  if (through == 0) return false;
  receives_.erase(found);
  return true;
}

void MpiCommunicator::host_broadcast(void* data, std::size_t bytes, int root) {
  const int n = mpi_count(static_cast<std::int64_t>(bytes), "MPI_Bcast");
  check_mpi(MPI_Bcast(data, n, MPI_BYTE, root, communicator_), "MPI_Bcast");
}

double MpiCommunicator::host_max(double value) {
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, communicator_),
            "MPI_Allreduce");
  return value;
}

void MpiCommunicator::host_gather(const void* in, void* out, std::size_t bytes_per_rank) {
  const int n = mpi_count(static_cast<std::int64_t>(bytes_per_rank), "MPI_Allgather");
  check_mpi(MPI_Allgather(in, n, MPI_BYTE, out, n, MPI_BYTE, communicator_), "MPI_Allgather");
}

void MpiCommunicator::abort(int exit_code) {
  MPI_Abort(communicator_, exit_code);
  std::_Exit(exit_code);
}

}  // namespace meshwright::calibrate
