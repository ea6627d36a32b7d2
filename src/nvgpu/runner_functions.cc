// Printing and checking of memrefs is upstream's own (templates of RunnerUtils.h); the rest is small.
//
// Tests: tests/mlir/run/runner_functions.mlir, tests/mlir/upstream/runner_functions.mlir,
// tests/mlir/programs/; conversions: tests/mlir/linalg/linalg.py, its case conversions.
#include "nvgpu/runner_functions.h"

#include "mlir/ExecutionEngine/RunnerUtils.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cinttypes>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <utility>

// The header's half types want these of whoever prints or compares them.
f16::f16(float) : bits(0) {}
bf16::bf16(float) : bits(0) {}
static float widen_half(uint16_t bits) {
  _Float16 half;
  std::memcpy(&half, &bits, sizeof half);
  return static_cast<float>(half);
}
static float widen_bfloat(uint16_t bits) {
  return std::bit_cast<float>(uint32_t{bits} << 16);
}
std::ostream& operator<<(std::ostream& stream, const f16& value) {
  return stream << widen_half(value.bits);
}
std::ostream& operator<<(std::ostream& stream, const bf16& value) {
  return stream << widen_bfloat(value.bits);
}
bool operator==(const f16& a, const f16& b) {
  return widen_half(a.bits) == widen_half(b.bits);
}
bool operator==(const bf16& a, const bf16& b) {
  return widen_bfloat(a.bits) == widen_bfloat(b.bits);
}

