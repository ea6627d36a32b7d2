// Narrow formats are numeric/convert.h's; what is a normal number of the format is rounded here, as an
// integer, since that is nearly all there is.
#include "cublas/element.h"

#include "numeric/convert.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

namespace lemma::cublas {
namespace {

using numeric::FloatFormat;

template <class T>
T load(const void* from, int64_t i) {
  T value;
  std::memcpy(&value, static_cast<const char*>(from) + static_cast<size_t>(i) * sizeof(T), sizeof value);
  return value;
}
template <class T>
void store(void* to, int64_t i, T value) {
  std::memcpy(static_cast<char*>(to) + static_cast<size_t>(i) * sizeof(T), &value, sizeof value);
}

// Of every bit pattern; made when it is first needed, and kept.
template <FloatFormat format, class Bits>
const double* values() {
  static const std::vector<double>* made = [] {
    auto* all = new std::vector<double>(size_t{1} << (8 * sizeof(Bits)));
    for (size_t bits = 0; bits < all->size(); ++bits)
      (*all)[bits] = std::bit_cast<double>(numeric::convert_float(FloatFormat::f64, format, bits));
    return all;
  }();
  return made->data();
}

constexpr int kDoubleMantissaBits = 52, kDoubleBias = 1023;

// To nearest even.
uint64_t rounded(FloatFormat format, double value) {
  const numeric::FormatTraits& to = numeric::traits(format);
  const auto bits = std::bit_cast<uint64_t>(value);
  const auto biased = static_cast<int>(bits >> kDoubleMantissaBits & 0x7ff) - kDoubleBias + to.bias;
  const int last = to.max_biased_exponent() - 1; // above it, rounding may leave the format's numbers
  if (biased < 1 || biased >= last)
    return numeric::convert_float(format, FloatFormat::f64, bits, {.satfinite = to.storage_bits == 8});
  const int dropped = kDoubleMantissaBits - to.mantissa_bits;
  const uint64_t magnitude = (bits & ((uint64_t{1} << kDoubleMantissaBits) - 1)) |
                             static_cast<uint64_t>(biased) << kDoubleMantissaBits;
  const uint64_t to_even = (magnitude >> dropped & 1) + (uint64_t{1} << (dropped - 1)) - 1;
  return (magnitude + to_even) >> dropped | (bits >> 63) << (to.storage_bits - 1);
}

template <class T>
T saturated(double value) {
  if (std::isnan(value))
    return 0;
  const double nearest = std::nearbyint(value);
  constexpr double kLeast = std::numeric_limits<T>::min(), kMost = std::numeric_limits<T>::max();
  return static_cast<T>(std::clamp(nearest, kLeast, kMost));
}

template <FloatFormat format, class Bits>
struct Narrow {
  static double read(const void* from, int64_t i) { return values<format, Bits>()[load<Bits>(from, i)]; }
  static void write(void* to, int64_t i, double value) {
    store(to, i, static_cast<Bits>(rounded(format, value)));
  }
};
template <class T>
struct Plain {
  static double read(const void* from, int64_t i) { return static_cast<double>(load<T>(from, i)); }
  static void write(void* to, int64_t i, double value) {
    if constexpr (std::is_integral_v<T>)
      store(to, i, saturated<T>(value));
    else
      store(to, i, static_cast<T>(value));
  }
};

// f(how its elements are read and written), of a real type.
template <class F>
void with_format(cudaDataType type, F&& f) {
  switch (type) {
  case CUDA_R_32F:
    return f(Plain<float>());
  case CUDA_R_64F:
    return f(Plain<double>());
  case CUDA_R_16F:
    return f(Narrow<FloatFormat::f16, uint16_t>());
  case CUDA_R_16BF:
    return f(Narrow<FloatFormat::bf16, uint16_t>());
  case CUDA_R_8F_E4M3:
    return f(Narrow<FloatFormat::e4m3, uint8_t>());
  case CUDA_R_8F_E5M2:
    return f(Narrow<FloatFormat::e5m2, uint8_t>());
  case CUDA_R_8F_UE8M0:
    return f(Narrow<FloatFormat::ue8m0, uint8_t>());
  case CUDA_R_8I:
    return f(Plain<int8_t>());
  case CUDA_R_8U:
    return f(Plain<uint8_t>());
  case CUDA_R_32I:
    return f(Plain<int32_t>());
  default:
    return;
  }
}

} // namespace

cudaDataType real_type_of(cudaDataType type) {
  switch (type) {
  case CUDA_C_32F:
    return CUDA_R_32F;
  case CUDA_C_64F:
    return CUDA_R_64F;
  case CUDA_C_16F:
    return CUDA_R_16F;
  case CUDA_C_16BF:
    return CUDA_R_16BF;
  case CUDA_C_8I:
    return CUDA_R_8I;
  default:
    return type;
  }
}
bool is_complex(cudaDataType type) {
  return real_type_of(type) != type;
}
bool is_integer(cudaDataType type) {
  return type == CUDA_R_8I || type == CUDA_R_8U || type == CUDA_R_32I || type == CUDA_C_8I;
}

size_t bytes_of(cudaDataType type) {
  const size_t parts = is_complex(type) ? 2 : 1;
  switch (real_type_of(type)) {
  case CUDA_R_64F:
    return parts * 8;
  case CUDA_R_32F:
  case CUDA_R_32I:
    return parts * 4;
  case CUDA_R_16F:
  case CUDA_R_16BF:
    return parts * 2;
  case CUDA_R_8I:
  case CUDA_R_8U:
  case CUDA_R_8F_E4M3:
  case CUDA_R_8F_E5M2:
  case CUDA_R_8F_UE8M0:
    return parts;
  default:
    return 0;
  }
}

void decode(cudaDataType type, const void* from, int64_t count, double* to) {
  const int64_t apart = is_complex(type) ? 2 : 1;
  with_format(real_type_of(type), [&](auto format) {
    for (int64_t i = 0; i < count; ++i)
      to[i] = format.read(from, i * apart);
  });
}
void decode(cudaDataType type, const void* from, int64_t count, Complex* to) {
  with_format(real_type_of(type), [&](auto format) {
    for (int64_t i = 0; i < count; ++i)
      to[i] = is_complex(type) ? Complex(format.read(from, 2 * i), format.read(from, 2 * i + 1))
                               : Complex(format.read(from, i));
  });
}
void encode(cudaDataType type, const double* from, int64_t count, void* to) {
  with_format(real_type_of(type), [&](auto format) {
    for (int64_t i = 0; i < count; ++i) {
      format.write(to, is_complex(type) ? 2 * i : i, from[i]);
      if (is_complex(type))
        format.write(to, 2 * i + 1, 0);
    }
  });
}
void encode(cudaDataType type, const Complex* from, int64_t count, void* to) {
  with_format(real_type_of(type), [&](auto format) {
    for (int64_t i = 0; i < count; ++i) {
      format.write(to, is_complex(type) ? 2 * i : i, from[i].real());
      if (is_complex(type))
        format.write(to, 2 * i + 1, from[i].imag());
    }
  });
}

double cut_to_tf32(double value) {
  const uint32_t bits = std::bit_cast<uint32_t>(static_cast<float>(value)) & ~uint32_t{0x1fff};
  return std::bit_cast<float>(bits);
}

} // namespace lemma::cublas
