// Fragments: which lane holds which element of a matrix, in which register, as data.
//
// A fragment is a layout in the manner of CuTe: three index spaces (lane, register, element within the
// register), each split into modes of a size and a stride, where a stride is a step in (row, column). The
// ISA's formulae read off it:
//
//     mma.m16n8k16 .f16, matrix A                     lane modes  (4: col += 2) (8: row += 1)
//       groupID = lane >> 2, tig = lane % 4           reg modes   (2: row += 8) (2: col += 8)
//       row = groupID (+ 8), col = tig * 2 + i (+ 8)  elem modes  (2: col += 1)
//
// A mode of stride (0, 0) is a copy: wmma's f16 fragments are eight registers whatever the matrix needs.
// Everything is constexpr, so that tables are made once.
//
// What is not here: shared-memory descriptors and swizzles, sparse metadata. Lanes of wgmma's fragments are
// threads of the warpgroup.
//
// PTX ISA: "Matrix Fragments for mma.m8n8k4" and its neighbours, "ldmatrix", "movmatrix", "stmatrix". Matrix
// Fragments for WMMA are opaque there; ours are those of ptxas 12.8 and 13.0 for sm_80 to sm_90a, read from
// the code that it emits for wmma.load and wmma.store (every lane's address) and for wmma.mma (which
// registers feed which HMMA). Tests: tests/unit/layout/fragment_test.cc.
#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <optional>
#include <string>

namespace lemma::layout {

// The matrices of D = A * B + C.
enum class Matrix : uint8_t { a, b, c, d };

enum class MajorOrder : uint8_t { row, col };

struct Shape {
  int m = 0;
  int n = 0;
  int k = 0;
  friend constexpr bool operator==(const Shape&, const Shape&) = default;
};

struct Coord {
  int row = 0;
  int col = 0;
  friend constexpr bool operator==(const Coord&, const Coord&) = default;
};

// `size` steps of `stride`. Indices run through the first mode fastest.
struct Mode {
  int size = 1;
  Coord stride{};
};
using Modes = std::array<Mode, 4>;

// Which lane, which of its registers, which element of the register (0: lowest bits).
struct Place {
  int lane = 0;
  int reg = 0;
  int elem = 0;
  friend constexpr bool operator==(const Place&, const Place&) = default;
};

struct Fragment {
  int rows = 0;
  int cols = 0;
  int element_bits = 0;
  int register_bits = 32;
  Modes lane{};
  Modes reg{};
  Modes elem{};

  constexpr int lanes() const { return size(lane); }
  constexpr int registers() const { return size(reg); }
  constexpr int elems_per_register() const { return size(elem); }
  // How often every element is held; the copies are the last registers.
  constexpr int copies() const { return lanes() * registers() * elems_per_register() / (rows * cols); }
  // Registers that hold each element once: the ones that instructions read.
  constexpr int distinct_registers() const { return registers() / copies(); }

