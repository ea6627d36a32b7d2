// PTX of one instruction on many operands: a thread takes the next fetch's words, executes the instruction,
// and stores what it gives. One module an instruction.
//
// A fetch has twelve words: four of the coordinates, in the order of the instruction's vector, and eight of
// what else it takes: the level, the two gradients, or what is stored. A result has four words, zero where
// the instruction gives fewer.
#pragma once

#include <sstream>
#include <string>
#include <vector>

namespace textures {

inline constexpr unsigned kFetchWords = 12, kResultWords = 4;

inline std::vector<std::string> words_of(const std::string& instruction) {
  std::vector<std::string> words;
  std::istringstream text(instruction);
  for (std::string word; std::getline(text, word, '.');)
    words.push_back(word);
  return words;
}

inline bool has(const std::vector<std::string>& words, const std::string& word) {
  for (const std::string& each : words)
    if (each == word)
      return true;
  return false;
}

inline std::string registers(const std::string& prefix, const std::vector<int>& numbers) {
  std::string text = "{";
  for (size_t i = 0; i < numbers.size(); ++i)
    text += (i ? ", " : "") + prefix + std::to_string(numbers[i]);
  return text + "}";
}

inline std::string coordinates_of(const std::vector<std::string>& words) {
  if (has(words, "1d"))
    return "{%c0}";
  if (has(words, "2d") || has(words, "a1d"))
    return "{%c0, %c1}";
  return "{%c0, %c1, %c2, %c3}";
}

inline std::string gradient_of(const std::vector<std::string>& words, int first) {
  if (has(words, "1d") || has(words, "a1d"))
    return registers("%e", {first});
  if (has(words, "2d") || has(words, "a2d"))
    return registers("%e", {first, first + 1});
  return registers("%e", {first, first + 1, first + 2, first + 3});
}

// The width in bits of an element that the instruction gives or takes.
inline int element_bits(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word == "b8")
      return 8;
    if (word == "b16" || word == "f16")
      return 16;
    if (word == "b64" || word == "u64" || word == "s64")
      return 64;
  }
  return 32;
}

inline int element_count(const std::vector<std::string>& words) {
  return has(words, "v4") ? 4 : has(words, "v2") ? 2 : 1;
}

inline std::string data_registers(int count) {
  if (count == 1)
    return "%d0";
  return registers("%d", count == 2 ? std::vector{0, 1} : std::vector{0, 1, 2, 3});
}

// "tex.2d.v4.f32.f32" and the like; what the instruction's name says decides its operands.
inline std::string kernel_text(const std::string& instruction) {
  const std::vector<std::string> words = words_of(instruction);
  const int bits = element_bits(words), count = element_count(words);
  const std::string& opcode = words[0];
  const bool stores = opcode == "sust" || opcode == "sured";
  const std::string memory_type = ".b" + std::to_string(bits);
  const std::string register_type = ".b" + std::to_string(bits == 8 ? 16 : bits);
  const std::string data = data_registers(count);
  std::ostringstream ptx;
  ptx << ".version 8.5\n.target sm_90\n.address_size 64\n"
         ".visible .entry fetch(.param .u64 handle, .param .u64 in, .param .u64 out, .param .u32 count)\n{\n"
         "  .reg .pred %p<3>;\n  .reg .b32 %c<4>, %e<8>, %i<4>;\n  .reg .b64 %h, %in, %out;\n"
         "  .reg "
      << register_type << " %d<4>;\n"
      << "  ld.param.u64 %h, [handle];\n  ld.param.u64 %in, [in];\n  ld.param.u64 %out, [out];\n"
         "  ld.param.u32 %i0, [count];\n"
         "  mov.u32 %i1, %ctaid.x;\n  mov.u32 %i2, %ntid.x;\n  mov.u32 %i3, %tid.x;\n"
         "  mad.lo.u32 %i1, %i1, %i2, %i3;\n  mov.u32 %i3, %nctaid.x;\n  mul.lo.u32 %i2, %i2, %i3;\n"
         "next:\n  setp.ge.u32 %p0, %i1, %i0;\n  @%p0 bra done;\n"
         "  .reg .b64 %a, %o;\n"
         "  mad.wide.u32 %a, %i1, 48, %in;\n  mad.wide.u32 %o, %i1, 16, %out;\n";
  for (int i = 0; i < 4; ++i)
    ptx << "  ld.global.b32 %c" << i << ", [%a+" << 4 * i << "];\n";
  if (stores) {
    for (int i = 0; i < count; ++i)
      ptx << "  ld.global" << memory_type << " %d" << i << ", [%a+" << 16 + bits / 8 * i << "];\n";
  } else {
    for (int i = 0; i < 8; ++i)
      ptx << "  ld.global.b32 %e" << i << ", [%a+" << 16 + 4 * i << "];\n";
  }
  if (opcode == "txq" || opcode == "suq") {
    ptx << "  " << instruction << " %d0, [%h]" << (has(words, "level") ? ", %c0" : "") << ";\n";
  } else if (opcode == "istypep") {
    ptx << "  " << instruction << " %p1, %h;\n  selp.b32 %d0, 1, 0, %p1;\n";
  } else if (stores) {
    ptx << "  " << instruction << " [%h, " << coordinates_of(words) << "], " << data << ";\n";
  } else {
    ptx << "  " << instruction << " " << data << ", [%h, " << coordinates_of(words) << "]";
    if (has(words, "level"))
      ptx << ", %e0";
    if (has(words, "grad"))
      ptx << ", " << gradient_of(words, 0) << ", " << gradient_of(words, 4);
    ptx << ";\n";
  }
  if (!stores)
    for (int i = 0; i < count; ++i)
      ptx << "  st.global" << memory_type << " [%o+" << bits / 8 * i << "], %d" << i << ";\n";
  ptx << "  add.u32 %i1, %i1, %i2;\n  bra next;\ndone:\n  ret;\n}\n";
  return ptx.str();
}

} // namespace textures
