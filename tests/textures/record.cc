// Runs every case of cases.cc on the device that libcuda.so.1 has, and writes what came out, or compares it
// with a record.
//
//   texture_record OUT [PREFIX [AFTER]]   OUT/results.bin: the kept words of each case, one case after the
//   other;
//                                         OUT/index.txt: a line a case: name, words, their hash, a hash for
//                                         each 1024 held fetches. AFTER: goes on behind that case; on a fault
//                                         it ends with status 3
//   texture_record --check INDEX [PREFIX] runs the cases and compares their lines
//
// PREFIX: only cases whose names begin so.
//
// The same program, made with cuda.h and NVIDIA's driver, makes the record: docs/textures.md.
#include "case.h"
#include "kernels.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>

namespace {

using namespace textures;

void must(CUresult status, const std::string& what) {
  if (status == CUDA_SUCCESS)
    return;
  const char* name = nullptr;
  cuGetErrorName(status, &name);
  throw std::runtime_error(what + ": " + (name ? name : "an unknown error"));
}

uint64_t hash_of(const std::vector<uint32_t>& words) {
  uint64_t hash = words.size();
  for (const uint32_t word : words)
    hash = Random::mix(hash ^ word) + 0x9e3779b97f4a7c15;
  return hash;
}

CUfunction function_of(const std::string& instruction) {
  static std::map<std::string, CUfunction> functions;
  CUfunction& function = functions[instruction];
  if (function)
    return function;
  CUmodule module = nullptr;
  std::string log(4096, '\0');
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
  must(cuModuleLoadDataEx(&module, kernel_text(instruction).c_str(), 2, options, values),
       instruction + ": " + log.c_str());
  must(cuModuleGetFunction(&function, module, "fetch"), instruction);
  return function;
}

class Memory {
public:
  explicit Memory(size_t bytes) { must(cuMemAlloc_v2(&address_, std::max<size_t>(bytes, 16)), "cuMemAlloc"); }
  ~Memory() { cuMemFree_v2(address_); }
  Memory(const Memory&) = delete;
  CUdeviceptr operator*() const { return address_; }

private:
  CUdeviceptr address_ = 0;
};

// The texture or surface of a case.
class Resource {
public:
  explicit Resource(const Case& c) : case_(c) {
    CUDA_RESOURCE_DESC resource{};
    if (c.shape == Shape::linear) {
      make_linear(resource);
    } else if (c.shape == Shape::pitch) {
      make_pitch(resource);
    } else {
      make_array();
      resource.resType = CU_RESOURCE_TYPE_ARRAY;
      resource.res.array.hArray = array_;
    }
    fill();
    if (c.surface) {
      must(cuSurfObjectCreate(&handle_, &resource), "cuSurfObjectCreate");
      return;
    }
    CUDA_TEXTURE_DESC texture{};
    std::copy_n(c.modes, 3, texture.addressMode);
    texture.filterMode = c.filter;
    texture.flags = c.flags;
    std::copy_n(c.border, 4, texture.borderColor);
    must(cuTexObjectCreate(&handle_, &resource, &texture, nullptr), "cuTexObjectCreate");
  }
  ~Resource() {
    if (handle_)
      case_.surface ? cuSurfObjectDestroy(handle_) : cuTexObjectDestroy(handle_);
    if (array_)
      cuArrayDestroy(array_);
  }
  Resource(const Resource&) = delete;

  unsigned long long handle() const { return handle_; }

