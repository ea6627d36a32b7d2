// A signature of declarations, since the text does not name its maker. See triton.h.
#include "ptx/triton.h"

#include <algorithm>
#include <string>

namespace lemma::ptx {
namespace {

constexpr size_t kScratchPointers = 2;
constexpr uint32_t kWarpThreads = 32;

bool is_global_pointer(const Variable& param) {
  return param.is_pointer && param.pointee_space == StateSpace::global && param.pointee_align == 1;
}

bool is_program(const Function& kernel) {
  const auto is_one = [](uint32_t size) { return size <= 1; };
  const LaunchBounds& bounds = kernel.bounds;
  if (bounds.reqntid[0] == 0 || bounds.reqntid[0] % kWarpThreads != 0 || !is_one(bounds.reqntid[1]) ||
      !is_one(bounds.reqntid[2]) || bounds.explicit_cluster || bounds.blocks_are_clusters ||
      !std::all_of(bounds.reqnctapercluster.begin(), bounds.reqnctapercluster.end(), is_one))
    return false;
  const std::vector<Variable>& params = kernel.params;
  for (size_t i = 0; i < params.size(); ++i)
    if (params[i].name != kernel.name + "_param_" + std::to_string(i))
      return false;
  return params.size() >= kScratchPointers &&
         std::all_of(params.end() - kScratchPointers, params.end(), is_global_pointer);
}

} // namespace

bool has_triton_programs(const Module& module) {
  return std::any_of(module.functions.begin(), module.functions.end(),
                     [](const Function& function) { return function.is_entry && is_program(function); });
}

} // namespace lemma::ptx
