// Asks a CUDA driver and its GPU for the bytes of tensor maps: what the encoders write, and what
// tensormap.replace makes of a map. README.md says how it is built and run, and what the files hold.
//
//   record OUT    writes OUT/encoded.bin, OUT/edited.bin and OUT/stamp.txt
#include "cases.h"
#include "driver_encode.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <map>
#include <vector>

namespace {

using namespace lemma;
using namespace lemma::tensor_maps;

std::string entry_of(size_t replacement, uint64_t value, bool shared) {
  return "r" + std::to_string(replacement) +
         (kReplacements[replacement].is_immediate ? "_" + std::to_string(value) : "") +
         (shared ? "_shared" : "_global");
}

constexpr const char* kHead = ".version 8.3\n.target sm_90a\n.address_size 64\n";

// A kernel that changes the map at its first parameter.
std::string kernel_text(const std::string& entry, const std::string& instruction, bool shared) {
  std::string text = ".visible .entry " + entry + R"((.param .u64 map, .param .u64 value) {
  .shared .align 128 .b8 copy[128];
  .reg .b64 %map, %value;
  .reg .b32 %value32, %w<4>;
  ld.param.u64 %map, [map];
  cvta.to.global.u64 %map, %map;
  ld.param.u64 %value, [value];
  cvt.u32.u64 %value32, %value;
)";
  for (int at = 0; shared && at < 128; at += 16)
    text += "  ld.global.v4.b32 {%w0, %w1, %w2, %w3}, [%map+" + std::to_string(at) +
            "];\n  st.shared.v4.b32 [copy+" + std::to_string(at) + "], {%w0, %w1, %w2, %w3};\n";
  text += "  " + instruction + "\n";
  for (int at = 0; shared && at < 128; at += 16)
    text += "  ld.shared.v4.b32 {%w0, %w1, %w2, %w3}, [copy+" + std::to_string(at) +
            "];\n  st.global.v4.b32 [%map+" + std::to_string(at) + "], {%w0, %w1, %w2, %w3};\n";
  return text + "  ret;\n}\n";
}

std::string module_text() {
  std::string text = kHead;
  for (size_t r = 0; r < std::size(kReplacements); ++r)
    for (int value = 0; value < std::max(1, kReplacements[r].values); ++value)
      for (const bool shared : {false, true})
        text += kernel_text(entry_of(r, static_cast<uint64_t>(value), shared),
                            text_of(kReplacements[r], value, shared), shared);
  return text;
}

// The context's modules and memory.
struct Session {
  CUmodule module = nullptr;
  CUdeviceptr at = 0;

  explicit Session(const std::string& text) {
    CHECK(cuModuleLoadData(&module, text.c_str()));
    CHECK(cuMemAlloc_v2(&at, 128));
  }

  Bytes run(const std::string& entry, uint64_t value, const Bytes& map) {
    CUfunction function;
    Bytes after;
    CHECK(cuModuleGetFunction(&function, module, entry.c_str()));
    CHECK(cuMemcpyHtoD_v2(at, map.data(), map.size()));
    void* arguments[] = {&at, &value};
    CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr));
    CHECK(cuMemcpyDtoH_v2(after.data(), at, after.size()));
    return after;
  }
};

std::vector<Bytes> edited(Session& session, const std::vector<Encoded>& encoded) {
  std::vector<Bytes> all;
  Bytes map{};
  for (const Edit& edit : edits()) {
    map = base_of(edit, map, encoded);
    map = session.run(entry_of(edit.replacement, edit.value, edit.shared), edit.value, map);
    all.push_back(map);
  }
  return all;
}

// Of cuTensorMapEncodeIm2colWide, with the first corner of the cases of im2col, its two modes in turn.
Encoded encode_wide(const TensorMap& map, int mode) {
  Target to;
  const auto dims = padded(map.dims), strides = padded(map.strides_bytes);
  const auto steps = padded(map.element_strides);
  const CUresult status = cuTensorMapEncodeIm2colWide(
      reinterpret_cast<CUtensorMap*>(&to), static_cast<CUtensorMapDataType>(map.type),
      static_cast<cuuint32_t>(map.dims.size()), reinterpret_cast<void*>(map.address),
      reinterpret_cast<const cuuint64_t*>(dims.data()), reinterpret_cast<const cuuint64_t*>(strides.data()),
      map.im2col->lower[0], map.im2col->upper[0], map.im2col->channels_per_pixel,
      map.im2col->pixels_per_column, steps.data(), static_cast<CUtensorMapInterleave>(map.interleave),
      static_cast<CUtensorMapIm2ColWideMode>(mode), static_cast<CUtensorMapSwizzle>(map.swizzle),
      static_cast<CUtensorMapL2promotion>(map.l2_promotion),
      static_cast<CUtensorMapFloatOOBfill>(map.oob_fill));
  return {static_cast<uint32_t>(status), status == CUDA_SUCCESS ? to.bytes : Bytes{}};
}

