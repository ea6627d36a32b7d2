// What both programs here do besides watching: read a PTX file and launch its kernel once, with one CTA of
// 256 threads and a buffer for every parameter.
#pragma once

#include "lemma/lemma.h"

#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

// The text of the file; none after a message.
inline std::optional<std::string> read_text(const char* name) {
  std::ifstream file(name, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (file)
    return std::move(text).str();
  std::fprintf(stderr, "cannot read %s\n", name);
  return std::nullopt;
}

// False after a message.
inline bool run_watched(const std::string& text, const char* name, lemma::LaunchObserver& observer) {
  const auto say = [](const std::string& why) {
    std::fprintf(stderr, "%s\n", why.c_str());
    return false;
  };
  const auto device = lemma::Device::open("cpu");
  if (!device)
    return say(device.error().text);
  const auto module = device->load_ptx(text, {.name = name});
  if (!module)
    return say(module.error().text);
  const auto kernel = module->kernel();
  if (!kernel)
    return say(kernel.error().text);
  std::vector<lemma::Buffer> buffers;
  std::vector<lemma::Argument> arguments;
  for (const lemma::Parameter& parameter : kernel->parameters()) {
    auto buffer = device->allocate(uint64_t{1} << 20, {.name = parameter.name});
    if (!buffer)
      return say(buffer.error().text);
    arguments.emplace_back(*buffer);
    buffers.push_back(*std::move(buffer));
  }
  const auto report = kernel->launch({.block = {256}, .observer = &observer}, arguments);
  if (!report)
    return say(report.error().text);
  return report->ok() || say(report->rendered);
}
