#include "run_ptx.h"

#include "ptx/parser.h"
#include "vgpu/program.h"
#include "vgpu/scheduler.h"

#include <gtest/gtest.h>

#include <cstring>

namespace lemma::vgpu {

KernelRun run_body(std::string_view body, LaunchConfig config, size_t out_words,
                   const std::vector<uint32_t>& in, std::string_view before) {
  const std::string text = std::string(".version 8.6\n.target sm_90a\n.address_size 64\n") +
                           std::string(before) +
                           R"(
.visible .entry k(.param .u64 p_out, .param .u64 p_in) {
  .reg .pred %p<10>;
  .reg .b32 %r<100>;
  .reg .b64 %rd<100>;
  .reg .f32 %f<100>;
  .reg .b64 %out, %in;
  .reg .b32 %t;
  ld.param.u64 %out, [p_out];
  ld.param.u64 %in, [p_in];
  mov.u32 %t, %tid.x;
)" + std::string(body) + "\n}\n";
  KernelRun run;
  auto parsed = ptx::parse(std::make_shared<SourceText>("test.ptx", text));
  if (has_errors(parsed.diagnostics)) {
    ADD_FAILURE() << render(parsed.diagnostics, *parsed.module->source);
    return run;
  }
  GlobalMemory memory;
  auto program =
      Program::load(std::shared_ptr<const ptx::Module>(std::move(parsed.module)), memory, Arch{90});
  if (!program) {
    ADD_FAILURE() << program.error().message;
    return run;
  }
  Allocation* out = memory.allocate(out_words * 4, "out");
  Allocation* source = memory.allocate(in.size() * 4 + 4, "in");
  std::memcpy(source->host, in.data(), in.size() * 4);
  const uint64_t params[2] = {out->base, source->base};
  config.params.assign(reinterpret_cast<const std::byte*>(params),
                       reinterpret_cast<const std::byte*>(params + 2));
  if (!config.print)
    config.print = [&run](std::string_view s) { run.printed += s; };
  const Code* entry = (*program)->find("k");
  EXPECT_EQ(check_launch(**program, *entry, config), "");
  run.report = run_launch(**program, *entry, memory, config);
  run.out.resize(out_words);
  std::memcpy(run.out.data(), out->host, out_words * 4);
  return run;
}

} // namespace lemma::vgpu