  void fill() {
    std::vector<unsigned char> texels = texels_of(case_);
    move(texels, true);
  }
  // The surface's bytes, in words.
  std::vector<uint32_t> contents() {
    std::vector<unsigned char> texels(texels_of(case_).size());
    move(texels, false);
    std::vector<uint32_t> words((texels.size() + 3) / 4);
    std::memcpy(words.data(), texels.data(), texels.size());
    return words;
  }

private:
  void make_linear(CUDA_RESOURCE_DESC& resource) {
    memory_ = std::make_unique<Memory>(size_t{case_.width} * element_bytes(case_));
    resource.resType = CU_RESOURCE_TYPE_LINEAR;
    resource.res.linear.devPtr = **memory_;
    resource.res.linear.format = case_.format;
    resource.res.linear.numChannels = case_.channels;
    resource.res.linear.sizeInBytes = size_t{case_.width} * element_bytes(case_);
  }
  void make_pitch(CUDA_RESOURCE_DESC& resource) {
    pitch_ = (size_t{case_.width} * element_bytes(case_) + 127) / 64 * 64;
    memory_ = std::make_unique<Memory>(pitch_ * case_.height);
    resource.resType = CU_RESOURCE_TYPE_PITCH2D;
    resource.res.pitch2D.devPtr = **memory_;
    resource.res.pitch2D.format = case_.format;
    resource.res.pitch2D.numChannels = case_.channels;
    resource.res.pitch2D.width = case_.width;
    resource.res.pitch2D.height = case_.height;
    resource.res.pitch2D.pitchInBytes = pitch_;
  }
  void make_array() {
    CUDA_ARRAY3D_DESCRIPTOR array{};
    array.Width = case_.width;
    array.Height = case_.height;
    array.Depth = case_.depth;
    array.Format = case_.format;
    array.NumChannels = case_.channels;
    const Shape shape = case_.shape;
    array.Flags = (shape == Shape::a1d || shape == Shape::a2d || shape == Shape::acube ? 1u : 0u) |
                  (case_.surface ? 2u : 0u) | (shape == Shape::cube || shape == Shape::acube ? 4u : 0u) |
                  (case_.instruction.starts_with("tld4") ? 8u : 0u);
    must(cuArray3DCreate_v2(&array_, &array), "cuArray3DCreate");
  }
  void move(std::vector<unsigned char>& texels, bool in) {
    const size_t row = size_t{case_.width} * element_bytes(case_);
    if (case_.shape == Shape::linear) {
      must(in ? cuMemcpyHtoD_v2(**memory_, texels.data(), row)
              : cuMemcpyDtoH_v2(texels.data(), **memory_, row),
           "copy");
      return;
    }
    CUDA_MEMCPY3D copy{};
    copy.WidthInBytes = row;
    copy.Height = std::max(case_.height, 1u);
    copy.Depth = std::max(case_.depth, 1u);
    if (in) {
      copy.srcMemoryType = CU_MEMORYTYPE_HOST;
      copy.srcHost = texels.data();
      copy.srcPitch = row;
      copy.srcHeight = copy.Height;
      copy.dstMemoryType = array_ ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_DEVICE;
      copy.dstArray = array_;
      copy.dstDevice = memory_ ? **memory_ : 0;
      copy.dstPitch = pitch_;
      copy.dstHeight = copy.Height;
    } else {
      copy.dstMemoryType = CU_MEMORYTYPE_HOST;
      copy.dstHost = texels.data();
      copy.dstPitch = row;
      copy.dstHeight = copy.Height;
      copy.srcMemoryType = array_ ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_DEVICE;
      copy.srcArray = array_;
      copy.srcDevice = memory_ ? **memory_ : 0;
      copy.srcPitch = pitch_;
      copy.srcHeight = copy.Height;
    }
    must(cuMemcpy3D_v2(&copy), "cuMemcpy3D");
  }

