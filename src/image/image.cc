// Which of an image's parts is run. A fatbin gives one text; a file, and the wrapper of relocatable code,
// have several fatbins; an archive has files. Whatever is looked at and not taken is noted in Held, for the
// message of an image that has nothing.
#include "lemma/image.h"

#include "image/archive.h"
#include "image/bytes.h"
#include "image/cubin.h"
#include "image/elf.h"
#include "image/fatbin.h"
#include "isa/machine.h"
#include "isa/target.h"
#include "lemma/link.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace lemma {
namespace image {
namespace {

using isa::Target;

// What an image holds: for messages.
class Held {
public:
  void add_ptx(Target target) {
    ptx_.push_back(target);
    add(fmt::format("PTX for {}", isa::to_string(target)), target);
  }
  void add(std::string what, Target target) {
    if (std::find(what_.begin(), what_.end(), what) == what_.end())
      what_.push_back(std::move(what));
    targets_.push_back(target);
  }

  // Why there is nothing to run, and which option makes something.
  std::string nothing_for(const std::optional<Target>& machine, const std::string& name) const {
    const std::string runs = machine ? fmt::format(" that sm_{} runs", machine->sm) : "";
    const std::string holds =
        what_.empty() ? "it has no code for a GPU" : fmt::format("it holds {}", fmt::join(what_, ", "));
    return fmt::format("{}: there is no PTX{}; {}\n"
                       "nvcc -gencode arch=compute_{},code=compute_{} puts PTX into a program or fatbin, and "
                       "-lineinfo (nvcc, ptxas, NVRTC, nvJitLink) into a cubin{}",
                       name, runs, holds, wanted(machine), wanted(machine),
                       machine ? other_machine(*machine) : "");
  }

private:
  // That the virtual GPU can be one which runs the PTX that there is; empty: none can.
  std::string other_machine(Target machine) const {
    for (const Target& target : ptx_)
      if (isa::arithmetic_of(target.sm) && !isa::runs_on(target, machine.sm))
        return fmt::format("\n--arch sm_{0} (LEMMA_ARCH=sm_{0}) makes the virtual GPU one that runs {1}",
                           target.sm, isa::to_string(target));
    return "";
  }

  // "90a": what is to be compiled for. That a machine's own target is wanted shows in what there is.
  std::string wanted(const std::optional<Target>& machine) const {
    const auto own = std::find_if(targets_.begin(), targets_.end(), [&](Target each) {
      return each.suffix == 'a' && (!machine || each.sm == machine->sm);
    });
    Target target = machine.value_or(Target{90, 'a'});
    if (own != targets_.end())
      target = *own;
    else if (!machine && !targets_.empty())
      target =
          *std::max_element(targets_.begin(), targets_.end(), [](Target a, Target b) { return a.sm < b.sm; });
    return isa::to_string(target).substr(3);
  }

  std::vector<std::string> what_;
  std::vector<Target> targets_, ptx_;
};

Unexpected<Error> damaged(const std::string& name, const std::string& why) {
  return fail(Error{ErrorKind::invalid_argument, fmt::format("{}: {}", name, why), {}});
}

// "a.out(1)", "a.out(2)": names that several have.
template <class Named>
void number_names(std::vector<Named>& all) {
  std::map<std::string, size_t> count, number;
  for (const Named& each : all)
    ++count[each.name];
  for (Named& each : all)
    if (count[each.name] > 1)
      each.name = fmt::format("{}({})", each.name, ++number[each.name]);
}

class Reader {
public:
  Reader(const ImageOptions& options, std::optional<Target> machine)
      : options_(options), name_(options.name), machine_(machine) {}

  // For messages: that of the file, or of an archive's member from now on.
  const std::string& name() const { return name_; }
  void go_to_member(const std::string& member) { name_ = fmt::format("{}({})", options_.name, member); }

  // The text of a fatbin; none if it has none that the machine runs.
  Result<std::optional<std::string>, Error> choose(const Fatbin& fatbin) {
    std::vector<const Entry*> entries;
    for (const Entry& each : fatbin.entries) {
      note(each);
      const bool may_run = each.kind == EntryKind::ptx
                               ? ptx_runs(each.target)
                               : each.kind == EntryKind::cubin && cubin_runs(each.target);
      if (may_run)
        entries.push_back(&each);
    }
    const auto rank = [](const Entry* each) {
      return std::tuple(each->target.sm,
                        each->target.suffix == 'a'   ? 2
                        : each->target.suffix == 'f' ? 1
                                                     : 0,
                        each->kind == EntryKind::ptx);
    };
    std::stable_sort(entries.begin(), entries.end(),
                     [&](const Entry* a, const Entry* b) { return rank(a) > rank(b); });
    for (const Entry* each : entries) {
      auto text = text_of(*each);
      if (!text || *text)
        return text;
    }
    return std::optional<std::string>();
  }

