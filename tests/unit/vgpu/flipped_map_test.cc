// Loads by right maps with a bit changed, or a few, against what an H200 did with them: whether they end, and
// what is in shared memory then. tests/golden/tensor_maps/README.md says how that was recorded.
#include "cases.h"

#include "kernel.h"
#include "layout/tensor_map.h"
#include "numeric/hash.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace lemma::vgpu {
namespace {

struct Flip {
  std::string bits; // "1.7+1.8": of word 1; "-": none
  int status;       // CUresult
  std::string hash;
};

std::vector<Flip> recorded(const std::string& load) {
  std::ifstream file(LEMMA_RECORDED_MAPS "/flips.txt");
  std::vector<Flip> all;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    Flip flip;
    if (words >> name >> flip.bits >> flip.status >> flip.hash && name == load)
      all.push_back(flip);
  }
  return all;
}

void change(layout::TensorMapBytes& map, const std::string& bits) {
  std::istringstream words(bits);
  int word, bit;
  char point;
  while (words >> word >> point >> bit) {
    const auto at = static_cast<size_t>(64 * word + bit);
    map[at / 8] ^= std::byte{1} << at % 8;
    words >> point; // the plus
  }
}

TEST(FlippedMaps, EndAsOnTheHardware) {
  int finished = 0, faulted = 0;
  for (const tensor_maps::Load& load : tensor_maps::loads()) {
    const std::vector<Flip> flips = recorded(load.name);
    EXPECT_FALSE(flips.empty()) << load.name;
    Kernel kernel(tensor_maps::kLoadHead + tensor_maps::text_of(load));
    kernel.config().block = {256, 1, 1};
    kernel.config().shared_bytes = tensor_maps::kLoadSharedBytes;
    const uint64_t memory = kernel.buffer(tensor_maps::load_memory(), "memory");
    const uint64_t at = kernel.buffer(std::vector<std::byte>(layout::kTensorMapBytes), "map");
    const uint64_t out = kernel.buffer(std::vector<std::byte>(tensor_maps::kLoadSharedBytes), "out");
    TensorMap right = load.map;
    right.address = memory + tensor_maps::kLoadTensorAt;
    for (const Flip& flip : flips) {
      layout::TensorMapBytes map = layout::encode(right);
      change(map, flip.bits);
      std::memcpy(kernel.memory().find(at)->host, map.data(), map.size());
      const Report report = kernel.run({at, out});
      ++(report.ok() ? finished : faulted);
      EXPECT_EQ(report.ok(), flip.status == 0) << load.name << ' ' << flip.bits << ": " << fault_text(report);
      if (!report.ok() || flip.status != 0)
        continue;
      const auto hash = numeric::hash128(kernel.memory().find(out)->host, tensor_maps::kLoadSharedBytes);
      EXPECT_EQ(numeric::to_string(hash).substr(0, 16), flip.hash) << load.name << ' ' << flip.bits;
    }
  }
  EXPECT_GE(finished, 800);
  EXPECT_GE(faulted, 200);
}

} // namespace
} // namespace lemma::vgpu
