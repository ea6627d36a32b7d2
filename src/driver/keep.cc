// PTX that a linker of cubins would lose: see api.h.
#include "driver/api.h"
#include "image/attached.h"
#include "image/cubin.h"
#include "image/elf.h"
#include "lemma/image.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>
#include <string>
#include <vector>

namespace lemma::driver {
namespace {

// The texts of one input. False: it is none of what has PTX or code for a GPU.
bool add_texts(std::span<const std::byte> input, const ImageOptions& options,
               std::vector<std::string>& texts) {
  if (!is_image(input)) {
    std::string text(reinterpret_cast<const char*>(input.data()), input.size());
    text.resize(std::min(text.find('\0'), text.size()));
    if (!image::target_of(text))
      return false;
    texts.push_back(std::move(text));
    return true;
  }
  auto found = ptx_of_image(input, options);
  if (!found) // none for this machine, as in NVIDIA's device runtime, whose functions Lemma has
    return found.error().kind == ErrorKind::unsupported;
  for (ImagePtx& each : *found)
    texts.push_back(std::move(each.text));
  return true;
}

CUresult keep_ptx(image::Bytes cubin, std::span<const image::Bytes> inputs, std::string& kept) {
  const auto elf = image::read_elf(cubin);
  if (!elf || elf->machine != image::kCudaMachine)
    return CUDA_ERROR_INVALID_IMAGE;
  const ImageOptions options{
      .arch = isa::to_string(image::read_cubin(*elf).target), .name = "<input>", .link = false};
  std::vector<std::string> texts;
  for (const image::Bytes input : inputs)
    if (!add_texts(input, options, texts))
      return CUDA_ERROR_NOT_FOUND;
  if (texts.empty())
    return CUDA_ERROR_NOT_FOUND;
  auto attached = image::attach_ptx(cubin, texts);
  if (!attached)
    return CUDA_ERROR_INVALID_IMAGE;
  kept = *std::move(attached);
  return CUDA_SUCCESS;
}

} // namespace
} // namespace lemma::driver

CUresult cuLemmaKeepPtx(const void* cubin, size_t bytes, unsigned count, const void* const* inputs,
                        const size_t* input_bytes, void** kept, size_t* kept_bytes) try {
  std::vector<std::span<const std::byte>> parts;
  for (unsigned i = 0; i < count; ++i)
    parts.emplace_back(static_cast<const std::byte*>(inputs[i]), input_bytes[i]);
  std::string made;
  if (const CUresult why =
          lemma::driver::keep_ptx({static_cast<const std::byte*>(cubin), bytes}, parts, made);
      why != CUDA_SUCCESS)
    return why;
  *kept = std::malloc(made.size());
  if (!*kept)
    return CUDA_ERROR_OUT_OF_MEMORY;
  std::memcpy(*kept, made.data(), made.size());
  *kept_bytes = made.size();
  return CUDA_SUCCESS;
} catch (const std::bad_alloc&) {
  return CUDA_ERROR_OUT_OF_MEMORY;
}