  // All fatbins of a section, or of a file that begins as one.
  Result<std::vector<PtxText>, Error> choose_all(Bytes bytes) {
    std::vector<PtxText> texts;
    for (size_t index = 0; !bytes.empty(); ++index) {
      const auto fatbin = read_fatbin(bytes);
      if (!fatbin)
        return damaged(name_, fmt::format("fatbin {}: {}", index, fatbin.error()));
      auto text = choose(*fatbin);
      if (!text)
        return Unexpected<Error>{std::move(text).error()};
      if (std::optional<std::string> chosen = *std::move(text))
        texts.push_back({.text = *std::move(chosen), .name = name_});
      bytes = bytes.subspan(fatbin->size_bytes);
      // Sections of several objects are aligned.
      const auto next =
          std::find_if(bytes.begin(), bytes.end(), [](std::byte b) { return b != std::byte(0); });
      bytes = bytes.subspan(static_cast<size_t>(next - bytes.begin()));
    }
    return texts;
  }

  // The texts of a cubin; none if it has none that the machine runs.
  std::vector<PtxText> choose(const Elf& elf) {
    Cubin cubin = read_cubin(elf);
    note_cubin(cubin.target, !cubin.texts.empty());
    std::vector<PtxText> texts;
    if (cubin_runs(cubin.target) && all_run(cubin.texts))
      for (std::string& text : cubin.texts)
        texts.push_back({.text = std::move(text), .name = name_});
    return texts;
  }

  Unexpected<Error> nothing() const {
    return fail(Error{ErrorKind::unsupported, held_.nothing_for(machine_, options_.name), {}});
  }

  // Relocatable texts as one; one that is alone is left as it is.
  Result<ImagePtx, Error> link(std::vector<PtxText> parts) const {
    if (parts.size() == 1)
      return ImagePtx{std::move(parts.front().text), options_.name, {}};
    number_names(parts);
    auto linked = link_ptx(parts);
    if (!linked)
      return Unexpected<Error>{std::move(linked).error()};
    return ImagePtx{std::move(linked->text), options_.name, std::move(linked->messages)};
  }

private:
  bool ptx_runs(Target target) const { return !machine_ || isa::runs_on(target, machine_->sm); }
  // Machine code is for the machines of one major number, from its own on.
  bool cubin_runs(Target target) const {
    return !machine_ || (target.sm / 10 == machine_->sm / 10 && ptx_runs(target));
  }

  // By the .target that each text has itself.
  bool all_run(const std::vector<std::string>& texts) const {
    return std::ranges::all_of(texts, [&](const std::string& text) {
      const auto target = target_of(text);
      return !target || ptx_runs(*target);
    });
  }

  void note_cubin(Target target, bool has_ptx) {
    const std::string whose = target.sm == 0 ? "" : " for " + isa::to_string(target);
    held_.add(fmt::format("a cubin{}{}", whose, has_ptx ? " with PTX" : ""), target);
  }
  void note(const Entry& entry) {
    const std::string target = isa::to_string(entry.target);
    switch (entry.kind) {
    case EntryKind::ptx:
      return held_.add_ptx(entry.target);
    case EntryKind::cubin:
      return held_.add("a cubin for " + target, entry.target);
    case EntryKind::lto_ir:
      return held_.add("LTO IR for " + target, entry.target);
    case EntryKind::other:
      return held_.add("an entry of a kind that is not known", entry.target);
    }
  }

