// What emitters of instructions write host code with: operands in registers of the host, lanes that execute.
//
// A register of the warp is an array of 32 lane values in the frame, its place; here it is split in parts of
// 64 bytes, one AVX-512 register each:
//
//   16 bits: 1 part of 32 lanes | 32 bits: 2 parts of 16 | 64 bits: 4 parts of 8 | predicates: a mask of 32
//   bits
//
// Parts are loaded when an instruction first reads them, stay where they are as long as there is room, and
// are stored before anybody else may look at the frame. Predicates stay in the frame.
//
// An emitter asks for its sources, then for its destination, and writes each part of it after it has last
// read the sources' part of the same number, since they may be the same register. Where not all lanes
// execute, it gets temporaries for a destination; end_instruction() moves the active lanes.
//
//   rbx  frame    r12  constants    r13  Exec    r14d  lanes of the part that runs    r15  Exec::executed
//   rbp  lanes counted so far    r10d  lanes that a guard lets execute    rax rcx rdx rsi rdi r8 r9 r11  free
//   k1 .. k4  active lanes of the parts    k5 .. k7  free    256 bytes at rsp  free
//
// Tests: tests/unit/vgpu/compiled_test.cc.
#pragma once

#include "vgpu/compiled/liveness.h"
#include "vgpu/compiled/unit.h"
#include "vgpu/engine/exec.h"
#include "vgpu/handlers/arithmetic/host_mode.h"