namespace lemma::nvgpu {
namespace {

// Where this thread's program prints; null: standard output.
thread_local const std::function<void(std::string_view)>* print_to = nullptr;

void print(std::string_view text) {
  if (print_to)
    (*print_to)(text);
  else
    std::fwrite(text.data(), 1, text.size(), stdout);
}

template <class T>
struct Memref {
  using Unranked = UnrankedMemRefType<T>;
  static void print(Unranked* m) { print_elements("Unranked Memref ", DynamicMemRefType<T>(*m)); }
  static void print_parts(int64_t rank, void* descriptor) {
    Unranked m{rank, descriptor};
    print(&m);
  }
  static void print_shape(Unranked* m) {
    std::ostringstream text;
    text << "Unranked Memref ";
    printMemRefMetaData(text, DynamicMemRefType<T>(*m));
    nvgpu::print(std::move(text).str() + '\n');
  }
  template <int kRank>
  static void print_ranked(StridedMemRefType<T, kRank>* m) {
    print_elements("Memref ", DynamicMemRefType<T>(*m));
  }
  // As impl::printMemRef, which knows std::cout alone.
  static void print_elements(const char* kind, const DynamicMemRefType<T>& m) {
    std::ostringstream text;
    text << kind;
    printMemRefMetaData(text, m);
    text << " data = \n" << (m.rank == 0 ? "[" : "");
    impl::MemRefDataPrinter<T>::print(text, m.data, m.rank, m.rank, m.offset, m.sizes, m.strides);
    text << (m.rank == 0 ? "]\n" : "\n");
    nvgpu::print(std::move(text).str());
    std::fflush(stdout);
  }
  static int64_t verify(Unranked* got, Unranked* want) { return impl::verifyMemRef(*got, *want); }
  static int64_t verify_parts(int64_t rank, void* got, void* want) {
    Unranked a{rank, got}, b{rank, want};
    return impl::verifyMemRef(a, b);
  }
};

int print_formatted(const char* format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  const int size = std::vsnprintf(nullptr, 0, format, arguments);
  va_end(arguments);
  std::string text(static_cast<size_t>(std::max(size, 0)) + 1, '\0');
  if (size > 0)
    std::vsnprintf(text.data(), text.size(), format, again);
  va_end(again);
  text.pop_back();
  print(text);
  return size;
}
int print_line(const char* text) {
  print(std::string(text) + '\n');
  return 1;
}
int print_character(int character) {
  const auto byte = static_cast<unsigned char>(character);
  print({reinterpret_cast<const char*>(&byte), 1});
  return byte;
}
void print_i64(int64_t value) {
  print_formatted("%" PRId64, value);
}
void print_u64(uint64_t value) {
  print_formatted("%" PRIu64, value);
}
void print_f32(float value) {
  print_formatted("%g", static_cast<double>(value));
}
void print_f64(double value) {
  print_formatted("%lg", value);
}
void print_f16(uint16_t bits) {
  print_f32(widen_half(bits));
}
void print_bf16(uint16_t bits) {
  print_f32(widen_bfloat(bits));
}
void print_string(const char* text) {
  print(text);
}
void print_open() {
  print("( ");
}
void print_close() {
  print(" )");
}
void print_comma() {
  print(", ");
}
void print_newline() {
  print("\n");
}
void print_flops(double flops) {
  std::fprintf(stderr, "%lf GFLOPS\n", flops / 1e9);
}

double clock_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
int64_t clock_nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Element by element between memrefs of one shape and any strides.
void copy_memref(int64_t element_bytes, UnrankedMemRefType<char>* source,
                 UnrankedMemRefType<char>* destination) {
  const DynamicMemRefType<char> from(*source), to(*destination);
  if (std::any_of(from.sizes, from.sizes + from.rank, [](int64_t size) { return size == 0; }))
    return;
  std::vector<int64_t> index(static_cast<size_t>(from.rank));
  const auto place = [&](const DynamicMemRefType<char>& memref) {
    int64_t element = memref.offset;
    for (size_t i = 0; i < index.size(); ++i)
      element += index[i] * memref.strides[i];
    return memref.data + element * element_bytes;
  };
  for (;;) {
    std::memcpy(place(to), place(from), static_cast<size_t>(element_bytes));
    size_t axis = index.size();
    while (axis > 0 && ++index[axis - 1] == from.sizes[axis - 1])
      index[--axis] = 0;
    if (axis == 0)
      return;
  }
}

void* random_start(uint64_t seed) {
  return new std::mt19937(static_cast<std::mt19937::result_type>(seed));
}
uint64_t random_below(void* generator, uint64_t bound) {
  return std::uniform_int_distribution<uint64_t>(0, bound)(*static_cast<std::mt19937*>(generator));
}
void random_end(void* generator) {
  delete static_cast<std::mt19937*>(generator);
}
void shuffle(StridedMemRefType<uint64_t, 1>* memref, void* generator) {
  uint64_t* begin = memref->data + memref->offset;
  std::iota(begin, begin + memref->sizes[0], 0);
  std::shuffle(begin, begin + memref->sizes[0], *static_cast<std::mt19937*>(generator));
}
template <class T>
void sort(uint64_t count, StridedMemRefType<T, 1>* values) {
  std::sort(values->data + values->offset, values->data + values->offset + count);
}

// What LLVM calls for conversions that the host has no instruction for. Both half types are returned as
// _Float16 is: their 16 bits in the lowest of a vector register.
_Float16 as_half(uint16_t bits) {
  _Float16 half;
  std::memcpy(&half, &bits, sizeof half);
  return half;
}
_Float16 round_to_bf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (value != value)
    return as_half(static_cast<uint16_t>(bits >> 16 | 0x40));
  return as_half(static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16));
}
// Of two neighbours of a f64 that is neither the one that is odd: whatever it is rounded to afterwards, it is
// rounded once.
float to_odd_f32(double value) {
  const auto nearest = static_cast<float>(value);
  const auto bits = std::bit_cast<uint32_t>(nearest);
  if (value != value || static_cast<double>(nearest) == value || bits & 1)
    return nearest;
  const bool is_outward = std::abs(static_cast<double>(nearest)) > std::abs(value);
  return std::bit_cast<float>(is_outward ? bits - 1 : bits + 1);
}
_Float16 round_f64_to_bf16(double value) {
  return round_to_bf16(to_odd_f32(value));
}
_Float16 round_f64_to_f16(double value) {
  return static_cast<_Float16>(to_odd_f32(value));
}