// cuTensorMapReplaceAddress, said in words.
void try_addresses(const std::vector<TensorMap>& cases, const std::vector<Encoded>& encoded) {
  std::map<std::string, int> changes;
  for (size_t i = 0; i < 800; ++i)
    for (const uint64_t address : {uint64_t{0x10000}, uint64_t{0x7fff00000010}, uint64_t{8},
                                   (uint64_t{1} << 57) - 32, uint64_t{1} << 57, ~uint64_t{0}}) {
      Target to;
      to.bytes = i % 8 == 7 ? random_map(i) : encoded[i].bytes;
      Target want = to;
      std::memcpy(want.bytes.data(), &address, 8);
      const int status =
          cuTensorMapReplaceAddress(reinterpret_cast<CUtensorMap*>(&to), reinterpret_cast<void*>(address));
      char text[200];
      std::snprintf(text, sizeof text, "%s map, interleave %d, %#llx: %d,",
                    i % 8 == 7          ? "random"
                    : encoded[i].status ? "zero"
                                        : "right",
                    i % 8 == 7 ? 0 : static_cast<int>(cases[i].interleave),
                    static_cast<unsigned long long>(address), status);
      std::string all = text;
      if (to.bytes == want.bytes)
        all += " the first word";
      else if (status == 0)
        for (size_t at = 0; at < 128; at += 8) {
          uint64_t a, b;
          std::memcpy(&a, to.bytes.data() + at, 8);
          std::memcpy(&b, want.bytes.data() + at, 8);
          if (a != b)
            std::snprintf(text, sizeof text, " %zu:%llx->%llx", at / 8, static_cast<unsigned long long>(b),
                          static_cast<unsigned long long>(a)),
                all += text;
        }
      ++changes[all];
    }
  for (const auto& [text, count] : changes)
    std::printf("cuTensorMapReplaceAddress: %s, %d times\n", text.c_str(), count);
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 2)
    return 2;
  const std::string folder = std::string(argv[1]) + "/";
  CHECK(cuInit(0));
  CUdevice device;
  CHECK(cuDeviceGet(&device, 0));
  CUcontext context;
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  Session session(module_text());
  const std::vector<TensorMap> cases = encode_cases();
  std::vector<Encoded> encoded;
  std::map<uint32_t, int> statuses;
  std::ofstream encoded_file(folder + "encoded.bin");
  for (const TensorMap& map : cases) {
    const Encoded& one = encoded.emplace_back(encode(map));
    ++statuses[one.status];
    encoded_file.write(reinterpret_cast<const char*>(&one), sizeof one);
  }
  for (const auto& [status, count] : statuses)
    std::printf("encoded: status %u, %d times\n", status, count);
  std::ofstream edited_file(folder + "edited.bin");
  for (const Bytes& bytes : edited(session, encoded))
    edited_file.write(reinterpret_cast<const char*>(bytes.data()), sizeof bytes);
  char name[256];
  int version;
  CHECK(cuDeviceGetName(name, sizeof name, device));
  CHECK(cuDriverGetVersion(&version));
  const std::time_t now = std::time(nullptr);
  std::ofstream(folder + "stamp.txt") << name << ", driver API " << version << ", " << std::ctime(&now);
  std::ofstream wide_file(folder + "wide.bin");
  for (const TensorMap& map : cases)
    if (map.im2col && !map.im2col->lower.empty())
      for (const int mode : {0, 1}) {
        const Encoded one = encode_wide(map, mode);
        wide_file.write(reinterpret_cast<const char*>(&one), sizeof one);
      }
  wide_file.close();
  try_addresses(cases, encoded);
  // The fifth stride, which no tensor has; last, since it may fault.
  std::fflush(stdout);
  encoded_file.close();
  edited_file.close();
  Session fifth(
      kHead + kernel_text("fifth", "tensormap.replace.tile.global_stride.global.b1024.b64 [%map], 4, %value;",
                          false));
  for (const uint64_t value : {uint64_t{0x10}, uint64_t{0x123456780}, uint64_t{0xabcdef0120}, ~uint64_t{0}})
    for (const uint64_t base : {0, 5}) {
      const Bytes before = base ? random_map(base) : Bytes{}, after = fifth.run("fifth", value, before);
      std::printf("stride 4 = %#llx:", static_cast<unsigned long long>(value));
      for (size_t i = 0; i < before.size(); ++i)
        if (before[i] != after[i])
          std::printf(" %zu:%02x->%02x", i, static_cast<unsigned>(before[i]),
                      static_cast<unsigned>(after[i]));
      std::printf("\n");
    }
}