  const Case& case_;
  CUarray array_ = nullptr;
  std::unique_ptr<Memory> memory_;
  size_t pitch_ = 0;
  unsigned long long handle_ = 0;
};

std::vector<uint32_t> run(const Case& c, Resource& resource, const std::vector<uint32_t>& fetches) {
  unsigned count = static_cast<unsigned>(fetches.size() / kFetchWords);
  const Memory in(fetches.size() * 4), out(size_t{count} * kResultWords * 4);
  must(cuMemcpyHtoD_v2(*in, fetches.data(), fetches.size() * 4), "copy");
  must(cuMemsetD8_v2(*out, 0, size_t{count} * kResultWords * 4), "fill");
  if (c.stores)
    resource.fill();
  unsigned long long handle = resource.handle();
  CUdeviceptr in_address = *in, out_address = *out;
  void* arguments[] = {&handle, &in_address, &out_address, &count};
  const unsigned blocks = c.stores ? 1 : std::min((count + 127) / 128, 8u), threads = c.stores ? 1 : 128;
  must(
      cuLaunchKernel(function_of(c.instruction), blocks, 1, 1, threads, 1, 1, 0, nullptr, arguments, nullptr),
      "launch");
  must(cuCtxSynchronize(), "kernel");
  if (c.stores)
    return resource.contents();
  std::vector<uint32_t> results(size_t{count} * kResultWords), kept;
  must(cuMemcpyDtoH_v2(results.data(), *out, results.size() * 4), "copy");
  for (size_t i = 0; i < results.size(); ++i)
    if (i % kResultWords < c.words)
      kept.push_back(results[i]);
  return kept;
}

struct Outcome {
  std::vector<uint32_t> kept;
  std::string line; // of the index
};

Outcome outcome_of(const Case& c) {
  Resource resource(c);
  Outcome outcome{run(c, resource, kept_fetches(c)), {}};
  char text[32];
  std::snprintf(text, sizeof text, " %zu %016llx", outcome.kept.size(),
                static_cast<unsigned long long>(hash_of(outcome.kept)));
  outcome.line = c.name + text;
  for (unsigned part = 0; part < c.held / 1024; ++part) {
    std::snprintf(text, sizeof text, " %016llx",
                  static_cast<unsigned long long>(hash_of(run(c, resource, held_fetches(c, part)))));
    outcome.line += text;
  }
  return outcome;
}

int record(const std::string& folder, const std::string& filter, const std::string& after) {
  const auto mode = after.empty() ? std::ios::out | std::ios::binary : std::ios::app | std::ios::binary;
  std::ofstream index(folder + "/index.txt", mode), results(folder + "/results.bin", mode);
  bool begun = after.empty();
  for (const Case& c : all_cases()) {
    if (c.name.find(filter) != 0)
      continue;
    if (!begun) {
      begun = c.name == after;
      continue;
    }
    try {
      const Outcome outcome = outcome_of(c);
      index << outcome.line << "\n";
      results.write(reinterpret_cast<const char*>(outcome.kept.data()),
                    static_cast<std::streamsize>(outcome.kept.size() * 4));
    } catch (const std::exception& e) {
      index << c.name << " 0 failed: " << e.what() << "\n";
      if (cuCtxSynchronize() != CUDA_SUCCESS) {
        std::cout << c.name << "\n";
        return 3;
      }
    }
    index.flush();
    results.flush();
  }
  return 0;
}

// Every case of the list has its line in the index, and says the same.
int check(const std::string& path, const std::string& prefix) {
  std::ifstream index(path);
  std::map<std::string, std::string> wanted;
  for (std::string line; std::getline(index, line);)
    if (!line.empty() && line[0] != '#' && line.starts_with(prefix))
      wanted[line.substr(0, line.find(' '))] = line;
  size_t same = 0, different = 0;
  const auto tell = [&](const std::string& name, const std::string& what) {
    if (++different <= 40)
      std::cerr << name << ": " << what << "\n";
  };
  for (const Case& c : all_cases()) {
    if (!c.name.starts_with(prefix))
      continue;
    const auto found = wanted.find(c.name);
    if (found == wanted.end()) {
      tell(c.name, "not in " + path);
      continue;
    }
    try {
      const std::string got = outcome_of(c).line;
      got == found->second ? void(++same)
                           : tell(c.name, "\n  recorded " + found->second + "\n  got      " + got);
    } catch (const std::exception& e) {
      tell(c.name, e.what());
    }
    wanted.erase(found);
  }
  for (const auto& [name, line] : wanted)
    tell(name, "recorded, and no case any more");
  std::cout << same << " cases are as recorded, " << different << " are not\n";
  return different || same == 0 ? 1 : 0;
}

} // namespace

int main(int argc, char** argv) {
  try {
    CUcontext context = nullptr;
    must(cuInit(0), "cuInit");
    must(cuDevicePrimaryCtxRetain(&context, 0), "context");
    must(cuCtxSetCurrent(context), "context");
    if (argc > 2 && argv[1] == std::string("--check"))
      return check(argv[2], argc > 3 ? argv[3] : "");
    return record(argc > 1 ? argv[1] : ".", argc > 2 ? argv[2] : "", argc > 3 ? argv[3] : "");
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
}
