// What a program of this folder is made of: it checks itself, says where it went wrong, and exits with 1
// then.
//
// ok(call) wants cudaSuccess and fails(error, call) that error; expect(condition) and equal(wanted, got) what
// they say. All go on, so that one run says all that is wrong. The last statement of main is `return
// result();`.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <source_location>
#include <vector>

inline int failures = 0;

inline void say_where(const std::source_location& where, const char* text) {
  ++failures;
  if (failures <= 20)
    std::fprintf(stderr, "%s:%u: %s\n", where.file_name(), static_cast<unsigned>(where.line()), text);
}

inline void fails(cudaError_t wanted, cudaError_t got,
                  std::source_location where = std::source_location::current()) {
  if (wanted == got)
    return;
  char text[256];
  std::snprintf(text, sizeof text, "%s, and not %s", cudaGetErrorName(got), cudaGetErrorName(wanted));
  say_where(where, text);
}

inline void ok(cudaError_t got, std::source_location where = std::source_location::current()) {
  fails(cudaSuccess, got, where);
}

inline void expect(bool condition, std::source_location where = std::source_location::current()) {
  if (!condition)
    say_where(where, "not so");
}

// Numbers, bit for bit.
inline void equal(double wanted, double got, std::source_location where = std::source_location::current()) {
  if (wanted == got)
    return;
  char text[256];
  std::snprintf(text, sizeof text, "%.17g, and not %.17g", got, wanted);
  say_where(where, text);
}

template <class T>
void equal(const std::vector<T>& wanted, const std::vector<T>& got,
           std::source_location where = std::source_location::current()) {
  equal(static_cast<double>(wanted.size()), static_cast<double>(got.size()), where);
  for (size_t i = 0; i < wanted.size() && i < got.size(); ++i)
    if (!(wanted[i] == got[i])) {
      char text[256];
      std::snprintf(text, sizeof text, "element %zu is %.17g, and not %.17g", i, static_cast<double>(got[i]),
                    static_cast<double>(wanted[i]));
      say_where(where, text);
      return;
    }
}

// Device memory of so many elements, zeros at first.
template <class T>
class DeviceArray {
public:
  explicit DeviceArray(size_t count) : count_(count) {
    ok(cudaMalloc(reinterpret_cast<void**>(&data_), count * sizeof(T)));
    ok(cudaMemset(data_, 0, count * sizeof(T)));
  }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
    ok(cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(data_); }

  T* data() const { return data_; }
  size_t size() const { return count_; }
  size_t bytes() const { return count_ * sizeof(T); }
  std::vector<T> host() const {
    std::vector<T> values(count_);
    ok(cudaMemcpy(values.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }

private:
  T* data_ = nullptr;
  size_t count_;
};

// Numbers that repeat: the same on every machine.
class Numbers {
public:
  explicit Numbers(uint32_t seed = 1) : state_(seed * 2654435761u + 12345u) {}
  uint32_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 17;
    return state_ ^= state_ << 5;
  }
  int below(uint32_t bound) { return static_cast<int>((next() >> 8) % bound); }

private:
  uint32_t state_;
};

// Small whole numbers: sums of them are exact in every order.
template <class T>
std::vector<T> small_numbers(size_t count, int from, int to, uint32_t seed = 1) {
  Numbers numbers(seed);
  std::vector<T> values(count);
  for (T& value : values)
    value = static_cast<T>(from + numbers.below(static_cast<uint32_t>(to - from + 1)));
  return values;
}

inline int result() {
  ok(cudaDeviceSynchronize());
  ok(cudaGetLastError());
  if (failures)
    std::fprintf(stderr, "%d failures\n", failures);
  return failures ? 1 : 0;
}
