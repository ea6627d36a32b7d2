// The cuda device over a driver made for the test (fake_cuda.cc): what reaches the driver, and what becomes
// of its errors. That the real driver means the same is shown by runs on a GPU, not here.
#include "fake_cuda.h"

#include "lemma/lemma.h"
#include "runtime/cuda_driver.h"

#include <gtest/gtest.h>

#include <cstring>
#include <dlfcn.h>

namespace lemma {
namespace {

constexpr const char* kText = R"(.version 8.0
.target sm_90a
.address_size 64
.visible .global .align 8 .b32 kept[2];
.global .align 8 .b32 dropped[2];
.visible .entry two_parameters(.param .u32 a, .param .u64 b) { ret; }
.visible .entry fault_store() { ret; }
.visible .entry grid_wide() { .reg .b32 %r1; mov.u32 %r1, %envreg2; ret; }
.visible .entry clustered() .reqnctapercluster 2, 1, 1 { ret; }
.visible .entry may_be_fused(.param .u64 at) {
  .reg .b64 %rd<2>;
  .reg .f32 %f<4>;
  ld.param.u64 %rd1, [at];
  ld.global.f32 %f1, [%rd1];
  mul.f32 %f2, %f1, %f1;
  add.f32 %f3, %f2, %f1;
  st.global.f32 [%rd1], %f3;
  ret;
}
)";

class CudaDevice : public testing::Test {
protected:
  // dlopen("libcuda.so.1") finds a library that is already open under that name.
  static void SetUpTestSuite() {
    void* library = dlopen(FAKE_CUDA, RTLD_NOW);
    ASSERT_NE(library, nullptr) << dlerror();
    state_ = reinterpret_cast<decltype(&fake_cuda_state)>(dlsym(library, "fake_cuda_state"))();
  }
  void SetUp() override { *state_ = {}; }

  static Device open() {
    auto device = Device::open("cuda");
    EXPECT_TRUE(device) << device.error().text;
    return *std::move(device);
  }
  static Kernel kernel(const Device& device, const char* name) {
    auto module = device.load_ptx(kText, {.name = "k.ptx"});
    EXPECT_TRUE(module) << module.error().text;
    return *module->kernel(name);
  }

  static fake_cuda::State* state_;
};
fake_cuda::State* CudaDevice::state_ = nullptr;

TEST_F(CudaDevice, SaysWhatItIs) {
  const Device device = open();
  EXPECT_EQ(device.info().name, "Fake H200");
  EXPECT_EQ(device.info().driver, "13.0"); // its file is not called after a release
  EXPECT_EQ(device.info().target, "sm_90");
  const auto other = Device::open("cuda", {.ordinal = 1});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind, ErrorKind::unavailable);
}

TEST(CudaDriver, ReleaseIsInTheNameOfItsFile) {
  EXPECT_EQ(runtime::cuda::release_of("/usr/lib/x86_64-linux-gnu/libcuda.so.580.159.04"), "580.159.04");
  EXPECT_EQ(runtime::cuda::release_of("libcuda.so.535.54"), "535.54");
  EXPECT_EQ(runtime::cuda::release_of("/fake/libcuda.so.1"), "");
  EXPECT_EQ(runtime::cuda::release_of("/usr/lib/wsl/lib/libcuda.so.1.1-beta"), "");
  EXPECT_EQ(runtime::cuda::release_of(""), "");
}

TEST_F(CudaDevice, AsksTheDriverForAKernelsResources) {
  const Device device = open();
  const auto resources = kernel(device, "clustered").resources();
  ASSERT_TRUE(resources);
  EXPECT_EQ(resources->max_threads, 896u);
  EXPECT_EQ(resources->registers, 40u);
  EXPECT_EQ(resources->static_shared_bytes, 16u);
  EXPECT_EQ(resources->required_cluster, (Dim3{2, 1, 1}));
}

