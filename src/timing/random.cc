// Numbers are drawn from a table of 65536: what a GPU's power, and with it its clock, depends on is how many
// bits change, and not whether a value comes again.
#include "lemma/timing.h"

#include "numeric/convert.h"
#include "runtime/device_impl.h"
#include "support/processors.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <random>
#include <thread>

namespace lemma {
namespace {

using numeric::FloatFormat;

constexpr size_t kTable = 65536;
constexpr size_t kPieceBytes = size_t{1} << 20; // of one generator, whichever thread has it

// Words of splitmix64.
struct Words {
  uint64_t state;
  uint64_t operator()() {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
};

// Standard normal numbers: the logarithm's method of Box and Muller.
std::vector<double> normal_numbers(Words words) {
  constexpr double kTwoPi = 6.283185307179586;
  std::vector<double> numbers;
  for (size_t i = 0; i < kTable; ++i) {
    const double u = (static_cast<double>(words() >> 11) + 1) * 0x1p-53,
                 v = static_cast<double>(words() >> 11) * 0x1p-53;
    numbers.push_back(std::sqrt(-2 * std::log(u)) * std::cos(kTwoPi * v));
  }
  return numbers;
}

template <class T>
void fill_piece(std::span<std::byte> piece, const std::vector<uint64_t>& table, Words words) {
  const auto put = [&](size_t i, uint64_t which) {
    const T value = static_cast<T>(table[which]);
    std::memcpy(piece.data() + i * sizeof(T), &value, sizeof(T));
  };
  const size_t count = piece.size() / sizeof(T);
  for (size_t i = 0; i < count; i += 4) {
    uint64_t word = words();
    for (size_t j = i; j < std::min(i + 4, count); ++j, word >>= 16)
      put(j, word % kTable);
  }
}

template <class T>
void fill(std::span<std::byte> memory, const std::vector<uint64_t>& table, uint64_t seed) {
  const size_t pieces = (memory.size() + kPieceBytes - 1) / kPieceBytes;
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < pieces; i = next++)
      fill_piece<T>(memory.subspan(i * kPieceBytes, std::min(kPieceBytes, memory.size() - i * kPieceBytes)),
                    table, {seed + i * 0x632be59bd9b4e019});
  };
  std::vector<std::jthread> threads;
  const size_t cores = usable_processors();
  for (size_t i = 1; i < std::min(cores, pieces); ++i)
    threads.emplace_back(work);
  work();
}

struct Element {
  std::optional<FloatFormat> format; // none: an integer
  unsigned bytes;
};

std::optional<Element> element_of(std::string_view name) {
  constexpr std::pair<std::string_view, FloatFormat> kFloats[] = {
      {"f16", FloatFormat::f16},       {"bf16", FloatFormat::bf16}, {"tf32", FloatFormat::f32},
      {"f32", FloatFormat::f32},       {"f64", FloatFormat::f64},   {"e4m3", FloatFormat::e4m3},
      {"f8E4M3FN", FloatFormat::e4m3}, {"e5m2", FloatFormat::e5m2}, {"f8E5M2", FloatFormat::e5m2}};
  constexpr std::pair<std::string_view, unsigned> kIntegers[] = {
      {"i8", 1}, {"s8", 1}, {"u8", 1}, {"i16", 2}, {"i32", 4}, {"s32", 4}, {"i64", 8}};
  for (const auto& [known, format] : kFloats)
    if (name == known)
      return Element{format, static_cast<unsigned>(numeric::traits(format).storage_bits) / 8};
  for (const auto& [known, bytes] : kIntegers)
    if (name == known)
      return Element{std::nullopt, bytes};
  return std::nullopt;
}

Unexpected<Error> no_such(std::string_view element) {
  return runtime::failure(ErrorKind::invalid_argument, fmt::format("no elements of type {}", element));
}

} // namespace

Result<void, Error> fill_random(std::span<std::byte> memory, std::string_view element, uint64_t seed) {
  const std::optional<Element> known = element_of(element);
  if (!known)
    return no_such(element);
  std::vector<uint64_t> table;
  Words words{seed ^ 0x5851f42d4c957f2d};
  if (known->format)
    for (const double number : normal_numbers(words))
      table.push_back(
          numeric::convert_float(*known->format, FloatFormat::f64, std::bit_cast<uint64_t>(number)));
  else
    for (size_t i = 0; i < kTable; ++i)
      table.push_back(words());
  switch (known->bytes) {
  case 1:
    fill<uint8_t>(memory, table, seed);
    break;
  case 2:
    fill<uint16_t>(memory, table, seed);
    break;
  case 4:
    fill<uint32_t>(memory, table, seed);
    break;
  default:
    fill<uint64_t>(memory, table, seed);
    break;
  }
  return {};
}

Result<double, Error> relative_difference(std::span<const std::byte> one, std::span<const std::byte> other,
                                          std::string_view element) {
  const std::optional<Element> known = element_of(element);
  if (!known)
    return no_such(element);
  if (one.size() != other.size())
    return runtime::failure(ErrorKind::invalid_argument, "results of different sizes have no difference");
  if (!known->format)
    return std::equal(one.begin(), one.end(), other.begin()) ? 0.0 : 1.0;
  const auto number = [&](std::span<const std::byte> from, size_t at) {
    uint64_t bits = 0;
    std::memcpy(&bits, from.data() + at, known->bytes);
    return std::bit_cast<double>(numeric::convert_float(FloatFormat::f64, *known->format, bits));
  };
  double differences = 0, squares = 0;
  for (size_t at = 0; at + known->bytes <= one.size(); at += known->bytes) {
    const double a = number(one, at), b = number(other, at);
    differences += (a - b) * (a - b);
    squares += b * b;
  }
  return differences == 0 ? 0.0 : std::sqrt(differences / squares);
}

} // namespace lemma