  // None: a cubin without PTX, or PTX whose own .target is for other machines.
  Result<std::optional<std::string>, Error> text_of(const Entry& entry) const {
    auto unpacked = unpack(entry);
    if (!unpacked && entry.unpacked_bytes > kMostUnpackedBytes)
      return fail(Error{
          ErrorKind::out_of_memory, fmt::format("{}: {}", name_, what_of(entry) + unpacked.error()), {}});
    if (!unpacked)
      return damaged(name_, what_of(entry) + unpacked.error());
    if (entry.kind == EntryKind::ptx) {
      const auto target = target_of(*unpacked);
      return target && !ptx_runs(*target) ? std::nullopt : std::optional(*std::move(unpacked));
    }
    const auto elf = read_elf(std::as_bytes(std::span(*unpacked)));
    if (!elf)
      return damaged(name_, what_of(entry) + elf.error());
    Cubin cubin = read_cubin(*elf);
    if (cubin.texts.empty() || !all_run(cubin.texts))
      return std::optional<std::string>();
    std::vector<PtxText> parts;
    for (std::string& text : cubin.texts)
      parts.push_back({.text = std::move(text), .name = name_});
    auto linked = link(std::move(parts));
    if (!linked)
      return Unexpected<Error>{std::move(linked).error()};
    return std::optional(std::move(linked->text));
  }

  static std::string what_of(const Entry& entry) {
    return fmt::format("its {} for {} ", entry.kind == EntryKind::ptx ? "PTX" : "cubin",
                       isa::to_string(entry.target));
  }

  const ImageOptions& options_;
  std::string name_;
  std::optional<Target> machine_;
  Held held_;
};

// Empty: any machine.
Result<std::optional<Target>, Error> machine_of(const std::string& arch) {
  if (arch.empty())
    return std::optional<Target>();
  const auto target = isa::parse_target(arch);
  if (!target || !isa::find_machine(target->sm))
    return fail(
        Error{ErrorKind::invalid_argument, fmt::format("there is no machine '{}'; sm_90a is one", arch), {}});
  return target;
}

// nvcc's wrapper, of __cudaRegisterFatBinary: its structs and theirs are the process's own, and trusted.
struct Wrapper {
  uint32_t magic, version;
  const void* fatbin;
  const void* const* parts; // version 2: the fatbins that were linked, and null
};
constexpr unsigned char kWrapperMagic[] = {0xb1, 0x43, 0x62, 0x46};
constexpr unsigned char kFatbinMagic[] = {0x50, 0xed, 0x55, 0xba};
constexpr unsigned char kElfMagic[] = {0x7f, 'E', 'L', 'F'};

Result<ImagePtx, Error> text_at(Reader& reader, const std::vector<const void*>& fatbins,
                                const ImageOptions& options) {
  std::vector<PtxText> texts;
  for (const void* each : fatbins) {
    if (!each || !begins_with(static_cast<const std::byte*>(each), kFatbinMagic))
      return damaged(options.name, "its wrapper points to what is no fatbin");
    auto found = reader.choose_all(fatbin_at(each));
    if (!found)
      return Unexpected<Error>{std::move(found).error()};
    std::move(found->begin(), found->end(), std::back_inserter(texts));
  }
  return texts.empty() ? reader.nothing() : reader.link(std::move(texts));
}

Result<ImagePtx, Error> text_of_wrapper(Reader& reader, const Wrapper& wrapper, const ImageOptions& options) {
  if (wrapper.version != 1 && wrapper.version != 2)
    return damaged(options.name,
                   fmt::format("its wrapper has version {}; known are 1 and 2", wrapper.version));
  auto whole = text_at(reader, {wrapper.fatbin}, options);
  if (whole || whole.error().kind != ErrorKind::unsupported || wrapper.version == 1 || !wrapper.parts)
    return whole;
  std::vector<const void*> parts;
  for (const void* const* each = wrapper.parts; *each; ++each)
    parts.push_back(*each);
  return parts.empty() ? std::move(whole) : text_at(reader, parts, options);
}

// Texts as they lie in a file.
struct Texts {
  std::vector<PtxText> whole, relocatable;
};

void append(std::vector<PtxText>& to, std::vector<PtxText> more) {
  std::move(more.begin(), more.end(), std::back_inserter(to));
}

// The fatbins of a host's file: whole ones in .nv_fatbin, those of relocatable code in __nv_relfatbin.
Result<void, Error> add_host_file(Reader& reader, const Elf& elf, Texts& texts) {
  auto whole = reader.choose_all(elf.section(".nv_fatbin"));
  if (!whole)
    return Unexpected<Error>{std::move(whole).error()};
  append(texts.whole, *std::move(whole));
  auto parts = reader.choose_all(elf.section("__nv_relfatbin"));
  if (!parts)
    return Unexpected<Error>{std::move(parts).error()};
  append(texts.relocatable, *std::move(parts));
  return {};
}

// What is neither is left alone.
Result<void, Error> add_fatbin_or_elf(Reader& reader, Bytes bytes, Texts& texts) {
  if (is_fatbin(bytes)) {
    auto chosen = reader.choose_all(bytes);
    if (!chosen)
      return Unexpected<Error>{std::move(chosen).error()};
    append(texts.whole, *std::move(chosen));
  } else if (is_elf(bytes)) {
    const auto elf = read_elf(bytes);
    if (!elf)
      return damaged(reader.name(), elf.error());
    if (elf->machine != kCudaMachine)
      return add_host_file(reader, *elf, texts);
    std::vector<PtxText> chosen = reader.choose(*elf);
    std::vector<PtxText>& of_its_kind = chosen.size() > 1 ? texts.relocatable : texts.whole;
    append(of_its_kind, std::move(chosen));
  }
  return {};
}

Result<void, Error> add_archive(Reader& reader, Bytes bytes, Texts& texts) {
  const auto members = read_archive(bytes);
  if (!members)
    return damaged(reader.name(), members.error());
  for (const ArchiveMember& member : *members) {
    reader.go_to_member(member.name);
    if (member.name.ends_with(".ptx"))
      texts.relocatable.push_back(
          {.text = {reinterpret_cast<const char*>(member.bytes.data()), member.bytes.size()},
           .name = reader.name()});
    else if (Result<void, Error> added = add_fatbin_or_elf(reader, member.bytes, texts); !added)
      return added;
  }
  return {};
}

} // namespace
} // namespace image

