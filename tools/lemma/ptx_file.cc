// Which text of a file is meant.
#include "ptx_file.h"

#include "files.h"
#include "terminal.h"

#include "lemma/device.h"
#include "lemma/image.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <span>
#include <utility>

namespace lemma::cli {

bool is_image_text(const std::string& bytes) {
  return is_image(std::as_bytes(std::span(bytes)));
}

Result<std::vector<PtxText>, Error> texts_of_image(const std::string& bytes, const std::string& file,
                                                   const std::string& arch, bool link) {
  auto modules = ptx_of_image(std::as_bytes(std::span(bytes)), {.arch = arch, .name = file, .link = link});
  if (!modules)
    return Unexpected<Error>{std::move(modules).error()};
  std::vector<PtxText> texts;
  for (ImagePtx& each : *modules) {
    for (const Message& message : each.messages)
      print_messages(stderr, message.rendered);
    texts.push_back({.text = std::move(each.text), .name = std::move(each.name)});
  }
  return texts;
}

Result<std::vector<PtxText>, Error> read_ptx_texts(const std::string& path, bool link) {
  auto text = read_text(path);
  if (!text)
    return fail(Error{.kind = ErrorKind::invalid_argument, .text = std::move(text).error(), .messages = {}});
  if (is_image_text(*text))
    return texts_of_image(*text, shown_path(path), {}, link);
  return std::vector<PtxText>{{.text = *std::move(text), .name = shown_path(path)}};
}

Result<PtxText, Stop> module_with_kernel(std::vector<PtxText> modules, const std::string& file,
                                         const std::string& kernel) {
  if (modules.size() == 1)
    return std::move(modules.front());
  const auto device = Device::open("cpu");
  if (!device)
    return stop(device.error());
  std::vector<size_t> having;
  std::vector<std::string> names;
  std::optional<Error> refused; // the first that does not load
  for (size_t i = 0; i < modules.size(); ++i) {
    const auto module = device->load_ptx(modules[i].text, {.name = modules[i].name});
    if (!module) {
      if (!refused)
        refused = module.error();
      continue;
    }
    for (const Kernel& each : module->kernels())
      names.push_back(each.name());
    if (module->kernel(kernel))
      having.push_back(i);
  }
  if (having.size() == 1)
    return std::move(modules[having.front()]);
  if (refused)
    return stop(*std::move(refused));
  const std::string wrong = kernel.empty() ? "has several modules; --entry says which kernel is meant"
                            : having.empty()
                                ? fmt::format("has no kernel {} in its {} modules", kernel, modules.size())
                                : fmt::format("has several kernels {}", kernel);
  return usage(fmt::format("{} {}\nkernels: {}", file, wrong, fmt::join(names, ", ")));
}

} // namespace lemma::cli
