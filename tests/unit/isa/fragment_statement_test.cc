// Who holds what, row by row of the catalogue, against a statement that shares nothing with src/layout.
//
// The statement is the PTX ISA's own: "groupID = %laneid >> 2, threadID_in_group = %laneid % 4", and for the
// element i of a lane's registers a row and a column, shape by shape, as the sections "Matrix Fragments for
// mma.m..." have them. (Fragments of wmma are opaque there; theirs were read from ptxas's code, which makes
// of each wmma one or two of the hardware's m16n8 instructions.) A row whose shape is not stated here fails.
//
// Hardware says the same: the recorded cases of groups mma, wmma, ldmatrix and wgmma (tests/golden) store raw
// registers of products and copies of random elements. Two elements that changed places would change nearly
// every recorded hash, and their replay takes every place from the fragments tested here.
#include "isa/catalogue.h"
#include "layout/sparse.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <tuple>

namespace lemma::isa {
namespace {

using layout::Coord;
using layout::Fragment;
using layout::MajorOrder;
using layout::Matrix;

// Row and column of element i of a lane; g = groupID, t = threadID_in_group.
using Statement = std::function<Coord(int g, int t, int i)>;

// --- A: by its rows, columns (the stored ones where it is sparse) and the bits of an element ---

using Key = std::tuple<int, int, int>;

const std::map<Key, Statement>& statements_of_a() {
  static const std::map<Key, Statement> all = {
      {{16, 8, 16}, [](int g, int t, int i) { return Coord{i < 2 ? g : g + 8, t * 2 + (i & 1)}; }},
      {{16, 16, 16},
       [](int g, int t, int i) {
         const bool low = i < 2 || (i >= 4 && i < 6);
         return Coord{low ? g : g + 8, t * 2 + (i & 1) + (i < 4 ? 0 : 8)};
       }},
      {{16, 4, 32}, [](int g, int t, int i) { return Coord{i == 0 ? g : g + 8, t}; }},
      {{16, 8, 32},
       [](int g, int t, int i) { return Coord{i == 0 || i == 2 ? g : g + 8, i == 0 || i == 1 ? t : t + 4}; }},
      {{8, 4, 64}, [](int g, int t, int) { return Coord{g, t}; }},
      {{16, 4, 64}, [](int g, int t, int i) { return Coord{i == 0 ? g : g + 8, t}; }},
      {{16, 8, 64},
       [](int g, int t, int i) { return Coord{i == 0 || i == 2 ? g : g + 8, i == 0 || i == 1 ? t : t + 4}; }},
      {{16, 16, 64},
       [](int g, int t, int i) { return i % 2 == 0 ? Coord{g, i * 2 + t} : Coord{g + 8, i * 2 - 2 + t}; }},
      {{8, 16, 8}, [](int g, int t, int i) { return Coord{g, t * 4 + i}; }},
      {{16, 16, 8}, [](int g, int t, int i) { return Coord{i < 4 ? g : g + 8, t * 4 + (i & 3)}; }},
      {{16, 32, 8},
       [](int g, int t, int i) {
         const bool low = i < 4 || (i >= 8 && i < 12);
         return Coord{low ? g : g + 8, t * 4 + (i & 3) + (i < 8 ? 0 : 16)};
       }},
      {{8, 32, 4}, [](int g, int t, int i) { return Coord{g, t * 8 + i}; }},
      {{16, 32, 4}, [](int g, int t, int i) { return Coord{i < 8 ? g : g + 8, t * 8 + (i & 7)}; }},
      {{16, 64, 4},
       [](int g, int t, int i) {
         const bool low = i < 8 || (i >= 16 && i < 24);
         return Coord{low ? g : g + 8, t * 8 + (i & 7) + (i < 16 ? 0 : 32)};
       }},
      {{8, 128, 1}, [](int g, int t, int i) { return Coord{g, t * 32 + i}; }},
      {{16, 128, 1}, [](int g, int t, int i) { return Coord{i < 32 ? g : g + 8, t * 32 + (i & 31)}; }},
      {{16, 256, 1},
       [](int g, int t, int i) {
         const bool low = i < 32 || (i >= 64 && i < 96);
         return Coord{low ? g : g + 8, t * 32 + (i & 31) + (i < 64 ? 0 : 128)};
       }},
      // wmma m32n8: two matrices of 16 rows, one after another.
      {{32, 16, 16},
       [](int g, int t, int i) {
         const int of16 = i % 8;
         const bool low = of16 < 2 || (of16 >= 4 && of16 < 6);
         return Coord{(low ? g : g + 8) + (i < 8 ? 0 : 16), t * 2 + (i & 1) + (of16 < 4 ? 0 : 8)};
       }},
      {{32, 16, 8},
       [](int g, int t, int i) {
         return Coord{(i % 8 < 4 ? g : g + 8) + (i < 8 ? 0 : 16), t * 4 + (i & 3)};
       }},
  };
  return all;
}

// --- B: by rows, columns, bits. Column g, in each register the next of K's groups ---

const std::map<Key, Statement>& statements_of_b() {
  static const std::map<Key, Statement> all = {
      {{8, 8, 16}, [](int g, int t, int i) { return Coord{t * 2 + i, g}; }},
      {{16, 8, 16}, [](int g, int t, int i) { return Coord{t * 2 + (i & 1) + (i < 2 ? 0 : 8), g}; }},
      {{32, 8, 16}, [](int g, int t, int i) { return Coord{t * 2 + (i & 1) + i / 2 * 8, g}; }},
      {{4, 8, 32}, [](int g, int t, int) { return Coord{t, g}; }},
      {{8, 8, 32}, [](int g, int t, int i) { return Coord{i == 0 ? t : t + 4, g}; }},
      {{16, 8, 32}, [](int g, int t, int i) { return Coord{t + i * 4, g}; }},
      {{4, 8, 64}, [](int g, int t, int) { return Coord{t, g}; }},
      {{8, 8, 64}, [](int g, int t, int i) { return Coord{i == 0 ? t : t + 4, g}; }},
      {{16, 8, 64}, [](int g, int t, int i) { return Coord{t + i * 4, g}; }},
      {{16, 8, 8}, [](int g, int t, int i) { return Coord{t * 4 + i, g}; }},
      {{32, 8, 8}, [](int g, int t, int i) { return Coord{t * 4 + (i & 3) + (i < 4 ? 0 : 16), g}; }},
      {{64, 8, 8}, [](int g, int t, int i) { return Coord{t * 4 + (i & 3) + i / 4 * 16, g}; }},
      {{32, 8, 4}, [](int g, int t, int i) { return Coord{t * 8 + i, g}; }},
      {{64, 8, 4}, [](int g, int t, int i) { return Coord{t * 8 + (i & 7) + (i < 8 ? 0 : 32), g}; }},
      {{128, 8, 4}, [](int g, int t, int i) { return Coord{t * 8 + (i & 7) + i / 8 * 32, g}; }},
      {{128, 8, 1}, [](int g, int t, int i) { return Coord{t * 32 + i, g}; }},
      {{256, 8, 1}, [](int g, int t, int i) { return Coord{t * 32 + (i & 31) + (i < 32 ? 0 : 128), g}; }},
      // wmma m16n16: the second half of the elements is of columns 8 to 15.
      {{16, 16, 16},
       [](int g, int t, int i) { return Coord{t * 2 + (i & 1) + (i % 4 < 2 ? 0 : 8), i < 4 ? g : g + 8}; }},
      {{16, 16, 8}, [](int g, int t, int i) { return Coord{t * 4 + (i & 3), i < 4 ? g : g + 8}; }},
      {{8, 16, 32}, [](int g, int t, int i) { return Coord{i % 2 == 0 ? t : t + 4, i < 2 ? g : g + 8}; }},
  };
  return all;
}

// --- C and D: by rows and columns; whatever the bits, two neighbours a row ---

const std::map<std::pair<int, int>, Statement>& statements_of_c() {
  static const std::map<std::pair<int, int>, Statement> all = {
      {{16, 8}, [](int g, int t, int i) { return Coord{i < 2 ? g : g + 8, t * 2 + (i & 1)}; }},
      {{8, 8}, [](int g, int t, int i) { return Coord{g, t * 2 + i}; }},
      {{16, 16},
       [](int g, int t, int i) { return Coord{i % 4 < 2 ? g : g + 8, t * 2 + (i & 1) + (i < 4 ? 0 : 8)}; }},
      {{32, 8}, [](int g, int t, int i) { return Coord{g + i / 2 * 8, t * 2 + (i & 1)}; }},
  };
  return all;
}

Coord swapped(Coord at) {
  return {at.col, at.row};
}

// None: nothing is stated of such a matrix.
std::optional<Statement> warp_statement(Matrix matrix, int rows, int cols, int bits) {
  const auto find = [](const auto& all, const auto& key) -> std::optional<Statement> {
    const auto at = all.find(key);
    return at == all.end() ? std::nullopt : std::optional(at->second);
  };
  if (matrix == Matrix::a)
    return find(statements_of_a(), Key{rows, cols, bits});
  if (matrix == Matrix::b)
    return find(statements_of_b(), Key{rows, cols, bits});
  return find(statements_of_c(), std::pair{rows, cols});
}

// wmma m8n32 is m32n8 of the transposed matrices.
std::optional<Statement> wmma_statement(const MatrixRow& row, Matrix matrix, int rows, int cols, int bits) {
  if (row.shape.m != 8 || row.shape.n != 32)
    return warp_statement(matrix, rows, cols, bits);
  const Matrix other = matrix == Matrix::a ? Matrix::b : matrix == Matrix::b ? Matrix::a : matrix;
  const auto statement = warp_statement(other, cols, rows, bits);
  if (!statement)
    return std::nullopt;
  return [statement](int g, int t, int i) { return swapped((*statement)(g, t, i)); };
}

void expect_statement(const Fragment& f, const std::optional<Statement>& statement, const std::string& what) {
  if (!statement) {
    ADD_FAILURE() << what << ": " << f.rows << " x " << f.cols << " of " << f.element_bits
                  << " bits is not stated in this file";
    return;
  }
  const int elems = f.elems_per_register(), distinct = f.distinct_registers() * elems;
  for (int lane = 0; lane < f.lanes(); ++lane)
    for (int i = 0; i < f.registers() * elems; ++i)
      ASSERT_EQ(f.at({lane, i / elems, i % elems}), (*statement)(lane >> 2, lane % 4, i % distinct))
          << what << ", lane " << lane << ", element " << i;
}

// --- wgmma: warp w of the warpgroup has rows 16w to 16w + 15 ---

void expect_warpgroup(const MatrixRow& row) {
  const Fragment d = fragment_of(row, Matrix::d, row.types.d.first());
  const int packed = d.elems_per_register();
  EXPECT_EQ(d.lanes(), 128);
  for (int thread = 0; thread < 128; ++thread)
    for (int i = 0; i < row.shape.n / 2; ++i)
      ASSERT_EQ(d.at({thread, i / packed, i % packed}),
                (Coord{16 * (thread / 32) + thread % 32 / 4 + (i % 4 < 2 ? 0 : 8),
                       i / 4 * 8 + thread % 4 * 2 + (i & 1)}))
          << syntax_of(row) << ", thread " << thread << ", element " << i;
  const Fragment a = fragment_of(row, Matrix::a, row.types.a.first());
  const auto statement = warp_statement(Matrix::a, 16, a.cols, a.element_bits);
  ASSERT_TRUE(statement) << syntax_of(row);
  const int elems = a.elems_per_register();
  for (int thread = 0; thread < 128; ++thread)
    for (int i = 0; i < 4 * elems; ++i) {
      Coord at = (*statement)(thread % 32 / 4, thread % 4, i);
      at.row += 16 * (thread / 32);
      ASSERT_EQ(a.at({thread, i / elems, i % elems}), at) << syntax_of(row) << ", thread " << thread;
    }
}

// --- f16 m8n8k4: four products; "Matrix Fragments for mma.m8n8k4 with .f16" ---

void expect_m8n8k4(const MatrixRow& row) {
  for (int lane = 0; lane < 32; ++lane) {
    const int product = lane / 4 % 4, high = lane < 16 ? 0 : 4, t = lane % 4;
    for (int i = 0; i < 4; ++i) {
      const layout::Place place{lane, i / 2, i % 2};
      EXPECT_EQ(fragment_of(row, Matrix::a, Type::f16, MajorOrder::row).at(place),
                (Coord{8 * product + t + high, i}));
      EXPECT_EQ(fragment_of(row, Matrix::a, Type::f16, MajorOrder::col).at(place),
                (Coord{8 * product + i + high, t}));
      EXPECT_EQ(fragment_of(row, Matrix::b, Type::f16, MajorOrder::row).at(place),
                (Coord{t, 8 * product + i + high}));
      EXPECT_EQ(fragment_of(row, Matrix::b, Type::f16, MajorOrder::col).at(place),
                (Coord{i, 8 * product + t + high}));
    }
    for (const Matrix matrix : {Matrix::c, Matrix::d})
      for (int i = 0; i < 8; ++i) {
        const Type type = matrix == Matrix::c ? row.types.c.first() : row.types.d.first();
        const Fragment f = fragment_of(row, matrix, type);
        if (type == Type::f16)
          EXPECT_EQ(f.at({lane, i / 2, i % 2}), (Coord{8 * product + t + high, i}));
        else
          EXPECT_EQ(f.at({lane, i, 0}),
                    (Coord{8 * product + (lane & 1) + (i & 2) + high, (i & 4) + (lane & 2) + (i & 1)}));
      }
  }
}

// --- ldmatrix, stmatrix, movmatrix: one matrix, in the rows of memory ---

void expect_moved(const MatrixRow& row) {
  for (const bool trans : {false, true}) {
    std::optional<Statement> statement;
    if (row.shape == layout::Shape{8, 8, 0})
      statement = [trans](int g, int t, int i) { return trans ? Coord{t * 2 + i, g} : Coord{g, t * 2 + i}; };
    else if (row.shape == layout::Shape{8, 16, 0})
      statement = [](int g, int t, int i) { return Coord{g, t * 4 + i}; };
    else if (row.shape == layout::Shape{16, 16, 0})
      statement = [](int g, int t, int i) { return Coord{t * 4 + (i & 3), i < 4 ? g : g + 8}; };
    else if (row.shape == layout::Shape{16, 8, 0})
      statement = [](int g, int t, int i) { return Coord{t * 2 + (i & 1), i < 2 ? g : g + 8}; };
    expect_statement(memory_fragment(row, 1, trans), statement, syntax_of(row));
    // Further matrices lie below in memory, in further registers.
    const Fragment one = memory_fragment(row, 1, trans), two = memory_fragment(row, 2, trans);
    for (int lane = 0; lane < 32; ++lane)
      for (int reg = 0; reg < one.registers(); ++reg) {
        const Coord first = two.at({lane, reg, 0}), second = two.at({lane, reg + one.registers(), 0});
        EXPECT_EQ(second, (Coord{first.row + one.rows, first.col})) << syntax_of(row);
      }
  }
}

// --- Metadata, selector 0: "Matrix fragments for multiply-accumulate with sparse matrix A" ---

// 16 bits and wider: a register has four chunks of row g in its lower half and of row g + 8 in its upper;
// with eight chunks a row the next lane has the other four. Bytes and less: a register has eight chunks of
// one row, of row g in the group's even lanes, g + 8 in its odd ones; with sixteen a row lanes 2 and 3 have
// the rest.
void expect_metadata(const MatrixRow& row) {
  const Fragment f = metadata_of(row);
  const int bits = fragment_of(row, Matrix::a, row.types.a.first()).element_bits;
  const int per_chunk = bits == 32 ? 2 : bits == 4 ? 8 : 4;
  const int chunks = row.shape.k / per_chunk;
  ASSERT_EQ(f.cols, chunks) << syntax_of(row);
  const int lanes = chunks / 4; // of a group of four
  for (int lane = 0; lane < f.lanes(); ++lane) {
    const int warp = lane / 32, g = lane % 32 / 4, t = lane % 4;
    if (t >= lanes)
      continue; // has them with another selector
    for (int i = 0; i < 8; ++i) {
      const Coord at =
          bits >= 16 ? Coord{i < 4 ? g : g + 8, t * 4 + i % 4} : Coord{t % 2 == 0 ? g : g + 8, t / 2 * 8 + i};
      ASSERT_EQ(f.at({lane, 0, i}), (Coord{16 * warp + at.row, at.col}))
          << syntax_of(row) << ", lane " << lane;
    }
  }
}

// --- Scales: "Block Scaling for mma.sync" ---

// With the selector {byte_id, thread_id}, byte `byte` of a lane's register holds scale `scale` of line
// `line`: a row of A, a column of B. None: it is not looked at.
struct Scale {
  int line = 0, scale = 0;
  friend bool operator==(const Scale&, const Scale&) = default;
};

// The scales of a line are one, two or four neighbouring bytes: byte byte_id alone; bytes 0 and 1 or 2 and 3;
// all four. Of a group of four lanes the pair {0, 1} or {2, 3} has those of A, the even lane of row g, the
// odd one of row g + 8; one lane has those of B's column g.
std::optional<Scale> scale_statement(Matrix matrix, int scales, int byte_id, int thread_id, int lane,
                                     int byte) {
  const int g = lane >> 2, t = lane % 4;
  if (byte < byte_id || byte >= byte_id + scales)
    return std::nullopt;
  if (matrix == Matrix::b)
    return t == thread_id ? std::optional(Scale{g, byte - byte_id}) : std::nullopt;
  if (thread_id == 0 ? t > 1 : t < 2)
    return std::nullopt;
  return Scale{t == 0 || t == 2 ? g : g + 8, byte - byte_id};
}

// The library's fragment, by its places under {0, 0} and the way from there, against the statement: every
// byte of every lane for every selector that the assembler takes.
void expect_scales(const MatrixRow& row, int scales) {
  ASSERT_EQ(scales_of(row), scales);
  for (const Matrix matrix : {Matrix::a, Matrix::b}) {
    const layout::ScaleFragment f = scale_fragment_of(row, matrix);
    const bool of_a = matrix == Matrix::a;
    EXPECT_EQ(f.rows, of_a ? 16 : scales);
    EXPECT_EQ(f.cols, of_a ? scales : 8);
    EXPECT_EQ(f.element_bits, 8);
    EXPECT_EQ(f.register_bits, 32);
    ASSERT_EQ(f.threads(), of_a ? 2 : 4);
    ASSERT_EQ(f.per_line(), scales);
    for (int thread_id = 0; thread_id < (of_a ? 2 : 4); ++thread_id)
      for (int byte_id = 0; byte_id < 4; byte_id += scales) {
        std::map<std::pair<int, int>, Scale> held; // by lane and byte, as the library has it
        for (int line = 0; line < (of_a ? 16 : 8); ++line)
          for (int scale = 0; scale < scales; ++scale) {
            const Coord at = of_a ? Coord{line, scale} : Coord{scale, line};
            const layout::Place first = *f.find(at), offset = f.offset(byte_id, thread_id);
            const layout::Place place{first.lane + offset.lane, first.reg + offset.reg,
                                      first.elem + offset.elem};
            EXPECT_EQ(f.at(place), at) << "not a copy";
            held[{place.lane, place.elem}] = {line, scale};
          }
        for (int lane = 0; lane < 32; ++lane)
          for (int byte = 0; byte < 4; ++byte) {
            const auto at = held.find({lane, byte});
            EXPECT_EQ(at == held.end() ? std::nullopt : std::optional(at->second),
                      scale_statement(matrix, scales, byte_id, thread_id, lane, byte))
                << (of_a ? "A" : "B") << ", {" << byte_id << ", " << thread_id << "}, lane " << lane
                << ", byte " << byte;
          }
      }
  }
}

TEST(FragmentStatement, ScalesLieWhereTheIsaSays) {
  std::map<int, size_t> rows; // by scales of a line
  for (const MatrixRow& row : matrix_rows()) {
    const int scales = row.scale_vec == Qual::scale_vec_1X   ? 1
                       : row.scale_vec == Qual::scale_vec_2X ? 2
                       : row.scale_vec == Qual::scale_vec_4X ? 4
                                                             : 0;
    EXPECT_EQ(scales != 0, row.scale != Type::none) << syntax_of(row);
    if (scales == 0)
      continue;
    SCOPED_TRACE(syntax_of(row));
    ++rows[scales];
    expect_scales(row, scales);
  }
  // mxf8f6f4; mxf4 and mxf4nvf4; mxf4nvf4: each dense and sparse.
  EXPECT_EQ(rows, (std::map<int, size_t>{{1, 2}, {2, 4}, {4, 2}}));
}

// As EveryStatementHoldsEachElementOnce: a selector picks every scale once.
TEST(FragmentStatement, TheStatementHoldsEachScaleOnce) {
  for (const Matrix matrix : {Matrix::a, Matrix::b})
    for (const int scales : {1, 2, 4})
      for (int thread_id = 0; thread_id < (matrix == Matrix::a ? 2 : 4); ++thread_id)
        for (int byte_id = 0; byte_id < 4; byte_id += scales) {
          std::map<std::pair<int, int>, int> held;
          for (int lane = 0; lane < 32; ++lane)
            for (int byte = 0; byte < 4; ++byte)
              if (const auto s = scale_statement(matrix, scales, byte_id, thread_id, lane, byte))
                ++held[{s->line, s->scale}];
          for (const auto& [at, times] : held)
            EXPECT_EQ(times, 1);
          EXPECT_EQ(held.size(), static_cast<size_t>((matrix == Matrix::a ? 16 : 8) * scales));
        }
}

TEST(FragmentStatement, EveryRowIsAsTheIsaSays) {
  size_t rows = 0;
  for (const MatrixRow& row : matrix_rows()) {
    const std::string what = syntax_of(row);
    SCOPED_TRACE(what);
    ++rows;
    if (row.sparse != Qual::none)
      expect_metadata(row);
    switch (row.fragments) {
    case FragmentRule::mma_m8n8k4:
      expect_m8n8k4(row);
      continue;
    case FragmentRule::wgmma:
      expect_warpgroup(row);
      continue;
    case FragmentRule::m8n8:
      expect_moved(row);
      continue;
    default:
      break;
    }
    for (const Matrix matrix : {Matrix::a, Matrix::b, Matrix::c, Matrix::d}) {
      if (row.spelled == "m" && matrix != row.matrix)
        continue;
      const Type type = type_of(row, matrix, {});
      const Fragment f = fragment_of(row, matrix, type);
      const bool wmma = row.fragments == FragmentRule::wmma;
      expect_statement(f,
                       wmma ? wmma_statement(row, matrix, f.rows, f.cols, f.element_bits)
                            : warp_statement(matrix, f.rows, f.cols, f.element_bits),
                       what + ", matrix " + "abcd"[static_cast<int>(matrix)]);
    }
  }
  EXPECT_EQ(rows, matrix_rows().size());
}

// The statements themselves: each is a matrix, every element once, so that a slip of the pen cannot agree
// with the same slip in src/layout unseen.
TEST(FragmentStatement, EveryStatementHoldsEachElementOnce) {
  const auto expect_whole = [](const Statement& statement, int rows, int cols) {
    std::map<std::pair<int, int>, int> held;
    for (int lane = 0; lane < 32; ++lane)
      for (int i = 0; i < rows * cols / 32; ++i) {
        const Coord at = statement(lane >> 2, lane % 4, i);
        ++held[{at.row, at.col}];
        EXPECT_TRUE(at.row >= 0 && at.row < rows && at.col >= 0 && at.col < cols);
      }
    EXPECT_EQ(held.size(), static_cast<size_t>(rows * cols));
  };
  for (const auto& [key, statement] : statements_of_a())
    expect_whole(statement, std::get<0>(key), std::get<1>(key));
  for (const auto& [key, statement] : statements_of_b())
    expect_whole(statement, std::get<0>(key), std::get<1>(key));
  for (const auto& [key, statement] : statements_of_c())
    expect_whole(statement, key.first, key.second);
}

} // namespace
} // namespace lemma::isa
