// The device's own memory is read and written through the stream, which notes it for the checker; memory that
// the host sees too, as copies do it, where it lies.
#include "driver/compute.h"

#include "driver/call.h"
#include "driver/error.h"
#include "driver/stream.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace lemma::driver {
namespace {

// One run.
struct Turn : CUlemmaMemory {
  const MemoryInTurn& in_turn;
  Context& context;
  const char* name;

  Turn(const MemoryInTurn& in_turn, Context& context, const char* name)
      : CUlemmaMemory{&read_rows, &write_rows}, in_turn(in_turn), context(context), name(name) {}

  CUresult fail(const char* does, CUdeviceptr address, uint64_t bytes) const {
    std::fputs(
        fmt::format("lemma: {} {} {} bytes at {:#x}, which are not, or not all, memory of the device's\n",
                    name, does, bytes, address)
            .c_str(),
        stderr);
    context.fail(CUDA_ERROR_ILLEGAL_ADDRESS);
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  }

  // Rows at `at` on the device: by_row(row, offset of the same here) moves each where the host sees the
  // memory, by_stream() all of the device's own.
  template <class ByRow, class ByStream>
  CUresult rows(const char* does, CUdeviceptr at, size_t row_bytes, size_t count, size_t pitch_bytes,
                ByRow&& by_row, ByStream&& by_stream) const {
    if (row_bytes == 0 || count == 0)
      return CUDA_SUCCESS;
    // From the first row's begin to the last one's end.
    const CheckedSize bytes = CheckedSize(count - 1) * pitch_bytes + row_bytes;
    Place place;
    if (place_of(at, bytes, true, place) != CUDA_SUCCESS)
      return fail(does, at, bytes.value().value_or(0));
    if (!place.host)
      return by_stream() ? CUDA_SUCCESS : fail(does, at, *bytes.value());
    for (size_t i = 0; i < count; ++i)
      by_row(place.host + i * pitch_bytes, i * row_bytes);
    return CUDA_SUCCESS;
  }

  static CUresult read_rows(const CUlemmaMemory* memory, void* to, CUdeviceptr from, size_t row_bytes,
                            size_t count, size_t pitch_bytes) {
    const auto& self = static_cast<const Turn&>(*memory);
    auto* here = static_cast<std::byte*>(to);
    return self.rows(
        "reads", from, row_bytes, count, pitch_bytes,
        [&](const std::byte* row, size_t offset) { std::memcpy(here + offset, row, row_bytes); },
        [&] { return self.in_turn.read(from, {here, row_bytes * count}, row_bytes, pitch_bytes).ok(); });
  }
  static CUresult write_rows(const CUlemmaMemory* memory, CUdeviceptr to, const void* from, size_t row_bytes,
                             size_t count, size_t pitch_bytes) {
    const auto& self = static_cast<const Turn&>(*memory);
    const auto* here = static_cast<const std::byte*>(from);
    return self.rows(
        "writes", to, row_bytes, count, pitch_bytes,
        [&](std::byte* row, size_t offset) { std::memcpy(row, here + offset, row_bytes); },
        [&] { return self.in_turn.write(to, {here, row_bytes * count}, row_bytes, pitch_bytes).ok(); });
  }
};

} // namespace

CUresult enqueue_computation(const Computation& computation, const lemma::Stream& queue, Context& context) {
  return status_of(queue.compute(
      computation.work.name, [computation, &context](const MemoryInTurn& memory) -> Result<void, Error> {
        if (context.status() != CUDA_SUCCESS)
          return {}; // as a kernel behind a fault
        const InHostFunction mark;
        const Turn turn(memory, context, computation.work.name);
        if (const CUresult status = computation.work.run(computation.work.data, &turn);
            status != CUDA_SUCCESS) {
          context.fail(status);
          return Unexpected<Error>{Error{ErrorKind::kernel_failed, computation.work.name, {}}};
        }
        return {};
      }));
}

} // namespace lemma::driver

namespace lemma::driver {
namespace {

// Under `lemma exec` the end of a process says how many there were: by both libraries, in one line.
std::atomic<uint64_t> computations{0};

void say_how_many() {
  const uint64_t count = computations;
  std::fputs(fmt::format("lemma: {} of cuBLAS ran on the CPU: {} sums are in another order than NVIDIA's\n",
                         count == 1 ? "1 call" : fmt::format("{} calls", count), count == 1 ? "its" : "their")
                 .c_str(),
             stderr);
}

void count_computation() {
  if (computations++ == 0 && (std::getenv("LEMMA_SAY_WHEN_KILLED") || std::getenv("LEMMA_REPORTS")))
    std::atexit(say_how_many);
}

} // namespace
} // namespace lemma::driver

using namespace lemma::driver;

CUresult cuLemmaCompute(CUstream handle, const CUlemmaWork* work) {
  if (!work || !work->run)
    return CUDA_ERROR_INVALID_VALUE;
  Computation computation{.work = *work, .data = {work->data, work->release ? work->release : [](void*) {}}};
  return in_stream(handle, [&](Stream& stream) -> CUresult {
    count_computation();
    return stream.submit(std::move(computation));
  });
}