template <class Function>
RunnerFunction entry(const char* name, Function* function) {
  return {name, reinterpret_cast<void*>(function)};
}

} // namespace

PrintTo::PrintTo(const std::function<void(std::string_view)>& print)
    : outer_(std::exchange(print_to, print ? &print : nullptr)) {}
PrintTo::~PrintTo() {
  print_to = outer_;
}

const std::vector<RunnerFunction>& runner_functions() {
#define C(name) "_mlir_ciface_" name
#define ALL(T, suffix)                                                                                       \
  entry(C("printMemref" suffix), Memref<T>::print), entry(C("verifyMemRef" suffix), Memref<T>::verify)
#define PARTS(T, suffix)                                                                                     \
  entry("printMemref" suffix, Memref<T>::print_parts),                                                       \
      entry(C("printMemrefShape" suffix), Memref<T>::print_shape),                                           \
      entry("verifyMemRef" suffix, Memref<T>::verify_parts),                                                 \
      entry(C("printMemref1d" suffix), Memref<T>::print_ranked<1>)
#define RANKED(rank) entry(C("printMemref" #rank "dF32"), Memref<float>::print_ranked<rank>)
  static const std::vector<RunnerFunction> functions = {ALL(int8_t, "I8"),
                                                        ALL(int16_t, "I16"),
                                                        ALL(int32_t, "I32"),
                                                        ALL(int64_t, "I64"),
                                                        ALL(f16, "F16"),
                                                        ALL(bf16, "BF16"),
                                                        ALL(float, "F32"),
                                                        ALL(double, "F64"),
                                                        ALL(uint64_t, "Ind"),
                                                        ALL(impl::complex32, "C32"),
                                                        ALL(impl::complex64, "C64"),
                                                        PARTS(int8_t, "I8"),
                                                        PARTS(int32_t, "I32"),
                                                        PARTS(int64_t, "I64"),
                                                        PARTS(float, "F32"),
                                                        PARTS(double, "F64"),
                                                        PARTS(uint64_t, "Ind"),
                                                        PARTS(impl::complex32, "C32"),
                                                        PARTS(impl::complex64, "C64"),
                                                        RANKED(0),
                                                        RANKED(2),
                                                        RANKED(3),
                                                        RANKED(4),
                                                        entry("printI64", print_i64),
                                                        entry("printU64", print_u64),
                                                        entry("printF32", print_f32),
                                                        entry("printF64", print_f64),
                                                        entry("printF16", print_f16),
                                                        entry("printBF16", print_bf16),
                                                        entry("printString", print_string),
                                                        entry("printOpen", print_open),
                                                        entry("printClose", print_close),
                                                        entry("printComma", print_comma),
                                                        entry("printNewline", print_newline),
                                                        entry("printf", print_formatted),
                                                        entry("puts", print_line),
                                                        entry("putchar", print_character),
                                                        entry("printFlops", print_flops),
                                                        entry("rtclock", clock_seconds),
                                                        entry(C("nanoTime"), clock_nanoseconds),
                                                        entry("memrefCopy", copy_memref),
                                                        entry("rtsrand", random_start),
                                                        entry("rtrand", random_below),
                                                        entry("rtdrand", random_end),
                                                        entry(C("shuffle"), shuffle),
                                                        entry(C("stdSortI64"), sort<int64_t>),
                                                        entry(C("stdSortF64"), sort<double>),
                                                        entry(C("stdSortF32"), sort<float>),
                                                        entry("__truncsfbf2", round_to_bf16),
                                                        entry("__truncdfbf2", round_f64_to_bf16),
                                                        entry("__truncdfhf2", round_f64_to_f16)};
#undef RANKED
#undef PARTS
#undef ALL
#undef C
  return functions;
}

} // namespace lemma::nvgpu
