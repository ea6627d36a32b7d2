// The frame around a body: declares registers %p, %r, %rd and %f, loads both pointers into %out and %in and
// the thread's index into %t.
#include "run_ptx.h"

namespace lemma::vgpu {

KernelRun run_body(std::string_view body, LaunchConfig config, size_t out_words,
                   const std::vector<uint32_t>& in, std::string_view before) {
  const std::string text = std::string(before) +
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
  Kernel kernel(text);
  if (!config.print)
    config.print = [&run](std::string_view s) { run.printed += s; };
  kernel.config() = std::move(config);
  std::vector<uint32_t> source = in;
  source.push_back(0);
  const uint64_t out = kernel.buffer(std::vector<uint32_t>(out_words), "out");
  run.report = kernel.run({out, kernel.buffer(source, "in")});
  run.out = kernel.read<uint32_t>(out, out_words);
  return run;
}

} // namespace lemma::vgpu
