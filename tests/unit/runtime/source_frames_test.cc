// Whose a line of the source is. src/runtime/source_frames.cc.
#include "lemma/report.h"

#include <gtest/gtest.h>

namespace lemma {
namespace {

size_t users_of(const std::vector<std::string>& files) {
  Place place;
  place.file = files.front();
  for (size_t i = 1; i < files.size(); ++i)
    place.inlined_at.push_back({.file = files[i], .line = 1, .function = "f"});
  return users_frame(place);
}

TEST(SourceFrames, KnowHeadersOfSystemsToolkitsAndPackages) {
  for (const char* library :
       {"/usr/local/cuda/include/cuda_fp16.hpp",
        "/usr/local/cuda/bin/../targets/x86_64-linux/include/cuda_fp16.hpp",
        "/usr/include/c++/12/bits/stl_algo.h", "/usr/lib/gcc/x86_64-linux-gnu/12/include/stddef.h",
        "/opt/nvidia/hpc_sdk/Linux_x86_64/25.1/cuda/12.6/include/cub/block/block_scan.cuh",
        "/home/me/cuda-13.0/include/cccl/cub/cub.cuh", "cuda/include/cuda_fp16.hpp",
        "/home/me/miniconda3/targets/x86_64-linux/include/cuda_fp16.hpp",
        "/home/me/venv/lib/python3.11/site-packages/nvidia/cuda_runtime/include/cuda_fp16.hpp",
        "/home/me/project/third_party/cutlass/include/cute/atom/mma_atom.hpp",
        "/home/me/project/include/cutlass/pipeline/sm90_pipeline.hpp",
        "/usr/lib/python3/dist-packages/triton/language/standard.py", ""})
    EXPECT_EQ(users_of({library, "k.cu"}), 1u) << library;
  for (const char* own : {"k.cuh", "include/k.cuh", "/home/me/project/include/k.cuh",
                          "../cuda_kernels/include/k.cuh", "/home/me/cutlass/examples/48/k.cu",
                          "/usr/src/app/include/k.cuh", "/usr/local/src/app/k.cu", "/opt/app/include/k.h"})
    EXPECT_EQ(users_of({own, "k.cu"}), 0u) << own;
}

TEST(SourceFrames, TheUsersIsTheInnermostOfItsOwn) {
  const std::string cub = "/usr/local/cuda/include/cub/cub.cuh";
  EXPECT_EQ(users_of({"k.cu"}), 0u);
  EXPECT_EQ(users_of({cub, cub, "lib.cuh", cub, "k.cu"}), 2u);
  EXPECT_EQ(users_of({cub, "/usr/include/k.cu"}), 1u) << "none is the user's: the outermost";
  EXPECT_EQ(users_frame({}), 0u);
  EXPECT_TRUE(frames_of({}).empty());
}

} // namespace
} // namespace lemma