TEST_F(CudaDevice, CopiesAndFillsMemory) {
  const Device device = open();
  auto buffer = device.allocate(8);
  ASSERT_TRUE(buffer);
  std::array<std::byte, 8> bytes{};
  bytes.fill(std::byte{1});
  ASSERT_TRUE(buffer->copy_to(bytes));
  EXPECT_EQ(bytes[7], std::byte{0}); // zeroed
  ASSERT_TRUE(buffer->copy_from(std::array{std::byte{5}}, 3));
  ASSERT_TRUE(buffer->copy_to(bytes));
  EXPECT_EQ(bytes[3], std::byte{5});
  EXPECT_FALSE(buffer->copy_from(bytes, 1));
  auto scratch = device.allocate(4, {.poisoned = true});
  ASSERT_TRUE(scratch->copy_to(std::span(bytes).first(4)));
  EXPECT_EQ(bytes[0], std::byte{0xCB});
  EXPECT_EQ(state_->allocations, 2);
  buffer->free();
  *scratch = Buffer();
  EXPECT_EQ(state_->allocations, 0);
  const auto huge = device.allocate(uint64_t{1} << 50);
  ASSERT_FALSE(huge);
  EXPECT_EQ(huge.error().kind, ErrorKind::out_of_memory);
}

TEST_F(CudaDevice, StreamsDoTheirWorkInOrder) {
  const Device device = open();
  auto a = device.allocate(8), b = device.allocate(8);
  const Stream stream = device.create_stream();
  std::array<std::byte, 8> bytes{};
  const std::array source{std::byte{5}};
  ASSERT_TRUE(stream.fill(a->address(), 8, 3));
  ASSERT_TRUE(stream.write(a->address() + 1, source));
  ASSERT_TRUE(stream.copy(b->address() + 4, a->address(), 4));
  ASSERT_TRUE(stream.read(b->address(), bytes));
  ASSERT_TRUE(stream.synchronize());
  EXPECT_EQ(bytes[3], std::byte{0});
  EXPECT_EQ(bytes[4], std::byte{3});
  EXPECT_EQ(bytes[5], std::byte{5});
}

TEST_F(CudaDevice, AsksTheDriverForVariables) {
  const Device device = open();
  const auto module = device.load_ptx(kText, {.name = "k.ptx"});
  ASSERT_TRUE(module) << module.error().text;
  ASSERT_EQ(module->variables().size(), 1u); // but for what the assembler has dropped
  const Variable& kept = module->variables()[0];
  EXPECT_EQ(kept.name, "kept");
  std::array<std::byte, 8> bytes{};
  bytes.fill(std::byte{7});
  ASSERT_TRUE(device.write(kept.address, bytes));
  ASSERT_TRUE(device.fill(kept.address, 4, 9));
  ASSERT_TRUE(device.read(kept.address, bytes));
  EXPECT_EQ(bytes[3], std::byte{9});
  EXPECT_EQ(bytes[4], std::byte{7});
}

TEST_F(CudaDevice, RegistersHostMemoryOnce) {
  const Device device = open();
  std::array<std::byte, 64> memory{};
  ASSERT_TRUE(device.register_host(memory.data(), 48));
  EXPECT_EQ(state_->registered, (std::map<void*, size_t>{{memory.data(), 48}}));
  EXPECT_TRUE(device.register_host(memory.data(), 48));      // again
  EXPECT_TRUE(device.register_host(memory.data() + 16, 16)); // inside
  EXPECT_EQ(state_->registered.size(), 1u);
  EXPECT_FALSE(device.register_host(memory.data() + 16, 48)); // the driver refuses
  EXPECT_TRUE(device.unregister_host(memory.data() + 16));
  EXPECT_TRUE(device.unregister_host(memory.data()));
  EXPECT_EQ(state_->registered.size(), 1u);
  EXPECT_TRUE(device.unregister_host(memory.data()));
  EXPECT_EQ(state_->registered.size(), 0u);
  EXPECT_FALSE(device.unregister_host(memory.data()));

  state_->one_address_space = false;
  const auto elsewhere = device.register_host(memory.data(), 48);
  ASSERT_FALSE(elsewhere);
  EXPECT_EQ(elsewhere.error().kind, ErrorKind::unavailable);
  EXPECT_EQ(state_->registered.size(), 0u);
}

TEST_F(CudaDevice, HostSharedMemoryIsManaged) {
  const Device device = open();
  auto buffer = device.allocate(8, {.host_shared = true});
  ASSERT_TRUE(buffer);
  EXPECT_EQ(state_->managed, 1);
  buffer->free();
  EXPECT_EQ(state_->allocations, 0);
}

