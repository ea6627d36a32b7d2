// What an image gives to run: the choice, and what is said where there is nothing.
#include "images.h"

#include "image/elf.h"
#include "image/fatbin.h"
#include "lemma/lemma.h"

#include <array>
#include <cmath>

namespace lemma::image {
namespace {

std::vector<ImagePtx> modules_of(const std::string& file, const std::string& arch = {}) {
  auto found = ptx_of_image(image_file(file), {.arch = arch, .name = file});
  EXPECT_TRUE(found) << found.error().text;
  return found ? *std::move(found) : std::vector<ImagePtx>();
}

std::string text_of(const std::string& file, const std::string& arch = {}) {
  const std::vector<ImagePtx> modules = modules_of(file, arch);
  EXPECT_EQ(modules.size(), 1u);
  return modules.empty() ? "" : modules.front().text;
}

Error error_of(const std::string& file, const std::string& arch = {}) {
  const auto found = ptx_of_image(image_file(file), {.arch = arch, .name = file});
  EXPECT_FALSE(found) << file;
  return found ? Error() : found.error();
}

bool says(const Error& error, const std::string& text) {
  return error.text.find(text) != std::string::npos;
}

// What 32 threads make of 0, 1, 2, ...
std::vector<float> run(const std::string& text, const std::string& kernel, std::vector<Argument> more = {}) {
  const auto device = Device::open("cpu");
  const auto module = device->load_ptx(text);
  if (!module) {
    ADD_FAILURE() << module.error().text << text;
    return {};
  }
  std::vector<float> values(32);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i);
  auto x = device->allocate(values.size() * sizeof(float));
  EXPECT_TRUE(x->copy_from(std::as_bytes(std::span(values))));
  std::vector<Argument> arguments{*x};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const auto report = module->kernel(kernel)->launch({.grid = {1}, .block = {32}}, arguments);
  EXPECT_TRUE(report && report->ok()) << (report ? report->rendered : report.error().text);
  EXPECT_TRUE(x->copy_to(std::as_writable_bytes(std::span(values))));
  return values;
}

TEST(Image, FatbinsOfEveryCompressionHoldTheSameText) {
  const std::string plain = text_of("plain.fatbin");
  EXPECT_EQ(text_of("zstd.fatbin"), plain);
  EXPECT_EQ(text_of("lz4.fatbin"), plain);
  EXPECT_EQ(run(plain, "scale", {3.0f})[5], 15.0f);
}

TEST(Image, TheHighestTargetThatTheMachineRuns) {
  const auto target = [](const std::string& arch) {
    const std::string text = text_of("several.fatbin", arch);
    const size_t at = text.find(".target ") + 8;
    return text.substr(at, text.find('\n', at) - at);
  };
  EXPECT_EQ(target("sm_90"), "sm_90a");
  EXPECT_EQ(target("sm_90a"), "sm_90a");
  EXPECT_EQ(target("sm_100a"), "sm_100f");
  EXPECT_EQ(target("sm_103a"), "sm_100f");
  EXPECT_EQ(target("sm_120"), "sm_75"); // neither another family's nor sm_90a's alone
  EXPECT_EQ(target("sm_75"), "sm_75");
  EXPECT_EQ(target("sm_89"), "sm_80"); // the cubin's own text, in its major number
  EXPECT_EQ(target(""), "sm_100f");
  EXPECT_EQ(run(text_of("several.fatbin", "sm_90"), "scale", {2.0f})[3], 6.0f);
}

TEST(Image, CubinsWithTheirPtx) {
  for (const char* const file : {"lineinfo.cubin", "old.cubin", "lineinfo.fatbin"}) {
    SCOPED_TRACE(file);
    EXPECT_EQ(run(text_of(file, "sm_90"), "scale", {2.0f})[31], 62.0f);
  }
  // Machine code does not run on what comes later, PTX would.
  EXPECT_EQ(error_of("lineinfo.cubin", "sm_100a").kind, ErrorKind::unsupported);
}

TEST(Image, HostFilesHaveModules) {
  const std::vector<ImagePtx> modules = modules_of("modules.elf", "sm_90a");
  ASSERT_EQ(modules.size(), 2u);
  EXPECT_EQ(modules[1].name, "modules.elf(2)");
  EXPECT_EQ(run(modules[0].text, "first")[4], 5.0f);
  EXPECT_EQ(run(modules[1].text, "second")[4], 12.0f);
}

TEST(Image, RelocatablePtxIsLinked) {
  EXPECT_EQ(run(text_of("relocatable.elf", "sm_90"), "doubles")[7], 14.0f);
}

TEST(Image, NoPtxSaysWhatThereIsAndWhatToDo) {
  const Error cubin = error_of("no_ptx.fatbin", "sm_90");
  EXPECT_EQ(cubin.kind, ErrorKind::unsupported);
  EXPECT_EQ(cubin.text,
            "no_ptx.fatbin: there is no PTX that sm_90 runs; it holds a cubin for sm_90a\n"
            "nvcc -gencode arch=compute_90a,code=compute_90a puts PTX into a program or fatbin, and "
            "-lineinfo (nvcc, ptxas, NVRTC, nvJitLink) into a cubin");
  EXPECT_TRUE(says(error_of("no_ptx.cubin", "sm_90"), "it holds a cubin for sm_90\n"));
  EXPECT_TRUE(says(error_of("no_ptx.cubin"), "there is no PTX; it holds a cubin for sm_90\n"));
  EXPECT_TRUE(says(error_of("lto.fatbin"), "it holds LTO IR for sm_90\nnvcc -gencode arch=compute_90,code"));
  EXPECT_TRUE(says(error_of("plain.fatbin", "sm_80"), "no PTX that sm_80 runs; it holds PTX for sm_90\n"
                                                      "nvcc -gencode arch=compute_80,code=compute_80 "));
  const Error machine = error_of("plain.fatbin", "sm_91");
  EXPECT_EQ(machine.kind, ErrorKind::invalid_argument);
  EXPECT_TRUE(says(machine, "sm_91"));
}

TEST(Image, TextIsGivenBack) {
  const std::string text = ".version 8.0\n.target sm_90\n";
  const auto bytes = std::as_bytes(std::span(text));
  EXPECT_FALSE(is_image(bytes));
  EXPECT_EQ(ptx_of_image(bytes, {})->front().text, text);
  EXPECT_EQ(ptx_of_module_data(text.c_str())->text, text);
  EXPECT_EQ(ptx_of_module_data("")->text, "");
  EXPECT_EQ(ptx_of_module_data(nullptr).error().kind, ErrorKind::invalid_argument);
  for (const char* const file : {"zstd.fatbin", "lineinfo.cubin", "modules.elf"})
    EXPECT_TRUE(is_image(image_file(file)));
}

// --- pointers

struct Wrapper {
  uint32_t magic = 0x466243b1, version = 1;
  const void* fatbin = nullptr;
  const void* const* parts = nullptr;
};

std::string text_at(const void* image, const std::string& arch = "sm_90a") {
  const auto found = ptx_of_module_data(image, {.arch = arch, .name = "image"});
  EXPECT_TRUE(found) << found.error().text;
  return found ? found->text : "";
}

TEST(ModuleData, FatbinsCubinsAndWrappers) {
  const Contents fatbin = image_file("zstd.fatbin"), cubin = image_file("lineinfo.cubin");
  const std::string text = text_of("zstd.fatbin");
  EXPECT_EQ(text_at(fatbin.data()), text);
  EXPECT_EQ(text_at(cubin.data()), text_of("lineinfo.cubin"));
  Wrapper wrapper{.fatbin = fatbin.data()};
  EXPECT_EQ(text_at(&wrapper), text);
  const void* const no_parts[] = {nullptr};
  wrapper = {.version = 2, .fatbin = fatbin.data(), .parts = no_parts};
  EXPECT_EQ(text_at(&wrapper), text);
}

TEST(ModuleData, RelocatablePartsOfAWrapperAreLinked) {
  const Contents file = image_file("relocatable.elf"), linked = image_file("no_ptx.fatbin");
  const auto elf = read_elf(file);
  ASSERT_TRUE(elf) << elf.error();
  const Bytes both = elf->section("__nv_relfatbin");
  const auto first = read_fatbin(both);
  ASSERT_TRUE(first);
  const void* const parts[] = {both.data(), both.data() + first->size_bytes, nullptr};
  Wrapper wrapper{.version = 2, .fatbin = linked.data(), .parts = parts};
  EXPECT_EQ(run(text_at(&wrapper), "doubles")[9], 18.0f);

  const void* const caller[] = {parts[0],
                                nullptr}; // one is taken as it is: that a name is missing, loading says
  wrapper.parts = caller;
  EXPECT_NE(text_at(&wrapper).find(".extern"), std::string::npos);
  const void* const twice[] = {parts[0], parts[0], nullptr};
  wrapper.parts = twice;
  const auto rejected = ptx_of_module_data(&wrapper, {.arch = "sm_90", .name = "image"});
  ASSERT_FALSE(rejected);
  EXPECT_EQ(rejected.error().kind, ErrorKind::rejected);
  EXPECT_FALSE(rejected.error().messages.empty());
  wrapper.version = 1; // has no parts
  EXPECT_EQ(ptx_of_module_data(&wrapper).error().kind, ErrorKind::unsupported);
}

TEST(ModuleData, OddOnesAreRefused) {
  const Contents host = image_file("modules.elf");
  const auto refused = [](const void* image, const std::string& text) {
    const auto found = ptx_of_module_data(image, {.name = "image"});
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().kind, ErrorKind::invalid_argument);
    EXPECT_TRUE(says(found.error(), text)) << found.error().text;
  };
  refused(host.data(), "another machine");
  Wrapper wrapper{.fatbin = host.data()};
  refused(&wrapper, "no fatbin");
  wrapper.fatbin = nullptr;
  refused(&wrapper, "no fatbin");
  wrapper.version = 3;
  refused(&wrapper, "version 3");
  Contents cubin = image_file("lineinfo.cubin");
  put(cubin, 40, uint64_t{1} << 60); // where its sections are
  refused(cubin.data(), "headers");
}

} // namespace
} // namespace lemma::image
