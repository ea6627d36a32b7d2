// Asks the installed library about an instruction, and doubles 64 numbers on the virtual GPU through it.
#include <lemma/lemma.h>

#include <cstdio>
#include <vector>

static constexpr const char* kText = R"(.version 8.0
.target sm_90a
.address_size 64
.visible .entry twice(.param .u64 data)
{
  .reg .b32 %r<3>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [data];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd1, %rd1, %rd2;
  ld.global.u32 %r2, [%rd1];
  add.u32 %r2, %r2, %r2;
  st.global.u32 [%rd1], %r2;
  ret;
}
)";

static int complain(const std::string& text) {
  std::fprintf(stderr, "consumer: %s\n", text.c_str());
  return 1;
}

int main() {
  std::vector<uint32_t> numbers(64);
  for (uint32_t i = 0; i < numbers.size(); ++i)
    numbers[i] = i;

  if (const auto mma = lemma::describe_matrix("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"); !mma)
    return complain(mma.error().text);
  if (const auto modules = lemma::ptx_of_image(std::as_bytes(std::span(kText, 8))); !modules)
    return complain(modules.error().text);
  const auto device = lemma::Device::open("cpu");
  if (!device)
    return complain(device.error().text);
  auto buffer = device->allocate(sizeof(uint32_t) * numbers.size());
  const auto module = device->load_ptx(kText, {.name = "twice.ptx"});
  if (!buffer || !module)
    return complain(buffer ? module.error().text : buffer.error().text);
  const auto kernel = module->kernel("twice");
  if (!kernel || !buffer->copy_from(std::as_bytes(std::span(numbers))))
    return complain("no kernel, or no copy");
  const auto report = kernel->launch({.grid = {1}, .block = {64}}, {*buffer});
  if (!report || !report->ok())
    return complain(report ? report->rendered : report.error().text);
  if (!buffer->copy_to(std::as_writable_bytes(std::span(numbers))))
    return complain("no copy back");
  for (uint32_t i = 0; i < numbers.size(); ++i)
    if (numbers[i] != 2 * i)
      return complain("wrong numbers");
  std::printf("lemma %s: 64 numbers doubled on %s\n", std::string(lemma::version()).c_str(),
              device->info().name.c_str());
  return 0;
}