TEST_F(CudaDevice, PassesLaunchesOn) {
  const Device device = open();
  const auto report =
      kernel(device, "two_parameters")
          .launch({.grid = {3, 2}, .block = {128}, .cluster = {3, 1, 1}, .shared_bytes = 100000},
                  {uint32_t{7}, uint64_t{9}});
  ASSERT_TRUE(report) << report.error().text;
  EXPECT_TRUE(report->ok());
  EXPECT_EQ(report->arithmetic, "sm_90");
  EXPECT_NEAR(report->stats.seconds, 2.5e-3, 1e-9);
  EXPECT_FALSE(report->stats.warp_instructions.has_value());
  ASSERT_EQ(state_->launches.size(), 1u);
  const fake_cuda::Launch& launch = state_->launches[0];
  EXPECT_EQ(launch.kernel, "two_parameters");
  EXPECT_EQ(launch.grid[1], 2u);
  EXPECT_EQ(launch.grid[2], 1u);
  EXPECT_EQ(launch.block[0], 128u);
  EXPECT_EQ(launch.shared_bytes, 100000u);
  EXPECT_EQ(launch.max_dynamic_shared, 100000);
  EXPECT_EQ(launch.attributes, std::vector<int>{4});
  EXPECT_EQ(launch.cluster[0], 3u);
  EXPECT_EQ(launch.parameters, (std::vector<uint64_t>{7, 9}));
}

TEST_F(CudaDevice, LaunchesAsTheKernelNeeds) {
  const Device device = open();
  ASSERT_TRUE(kernel(device, "grid_wide").launch({}, {}));
  ASSERT_TRUE(kernel(device, "clustered").launch({.grid = {2}}, {}));
  ASSERT_EQ(state_->launches.size(), 2u);
  EXPECT_EQ(state_->launches[0].attributes, std::vector<int>{2}); // cooperative
  EXPECT_EQ(state_->launches[1].cluster[0], 2u);
}

// Where the driver's compiler may fuse, the bits of the virtual GPU may be others.
TEST_F(CudaDevice, SaysWhereTheDriverMayFuse) {
  const Device device = open();
  const auto fused = kernel(device, "may_be_fused").launch({}, {uint64_t{9}});
  ASSERT_TRUE(fused) << fused.error().text;
  ASSERT_EQ(fused->warnings.size(), 1u);
  EXPECT_NE(fused->warnings[0].find("one fma of a mul and an add:"), std::string::npos) << fused->warnings[0];
  EXPECT_NE(fused->rendered.find("one fma"), std::string::npos);
  const auto other = kernel(device, "clustered").launch({.grid = {2}}, {});
  ASSERT_TRUE(other);
  EXPECT_TRUE(other->warnings.empty());
  const auto as_written = device.load_ptx(kText, {.name = "k.ptx", .optimization = 0});
  ASSERT_TRUE(as_written);
  const auto apart = as_written->kernel("may_be_fused")->launch({}, {uint64_t{9}});
  ASSERT_TRUE(apart);
  EXPECT_TRUE(apart->warnings.empty());
}

// A cluster of one CTA that the launch names is an explicit cluster all the same.
TEST_F(CudaDevice, NamesAClusterWhereTheLaunchDoes) {
  const Device device = open();
  ASSERT_TRUE(kernel(device, "two_parameters").launch({.grid = {3}}, {uint32_t{7}, uint64_t{9}}));
  ASSERT_TRUE(
      kernel(device, "two_parameters").launch({.grid = {3}, .cluster = {1}}, {uint32_t{7}, uint64_t{9}}));
  ASSERT_EQ(state_->launches.size(), 2u);
  EXPECT_EQ(state_->launches[0].attributes, std::vector<int>{});
  EXPECT_EQ(state_->launches[1].attributes, std::vector<int>{4});
  EXPECT_EQ(state_->launches[1].cluster[2], 1u);
}

TEST_F(CudaDevice, RefusesWhatTheDriverRefuses) {
  const Device device = open();
  const auto module = device.load_ptx(std::string(kText) + "// not_for_this_driver\n", {.name = "k.ptx"});
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().kind, ErrorKind::rejected);
  EXPECT_NE(module.error().text.find("CUDA_ERROR_INVALID_PTX"), std::string::npos) << module.error().text;
  EXPECT_NE(module.error().text.find("the fake log"), std::string::npos);
  const auto report = kernel(device, "fault_store").launch({.shared_bytes = 1 << 20}, {});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, ErrorKind::invalid_argument);
  EXPECT_TRUE(state_->launches.empty());
}

