// What was put off is done under the lock: whoever comes meanwhile would have to wait for it anyway.
//
// Tests: tests/unit/runtime/repeats_test.cc.
#include "runtime/repeats.h"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstring>
#include <iterator>

namespace lemma::runtime {
namespace {

// The two halves of a product, which both depend on all of its factors.
uint64_t fold(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

constexpr std::array<uint64_t, 4> kOdd = {0xa0761d6478bd642f, 0xe7037ed1a0b428db, 0x8ebc6af09c88c6e3,
                                          0x589965cc75374cc3};
constexpr size_t kBlockBytes = 64;

void add_block(std::array<uint64_t, 4>& lanes, const std::byte* block) {
  std::array<uint64_t, 8> words;
  std::memcpy(words.data(), block, kBlockBytes);
  for (size_t i = 0; i < 4; ++i)
    lanes[i] = fold(words[2 * i] ^ kOdd[i], words[2 * i + 1] ^ lanes[i]) + std::rotl(lanes[i], 23);
}

constexpr double kMostDigestShare = 0.2;      // of the time of launches
constexpr double kDigestBytesPerSecond = 5e9; // until one has been made
constexpr size_t kMostRemembered = 4096;

} // namespace

Digest digest_of(std::span<const std::byte> bytes, Digest seed) {
  std::array<uint64_t, 4> lanes = {seed.low ^ kOdd[3], seed.high ^ kOdd[2], seed.low + kOdd[1], bytes.size()};
  size_t at = 0;
  for (; at + kBlockBytes <= bytes.size(); at += kBlockBytes)
    add_block(lanes, bytes.data() + at);
  std::array<std::byte, kBlockBytes> last{};
  if (at < bytes.size()) {
    std::memcpy(last.data(), bytes.data() + at, bytes.size() - at);
    add_block(lanes, last.data());
  }
  const uint64_t even = fold(lanes[0] ^ kOdd[0], lanes[1] ^ kOdd[1]),
                 odd = fold(lanes[2] ^ kOdd[2], lanes[3] ^ kOdd[3]);
  return {fold(even ^ kOdd[1], odd ^ kOdd[3]),
          fold(even + kOdd[2], std::rotl(odd, 32) ^ seed.high ^ kOdd[0])};
}

double Repeats::steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Result<Report, Error> Repeats::launch(Launch launch) {
  std::unique_lock lock(mutex_);
  if (std::optional<Report> report = report_of_repeat(launch))
    return *std::move(report);
  if (std::optional<Error> failed = do_what_was_put_off())
    return Unexpected<Error>{*std::move(failed)};
  std::optional<Digest> before;
  if (may_follow(launch.key)) {
    const bool was_known = actual_.has_value();
    before = was_known ? actual_ : digest();
    if (before && !was_known) {
      actual_ = before;
      virtual_ = *before;
      if (std::optional<Report> report = report_of_repeat(launch))
        return *std::move(report);
    }
  }
  actual_.reset();
  const uint64_t arrivals = arrivals_;
  Result<Report, Error> report = run(lock, launch);
  const bool was_alone = arrivals_ == arrivals + 1;
  if (!before || !was_alone || !report || !report->ok())
    return report;
  actual_ = digest();
  if (!actual_)
    return report;
  virtual_ = *actual_;
  if (outcomes_.size() >= kMostRemembered)
    outcomes_.clear();
  outcomes_.insert_or_assign({*before, std::move(launch.key)}, Outcome{virtual_, *report});
  return report;
}

std::optional<Report> Repeats::report_of_repeat(Launch& launch) {
  if (launch.key.empty() || !actual_)
    return std::nullopt;
  const auto known = outcomes_.find({virtual_, launch.key});
  if (known == outcomes_.end())
    return std::nullopt;
  ++skipped_;
  seen_[launch.key].step = 1;
  const auto& [after, of_before] = known->second;
  if (after != virtual_)
    put_off_.push_back({std::move(launch.later), after});
  virtual_ = after;
  // What leads from a state back to it need not be done.
  if (virtual_ == *actual_)
    put_off_.clear();
  else
    put_off_.erase(std::next(std::ranges::find(put_off_, after, &PutOff::after)), put_off_.end());
  Report report = of_before;
  report.stats.seconds = 0;
  return report;
}

bool Repeats::may_follow(const std::string& key) {
  if (key.empty())
    return false;
  if (seen_.size() >= kMostRemembered)
    seen_.clear();
  Seen& seen = seen_[key];
  if (++seen.runs < seen.follow_from || users_ != 0)
    return false;
  const double each = digest_seconds_ > 0 ? last_digest_seconds_
                                          : static_cast<double>(memory_.bytes()) / kDigestBytesPerSecond;
  if (digest_seconds_ + each * (actual_ ? 1 : 2) > kMostDigestShare * run_seconds_)
    return false;
  seen.follow_from = seen.runs + seen.step;
  seen.step *= 2;
  return true;
}

std::optional<Digest> Repeats::digest() {
  const double begin = seconds_();
  const std::optional<Digest> made = memory_.digest();
  last_digest_seconds_ = seconds_() - begin;
  digest_seconds_ += last_digest_seconds_;
  return made;
}

Result<Report, Error> Repeats::run(std::unique_lock<std::mutex>& lock, const Launch& launch) {
  struct Outside { // of the lock
    Repeats& repeats;
    std::unique_lock<std::mutex>& lock;
    Outside(Repeats& repeats, std::unique_lock<std::mutex>& lock) : repeats(repeats), lock(lock) {
      ++repeats.users_;
      ++repeats.arrivals_;
      lock.unlock();
    }
    ~Outside() {
      lock.lock();
      --repeats.users_;
    }
  };
  const double begin = seconds_();
  Result<Report, Error> report = [&] {
    const Outside outside(*this, lock);
    return launch.now();
  }();
  run_seconds_ += seconds_() - begin;
  return report;
}

std::optional<Error> Repeats::do_what_was_put_off() {
  if (put_off_.empty())
    return std::nullopt;
  actual_.reset(); // unless all of it ends well
  for (const PutOff& each : std::exchange(put_off_, {})) {
    Result<Report, Error> report = each.run();
    if (!report)
      return std::move(report).error();
    if (!report->ok())
      return Error{.kind = ErrorKind::kernel_failed, .text = report->rendered, .messages = {}};
  }
  actual_ = virtual_;
  return std::nullopt;
}

Repeats::Use::Use(Repeats* repeats, bool changes_memory) : repeats_(repeats) {
  if (!repeats_)
    return;
  const std::lock_guard lock(repeats_->mutex_);
  failed_ = repeats_->do_what_was_put_off();
  if (changes_memory) {
    repeats_->actual_.reset();
    ++repeats_->arrivals_;
  }
  ++repeats_->users_;
}

Repeats::Use::~Use() {
  if (!repeats_)
    return;
  const std::lock_guard lock(repeats_->mutex_);
  --repeats_->users_;
}

uint64_t Repeats::skipped() const {
  const std::lock_guard lock(mutex_);
  return skipped_;
}

} // namespace lemma::runtime