bool is_image(std::span<const std::byte> bytes) {
  return image::is_fatbin(bytes) || image::is_elf(bytes) || image::is_archive(bytes);
}

Result<std::vector<ImagePtx>, Error> ptx_of_image(std::span<const std::byte> bytes,
                                                  const ImageOptions& options) {
  const auto machine = image::machine_of(options.arch);
  if (!machine)
    return Unexpected<Error>{machine.error()};
  image::Reader reader(options, *machine);
  image::Texts texts;
  if (!is_image(bytes))
    texts.whole.push_back(
        {.text = {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, .name = options.name});
  else if (Result<void, Error> added = image::is_archive(bytes)
                                           ? image::add_archive(reader, bytes, texts)
                                           : image::add_fatbin_or_elf(reader, bytes, texts);
           !added)
    return Unexpected<Error>{std::move(added).error()};
  std::vector<ImagePtx> modules;
  const auto add = [&](std::vector<PtxText>& more) {
    for (PtxText& each : more)
      modules.push_back({.text = std::move(each.text), .name = std::move(each.name), .messages = {}});
  };
  add(texts.whole);
  if (!options.link) {
    add(texts.relocatable);
  } else if (!texts.relocatable.empty()) {
    auto linked = reader.link(std::move(texts.relocatable));
    if (!linked)
      return Unexpected<Error>{std::move(linked).error()};
    modules.push_back(*std::move(linked));
  }
  if (modules.empty())
    return reader.nothing();
  image::number_names(modules);
  return modules;
}

Result<ImagePtx, Error> ptx_of_module_data(const void* image, const ImageOptions& options) {
  const auto machine = image::machine_of(options.arch);
  if (!machine)
    return Unexpected<Error>{machine.error()};
  if (!image)
    return image::damaged(options.name, "it is null");
  image::Reader reader(options, *machine);
  const auto* bytes = static_cast<const std::byte*>(image);
  if (image::begins_with(bytes, image::kWrapperMagic))
    return image::text_of_wrapper(reader, image::trusted_at<image::Wrapper>(image), options);
  if (image::begins_with(bytes, image::kFatbinMagic))
    return image::text_at(reader, {image}, options);
  if (!image::begins_with(bytes, image::kElfMagic))
    return ImagePtx{static_cast<const char*>(image), options.name, {}};
  const auto all = image::elf_at(image);
  const auto elf = all ? image::read_elf(*all)
                       : Result<image::Elf, std::string>(fail(std::string("its headers are of no cubin")));
  if (!elf)
    return image::damaged(options.name, elf.error());
  if (elf->machine != image::kCudaMachine)
    return image::damaged(options.name, "it is an ELF file of another machine than a GPU");
  std::vector<PtxText> texts = reader.choose(*elf);
  return texts.empty() ? reader.nothing() : reader.link(std::move(texts));
}

} // namespace lemma