TEST_F(CudaDevice, LetsTheDriverEncodeTensorMaps) {
  const Device device = open();
  TensorMap map{.type = TensorType::bf16,
                .address = 0x1000,
                .dims = {64, 32},
                .strides_bytes = {128},
                .box = {16, 8},
                .swizzle = TensorSwizzle::b64,
                .oob_fill = TensorFill::nan,
                .l2_promotion = TensorL2::b128};
  const auto tiled = device.encode(map);
  ASSERT_TRUE(tiled) << tiled.error().text;
  EXPECT_EQ(tiled->bytes(), std::vector<std::byte>(128, std::byte{0x5a}));
  ASSERT_EQ(state_->maps.size(), 1u);
  const fake_cuda::EncodedMap& call = state_->maps[0];
  EXPECT_EQ(call.type, 9); // CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
  EXPECT_EQ(call.swizzle, 2);
  EXPECT_EQ(call.oob_fill, 1);
  EXPECT_EQ(call.l2_promotion, 2);
  EXPECT_EQ(call.address, reinterpret_cast<void*>(0x1000));
  EXPECT_EQ(call.dims, (std::vector<uint64_t>{64, 32}));
  EXPECT_EQ(call.strides, (std::vector<uint64_t>{128}));
  EXPECT_EQ(call.box, (std::vector<uint32_t>{16, 8}));
  EXPECT_EQ(call.element_strides, (std::vector<uint32_t>{1, 1}));

  map = {.type = TensorType::u8, .dims = {64}, .box = {16}}; // the driver wants a pointer to no strides
  EXPECT_TRUE(device.encode(map));

  map = {.type = TensorType::f16, .dims = {64, 9, 3}, .strides_bytes = {128, 1152}};
  map.im2col = TensorIm2col{.lower = {-1}, .upper = {-2}, .channels_per_pixel = 32, .pixels_per_column = 24};
  ASSERT_TRUE(device.encode(map));
  EXPECT_TRUE(state_->maps.back().im2col);
  EXPECT_EQ(state_->maps.back().corners, (std::vector<int>{-1, -2}));
  EXPECT_EQ(state_->maps.back().box, (std::vector<uint32_t>{32, 24}));
}

TEST_F(CudaDevice, RefusesWrongTensorMapsBeforeTheDriver) {
  const Device device = open();
  const auto wrong =
      device.encode({.type = TensorType::f32, .dims = {64, 32}, .strides_bytes = {100}, .box = {4, 4}});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind, ErrorKind::invalid_argument);
  EXPECT_NE(wrong.error().text.find("strides_bytes[0] is 100"), std::string::npos) << wrong.error().text;
  EXPECT_TRUE(state_->maps.empty());
}

TEST_F(CudaDevice, ReportsAFaultAndOpensAnew) {
  const Device device = open();
  auto old_buffer = device.allocate(16);
  const Kernel old_kernel = kernel(device, "fault_store");
  const auto report = old_kernel.launch({}, {});
  ASSERT_TRUE(report) << report.error().text;
  EXPECT_EQ(report->outcome, Outcome::fault);
  EXPECT_EQ(report->fault->kind, FaultKind::out_of_bounds);
  EXPECT_NE(report->rendered.find("CUDA_ERROR_ILLEGAL_ADDRESS"), std::string::npos) << report->rendered;
  EXPECT_EQ(state_->resets, 1);

  // What lived in the lost context says so; new things work.
  std::array<std::byte, 16> bytes{};
  const auto copied = old_buffer->copy_to(bytes);
  ASSERT_FALSE(copied);
  EXPECT_EQ(copied.error().kind, ErrorKind::device_lost);
  EXPECT_EQ(old_kernel.launch({}, {}).error().kind, ErrorKind::device_lost);
  auto new_buffer = device.allocate(16);
  ASSERT_TRUE(new_buffer);
  EXPECT_TRUE(new_buffer->copy_to(bytes));
  EXPECT_TRUE(kernel(device, "two_parameters").launch({}, {uint32_t{0}, *new_buffer}));
}

TEST_F(CudaDevice, SaysSoIfTheDriverDoesNotOpenAnew) {
  state_->reopens_after_fault = false;
  const Device device = open();
  ASSERT_TRUE(kernel(device, "fault_store").launch({}, {}));
  const auto buffer = device.allocate(16);
  ASSERT_FALSE(buffer);
  EXPECT_EQ(buffer.error().kind, ErrorKind::device_lost);
  EXPECT_NE(buffer.error().text.find("started anew"), std::string::npos) << buffer.error().text;
}

} // namespace
} // namespace lemma