#include <asmjit/x86.h>

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace lemma::vgpu {

namespace x86 = asmjit::x86;
namespace ids = asmjit::x86::Inst;

inline constexpr int kPartBytes = 64;
inline constexpr int parts_of(int lane_bytes) {
  return lane_bytes * kWarpSize / kPartBytes;
}
inline constexpr int kMostParts = 4;

// A value of all lanes in registers of the host.
struct Value {
  std::array<x86::Zmm, kMostParts> part{};
  int parts = 0;
  int lane_bytes = 0;

  const x86::Zmm& operator[](int i) const { return part[i]; }
};

// Values that are in registers of the host, and whether the frame has them too.
struct Held {
  Place place = 0;
  uint8_t lane_bytes = 0;
  std::array<uint8_t, kMostParts> reg{}; // of its parts
  bool is_new = false;                   // the frame does not have it yet
  uint32_t last_use = 0;
};
using HeldValues = std::vector<Held>;

// A member of what the register points to, by where an example of it has its own; `more` bytes behind it.
template <class T, class Member>
x86::Mem member_of(const x86::Gp& base, const T& example, const Member& member, int32_t more = 0,
                   uint32_t bytes = sizeof(Member)) {
  return x86::Mem(
      base,
      static_cast<int32_t>(reinterpret_cast<const char*>(&member) - reinterpret_cast<const char*>(&example)) +
          more,
      bytes);
}

// Which lanes an instruction is for.
enum class Lanes : uint8_t {
  all,     // 32
  part,    // those of r14d
  guarded, // those of r10d
};

class Emit {
public:
  Emit(asmjit::CodeHolder& holder, const Code& code, const Liveness& liveness, Exec& example);

  x86::Assembler a;

  // --- the instruction that is being emitted
  const DecodedInst& in() const { return code_.insts[pc_]; }
  const ptx::Instruction& text() const { return code_.function->instructions[in().source]; }
  uint32_t pc() const { return pc_; }
  Lanes active() const { return active_; }
  bool has(isa::Qual qual) const { return text().has(qual); }
  int sources() const { return in().op_count - in().dst_count; }
  const Slot& source_slot(int i) const { return code_.srcs_of(in())[i]; }
  const Slot& destination_slot(int i = 0) const { return code_.dsts_of(in())[i]; }
  // A source that is a constant: its value in lane 0, as so many bytes as its slot has.
  bool is_constant(int i) const { return source_slot(i).base == 1; }
  uint64_t constant(int i) const;

  // --- operands
  Value source(int i) { return load(source_slot(i)); }
  Value load(const Slot& slot);
  // All parts are to be written by the emitter.
  Value destination(int i = 0);
  // f(part of the destination, part of each source ...): for instructions whose parts are computed alike, all
  // operands being of one width.
  template <class F>
  void unary(F f) {
    const Value s = source(0), d = destination();
    for (int i = 0; i < d.parts; ++i)
      f(d[i], s[i]);
  }
  template <class F>
  void binary(F f) {
    const Value s = source(0), t = source(1), d = destination();
    for (int i = 0; i < d.parts; ++i)
      f(d[i], s[i], t[i]);
  }
  template <class F>
  void ternary(F f) {
    const Value s = source(0), t = source(1), u = source(2), d = destination();
    for (int i = 0; i < d.parts; ++i)
      f(d[i], s[i], t[i], u[i]);
  }
  // A predicate source, as a mask of 32 lanes, into the register.
  void load_predicate(const x86::Gp& to, int source);
  // Lanes of one part of a predicate source, `part` of those of values of so many bytes; any k register.
  void load_predicate_part(const x86::KReg& to, int source, int lane_bytes, int part);
  // Writes the active lanes of a predicate destination. `value` is overwritten, and r11.
  void store_predicate(int destination, const x86::Gp& value);
  // Joins the masks of a comparison's parts, one a part of values of so many bytes, in `masks`, and gives
  // them as 32 bits. Overwrites them.
  void join_masks(const x86::Gp& to, std::span<const x86::KReg> masks, int lane_bytes);

  // --- registers of the host; free again after the instruction
  x86::Zmm temporary();
  // The active lanes of a part of values of so many bytes; only where active() is not all.
  x86::KReg active_part(int lane_bytes, int part);
  // Lanes of the active part in a register of 32 bits: r14d, r10d, or -1 loaded to `scratch`.
  x86::Gp active_lanes(const x86::Gp& scratch);
  // A number in all lanes, of 4 or 8 bytes, from the unit's own pool: an operand of instructions that
  // broadcast.
  x86::Mem broadcast32(uint32_t value);
  x86::Mem broadcast64(uint64_t value);
  x86::Mem number32(uint32_t value) { return pooled(std::as_bytes(std::span(&value, 1))); }
  x86::Mem number64(uint64_t value) { return pooled(std::as_bytes(std::span(&value, 1))); }
  // 64 bytes of the pool, aligned.
  x86::Mem vector(const std::array<std::byte, kPartBytes>& bytes);

  // The host's floating-point unit is in this mode from here on (host_mode.h). Handlers and whatever follows
  // the segment find the default one: the generator sees to it. An emitter of what rounds, or takes or makes
  // subnormal numbers, asks for the mode that it needs, the default one too.
  void mode(uint32_t mode);
  uint32_t mode() const { return mode_; }

  // --- places
  x86::Mem frame(uint32_t offset, uint32_t bytes = 0) const { return x86::Mem(x86::rbx, offset, bytes); }
  x86::Mem place(Place place, int part) const;
  x86::Mem place(const Slot& slot, int part = 0) const { return this->place(place_of(slot), part); }
  // A member of the Exec that runs, by a reference to the example's.
  template <class T>
  x86::Mem member(const T& of_example, uint32_t bytes = sizeof(T)) const {
    return member_of(x86::r13, example_, of_example, 0, bytes);
  }
  Exec& example() const { return example_; }
  const Code& code() const { return code_; }

  // --- code that is seldom reached
  // Emitted after all else of the unit, with what was held when this was called.
  void aside(std::function<void()> emit);
  // A place to jump to as long as the instruction has changed nothing: there its handler does all of it, and
  // the code goes on after it. Asked for when the instruction has the mode, all operands and all temporaries
  // that it wants: what is held stays where it is from then on.
  asmjit::Label slow() {
    is_sealed_ = true;
    return make_slow();
  }
  // On to what comes after the instruction if no lane is active. Before it asks for its destination.
  void skip_if_none() {
    if (active_ == Lanes::guarded)
      make_skip();
  }
  // To `slow` if k5 or k6, of the two parts of values of 32 bits, have an active lane. Overwrites them.
  void leave_if_any(const asmjit::Label& slow);
  // rdx: where the byte at the device address rax + imm is on the host, if of r9 bytes from there on, at most
  // a page's, all is well for an access that is aligned to `width`; else the code goes to `slow`. Overwrites
  // rax, rcx, rsi, rdi.
  void find_global(bool is_constant, bool writes, int64_t imm, int width, const asmjit::Label& slow);
  // The program's memory that the host accesses next: lanes of `bytes` each, side by side from base + at on,
  // or at their offsets from there. In builds with AddressSanitizer the code asks it; else nothing is
  // emitted.
  struct HostAccess {
    x86::Gp base;
    int32_t at = 0;
    int bytes = 4;
    int lanes = 1;
    int offsets = -1;              // the number of the vector register that has them, of 4 bytes ...
    bool has_wide_offsets = false; // ... or 8
    uint32_t mask = 0;             // the number of the mask of lanes; 0: all
  };
  void check_host(const HostAccess& access);
  // to: the split that runs; warp: its warp.
  void find_split(const x86::Gp& to, const x86::Gp& warp);
  const Translation& example_translation() const;
  std::function<asmjit::Label()> make_slow; // the generator's
  std::function<void()> make_skip;

  // --- for the generator (generate.cc)
  void begin_instruction(uint32_t pc, bool all_lanes);
  void end_instruction();
  HeldValues held() const { return held_; }
  void set_held(const HeldValues& values);
  // What is held becomes exactly `to`, in its registers; what else is new goes to the frame, if anybody at
  // `pc`, which begins a segment, reads it.
  void change_held(const HeldValues& to, std::optional<uint32_t> pc = {});
  // The frame has everything, or what anybody reads there.
  void store_new(std::optional<uint32_t> pc = {});
  void forget_held();       // nothing is held; store_new() has been called
  void forget_masks();      // k1 .. k4 are not what they were
  void forget(Place place); // it is not held, and the frame has its value
  void emit_asides();
  void emit_host_check(); // what check_host() calls
  void emit_pool();
  HeldValues held_in_zone(const std::vector<Kept>& values) const;
  void prefer(const std::vector<Kept>& values); // those have registers of their own

private:
  Held* find(Place place);
  Value hold(const Slot& slot, bool& was_held, bool is_written);
  uint8_t take_register();
  void make_room();
  void store(const Held& value);
  void load_parts(const Held& value);
  x86::Mem pooled(std::span<const std::byte> bytes);

  struct Written {
    Slot slot;
    Value to; // temporaries
  };
  struct Aside {
    HeldValues held;
    uint32_t pc;
    Lanes active;
    uint32_t mode;
    std::function<void()> emit;
  };

  const Code& code_;
  const Liveness& liveness_;
  Exec& example_;
  uint32_t pc_ = 0;
  Lanes active_ = Lanes::all;
  uint32_t mode_ = kHostDefaultMode;
  HeldValues held_;
  uint32_t free_ = 0xffffffff;     // registers of the host, a bit each
  uint32_t locked_ = 0;            // ... that the instruction uses
  uint32_t temporaries_ = 0;       // ... of those its temporaries
  uint32_t now_ = 0;               // instructions so far
  bool is_sealed_ = false;         // slow() was asked for
  std::vector<Place> overwritten_; // by the instruction, without having been loaded
  std::vector<Held> zone_;         // registers of the zone's values
  uint32_t zone_registers_ = 0;
  std::vector<Written> written_; // by the instruction, under a mask
  struct {
    Lanes active = Lanes::all;
    int lane_bytes = 0;
    uint32_t guard = 0;
    bool negated = false;
  } masks_; // what k1 .. k4 hold; lane_bytes 0: nothing known
  std::vector<Aside> asides_;
  std::vector<std::byte> pool_;
  std::unordered_map<std::string, size_t> pool_places_; // by the bytes that are there
  asmjit::Label pool_label_, host_check_;
};

// Emits the host code of an instruction, or returns false before anything is emitted: its handler is called
// then.
using Emitter = bool (*)(Emit& e, const ptx::Instruction& instruction);

class EmitterTable {
public:
  void add(isa::Opcode opcode, Emitter emitter) { table_[static_cast<size_t>(opcode)] = emitter; }
  void add(std::initializer_list<isa::Opcode> opcodes, Emitter emitter) {
    for (const isa::Opcode opcode : opcodes)
      add(opcode, emitter);
  }
  Emitter find(isa::Opcode opcode) const { return table_[static_cast<size_t>(opcode)]; }

private:
  std::array<Emitter, isa::kOpcodeCount> table_{};
};
const EmitterTable& emitters(); // emit.cc

// One a family of instructions, in its file.
void add_integer_emitters(EmitterTable& table); // emitters/integer.cc: add sub min max abs neg sad
void add_product_emitters(EmitterTable& table); // emitters/product.cc: mul mad mul24 mad24 dp4a dp2a
void add_carry_emitters(EmitterTable& table);   // emitters/carry.cc: addc subc madc
void add_divide_emitters(EmitterTable& table);  // emitters/divide.cc: div rem
void add_logic_emitters(EmitterTable& table);   // emitters/logic.cc: and or xor not cnot lop3 shl shr shf
void add_bit_emitters(EmitterTable& table);   // emitters/bits.cc: popc clz bfind brev bfe bfi szext bmsk prmt
void add_float_emitters(EmitterTable& table); // emitters/float.cc
void add_compare_emitters(EmitterTable& table);     // emitters/compare.cc: setp selp set slct
void add_approximate_emitters(EmitterTable& table); // emitters/approximate.cc: rsqrt ex2 lg2 ...
void add_float_bits_emitters(EmitterTable& table);  // emitters/float_bits.cc: copysign testp
void add_convert_emitters(EmitterTable& table);     // emitters/convert.cc: cvt
void add_move_emitters(EmitterTable& table);        // emitters/move.cc: mov cvta
void add_memory_emitters(EmitterTable& table);      // emitters/memory.cc: ld st
void add_warp_emitters(EmitterTable& table);        // emitters/warp.cc: shfl vote activemask redux bar.warp

// Parts of opcodes that several files share.
bool emit_approximate(Emit& e, const ptx::Instruction& i);     // .approx and .full of f32
bool emit_float_bits(Emit& e, const ptx::Instruction& i);      // min max neg abs of floats, halves too
bool emit_half_arithmetic(Emit& e, const ptx::Instruction& i); // emitters/half.cc: add sub mul fma
bool emit_half_conversion(Emit& e, const ptx::Instruction& i); // ... cvt from and to f16 and bf16

} // namespace lemma::vgpu
