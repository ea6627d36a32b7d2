// The mbarrier object. See mbarrier.h.
#include "vgpu/async/mbarrier.h"

#include "vgpu/engine/waiting.h"

#include <fmt/format.h>

#include <cstring>

namespace lemma::vgpu {
namespace {

constexpr uint64_t kCountMask = (uint64_t{1} << 20) - 1;
constexpr uint64_t kBytesMask = (uint64_t{1} << 21) - 1;
constexpr int kParityBit = 63, kPendingBit = 43, kBytesBit = 21, kExpectedBit = 1;

uint32_t count_at(uint64_t word, int bit) {
  return static_cast<uint32_t>((0 - (word >> bit)) & kCountMask);
}

uint64_t field(int64_t value, uint64_t mask, int bit) {
  return (static_cast<uint64_t>(-value) & mask) << bit;
}

void write_mbarrier(const SharedPlace& at, const Mbarrier& barrier) {
  const uint64_t word = barrier.encode();
  at.cta->async_write(at.offset, &word, sizeof word);
}

} // namespace

Mbarrier Mbarrier::decode(uint64_t word) {
  const auto bytes = static_cast<int32_t>((0 - (word >> kBytesBit)) & kBytesMask);
  return {.parity = (word >> kParityBit & 1) != 0,
          .pending = count_at(word, kPendingBit),
          .pending_bytes = bytes > int32_t{1} << 20 ? bytes - (int32_t{1} << 21) : bytes,
          .expected = count_at(word, kExpectedBit),
          .is_v1 = (word & 1) != 0};
}

uint64_t Mbarrier::encode() const {
  return uint64_t{parity} << kParityBit | field(pending, kCountMask, kPendingBit) |
         field(pending_bytes, kBytesMask, kBytesBit) | field(expected, kCountMask, kExpectedBit) |
         uint64_t{is_v1};
}

Mbarrier read_mbarrier(const SharedPlace& at) {
  uint64_t word;
  std::memcpy(&word, at.cta->shared.data() + at.offset, sizeof word);
  return Mbarrier::decode(word);
}

bool is_mbarrier(const SharedPlace& at) {
  return at.cta->mbarriers.contains(at.offset);
}

void init_mbarrier(const SharedPlace& at, uint32_t count, bool is_v1) {
  at.cta->mbarriers.insert(at.offset);
  write_mbarrier(at, {.pending = count, .expected = count, .is_v1 = is_v1});
}

void inval_mbarrier(const SharedPlace& at) {
  at.cta->mbarriers.erase(at.offset);
}

std::optional<std::string> wrong_change(const SharedPlace& at, const MbarrierChange& change) {
  constexpr int64_t kMaxBytes = (int64_t{1} << 20) - 1;
  const Mbarrier barrier = read_mbarrier(at);
  const int64_t bytes = barrier.pending_bytes + change.expect_bytes;
  if (bytes > kMaxBytes || bytes < -kMaxBytes)
    return fmt::format("its tx-count would be {}: legal are -{} to {} bytes", bytes, kMaxBytes, kMaxBytes);
  if (change.arrivals > barrier.pending)
    return fmt::format("{} arrive{}, but the phase waits for {} more: one thread has arrived twice, or init "
                       "was given too small a count ({})",
                       change.arrivals, change.arrivals == 1 ? "s" : "", barrier.pending, barrier.expected);
  if (change.dropped > barrier.expected)
    return fmt::format("{} arrivals are dropped, but each phase expects {}", change.dropped,
                       barrier.expected);
  return std::nullopt;
}

bool change_mbarrier(const SharedPlace& at, const MbarrierChange& change) {
  Mbarrier barrier = read_mbarrier(at);
  barrier.pending_bytes += static_cast<int32_t>(change.expect_bytes);
  barrier.pending -= change.arrivals;
  barrier.expected -= change.dropped;
  const bool completes = barrier.pending == 0 && barrier.pending_bytes == 0;
  if (completes) {
    barrier.parity = !barrier.parity;
    barrier.pending = barrier.expected;
  }
  write_mbarrier(at, barrier);
  if (completes)
    wake_mbarrier_waiters(*at.cta->cluster, *at.cta, at.offset);
  return completes;
}

void expect_arrival(const SharedPlace& at) {
  Mbarrier barrier = read_mbarrier(at);
  ++barrier.pending;
  write_mbarrier(at, barrier);
}

} // namespace lemma::vgpu
