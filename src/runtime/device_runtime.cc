// The functions' text in PTX, and where a module's text gets them: at its end, so that no line moves.
#include "runtime/device_runtime.h"

#include <algorithm>
#include <iterator>

namespace lemma::runtime {
namespace {

constexpr std::string_view kNames[] = {"cudaCGGetIntrinsicHandle", "cudaCGSynchronize"};

// Definitions, in the order of kNames.
constexpr std::string_view kFunctions[] = {
    R"(
.func (.param .b64 handle) cudaCGGetIntrinsicHandle(.param .b32 scope)
{
  .reg .pred %other;
  .reg .b32 %scope, %high, %low;
  .reg .b64 %workspace;
  ld.param.b32 %scope, [scope];
  mov.b32 %high, %envreg1;
  mov.b32 %low, %envreg2;
  mov.b64 %workspace, {%low, %high};
  setp.ne.u32 %other, %scope, 1;
  selp.b64 %workspace, 0, %workspace, %other;
  st.param.b64 [handle], %workspace;
  ret;
}
)",
    // The workspace has the barrier's word behind its size. Each CTA adds 1, and the first one what makes the
    // sum 2^31: the highest bit turns when all have come, and the others are as they were.
    R"(
.func (.param .b32 status) cudaCGSynchronize(.param .b64 handle, .param .b32 flags)
{
  .reg .pred %none, %other, %early;
  .reg .b32 %r<8>, %before, %now;
  .reg .b64 %workspace;
  ld.param.b64 %workspace, [handle];
  setp.eq.u64 %none, %workspace, 0;
  @%none bra refused;
  barrier.sync 0;
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %tid.y;
  mov.u32 %r3, %tid.z;
  or.b32 %r1, %r1, %r2;
  or.b32 %r1, %r1, %r3;
  setp.ne.u32 %other, %r1, 0;
  @%other bra wait;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ctaid.y;
  mov.u32 %r3, %ctaid.z;
  or.b32 %r1, %r1, %r2;
  or.b32 %r1, %r1, %r3;
  setp.ne.u32 %other, %r1, 0;
  mov.u32 %r4, %nctaid.x;
  mov.u32 %r5, %nctaid.y;
  mov.u32 %r6, %nctaid.z;
  mul.lo.u32 %r4, %r4, %r5;
  mul.lo.u32 %r4, %r4, %r6;
  sub.u32 %r4, 0x80000001, %r4;
  selp.b32 %r4, 1, %r4, %other;
  atom.add.acq_rel.gpu.u32 %before, [%workspace + 4], %r4;
all:
  ld.acquire.gpu.u32 %now, [%workspace + 4];
  xor.b32 %now, %now, %before;
  setp.ge.s32 %early, %now, 0;
  @%early bra all;
wait:
  barrier.sync 0;
  st.param.b32 [status], 0;
  ret;
refused:
  st.param.b32 [status], 1;
  ret;
}
)"};
static_assert(std::size(kNames) == std::size(kFunctions));

bool is_defined(const ptx::Module& module, std::string_view name) {
  return std::ranges::any_of(module.functions, [&](const ptx::Function& function) {
    return function.name == name && function.has_body;
  });
}

} // namespace

std::span<const std::string_view> device_runtime_names() {
  return kNames;
}

std::optional<std::string> with_device_runtime(const ptx::Module& module) {
  std::optional<std::string> text;
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (is_defined(module, kNames[i]))
      continue;
    bool is_declared = false;
    for (const ptx::Function& function : module.functions) {
      if (function.name != kNames[i] || function.linkage != ptx::Linkage::extern_)
        continue;
      if (!text)
        text.emplace(module.source->text());
      // What is defined here is not .extern.
      constexpr std::string_view kExtern = ".extern";
      if (const size_t at = text->rfind(kExtern, function.range.begin); at != text->npos)
        text->replace(at, kExtern.size(), kExtern.size(), ' ');
      is_declared = true;
    }
    if (is_declared)
      text->append(kFunctions[i]);
  }
  return text;
}

} // namespace lemma::runtime
