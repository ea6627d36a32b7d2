// Occupancy: by hand for one machine, by CUDA's own calculation for all, by the scheduler for a launch.
#include "isa/machine.h"
#include "lemma/lemma.h"
#include "vgpu/code/machine.h"

#ifdef LEMMA_HAVE_CUDA_OCCUPANCY_H
#include <climits>
#include <cuda_occupancy.h>
#endif

#include <gtest/gtest.h>

#include <array>

namespace lemma {
namespace {

constexpr uint32_t kAny = UINT32_MAX;

Occupancy of(const CtaDemand& cta, std::string_view arch = "sm_90a") {
  const auto found = occupancy(cta, arch);
  EXPECT_TRUE(found) << found.error().text;
  return found ? *found : Occupancy();
}

TEST(Occupancy, WhatLimitsAnH200) {
  const Occupancy warps = of({.threads = 1000});
  EXPECT_EQ(warps.ctas_per_sm, 2u);
  EXPECT_EQ(warps.warps_per_sm, 64u);
  EXPECT_EQ(warps.most_warps_per_sm, 64u);
  EXPECT_EQ(warps.sm_count, 132u);
  EXPECT_EQ(warps.by_registers, kAny);
  EXPECT_EQ(warps.limited_by(), "warps");
  EXPECT_EQ(of({.threads = 1}).ctas_per_sm, 32u);
  EXPECT_EQ(of({.threads = 1}).limited_by(), "CTAs");
  EXPECT_EQ(of({.threads = 64}).limited_by(), "warps, CTAs");
  // 1 KiB of each CTA is the system's: 4 x 57 KiB is all that there is.
  EXPECT_EQ(of({.threads = 128, .shared_bytes = 56 * 1024}).ctas_per_sm, 4u);
  EXPECT_EQ(of({.threads = 128, .shared_bytes = 56 * 1024 + 1}).ctas_per_sm, 3u);
  EXPECT_EQ(of({.threads = 128, .shared_bytes = 227 * 1024}).limited_by(), "shared memory");
  EXPECT_EQ(of({.threads = 128, .shared_bytes = 227 * 1024 + 1}).ctas_per_sm, 0u);
  EXPECT_EQ(of({.threads = 128, .shared_bytes = UINT64_MAX}).ctas_per_sm, 0u);
  // 12 warps of 168 x 32 registers: a partition has room for 3, the SM for 12.
  EXPECT_EQ(of({.threads = 384, .registers = 168}).ctas_per_sm, 1u);
  EXPECT_EQ(of({.threads = 384, .shared_bytes = 196672, .registers = 168}).limited_by(),
            "shared memory, registers");
  EXPECT_EQ(of({.threads = 1024, .registers = 65}).ctas_per_sm, 0u);
}

TEST(Occupancy, ClustersOfTheWholeGpu) {
  EXPECT_EQ(*active_clusters({.threads = 384, .shared_bytes = 196672}, 2, "sm_90"), 66u);
  EXPECT_EQ(*active_clusters({.threads = 1024}, 16, "sm_90"), 16u);
  EXPECT_EQ(*active_clusters({.threads = 1024}, 1, "sm_80"), 216u);
  EXPECT_EQ(active_clusters({.threads = 1024}, 2, "sm_80").error().text,
            "a cluster of 2 CTAs: legal on sm_80 are 1 to 1");
  EXPECT_FALSE(active_clusters({.threads = 1024}, 17, "sm_90"));
  EXPECT_FALSE(active_clusters({.threads = 1024}, 0, "sm_90"));
}

TEST(Occupancy, TheLargestBlockOfTheFullest) {
  const auto full = best_block_size([](uint32_t) { return CtaDemand{}; }, 1024, "sm_90");
  ASSERT_TRUE(full);
  EXPECT_EQ(full->threads, 1024u);
  EXPECT_EQ(full->occupancy.ctas_per_sm, 2u);
  // sm_89 holds 48 warps: 24 twice.
  EXPECT_EQ(best_block_size([](uint32_t) { return CtaDemand{}; }, 1024, "sm_89")->threads, 768u);
  const auto shared = best_block_size(
      [](uint32_t threads) { return CtaDemand{.shared_bytes = uint64_t{threads} * 400, .registers = 40}; },
      1000, "sm_90");
  ASSERT_TRUE(shared);
  EXPECT_EQ(shared->threads % 32, 0u);
  EXPECT_EQ(
      best_block_size([](uint32_t) { return CtaDemand{.shared_bytes = 1 << 20}; }, 1024, "sm_90")->threads,
      0u);
  EXPECT_EQ(best_block_size([](uint32_t) { return CtaDemand{}; }, 20, "sm_90")->threads, 20u);
  EXPECT_FALSE(best_block_size([](uint32_t) { return CtaDemand{}; }, 1025, "sm_90"));
}

TEST(Occupancy, TheDynamicSharedMemoryThatIsLeftJustFits) {
  for (const isa::Machine& machine : isa::modelled_machines()) {
    const std::string arch = isa::to_string(isa::fullest_target(machine));
    for (const uint64_t fixed : {0, 1, 1000, 9000})
      for (uint32_t ctas = 1; ctas <= of({.threads = 64, .shared_bytes = fixed}, arch).ctas_per_sm; ++ctas) {
        const auto left = available_dynamic_shared_bytes({.threads = 64, .shared_bytes = fixed}, ctas, arch);
        ASSERT_TRUE(left) << arch << ": " << left.error().text;
        const uint64_t all = fixed + *left;
        EXPECT_GE(of({.threads = 64, .shared_bytes = all}, arch).ctas_per_sm, ctas) << arch;
        EXPECT_LT(of({.threads = 64, .shared_bytes = all + 1}, arch).ctas_per_sm, ctas) << arch;
      }
  }
  EXPECT_EQ(available_dynamic_shared_bytes({.threads = 1024}, 3, "sm_90").error().text,
            "3 CTAs on an SM: 2 fit, for warps");
}

TEST(Occupancy, WrongArguments) {
  for (const char* const arch : {"", "sm_91", "sm_52", "h100"})
    EXPECT_EQ(occupancy({.threads = 32}, arch).error().kind, ErrorKind::invalid_argument) << arch;
  EXPECT_EQ(occupancy({.threads = 0}, "sm_90").error().text, "a CTA of 0 threads: legal are 1 to 1024");
  EXPECT_FALSE(occupancy({.threads = 1025}, "sm_90"));
  EXPECT_FALSE(occupancy({.threads = 32, .registers = 256}, "sm_90"));
}

// A cooperative grid of that many CTAs runs, of one more does not.
TEST(Occupancy, TheVirtualGpuKeepsAsManyResident) {
  const auto device = Device::open("cpu", {.arch = "sm_90"});
  const auto module = device->load_ptx(".version 8.0\n.target sm_90\n.address_size 64\n"
                                       ".visible .entry k() { .shared .b8 s[1000]; ret; }\n");
  ASSERT_TRUE(module) << module.error().text;
  const CtaDemand cta{.threads = 96, .shared_bytes = 1008 + 40000}; // dynamic memory begins at 16 bytes
  const Occupancy found = of(cta);
  const uint32_t most = found.ctas_per_sm * found.sm_count;
  LaunchConfig config{.grid = {most}, .block = {96}, .shared_bytes = 40000, .cooperative = true};
  EXPECT_TRUE(module->kernel("k")->launch(config, {}));
  config.grid = {most + 1};
  EXPECT_FALSE(module->kernel("k")->launch(config, {}));
}

TEST(Occupancy, CudaCountsTheSame) {
#ifndef LEMMA_HAVE_CUDA_OCCUPANCY_H
  GTEST_SKIP() << "no CUDA toolkit";
#else
  uint64_t compared = 0;
  for (const isa::Machine& machine : isa::modelled_machines()) {
    const vgpu::MachineLimits limits = vgpu::limits_of(vgpu::Arch{machine.sm});
    const std::string arch = isa::to_string(isa::fullest_target(machine));
    cudaOccDeviceProp properties;
    properties.computeMajor = machine.sm / 10;
    properties.computeMinor = machine.sm % 10;
    properties.maxThreadsPerBlock = 1024;
    properties.maxThreadsPerMultiprocessor = static_cast<int>(limits.threads_per_sm);
    properties.regsPerBlock = properties.regsPerMultiprocessor = 65536;
    properties.warpSize = 32;
    properties.sharedMemPerBlock = 48 * 1024;
    properties.sharedMemPerMultiprocessor = limits.shared_bytes_per_sm;
    properties.numSms = static_cast<int>(limits.sm_count);
    properties.sharedMemPerBlockOptin = limits.max_shared_bytes_per_cta;
    properties.reservedSharedMemPerBlock = limits.reserved_shared_bytes;
    cudaOccDeviceState state;
    state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
    cudaOccFuncAttributes attributes;
    attributes.maxThreadsPerBlock = INT_MAX;
    attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    attributes.maxDynamicSharedSizeBytes = limits.max_shared_bytes_per_cta;
    if (cudaOccResult result{};
        cudaOccMaxActiveBlocksPerMultiprocessor(&result, &properties, &attributes, &state, 32, 0) ==
        CUDA_OCC_ERROR_UNKNOWN_DEVICE)
      continue; // newer than this toolkit
    for (const int registers : {0, 1, 16, 24, 32, 40, 63, 64, 65, 96, 128, 168, 200, 255}) {
      attributes.numRegs = registers;
      for (const size_t shared :
           {0, 1, 1024, 8000, 10240, 33000, 48 * 1024, 65536, 80000, 100000, 160000, 232448}) {
        if (shared > limits.max_shared_bytes_per_cta)
          continue;
        for (int threads = 1; threads <= 1024; threads += threads < 128 ? 31 : 32) {
          cudaOccResult result{};
          ASSERT_EQ(cudaOccMaxActiveBlocksPerMultiprocessor(&result, &properties, &attributes, &state,
                                                            threads, shared),
                    CUDA_OCC_SUCCESS)
              << arch;
          const CtaDemand cta{static_cast<uint32_t>(threads), shared, static_cast<uint32_t>(registers)};
          ASSERT_EQ(of(cta, arch).ctas_per_sm, static_cast<uint32_t>(result.activeBlocksPerMultiprocessor))
              << arch << ' ' << threads << ' ' << shared << ' ' << registers;
          ++compared;
        }
        int grid = 0, block = 0;
        ASSERT_EQ(cudaOccMaxPotentialOccupancyBlockSize(&grid, &block, &properties, &attributes, &state,
                                                        nullptr, shared),
                  CUDA_OCC_SUCCESS);
        const auto best = best_block_size(
            [&](uint32_t) {
              return CtaDemand{.shared_bytes = shared, .registers = static_cast<uint32_t>(registers)};
            },
            1024, arch);
        ASSERT_TRUE(best);
        EXPECT_EQ(best->threads, static_cast<uint32_t>(block)) << arch << ' ' << shared << ' ' << registers;
        EXPECT_EQ(best->occupancy.ctas_per_sm * best->occupancy.sm_count, static_cast<uint32_t>(grid));
      }
    }
  }
  EXPECT_GT(compared, 50000u);
#endif
}

} // namespace
} // namespace lemma
