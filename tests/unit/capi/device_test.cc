// Devices, memory, modules and their variables, tensor maps: include/lemma/c/device.h.
#include "c_test.h"

#include <array>
#include <numeric>

namespace lemma {
namespace {

constexpr const char* kText = R"(.version 8.0
.target sm_90a
.address_size 64
.visible .global .align 4 .u32 counter = 7;
.visible .const .align 4 .b8 table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
.global .align 8 .u64 pointer = counter;
.shared .align 4 .b8 tile[64];
.visible .entry add(.param .u64 .ptr .global out, .param .align 8 .b8 pair[16])
{
  .reg .b32 %r<5>;
  .reg .b64 %rd<3>;
  ld.global.u32 %r1, [counter];
  ld.const.u32 %r2, [table + 4];
  ld.param.u32 %r3, [pair + 8];
  add.u32 %r4, %r1, %r2;
  add.u32 %r4, %r4, %r3;
  ld.param.u64 %rd1, [out];
  st.global.u32 [%rd1], %r4;
  add.u32 %r1, %r1, 1;
  st.global.u32 [counter], %r1;
  ret;
}
.visible .entry nothing() { ret; }
)";

TEST(CDevice, SaysWhatItIs) {
  lemma_device* device = nullptr;
  ASSERT_OK(lemma_device_open("cpu", nullptr, &device));
  const lemma_device_info& info = *lemma_device_describe(device);
  EXPECT_STREQ(info.kind, "cpu");
  EXPECT_STREQ(info.name, "virtual GPU");
  EXPECT_STREQ(info.driver, "");
  EXPECT_STREQ(info.target, "sm_90");
  lemma_device_close(device);
  EXPECT_GT(lemma_default_max_memory_bytes(), 0u);
}

TEST(CDevice, CopiesAndFillsMemory) {
  const Loaded gpu(kText);
  const uint64_t address = gpu.allocate(16);
  std::array<uint8_t, 16> bytes{};
  std::iota(bytes.begin(), bytes.end(), 1);
  EXPECT_OK(lemma_copy_to_device(gpu.device, address, bytes.data(), 16));
  EXPECT_OK(lemma_fill(gpu.device, address + 4, 9, 8));
  bytes = {};
  EXPECT_OK(lemma_copy_from_device(gpu.device, bytes.data(), address, 16));
  EXPECT_EQ(bytes, (std::array<uint8_t, 16>{1, 2, 3, 4, 9, 9, 9, 9, 9, 9, 9, 9, 13, 14, 15, 16}));
  EXPECT_EQ(kind_of(lemma_copy_to_device(gpu.device, address + 1, bytes.data(), 16)),
            LEMMA_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(kind_of(lemma_fill(gpu.device, address, 0, 17)), LEMMA_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(kind_of(lemma_copy_to_device(gpu.device, address, nullptr, 16)), LEMMA_ERROR_INVALID_ARGUMENT);
  EXPECT_OK(lemma_free(gpu.device, address));
  EXPECT_EQ(kind_of(lemma_free(gpu.device, address)), LEMMA_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(kind_of(lemma_copy_from_device(gpu.device, bytes.data(), address, 16)),
            LEMMA_ERROR_INVALID_ARGUMENT);
}

TEST(CDevice, HostMemoryIsTheKernels) {
  const Loaded gpu(kText);
  uint32_t out = 0;
  EXPECT_OK(lemma_register_host(gpu.device, &out, sizeof out, "out"));
  const uint64_t address = reinterpret_cast<uintptr_t>(&out), pair[2] = {0, 100};
  const lemma_bytes arguments[] = {bytes_of(address), bytes_of(pair)};
  const lemma_report* report = nullptr;
  EXPECT_OK(lemma_launch(gpu.module, "add", nullptr, arguments, 2, &report));
  EXPECT_EQ(report->outcome, LEMMA_OUTCOME_FINISHED) << report->text;
  lemma_report_release(report);
  EXPECT_EQ(out, 7 + 0x08070605u + 100);
  EXPECT_OK(lemma_unregister_host(gpu.device, &out));
  EXPECT_EQ(kind_of(lemma_unregister_host(gpu.device, &out)), LEMMA_ERROR_INVALID_ARGUMENT);
}

TEST(CModule, ListsKernelsAndParameters) {
  const Loaded gpu(kText);
  const lemma_module_info& info = *lemma_module_describe(gpu.module);
  EXPECT_STREQ(info.target, "sm_90a");
  EXPECT_STREQ(info.arithmetic, "sm_90");
  EXPECT_STREQ(info.assembled_by, "");
  ASSERT_EQ(info.kernel_count, 2u);
  const lemma_kernel* add = nullptr;
  ASSERT_OK(lemma_module_kernel(gpu.module, "add", &add));
  EXPECT_EQ(add, info.kernels[0]);
  ASSERT_EQ(add->parameter_count, 2u);
  EXPECT_STREQ(add->parameters[0]->name, "out");
  EXPECT_STREQ(add->parameters[0]->type, ".u64");
  EXPECT_TRUE(add->parameters[0]->is_pointer);
  EXPECT_STREQ(add->parameters[1]->type, ".b8[16]");
  EXPECT_EQ(add->parameters[1]->size_bytes, 16u);
  EXPECT_EQ(add->parameters[1]->offset_bytes, 8u);
  EXPECT_EQ(kind_of(lemma_module_kernel(gpu.module, nullptr, &add)), LEMMA_ERROR_INVALID_ARGUMENT); // two
  EXPECT_NE(said(lemma_module_kernel(gpu.module, "adx", &add)).find("add"), std::string::npos);
}

TEST(CModule, VariablesAreMemoryWithAName) {
  const Loaded gpu(kText);
  const lemma_module_info& info = *lemma_module_describe(gpu.module);
  ASSERT_EQ(info.variable_count, 3u); // .shared is none
  const lemma_variable* counter = nullptr;
  ASSERT_OK(lemma_module_variable(gpu.module, "counter", &counter));
  EXPECT_EQ(counter, info.variables[0]);
  EXPECT_STREQ(counter->space, "global");
  EXPECT_STREQ(counter->type, ".u32");
  EXPECT_EQ(counter->size_bytes, 4u);
  EXPECT_STREQ(info.variables[1]->name, "table");
  EXPECT_STREQ(info.variables[1]->space, "const");
  EXPECT_EQ(info.variables[1]->size_bytes, 8u);
  uint64_t pointer = 0;
  EXPECT_OK(lemma_variable_get(gpu.module, "pointer", &pointer, 8));
  EXPECT_EQ(pointer, counter->address);

  const uint32_t counted = 1000, entry = 20;
  EXPECT_OK(lemma_variable_set(gpu.module, "counter", &counted, 4));
  EXPECT_OK(lemma_copy_to_device(gpu.device, info.variables[1]->address + 4, &entry, 4));
  const uint64_t out = gpu.allocate(4), pair[2] = {0, 3};
  const lemma_bytes arguments[] = {bytes_of(out), bytes_of(pair)};
  for (uint32_t round = 0; round < 2; ++round) {
    const lemma_report* report = nullptr;
    ASSERT_OK(lemma_launch(gpu.module, "add", nullptr, arguments, 2, &report));
    lemma_report_release(report);
    uint32_t sum = 0, now = 0;
    EXPECT_OK(lemma_copy_from_device(gpu.device, &sum, out, 4));
    EXPECT_OK(lemma_variable_get(gpu.module, "counter", &now, 4));
    EXPECT_EQ(sum, 1023 + round);
    EXPECT_EQ(now, 1001 + round);
  }
  EXPECT_EQ(said(lemma_variable_set(gpu.module, "counter", pair, 5)), "variable counter has 4 bytes, not 5");
  EXPECT_EQ(said(lemma_module_variable(gpu.module, "tile", &counter)),
            "the module has no variable 'tile'; it has: counter, table, pointer");
}

TEST(CModule, OutlivesItsDevice) {
  Loaded gpu(kText);
  lemma_device_close(std::exchange(gpu.device, nullptr));
  uint32_t counter = 0;
  EXPECT_OK(lemma_variable_get(gpu.module, "counter", &counter, 4));
  EXPECT_EQ(counter, 7u);
}

TEST(CTensorMap, IsThatOfTheCppApi) {
  lemma_device* device = nullptr;
  ASSERT_OK(lemma_device_open("cpu", nullptr, &device));
  uint64_t address = 0;
  ASSERT_OK(lemma_allocate(device, 64 * 64 * 2, nullptr, &address));
  lemma_tensor_map map = LEMMA_SIZED(lemma_tensor_map);
  map.type = LEMMA_TENSOR_BF16;
  map.address = address;
  map.rank = 2;
  map.dims[0] = map.dims[1] = 64;
  map.strides_bytes[0] = 128;
  map.box[0] = map.box[1] = 64;
  map.swizzle = LEMMA_SWIZZLE_B128;
  std::array<unsigned char, 128> tiled{}, im2col{};
  EXPECT_OK(lemma_tensor_map_encode(device, &map, tiled.data()));
  EXPECT_NE(tiled, im2col);
  map.box[0] = 128; // 256 bytes
  EXPECT_NE(said(lemma_tensor_map_encode(device, &map, tiled.data())).find("tensor map: "),
            std::string::npos);
  map.rank = 6;
  EXPECT_EQ(said(lemma_tensor_map_encode(device, &map, tiled.data())),
            "tensor map: rank 6: legal are 1 to 5");
  map.rank = 2;
  map.type = static_cast<lemma_tensor_type>(77);
  EXPECT_EQ(said(lemma_tensor_map_encode(device, &map, tiled.data())), "there is no lemma_tensor_type 77");

  lemma_tensor_map image = LEMMA_SIZED(lemma_tensor_map); // N 1, H 8, W 8, C 64
  image.type = LEMMA_TENSOR_F16;
  image.address = address;
  image.rank = 4;
  const uint64_t dims[] = {64, 8, 8, 1}, strides[] = {128, 1024, 8192};
  std::copy(dims, dims + 4, image.dims);
  std::copy(strides, strides + 3, image.strides_bytes);
  image.is_im2col = 1;
  image.lower[0] = image.lower[1] = -1;
  image.upper[0] = image.upper[1] = -1;
  image.channels_per_pixel = 64;
  image.pixels_per_column = 32;
  EXPECT_OK(lemma_tensor_map_encode(device, &image, im2col.data()));
  EXPECT_NE(im2col, tiled);
  lemma_device_close(device);
}

} // namespace
} // namespace lemma
