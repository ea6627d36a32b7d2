// The text that a kernel's printf makes: where CUDA and C agree, C's printf of the same values is the oracle.
#include "vgpu/reports/device_printf.h"

#include <gtest/gtest.h>

#include <climits>
#include <cstring>
#include <map>
#include <vector>

namespace lemma::vgpu {
namespace {

// Arguments packed as nvcc packs them, independently of the reader: every value at a multiple of its size.
class Packed : public PrintfArguments {
public:
  template <class... T>
  explicit Packed(T... values) {
    (add(values), ...);
  }
  std::optional<uint64_t> read(uint64_t offset, int bytes) override {
    if (offset + bytes > data_.size())
      return std::nullopt;
    uint64_t value = 0;
    std::memcpy(&value, data_.data() + offset, bytes);
    return value;
  }
  std::optional<std::string> read_string(uint64_t address) override {
    const auto at = strings_.find(address);
    return at == strings_.end() ? std::nullopt : std::optional(at->second);
  }

private:
  template <class T>
  void add(T value) {
    while (data_.size() % sizeof value)
      data_.push_back(0x55);
    data_.resize(data_.size() + sizeof value);
    std::memcpy(data_.data() + data_.size() - sizeof value, &value, sizeof value);
  }
  void add(const char* text) {
    const uint64_t address = 0x1000 + 0x100 * strings_.size();
    strings_[address] = text;
    add(address);
  }
  std::vector<uint8_t> data_;
  std::map<uint64_t, std::string> strings_;
};

template <class... T>
std::string device(const char* format, T... values) {
  Packed packed(values...);
  const auto result = format_device_printf(format, packed);
  return result ? result->text : "(unreadable)";
}

template <class... T>
std::string host(const char* format, T... values) {
  char text[4096];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
  std::snprintf(text, sizeof text, format, values...);
#pragma GCC diagnostic pop
  return text;
}

TEST(DevicePrintf, AgreesWithCOnEveryFlagWidthAndPrecision) {
  int checked = 0;
  for (const char* flags : {"", "-", "+", " ", "#", "0", "-+", "+0", "#0", "- #"})
    for (const char* width : {"", "1", "12"})
      for (const char* precision : {"", ".", ".0", ".3", ".15"}) {
        const std::string head = std::string("<%") + flags + width + precision;
        for (const char type : std::string("dioxXu")) {
          for (const int value : {0, 1, -1, 123456, INT32_MIN}) {
            EXPECT_EQ(device((head + type + ">").c_str(), value), host((head + type + ">").c_str(), value));
            EXPECT_EQ(device((head + "h" + type + ">").c_str(), value),
                      host((head + "h" + type + ">").c_str(), value));
            EXPECT_EQ(device((head + "hh" + type + ">").c_str(), value),
                      host((head + "hh" + type + ">").c_str(), value));
          }
          for (const long long value : {0LL, -1LL, 0x123456789abcdefLL, LLONG_MIN}) {
            EXPECT_EQ(device((head + "ll" + type + ">").c_str(), value),
                      host((head + "ll" + type + ">").c_str(), value));
            EXPECT_EQ(device((head + "l" + type + ">").c_str(), value),
                      host((head + "l" + type + ">").c_str(), value));
            ++checked;
          }
        }
        for (const char type : std::string("eEfFgGaA"))
          for (const double value : {0.0, -0.0, 1.0, -2.5, 1e100, 1.0 / 3, 5e-324, 1.0 / 0.0, -1.0 / 0.0})
            EXPECT_EQ(device((head + type + ">").c_str(), value), host((head + type + ">").c_str(), value));
        EXPECT_EQ(device((head + "s>").c_str(), "hello"), host((head + "s>").c_str(), "hello"));
      }
  EXPECT_EQ(checked, 10 * 3 * 5 * 6 * 4);
}

TEST(DevicePrintf, MixedArgumentsKeepTheirAlignment) {
  EXPECT_EQ(device("%d %f %d %s %c %lld %u %p", 1, 2.5, -3, "four", int{'5'}, 6LL, 7u, uint64_t{0x8000}),
            "1 2.500000 -3 four 5 6 7 0x8000");
}

TEST(DevicePrintf, WidthAndPrecisionFromArguments) {
  EXPECT_EQ(device("[%*d]", 5, 42), "[   42]");
  EXPECT_EQ(device("[%*d]", -5, 42), "[42   ]");
  EXPECT_EQ(device("[%.*f]", 2, 3.14159), "[3.14]");
  EXPECT_EQ(device("[%.*f]", -2, 3.0), "[3.000000]") << "a negative precision counts as none";
  EXPECT_EQ(device("[%*.*f]", 8, 3, 3.14159), "[   3.142]");
}

TEST(DevicePrintf, WhatIsNoSpecificationStays) {
  EXPECT_EQ(device("100%"), "100%");
  EXPECT_EQ(device("%% %y %d%%", 7), "% %y 7%");
  EXPECT_EQ(device(""), "");
  EXPECT_EQ(device("%llq"), "%llq");
}

TEST(DevicePrintf, CountsArguments) {
  Packed packed(5, 1, 2.0);
  EXPECT_EQ(format_device_printf("%*d %f %%", packed)->arguments, 3);
  EXPECT_EQ(format_device_printf("none", packed)->arguments, 0);
}

TEST(DevicePrintf, FurtherThan32ArgumentsAreNotTaken) {
  std::string format;
  for (int i = 0; i < 33; ++i)
    format += "%c";
  Packed packed(uint64_t{}, uint64_t{}, uint64_t{}, uint64_t{}, uint64_t{}, uint64_t{}, uint64_t{},
                uint64_t{}, uint64_t{}, uint64_t{}, uint64_t{}, uint64_t{}, uint64_t{}, uint64_t{},
                uint64_t{}, uint64_t{});
  const auto result = format_device_printf(format, packed);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->arguments, 32);
  EXPECT_EQ(result->text, std::string(32, '\0') + "%c");
}

TEST(DevicePrintf, HostileFieldsAreBounded) {
  EXPECT_EQ(device("%999999999999999999999d", 1).size(), 65536u);
  EXPECT_EQ(device("%*d", INT32_MIN, 1).size(), 65536u);
  EXPECT_EQ(device("%s", uint64_t{0}), "(null)");
  EXPECT_EQ(device("%d %d", 1), "(unreadable)");
  EXPECT_EQ(device("%s", uint64_t{12}), "(unreadable)");
}

} // namespace
} // namespace lemma::vgpu
