// Device memory, copies in every direction, fills, registered and shared host memory, and what is said about
// pointers that are wrong.
#include "program.h"

#include <bit>
#include <numeric>

namespace lemma::mgpu {
namespace {

using Copies = Program;
using Fills = Program;
using HostMemory = Program;

template <class T>
T* offset(void* pointer, ptrdiff_t elements) {
  return static_cast<T*>(pointer) + elements;
}

TEST_F(Copies, GoInEveryDirection) {
  Words words(100), back(100);
  std::iota(words.begin(), words.end(), 0);
  void* a = mgpuMemAlloc(400, nullptr, false);
  void* b = mgpuMemAlloc(400, nullptr, false);
  EXPECT_NE(a, b);
  mgpuMemcpy(a, words.data(), 400, nullptr);
  mgpuMemcpy(b, a, 400, nullptr);
  mgpuMemcpy(back.data(), b, 400, nullptr);
  EXPECT_EQ(back, words);
  mgpuMemcpy(offset<uint32_t>(b, 10), offset<uint32_t>(a, 90), 40, nullptr); // from inside, to inside
  EXPECT_EQ(read(offset<uint32_t>(b, 9), 12), (Words{9, 90, 91, 92, 93, 94, 95, 96, 97, 98, 99, 20}));
  Words other(100);
  mgpuMemcpy(other.data(), words.data(), 400, nullptr); // among the host's
  EXPECT_EQ(other, words);
  mgpuMemFree(a, nullptr);
  mgpuMemFree(b, nullptr);
}

TEST_F(Copies, OfMoreThanOneChunkBetweenDeviceMemory) {
  constexpr size_t kWords = (size_t{1} << 23) + 5; // 32 MiB and some
  Words words(kWords);
  std::iota(words.begin(), words.end(), 1);
  void* a = device_memory(words);
  void* b = mgpuMemAlloc(kWords * 4, nullptr, false);
  mgpuMemcpy(b, a, kWords * 4, nullptr);
  EXPECT_EQ(read(b, kWords), words);
}

TEST_F(Copies, OfNothingNeedNoMemory) {
  EXPECT_EQ(mgpuMemAlloc(0, nullptr, false), nullptr);
  mgpuMemcpy(nullptr, nullptr, 0, nullptr);
  mgpuMemset32(nullptr, 1, 0, nullptr);
  mgpuMemFree(nullptr, nullptr);
  mgpuMemHostRegister(nullptr, 0);
}

TEST_F(Copies, SayWhereAPointerIs) {
  Words words(8);
  void* a = device_memory(words);
  EXPECT_STOP(
      mgpuMemcpy(a, words.data(), 36, nullptr),
      "mgpuMemcpy: 36 bytes from the destination 0x1f[0-9a-f]* on run 4 bytes past the end of gpu.alloc 1 "
      "\\(32 bytes\\)");
  EXPECT_STOP(mgpuMemcpy(words.data(), offset<uint32_t>(a, 4), 20, nullptr),
              "the source .* run 4 bytes past");
  EXPECT_STOP(mgpuMemcpy(words.data(), offset<uint32_t>(a, 10), 4, nullptr),
              "is no live device memory: it lies 8 bytes past the end of gpu.alloc 1 \\(32 bytes\\)");
  EXPECT_STOP(mgpuMemcpy(nullptr, a, 4, nullptr), "the destination is a null pointer");
  EXPECT_STOP(mgpuMemFree(offset<uint32_t>(a, 1), nullptr),
              "it lies 4 bytes into gpu.alloc 1 \\(32 bytes\\)");
  EXPECT_STOP(mgpuMemFree(words.data(), nullptr), "is not what gpu.alloc gave: it is the host's");
  mgpuMemFree(a, nullptr);
  EXPECT_STOP(mgpuMemFree(a, nullptr), "it lies in gpu.alloc 1 \\(32 bytes\\), which was freed");
  EXPECT_STOP(mgpuMemcpy(a, words.data(), 4, nullptr), "which was freed");
  EXPECT_STOP(mgpuMemAlloc(uint64_t{1} << 60, nullptr, false), "lemma: mgpuMemAlloc: the host has no memory");
}

TEST_F(Fills, RepeatAValue) {
  void* a = device_memory(Words(6));
  mgpuMemset32(offset<uint32_t>(a, 1), 0x12345678, 3, nullptr);
  mgpuMemset16(offset<uint16_t>(a, 9), 0xabcd, 2, nullptr);
  EXPECT_EQ(read(a, 6), (Words{0, 0x12345678, 0x12345678, 0x12345678, 0xabcd0000, 0xabcd}));
  const float half = 0.5f;
  mgpuMemset32(a, std::bit_cast<uint32_t>(half), 1, nullptr);
  EXPECT_EQ(read(a, 1), Words{0x3f000000});
}

TEST_F(Fills, OfMoreThanOneChunk) {
  constexpr size_t kWords = (size_t{1} << 22) + 3;
  void* a = mgpuMemAlloc(kWords * 4, nullptr, false);
  mgpuMemset32(a, 0x01020304, kWords, nullptr);
  EXPECT_EQ(read(a, kWords), Words(kWords, 0x01020304));
}

TEST_F(Fills, SayWhatIsWrong) {
  Words words(8);
  void* a = device_memory(words);
  EXPECT_STOP(mgpuMemset32(a, 1, 9, nullptr), "run 4 bytes past the end of gpu.alloc 1");
  EXPECT_STOP(mgpuMemset32(offset<uint16_t>(a, 1), 1, 1, nullptr), "must be a multiple of 4");
  EXPECT_STOP(mgpuMemset16(offset<uint8_t>(a, 1), 1, 1, nullptr), "must be a multiple of 2");
  EXPECT_STOP(mgpuMemset32(words.data(), 1, 1, nullptr), "host memory that was not registered");
  EXPECT_STOP(mgpuMemset32(a, 1, SIZE_MAX, nullptr), "more than there is memory");
}

TEST_F(HostMemory, RegisteredIsSeenByBothSides) {
  Words x{1, 2, 3, 4}, y(4);
  mgpuMemHostRegister(x.data(), 16);
  mgpuMemHostRegister(y.data(), 16);
  launch("scale", 1, 4, x.data(), y.data(), uint32_t{5});
  EXPECT_EQ(y, (Words{5, 10, 15, 20}));
  x[3] = 100;
  launch("scale", 1, 4, x.data(), y.data(), uint32_t{5});
  EXPECT_EQ(y[3], 500u);
  mgpuMemset32(y.data(), 9, 4, nullptr);
  EXPECT_EQ(y, Words(4, 9));
  void* device = device_memory({70});
  mgpuMemcpy(y.data() + 1, device, 4, nullptr);
  EXPECT_EQ(y[1], 70u);
  mgpuMemHostUnregister(x.data());
  mgpuMemHostUnregister(y.data());
  EXPECT_EQ(said, "");
}

// A descriptor of rank 2, as a memref of 4 x 2 elements with rows of `stride` in the middle of `data`.
struct Descriptor {
  void* allocated;
  void* aligned;
  int64_t offset, sizes[2], strides[2];
};

TEST_F(HostMemory, MemRefsRegisterWhatTheySpan) {
  Words data(40);
  std::iota(data.begin(), data.end(), 0);
  const Descriptor memref{data.data(), data.data(), 3, {4, 2}, {8, 1}};
  mgpuMemHostRegisterMemRef(2, &memref, 4);
  launch("scale", 1, 26, data.data() + 3, data.data() + 3, uint32_t{2}); // elements 3 to 28
  EXPECT_EQ(data[2], 2u);
  EXPECT_EQ(data[3], 6u);
  EXPECT_EQ(data[28], 56u);
  EXPECT_EQ(data[29], 29u);
  mgpuMemHostUnregisterMemRef(2, &memref, 4);
  // Backwards: the lowest element comes last.
  const Descriptor backwards{data.data(), data.data(), 20, {2, 4}, {-8, -1}};
  mgpuMemHostRegisterMemRef(2, &backwards, 4);
  launch("scale", 1, 12, data.data() + 9, data.data() + 9, uint32_t{0}); // elements 9 to 20
  EXPECT_EQ(data[9], 0u);
  EXPECT_EQ(data[20], 0u);
  mgpuMemHostUnregisterMemRef(2, &backwards, 4);
  // No elements, and one.
  const Descriptor empty{data.data(), data.data(), 0, {0, 4}, {4, 1}};
  mgpuMemHostRegisterMemRef(2, &empty, 4);
  mgpuMemHostUnregisterMemRef(2, &empty, 4);
  mgpuMemHostRegisterMemRef(0, &memref, 4);
  launch("scale", 1, 1, data.data() + 3, data.data() + 3, uint32_t{0});
  EXPECT_EQ(data[3], 0u);
}

TEST_F(HostMemory, SpansNoMoreThanThereIs) {
  Words data(40);
  const int64_t huge = INT64_MAX;
  for (const Descriptor& memref :
       {Descriptor{data.data(), data.data(), 0, {huge, 2}, {8, 1}},
        Descriptor{data.data(), data.data(), huge, {4, 2}, {8, 1}},
        Descriptor{data.data(), data.data(), 0, {4, 2}, {huge / 2, -huge}},
        Descriptor{data.data(), data.data(), 0, {int64_t{1} << 32, int64_t{1} << 32}, {int64_t{1} << 30, 1}}})
    EXPECT_STOP(mgpuMemHostRegisterMemRef(2, &memref, 4), "spans more memory than there are addresses");
  const Descriptor negative{data.data(), data.data(), 0, {-4, 2}, {8, 1}};
  EXPECT_STOP(mgpuMemHostRegisterMemRef(2, &negative, 4), "dimension 0 has size -4");
  EXPECT_STOP(mgpuMemHostRegisterMemRef(huge, &negative, 4), "no memref: rank 9223372036854775807");
}

TEST_F(HostMemory, EndsWithTheRange) {
  Words data(40);
  const Descriptor memref{data.data(), data.data(), 3, {4, 2}, {8, 1}};
  mgpuMemHostRegisterMemRef(2, &memref, 4);
  EXPECT_STOP(launch("scale", 1, 27, data.data() + 3, data.data() + 3, 2u),
              "fault\\[out of bounds\\].*at the end of gpu.host_register 1 \\(104 bytes\\)");
  EXPECT_STOP(launch("scale", 1, 1, data.data() + 2, data.data() + 2, 2u),
              "4 bytes before gpu.host_register 1");
  mgpuMemHostUnregisterMemRef(2, &memref, 4);
  EXPECT_STOP(launch("scale", 1, 1, data.data() + 3, data.data() + 3, 2u),
              "host memory that was not registered");
  EXPECT_STOP(mgpuMemHostUnregisterMemRef(2, &memref, 4), "no host memory that begins at .* is registered");
}

TEST_F(HostMemory, IsTheHosts) {
  void* a = device_memory(Words(8));
  EXPECT_STOP(mgpuMemHostRegister(a, 32),
              "mgpuMemHostRegister: .* is device memory, which kernels can use as it is");
  EXPECT_STOP(mgpuMemHostRegister(nullptr, 32), "null pointer");
  EXPECT_STOP(mgpuMemHostUnregister(a), "is registered");
  EXPECT_STOP(mgpuMemHostRegisterMemRef(-1, a, 4), "no memref: rank -1");
}

TEST_F(HostMemory, SharedIsOnePointerForBothSides) {
  auto* x = static_cast<uint32_t*>(mgpuMemAlloc(16, nullptr, true));
  auto* y = static_cast<uint32_t*>(mgpuMemAlloc(16, nullptr, true));
  for (uint32_t i = 0; i < 4; ++i)
    x[i] = i;
  launch("scale", 1, 4, x, y, uint32_t{3});
  EXPECT_EQ(y[3], 9u);
  EXPECT_EQ(read(y, 4), (Words{0, 3, 6, 9}));
  mgpuMemset32(y, 8, 2, nullptr);
  EXPECT_EQ(y[1], 8u);
  mgpuMemFree(x, nullptr);
  mgpuMemFree(y, nullptr);
  EXPECT_EQ(said, "");
}

// Memory that whoever calls the program has, of a device that they have opened.
TEST(Shared, IsTheCallersToFree) {
  const auto device = Device::open("cpu");
  auto buffer = device->allocate(16);
  const Words words{1, 2, 3, 4};
  ASSERT_TRUE(buffer->copy_from(std::as_bytes(std::span(words))));
  Context context({.opened = *device, .shared_memory = {&*buffer}});
  auto* memory = reinterpret_cast<uint32_t*>(buffer->address());
  Words read(4);
  struct Copy {
    void *to, *from;
  } in{read.data(), memory}, out{memory + 1, read.data()};
  const auto copy = [](void* argument) {
    const auto* copy = static_cast<const Copy*>(argument);
    mgpuMemcpy(copy->to, copy->from, 8, nullptr);
  };
  EXPECT_FALSE(context.run(copy, &in));
  EXPECT_FALSE(context.run(copy, &out));
  Words after(4);
  ASSERT_TRUE(buffer->copy_to(std::as_writable_bytes(std::span(after))));
  EXPECT_EQ(after, (Words{1, 1, 2, 4}));
  const auto stop = context.run([](void* argument) { mgpuMemFree(argument, nullptr); }, memory);
  ASSERT_TRUE(stop);
  EXPECT_NE(stop->text.find("is shared memory 1, which whoever called the program frees"), std::string::npos)
      << stop->text;
}

TEST(Kept, StaysUntilTheContextGoes) {
  for (const bool keeps : {false, true}) {
    const auto device = Device::open("cpu");
    Context context({.opened = *device, .keeps_memory = keeps});
    void* memory = nullptr;
    EXPECT_FALSE(context.run(
        [](void* argument) {
          auto* made = static_cast<void**>(argument);
          *made = mgpuMemAlloc(16, nullptr, false);
          mgpuMemFree(*made, nullptr);
        },
        &memory));
    std::byte bytes[16];
    EXPECT_EQ(device->read(reinterpret_cast<uintptr_t>(memory), bytes).ok(), keeps);
    const auto stop = context.run([](void* argument) { mgpuMemFree(argument, nullptr); }, memory);
    EXPECT_TRUE(stop); // the program has freed it all the same
  }
}

} // namespace
} // namespace lemma::mgpu
