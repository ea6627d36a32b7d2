// Binary files by their first bytes, texts by what their first lines begin with. The tables are in the order
// in which they are asked; a text that begins with a directive is PTX, however wrong.
#include "ptx/foreign.h"

#include "ptx/lexer.h"

#include <algorithm>

namespace lemma::ptx {
namespace {

using namespace std::string_view_literals;

constexpr size_t kMostLooked = size_t{1} << 16; // bytes
constexpr int kMostLines = 200;

constexpr std::string_view kUnpack =
    "lemma link FILE -o kernel.ptx writes the PTX in it, if it has any; in a program: ptx_of_image()";
constexpr std::string_view kCompile = "compile it: nvcc -ptx -arch=compute_90a FILE -o kernel.ptx";

struct Magic {
  std::string_view bytes, what, fix;
};
constexpr Magic kMagics[] = {
    {"\x50\xed\x55\xba"sv, "a fat binary of CUDA", kUnpack},
    {"!<arch>\n"sv, "a library of object files",
     "ar x FILE writes them to files, of which lemma takes the PTX"},
    {"BC\xc0\xde"sv, "LLVM bitcode", "compile it: llc -mcpu=sm_90a FILE -o kernel.ptx"},
    {"\xde\xc0\x17\x0b"sv, "LLVM bitcode", "compile it: llc -mcpu=sm_90a FILE -o kernel.ptx"},
    {"ML\xefR"sv, "MLIR bytecode",
     "make text of it, mlir-opt FILE -o kernel.mlir, then lemma compile kernel.mlir"},
    {"\x1f\x8b"sv, "compressed by gzip", "gzip -d FILE"},
    {"\x28\xb5\x2f\xfd"sv, "compressed by zstd", "zstd -d FILE"},
    {"\xfd"
     "7zXZ"sv,
     "compressed by xz", "xz -d FILE"},
    {"PK\x03\x04"sv, "a zip archive", "unzip FILE"},
    {"\xff\xfe"sv, "UTF-16 text", "PTX is ASCII: iconv -f UTF-16 -t ASCII FILE"},
    {"\xfe\xff"sv, "UTF-16 text", "PTX is ASCII: iconv -f UTF-16 -t ASCII FILE"},
    {"\xef\xbb\xbf"sv, "text behind a byte order mark", "PTX is ASCII: take the first three bytes away"},
};

std::optional<Foreign> recognise_binary(std::string_view text) {
  // ELF, "File Header": e_machine is the half word at byte 18.
  constexpr size_t kMachine = 18;
  constexpr char kCuda = static_cast<char>(190); // EM_CUDA
  if (text.starts_with("\x7f"
                       "ELF"sv))
    return text.size() > kMachine && text[kMachine] == kCuda
               ? Foreign{"a cubin, machine code of a GPU", std::string(kUnpack)}
               : Foreign{"a program or an object file (ELF)", std::string(kUnpack)};
  for (const Magic& magic : kMagics)
    if (text.starts_with(magic.bytes))
      return Foreign{std::string(magic.what), std::string(magic.fix)};
  if (text.substr(0, kMostLooked).find('\0') != std::string_view::npos)
    return Foreign{"no text", "PTX is text that begins with .version"};
  return std::nullopt;
}

// A kind of text, and beginnings of lines that only it has.
struct TextKind {
  std::string_view what, fix;
  std::string_view beginnings[14];
};
constexpr TextKind kTextKinds[] = {
    {"LLVM IR",
     "compile it: llc -mcpu=sm_90a FILE -o kernel.ptx",
     {"; ModuleID", "source_filename =", "target datalayout", "target triple", "define ", "declare ",
      "!llvm."}},
    {"MLIR",
     "compile it: lemma compile FILE -o kernel.ptx",
     {"module {", "module @", "module attributes", "builtin.module", "\"builtin.module\"", "gpu.module",
      "func.func", "llvm.func", "tt.func", "#map", "#loc", "#nvgpu"}},
    {"what cuobjdump prints",
     "cuobjdump -xptx all writes each PTX to a file of its own",
     {"Fatbin ", "Contents of Fatbin"}},
    {"CUDA C++",
     kCompile,
     {"#include", "#define", "#pragma", "#if", "__global__", "__device__", "extern \"C\"", "template<",
      "template <", "using namespace", "namespace ", "static __", "typedef ", "constexpr "}},
    {"Python",
     "of a kernel of Triton take compiled.asm[\"ptx\"]",
     {"import ", "from ", "def ", "@triton", "#!/usr/bin/env python", "#!/usr/bin/python", "class "}},
};

bool is_alias_of_mlir(std::string_view line) { // #blocked = ..., !tile = ...
  const size_t end = line.find_first_of(" =");
  return line.size() > 2 && (line[0] == '#' || line[0] == '!') && end != std::string_view::npos && end > 1 &&
         line.substr(end).starts_with(" = ");
}

std::optional<Foreign> recognise_text(std::string_view text) {
  text = text.substr(0, kMostLooked);
  for (int i = 0; i < kMostLines && !text.empty(); ++i) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (is_alias_of_mlir(line))
      return Foreign{std::string(kTextKinds[1].what), std::string(kTextKinds[1].fix)};
    for (const TextKind& kind : kTextKinds)
      for (const std::string_view beginning : kind.beginnings)
        if (!beginning.empty() && line.starts_with(beginning))
          return Foreign{std::string(kind.what), std::string(kind.fix)};
  }
  return std::nullopt;
}

} // namespace

std::optional<Foreign> recognise_foreign(std::string_view text) {
  Lexer lexer(text);
  const Token first = lexer.next();
  if (first.kind == TokenKind::dot_word)
    return std::nullopt;
  if (first.kind == TokenKind::end)
    return Foreign{
        text.empty() ? "empty" : "empty but for white space and comments",
        "PTX is text that begins with .version; see whether what should have written it ended well"};
  if (const auto binary = recognise_binary(text))
    return binary;
  return recognise_text(text);
}

} // namespace lemma::ptx