  constexpr Coord at(Place place) const {
    Coord coord;
    add(lane, place.lane, coord);
    add(reg, place.reg, coord);
    add(elem, place.elem, coord);
    return coord;
  }
  // The first place that holds the element; none outside the matrix.
  constexpr std::optional<Place> find(Coord coord) const {
    for (int r = 0; r < registers(); ++r)
      for (int l = 0; l < lanes(); ++l)
        for (int e = 0; e < elems_per_register(); ++e)
          if (at({l, r, e}) == coord)
            return Place{l, r, e};
    return std::nullopt;
  }

private:
  static constexpr int size(const Modes& modes) {
    int product = 1;
    for (const Mode& mode : modes)
      product *= mode.size;
    return product;
  }
  static constexpr void add(const Modes& modes, int index, Coord& coord) {
    for (const Mode& mode : modes) {
      const int step = index % mode.size;
      coord.row += step * mode.stride.row;
      coord.col += step * mode.stride.col;
      index /= mode.size;
    }
  }
};

// Rows and columns exchanged: who held (r, c) holds (c, r).
constexpr Fragment transposed(Fragment f) {
  const auto swap = [](Modes& modes) {
    for (Mode& mode : modes)
      mode.stride = {mode.stride.col, mode.stride.row};
  };
  swap(f.lane);
  swap(f.reg);
  swap(f.elem);
  const int rows = f.rows;
  f.rows = f.cols;
  f.cols = rows;
  return f;
}

// The fragment with its registers repeated until there are `registers`.
constexpr Fragment repeated(Fragment f, int registers) {
  for (Mode& mode : f.reg)
    if (mode.size == 1) {
      mode = {registers / f.registers(), {}};
      break;
    }
  return f;
}

// --- mma.sync, one matrix a warp ---
// Elements of 64 bits take 64-bit registers, all others are packed into 32-bit ones, the lower column (of A)
// or row (of B) in the lower bits.

// A is m x k, m 8, 16 or 32.
constexpr Fragment mma_a(int m, int k, int element_bits) {
  const int register_bits = element_bits == 64 ? 64 : 32;
  const int packed = register_bits / element_bits;
  return {.rows = m,
          .cols = k,
          .element_bits = element_bits,
          .register_bits = register_bits,
          .lane = {Mode{4, {0, packed}}, Mode{8, {1, 0}}},
          .reg = {Mode{m == 8 ? 1 : 2, {8, 0}}, Mode{k / (4 * packed), {0, 4 * packed}},
                  Mode{m == 32 ? 2 : 1, {16, 0}}},
          .elem = {Mode{packed, {0, 1}}}};
}

// B is k x n, n 8 or 16.
constexpr Fragment mma_b(int k, int n, int element_bits) {
  const int register_bits = element_bits == 64 ? 64 : 32;
  const int packed = register_bits / element_bits;
  return {.rows = k,
          .cols = n,
          .element_bits = element_bits,
          .register_bits = register_bits,
          .lane = {Mode{4, {packed, 0}}, Mode{8, {0, 1}}},
          .reg = {Mode{k / (4 * packed), {4 * packed, 0}}, Mode{n / 8, {0, 8}}},
          .elem = {Mode{packed, {1, 0}}}};
}

// C and D are m x n. f16 accumulators lie in pairs, wider ones in registers of their own.
constexpr Fragment mma_c(int m, int n, int element_bits) {
  const int register_bits = element_bits == 64 ? 64 : 32;
  const int packed = register_bits / element_bits;
  return {.rows = m,
          .cols = n,
          .element_bits = element_bits,
          .register_bits = register_bits,
          .lane = {Mode{4, {0, 2}}, Mode{8, {1, 0}}},
          .reg = {Mode{2 / packed, {0, 1}}, Mode{m / 8, {8, 0}}, Mode{n / 8, {0, 8}}},
          .elem = {Mode{packed, {0, 1}}}};
}

// Any matrix of an mma.sync shape other than f16's m8n8k4.
constexpr Fragment mma_fragment(Matrix matrix, Shape shape, int element_bits) {
  switch (matrix) {
  case Matrix::a:
    return mma_a(shape.m, shape.k, element_bits);
  case Matrix::b:
    return mma_b(shape.k, shape.n, element_bits);
  default:
    return mma_c(shape.m, shape.n, element_bits);
  }
}

// --- wgmma, one matrix a warpgroup ---
// Warp w of the four has rows 16w to 16w + 15, as mma.m16n8 has them. B is always in shared memory.
constexpr Fragment wgmma_fragment(Matrix matrix, Shape shape, int element_bits) {
  constexpr int kWarpRows = 16;
  Fragment f =
      matrix == Matrix::a ? mma_a(kWarpRows, shape.k, element_bits) : mma_c(kWarpRows, shape.n, element_bits);
  f.rows = shape.m;
  f.lane[2] = Mode{shape.m / kWarpRows, {kWarpRows, 0}};
  return f;
}

// --- wmma ---
// The hardware has m16n8 instructions only. m16n16 is two of them side by side, m32n8 two on top of each
// other, and m8n32 is m32n8 transposed: D^T = B^T * A^T. The row- or column-major order of a load changes
// nothing.
constexpr Fragment wmma_fragment(Matrix matrix, Shape shape, int element_bits) {
  const bool multiplicand = matrix == Matrix::a || matrix == Matrix::b;
  const bool wide = shape.m == 8 && shape.n == 32;
  Fragment f;
  if (!wide)
    f = mma_fragment(matrix, shape, element_bits);
  else if (multiplicand)
    f = transposed(matrix == Matrix::a ? mma_b(shape.k, 8, element_bits) : mma_a(32, shape.k, element_bits));
  else
    f = transposed(mma_c(32, 8, element_bits));
  return f;
}
// f16 multiplicands come in eight registers whatever the shape.
inline constexpr int kWmmaF16Registers = 8;

// --- mma.m8n8k4 .f16 ---
// Four independent multiplications: lanes 4i..4i+3 and 16+4i..16+4i+3 do the i-th. Rows 8i.. of A, C and D
// and columns 8i.. of B belong to it: the matrices lie below one another, those of B side by side. (ptxas's
// emulation for sm_90, followed symbolically, finds every element here.)
constexpr Fragment m8n8k4_a(MajorOrder order) {
  Fragment f{.rows = 32, .cols = 4, .element_bits = 16};
  if (order == MajorOrder::row) {
    f.lane = {Mode{4, {1, 0}}, Mode{4, {8, 0}}, Mode{2, {4, 0}}};
    f.reg = {Mode{2, {0, 2}}};
    f.elem = {Mode{2, {0, 1}}};
  } else {
    f.lane = {Mode{4, {0, 1}}, Mode{4, {8, 0}}, Mode{2, {4, 0}}};
    f.reg = {Mode{2, {2, 0}}};
    f.elem = {Mode{2, {1, 0}}};
  }
  return f;
}
constexpr Fragment m8n8k4_b(MajorOrder order) {
  Fragment f{.rows = 4, .cols = 32, .element_bits = 16};
  if (order == MajorOrder::row) {
    f.lane = {Mode{4, {1, 0}}, Mode{4, {0, 8}}, Mode{2, {0, 4}}};
    f.reg = {Mode{2, {0, 2}}};
    f.elem = {Mode{2, {0, 1}}};
  } else {
    f.lane = {Mode{4, {0, 1}}, Mode{4, {0, 8}}, Mode{2, {0, 4}}};
    f.reg = {Mode{2, {2, 0}}};
    f.elem = {Mode{2, {1, 0}}};
  }
  return f;
}
constexpr Fragment m8n8k4_c(int element_bits) {
  Fragment f{.rows = 32, .cols = 8, .element_bits = element_bits};
  if (element_bits == 16) {
    f.lane = {Mode{4, {1, 0}}, Mode{4, {8, 0}}, Mode{2, {4, 0}}};
    f.reg = {Mode{4, {0, 2}}};
    f.elem = {Mode{2, {0, 1}}};
  } else {
    f.lane = {Mode{2, {1, 0}}, Mode{2, {0, 2}}, Mode{4, {8, 0}}, Mode{2, {4, 0}}};
    f.reg = {Mode{2, {0, 1}}, Mode{2, {2, 0}}, Mode{2, {0, 4}}};
  }
  return f;
}

// --- scales of block-scaled mma ---
// The scales of A, m x per_line, or of B, per_line x n: bytes of one register a lane. Copies are the values
// of the instruction's selector {byte-id, thread-id}, which says who holds the scales: a place with copy 0 in
// `lane` and `elem` is that of {0, 0}, and offset() leads from there to any other's. PTX ISA: "Block Scaling
// for mma.sync"; a public probe of an sm_120 (mxf8f6f4, so one scale a line) finds every lane and byte so.
struct ScaleFragment : Fragment {
  // Values of thread-id: the two halves of each group of four lanes for A, its four lanes for B.
  constexpr int threads() const { return lane[1].size; }
  // byte-id is a multiple of this: all the scales of a line lie in one register.
  constexpr int per_line() const { return elem[0].size; }
  constexpr Place offset(int byte, int thread) const {
    return {.lane = thread * lane[0].size, .reg = 0, .elem = byte};
  }
};
inline constexpr int kScaleBytes = 4; // of the register
constexpr ScaleFragment scale_fragment(Matrix matrix, Shape shape, int per_line) {
  assert(per_line > 0);
  ScaleFragment f{};
  f.element_bits = 8;
  if (matrix == Matrix::a) {
    f.rows = shape.m;
    f.cols = per_line;
    f.lane = {Mode{2, {8, 0}}, Mode{2, {}}, Mode{8, {1, 0}}};
    f.elem = {Mode{per_line, {0, 1}}, Mode{kScaleBytes / per_line, {}}};
  } else {
    f.rows = per_line;
    f.cols = shape.n;
    f.lane = {Mode{1, {}}, Mode{4, {}}, Mode{8, {0, 1}}};
    f.elem = {Mode{per_line, {1, 0}}, Mode{kScaleBytes / per_line, {}}};
  }
  return f;
}

// --- ldmatrix, stmatrix, movmatrix ---
// `num` matrices of 8 x 8 b16 below one another, one register each. Transposed: as .trans delivers them,
// still in the coordinates of memory.
constexpr Fragment m8n8_b16(int num, bool trans) {
  Fragment f{.rows = 8 * num, .cols = 8, .element_bits = 16};
  f.lane = {Mode{4, {0, 2}}, Mode{8, {1, 0}}};
  f.elem = {Mode{2, {0, 1}}};
  if (trans) {
    f.lane = {Mode{4, {2, 0}}, Mode{8, {0, 1}}};
    f.elem = {Mode{2, {1, 0}}};
  }
  f.reg = {Mode{num, {8, 0}}};
  return f;
}
// The same of bytes. A row of memory has 16 of them in all three; what the ISA calls m16n8 is 8 such rows,
// because it is stored transposed. Not checked on hardware by us: sm_100a and its like only. The ISA's
// figures agree with the copies of CUTLASS (SM100_U8x8_LDSM_T, SM100_SU4_DU8x16_x1_LDSM_N,
// SM100_U8x4_STSM_T).
constexpr Fragment m8n16_b8(int num) {
  Fragment f{.rows = 8 * num, .cols = 16, .element_bits = 8};
  f.lane = {Mode{4, {0, 4}}, Mode{8, {1, 0}}};
  f.reg = {Mode{num, {8, 0}}};
  f.elem = {Mode{4, {0, 1}}};
  return f;
}
// Transposed: two registers a matrix.
constexpr Fragment m16n16_b8(int num) {
  Fragment f{.rows = 16 * num, .cols = 16, .element_bits = 8};
  f.lane = {Mode{4, {4, 0}}, Mode{8, {0, 1}}};
  f.reg = {Mode{2, {0, 8}}, Mode{num, {16, 0}}};
  f.elem = {Mode{4, {1, 0}}};
  return f;
}
// Transposed, so that a register holds four elements of an accumulator's m16n8 fragment.
constexpr Fragment m16n8_b8(int num) {
  Fragment f{.rows = 8 * num, .cols = 16, .element_bits = 8};
  f.lane = {Mode{4, {2, 0}}, Mode{8, {0, 1}}};
  f.reg = {Mode{num, {8, 0}}};
  f.elem = {Mode{2, {1, 0}}, Mode{2, {0, 8}}};
  return f;
}

// The matrix as text: one line a row, each element as lane:register, with .element where a register holds
// several. Copies are counted in the first line.
std::string to_text(const Fragment& fragment);

} // namespace lemma::layout
