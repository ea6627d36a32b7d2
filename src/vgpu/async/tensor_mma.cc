// From descriptors and cells to the tiles that dot() takes, and back. Tensor memory lies column by column, so
// that tiles of D are transposed on the way, sixteen columns at a time.
#include "vgpu/async/tensor_mma.h"

#include "isa/matrix_model.h"
#include "layout/sparse.h"
#include "layout/tensor_instruction_fields.h"
#include "layout/tensor_metadata.h"
#include "layout/tensor_operands.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

namespace lemma::vgpu {
namespace {

using layout::TensorCell;
using layout::TensorFormat;
using layout::instruction_fields::is_f4;
using numeric::FloatFormat;

uint32_t sign_bit(TensorFormat format) {
  const uint32_t bits = layout::element_bits(format);
  return bits >= 8 ? 0x80 : 1u << (bits - 1);
}

// 32 elements of 4 bits, a byte each: of a byte the lower half first.
void unpack_dense(const std::byte* chunk, std::byte* to) {
  for (uint32_t i = 0; i < layout::kChunkBytes; ++i) {
    to[2 * i] = chunk[i] & std::byte{0xf};
    to[2 * i + 1] = chunk[i] >> 4;
  }
}

// The highest byte of each element has the sign.
void negate(std::byte* tile, size_t bytes, uint32_t element_bytes, uint32_t sign) {
  for (size_t at = element_bytes - 1; sign != 0 && at < bytes; at += element_bytes)
    tile[at] ^= static_cast<std::byte>(sign);
}

// Rows of A or B as dot() takes them: K of one operation behind that of the one before.
struct Tile {
  std::byte* rows = nullptr; // of this operation
  size_t stride = 0;         // bytes from row to row

  std::byte* row(size_t index) const { return rows + index * stride; }
};

// Calls visit(row, chunk along K, address) for the chunks of a K-major matrix's rows.
template <class Visit>
void each_chunk_of_rows(const TensorShared& matrix, Visit visit) {
  const uint32_t in_row = matrix.row_chunks;
  // Where eights of rows lie whole patterns of the swizzle apart, each is as the one before.
  const uint32_t stride = matrix.chunks.stride, pattern = 8 * layout::line_bytes(matrix.chunks.swizzle);
  const bool repeats = !matrix.descriptor.leading_is_address && matrix.first % 8 == 0 &&
                       matrix.rows % 8 == 0 && stride % pattern == 0;
  const uint32_t different = repeats ? 8 : matrix.rows;
  for (uint32_t row = 0; row < different; ++row)
    for (uint32_t chunk = 0; chunk < in_row; ++chunk) {
      const uint32_t address = matrix.chunk((matrix.first + row) * in_row + chunk);
      for (uint32_t further = 0; row + further < matrix.rows; further += different)
        visit(row + further, chunk, address + further / 8 * stride);
    }
}

// The rows of an MN-major matrix.
void gather_mn_major(const TensorShared& matrix, const std::byte* shared, uint32_t bits, Tile tile) {
  const uint32_t in_chunk = matrix.elements_of_chunk(), depth = matrix.depth(),
                 element_bytes = matrix.element_bytes;
  for (uint32_t i = matrix.first_chunk(); i < matrix.end_chunk(); ++i) {
    std::byte chunk[layout::kChunkBytes];
    std::memcpy(chunk, shared + matrix.chunk(i), sizeof chunk);
    if (bits < 8)
      unpack_chunk(chunk, bits);
    for (uint32_t r = 0; r < in_chunk; ++r)
      if (const uint32_t row = i / depth * in_chunk + r;
          row >= matrix.first && row < matrix.first + matrix.rows)
        std::memcpy(tile.row(row - matrix.first) + size_t{i % depth} * element_bytes,
                    chunk + size_t{r} * element_bytes, element_bytes);
  }
}

// The rows of a matrix in shared memory, K along them.
void gather_shared(const TensorShared& matrix, const Cta& cta, const TensorProduct& product,
                   TensorFormat format, Tile tile) {
  const std::byte* shared = cta.async_read(0);
  const uint32_t bits = layout::element_bits(format);
  if (matrix.mn_major)
    return gather_mn_major(matrix, shared, bits, tile);
  const bool is_dense = is_f4(product.descriptor.kind);
  if (bits >= 8 && !is_dense)
    return each_chunk_of_rows(matrix, [&](uint32_t row, uint32_t chunk, uint32_t address) {
      std::memcpy(tile.row(row) + size_t{chunk} * layout::kChunkBytes, shared + address, layout::kChunkBytes);
    });
  each_chunk_of_rows(matrix, [&](uint32_t row, uint32_t chunk, uint32_t address) {
    std::byte* to = tile.row(row) + size_t{chunk} * layout::kChunkBytes * (is_dense ? 2 : 1);
    if (is_dense)
      return unpack_dense(shared + address, to);
    std::memcpy(to, shared + address, layout::kChunkBytes);
    unpack_chunk(to, bits);
  });
}

// What one CTA computes of one block of D's columns.
struct Part {
  const Cta& cta;
  const TensorLanes& disabled;
  uint32_t block = 0;
  size_t length = 1; // of the chain

  const uint32_t* lanes(uint32_t column) const { return cta.tensor.memory->column(column); }
  bool writes_all() const {
    return std::ranges::all_of(disabled, [](LaneMask lanes) { return lanes == 0; });
  }
};

// Rows of A in tensor memory: a cell for every four bytes.
void gather_tensor(const TensorMma& mma, const Part& part, Tile tile) {
  const TensorProduct& product = *mma.product;
  const size_t row_bytes = size_t{product.a_chunks} * layout::kChunkBytes;
  std::vector<std::byte> dense(is_f4(product.descriptor.kind) ? product.row_lanes.size() * row_bytes : 0);
  const Tile to = dense.empty() ? tile : Tile{dense.data(), row_bytes};
  for (uint32_t column = 0; column < a_columns(product); ++column) {
    const uint32_t* lanes =
        part.lanes(mma.a_cell.column + column) + mma.a_cell.lane + product.block_lane(part.block);
    for (size_t row = 0; row < product.row_lanes.size(); ++row)
      std::memcpy(to.row(row) + size_t{column} * 4,
                  lanes + product.row_lanes[mma.shifts_a && row != 0 ? row - 1 : row], 4);
  }
  for (size_t at = 0; at < dense.size(); at += layout::kChunkBytes)
    unpack_dense(&dense[at], tile.row(at / row_bytes) + 2 * (at % row_bytes));
}

// Appends those of the row, from a quarter.
void append_scales(const TensorProduct& product, const Part& part, uint32_t first, const TensorScales& lie,
                   uint32_t row, uint32_t quarter, std::vector<uint8_t>& scales) {
  for (uint32_t byte = lie.id; byte < lie.id + product.scales; ++byte) {
    const uint32_t column = first + byte / 4 * lie.stride + row / kWarpSize;
    const uint32_t word = part.lanes(column)[quarter * kWarpSize + row % kWarpSize];
    scales.push_back(static_cast<uint8_t>(word >> byte % 4 * 8));
  }
}

// [rows of the CTA][scales].
std::vector<uint8_t> scales_of_a(const TensorMma& mma, const Part& part) {
  const TensorProduct& product = *mma.product;
  const TensorScales lie = a_scales_of(product);
  std::vector<uint8_t> scales;
  for (uint32_t row = 0; row < lie.rows && product.scales != 0; ++row)
    append_scales(product, part, mma.a_scales, lie, row,
                  (product.row_lanes[row] + product.block_lane(part.block)) / kWarpSize, scales);
  return scales;
}

// [columns of the block][scales].
std::vector<uint8_t> scales_of_b(const TensorMma& mma, const Part& part) {
  const TensorProduct& product = *mma.product;
  const TensorScales lie = b_scales_of(product);
  std::vector<uint8_t> scales;
  for (uint32_t column = 0; column < lie.rows && product.scales != 0; ++column)
    append_scales(product, part, mma.b_scales, lie, column, product.block_lane(part.block) / kWarpSize,
                  scales);
  return scales;
}

// [rows of the CTA][stored elements] of a sparse A: their columns of K.
std::vector<uint8_t> columns_of_a(const TensorMma& mma, const Part& part) {
  const TensorProduct& product = *mma.product;
  std::vector<uint8_t> index;
  if (product.metadata_bits == 0)
    return index;
  const layout::SparseChunk sparse = layout::sparse_chunk(static_cast<int>(product.metadata_bits));
  for (uint32_t row = 0; row < product.cta_rows(); ++row)
    for (uint32_t chunk = 0; chunk < metadata_chunks(product); ++chunk) {
      const TensorMetadata at = metadata_of(mma, part.block, row, chunk);
      const uint32_t bits = part.lanes(at.cell.column)[at.cell.lane] >> at.bit & 15;
      for (int element = 0; element < sparse.stored; ++element)
        index.push_back(static_cast<uint8_t>(static_cast<int>(chunk) * sparse.columns +
                                             layout::stored_column(sparse, bits, element)));
    }
  return index;
}

// The number times 2^exponent, to nearest even where it becomes subnormal: assumed.
uint64_t scaled(FloatFormat format, uint64_t bits, int exponent) {
  const numeric::Decoded number = numeric::decode(format, bits);
  if (number.float_class != numeric::FloatClass::finite)
    return bits;
  return numeric::encode(
      format,
      {.sign = number.sign, .exponent = number.exponent + exponent, .significand = number.significand});
}

constexpr uint32_t kGroup = 16; // columns

// Calls move(element of the tile, cell, lane) for the elements of D, groups of columns after each other.
template <class T, class Move>
void for_cells(const TensorMma& mma, const Part& part, T* tile, Move move) {
  const TensorProduct& product = *mma.product;
  const uint32_t n = product.block_columns;
  for (uint32_t first = 0; first < n; first += kGroup) {
    const uint32_t count = std::min(kGroup, n - first);
    const TensorCell* cells = &product.columns[part.block * n + first];
    uint32_t* columns[kGroup];
    for (uint32_t i = 0; i < count; ++i)
      columns[i] = part.cta.tensor.memory->column(mma.d_cell.column + cells[i].column) + mma.d_cell.lane +
                   cells[i].lane;
    for (size_t row = 0; row < product.row_lanes.size(); ++row) {
      T* elements = tile + row * n + first;
      const uint32_t lane = product.row_lanes[row];
      for (uint32_t i = 0; i < count; ++i)
        move(elements[i], columns[i][lane], lane + mma.d_cell.lane + cells[i].lane);
    }
  }
}

// `b`: the columns of the block.
template <class T>
MatrixOutputs multiply_tile(const TensorMma& mma, const Part& part, const std::byte* a, const std::byte* b,
                            std::vector<std::byte>& room, numeric::DotScratch& scratch) {
  const TensorProduct& product = *mma.product;
  const numeric::DotPlan& dot = product.dots[part.length - 1];
  room.resize(dot.shape().outputs() * sizeof(T));
  auto* d = reinterpret_cast<T*>(room.data());
  if (mma.accumulates)
    for_cells(mma, part, d, [](T& element, uint32_t cell, uint32_t) { element = static_cast<T>(cell); });
  if (mma.accumulates && mma.scale_d != 0)
    for (size_t i = 0; i < dot.shape().outputs(); ++i)
      d[i] = static_cast<T>(scaled(dot.model().c, d[i], -mma.scale_d));
  const std::vector<uint8_t> of_a = scales_of_a(mma, part), of_b = scales_of_b(mma, part),
                             index = columns_of_a(mma, part);
  const MatrixOutputs outputs = numeric::dot(dot,
                                             {.a = a,
                                              .b = b,
                                              .c = mma.accumulates ? room.data() : nullptr,
                                              .d = room.data(),
                                              .scale_a = of_a.data(),
                                              .scale_b = of_b.data(),
                                              .a_index = index.data()},
                                             scratch);
  if (part.writes_all())
    for_cells(mma, part, d, [](T element, uint32_t& cell, uint32_t) { cell = element; });
  else
    for_cells(mma, part, d, [&](T element, uint32_t& cell, uint32_t lane) {
      if ((part.disabled[lane / kWarpSize] >> lane % kWarpSize & 1) == 0)
        cell = element;
    });
  return outputs;
}

// The same where D is multiplied as it lies there.
MatrixOutputs multiply_in_place(const TensorMma& mma, const Part& part, const std::byte* a,
                                const std::byte* b, numeric::DotScratch& scratch) {
  const std::vector<uint8_t> of_a = scales_of_a(mma, part), of_b = scales_of_b(mma, part);
  uint32_t* d = part.cta.tensor.memory->column(mma.d_cell.column);
  return numeric::dot(mma.product->transposed[part.length - 1],
                      {.a = b,
                       .b = a,
                       .c = mma.accumulates ? d : nullptr,
                       .d = d,
                       .scale_a = of_b.data(),
                       .scale_b = of_a.data()},
                      scratch);
}

// `mma`: the first of the chain, which says what D is before.
MatrixOutputs multiply(const TensorMma& mma, const Part& part, const std::byte* a, const std::byte* b,
                       std::vector<std::byte>& room, numeric::DotScratch& scratch) {
  const TensorProduct& product = *mma.product;
  if (!product.transposed.empty() && part.writes_all() && mma.scale_d == 0)
    return multiply_in_place(mma, part, a, b, scratch);
  return product.d_bytes == 2 ? multiply_tile<uint16_t>(mma, part, a, b, room, scratch)
                              : multiply_tile<uint32_t>(mma, part, a, b, room, scratch);
}

numeric::DotModel transposed(numeric::DotModel model) {
  std::swap(model.a, model.b);
  std::swap(model.integer_a, model.integer_b);
  return model;
}

} // namespace

void unpack_chunk(std::byte* chunk, uint32_t bits) {
  std::byte packed[layout::kChunkBytes];
  std::memcpy(packed, chunk, sizeof packed);
  for (uint32_t i = 0; i < layout::kChunkBytes; ++i) {
    const uint32_t at = i * bits, word = std::to_integer<uint32_t>(packed[at / 8]) |
                                         std::to_integer<uint32_t>(packed[std::min(at / 8 + 1, 15u)]) << 8;
    chunk[i] = static_cast<std::byte>(word >> at % 8 & ((1u << bits) - 1));
  }
}

uint32_t TensorShared::chunk(uint32_t index) const {
  if (!mn_major)
    return descriptor.leading_is_address
               ? descriptor.k_major_chunk_of_two_lines(index / row_chunks, index % row_chunks)
               : chunks.k_major_chunk(index / row_chunks, index % row_chunks);
  return descriptor.swizzle == layout::SmemSwizzle::b128_32b_atoms
             ? descriptor.mn_major_chunk_of_32b_atoms(index / depth(), index % depth())
             : chunks.mn_major_chunk(index / depth(), index % depth());
}

std::optional<TensorProduct> make_tensor_product(const layout::TensorInstructionDescriptor& descriptor,
                                                 layout::DataPath path, uint32_t scales,
                                                 numeric::Arch machine) {
  TensorProduct product;
  product.descriptor = descriptor;
  product.path = path;
  const uint32_t rows = descriptor.m / layout::ctas_of(path), k = descriptor.k(),
                 products = descriptor.sparse ? k / 2 : k; // of an element of D
  product.cta_columns = descriptor.n / layout::ctas_of(path);
  product.block_columns = descriptor.n / layout::column_blocks_of(path);
  product.scales = scales;
  const auto model = isa::tensor_model(descriptor, scales, machine);
  if (!model)
    return std::nullopt;
  product.dots = numeric::make_chain(*model, {.m = static_cast<int>(rows),
                                              .n = static_cast<int>(product.block_columns),
                                              .k = static_cast<int>(products),
                                              .k_b = static_cast<int>(k)});
  product.element_bytes = std::max(layout::element_bits(descriptor.a), 8u) / 8;
  product.a_row_bytes = products * product.element_bytes;
  product.b_row_bytes = k * product.element_bytes;
  product.a_chunks = is_f4(descriptor.kind) ? products / 2 / layout::kChunkBytes : kTensorRowChunks;
  product.b_chunks = descriptor.sparse ? 2 * product.a_chunks : product.a_chunks;
  if (descriptor.sparse)
    product.metadata_bits = layout::a_element_bits(descriptor.kind, descriptor.a);
  product.d_bytes = descriptor.d == TensorFormat::f16 ? 2 : 4;
  product.negate_a = descriptor.negate_a ? sign_bit(descriptor.a) : 0;
  product.negate_b = descriptor.negate_b ? sign_bit(descriptor.b) : 0;
  for (uint32_t row = 0; row < rows; ++row)
    product.row_lanes.push_back(
        static_cast<uint8_t>(layout::accumulator_cell(path, descriptor.m, descriptor.n, row, 0).cell.lane));
  for (const uint8_t lane : product.row_lanes)
    product.row_quarters[lane / kWarpSize] |= LaneMask{1} << lane % kWarpSize;
  const bool is_plain = path == layout::DataPath::a || path == layout::DataPath::d;
  if (is_plain && rows == TensorMemory::kLanes && !descriptor.sparse && product.d_bytes == sizeof(uint32_t))
    product.transposed = numeric::make_chain(
        transposed(*model),
        {.m = static_cast<int>(descriptor.n), .n = static_cast<int>(rows), .k = static_cast<int>(products)});
  for (uint32_t column = 0; column < descriptor.n; ++column)
    product.columns.push_back(layout::accumulator_cell(path, descriptor.m, descriptor.n, 0, column).cell);
  product.d_columns = layout::accumulator_columns(path, descriptor.n);
  product.flops = 2 * uint64_t{descriptor.m} * descriptor.n * descriptor.k();
  return product;
}

namespace {

// `all`: rows that are laid out together, in so many blocks.
TensorScales scales_of(const TensorProduct& product, uint32_t rows, uint32_t all, uint32_t blocks,
                       uint32_t id) {
  return {.rows = rows,
          .id = id,
          .stride = layout::columns_to_more_scales(all, blocks),
          .words = (id + std::max(product.scales, 1u) + 3) / 4};
}

} // namespace

TensorScales a_scales_of(const TensorProduct& product) {
  return scales_of(product, product.cta_rows(), product.cta_rows(), 1, product.descriptor.scale_a_id);
}

TensorScales b_scales_of(const TensorProduct& product) {
  return scales_of(product, product.block_columns, product.descriptor.n, product.blocks(),
                   product.descriptor.scale_b_id);
}

uint32_t metadata_chunks(const TensorProduct& product) {
  return product.descriptor.k() /
         static_cast<uint32_t>(layout::sparse_chunk(static_cast<int>(product.metadata_bits)).columns);
}

TensorMetadata metadata_of(const TensorMma& mma, uint32_t block, uint32_t row, uint32_t chunk) {
  const TensorProduct& product = *mma.product;
  const layout::MetadataPlace place = layout::metadata_place(product.metadata_bits, row, chunk);
  return {{mma.metadata_cell.lane + product.row_lanes[place.lane_of_row] + product.block_lane(block),
           mma.metadata_cell.column + place.column},
          place.bit};
}

namespace {

// Of rows of A and D, `further` lanes on.
TensorLanes lanes_of_rows(const TensorProduct& product, uint32_t further) {
  TensorLanes lanes{};
  for (size_t quarter = 0; quarter < lanes.size(); ++quarter)
    if (quarter >= further / kWarpSize)
      lanes[quarter] = product.row_quarters[quarter - further / kWarpSize] << further % kWarpSize;
  return lanes;
}

} // namespace

TensorLanes lanes_of_d(const TensorMma& mma, TensorCell column) {
  return lanes_of_rows(*mma.product, mma.d_cell.lane + column.lane);
}

void each_cell_read(const TensorMma& mma, const TensorVisit& visit) {
  const TensorProduct& product = *mma.product;
  const auto each_row = [&](const Cta& cta) {
    for (uint32_t block = 0; block < product.blocks(); ++block)
      for (uint32_t column = 0; column < a_columns(product); ++column)
        visit(cta, mma.a_cell.column + column,
              lanes_of_rows(product, mma.a_cell.lane + product.block_lane(block)));
  };
  const auto each_scale = [&](const Cta& cta, uint32_t first, const TensorScales& lie) {
    for (uint32_t word = 0; word < lie.words; ++word)
      for (uint32_t row = 0; row < lie.rows; row += kWarpSize) {
        TensorLanes lanes;
        lanes.fill(lie.rows - row < kWarpSize ? (LaneMask{1} << (lie.rows - row)) - 1 : kAllLanes);
        visit(cta, first + word * lie.stride + row / kWarpSize, lanes);
      }
  };
  std::map<uint32_t, TensorLanes> metadata; // by column
  for (uint32_t block = 0; product.metadata_bits != 0 && block < product.blocks(); ++block)
    for (uint32_t row = 0; row < product.cta_rows(); ++row)
      for (uint32_t chunk = 0; chunk < metadata_chunks(product); ++chunk) {
        const TensorCell cell = metadata_of(mma, block, row, chunk).cell;
        metadata[cell.column][cell.lane / kWarpSize] |= LaneMask{1} << cell.lane % kWarpSize;
      }
  for (const Cta* cta : mma.ctas) {
    if (!mma.a)
      each_row(*cta);
    for (const auto& [column, lanes] : metadata)
      visit(*cta, column, lanes);
    if (product.scales == 0)
      continue;
    each_scale(*cta, mma.a_scales, a_scales_of(product));
    each_scale(*cta, mma.b_scales, b_scales_of(product));
  }
}

template <class Visit>
void visit_d(const TensorMma& mma, Visit visit) {
  for (size_t i = 0; Cta* cta : mma.ctas) {
    TensorLanes lanes{};
    uint32_t lane = ~0u; // of which these are; neighbours have the same
    for (const TensorCell at : mma.product->columns) {
      if (std::exchange(lane, at.lane) != at.lane) {
        lanes = lanes_of_d(mma, at);
        for (size_t quarter = 0; quarter < lanes.size(); ++quarter)
          lanes[quarter] &= ~mma.disabled[i][quarter];
      }
      visit(*cta, mma.d_cell.column + at.column, lanes);
    }
    ++i;
  }
}

void each_cell_written(const TensorMma& mma, const TensorVisit& visit) {
  visit_d(mma, visit);
}

void mark_written(const TensorMma& mma) {
  visit_d(mma, [](const Cta& cta, uint32_t column, const TensorLanes& lanes) {
    for (size_t quarter = 0; quarter < lanes.size(); ++quarter)
      cta.tensor.memory->written(column)[quarter] |= lanes[quarter];
  });
}

bool continues(const TensorMma& mma, const TensorMma& next) {
  const TensorProduct &product = *mma.product, &other = *next.product;
  const layout::TensorInstructionDescriptor &descriptor = product.descriptor, &others = other.descriptor;
  const bool is_alike =
      &product == &other || (descriptor.kind == others.kind && descriptor.bits == others.bits &&
                             product.path == other.path && product.scales == other.scales);
  const auto has_a_in_d = [&](const TensorMma& each) {
    return !each.a && each.a_cell.column < mma.d_cell.column + product.d_columns &&
           mma.d_cell.column < each.a_cell.column + a_columns(product);
  };
  return is_alike && next.accumulates && next.scale_d == 0 && mma.ctas == next.ctas &&
         mma.d_cell.lane == next.d_cell.lane && mma.d_cell.column == next.d_cell.column &&
         mma.disabled == next.disabled && !has_a_in_d(mma) && !has_a_in_d(next);
}

bool accesses(const TensorMma& mma, const Cta& cta, uint32_t column, uint32_t count) {
  const TensorProduct& product = *mma.product;
  const auto touches = [&](uint32_t first, uint32_t columns) {
    return first < column + count && column < first + columns;
  };
  return mma.ctas.contains(cta) &&
         (touches(mma.d_cell.column, product.d_columns) ||
          (!mma.a && touches(mma.a_cell.column, a_columns(product))) ||
          (product.metadata_bits != 0 &&
           touches(mma.metadata_cell.column, layout::metadata_columns(product.metadata_bits))) ||
          (product.scales != 0 && (touches(mma.a_scales, a_scales_of(product).columns()) ||
                                   touches(mma.b_scales, b_scales_of(product).columns()))));
}

void each_source(const TensorMma& mma, const AsyncOperation::Visit& visit) {
  const auto of_matrix = [&](const TensorShared& matrix, Cta* cta) {
    for (uint32_t i = matrix.first_chunk(); i < matrix.end_chunk(); ++i)
      visit(place_of({cta, matrix.chunk(i)}), layout::kChunkBytes);
  };
  for (Cta* cta : mma.ctas) {
    if (mma.a)
      of_matrix(*mma.a, cta);
    of_matrix(mma.b, cta);
  }
}

namespace {

// B of one operation: the columns of all CTAs.
void gather_b(const TensorMma& mma, Tile tile) {
  for (const Cta* cta : mma.ctas) {
    gather_shared(mma.b, *cta, *mma.product, mma.product->descriptor.b, tile);
    tile.rows = tile.row(mma.product->cta_columns);
  }
}

void mask_columns(const TensorMma& mma, Tile tile) {
  const TensorProduct& product = *mma.product;
  for (uint32_t column = 0; column < product.descriptor.n && mma.mask.has_mask; ++column)
    if (mma.mask.is_zero(column / product.block_columns, column % product.block_columns))
      std::fill_n(tile.row(column), product.b_row_bytes, std::byte{0});
}

void gather_a(const TensorMma& mma, const Part& part, Tile tile) {
  mma.a ? gather_shared(*mma.a, part.cta, *mma.product, mma.product->descriptor.a, tile)
        : gather_tensor(mma, part, tile);
}

} // namespace

MatrixOutputs execute(std::span<const TensorMma> chain, numeric::DotScratch& scratch) {
  const TensorMma& mma = chain.front();
  const TensorProduct& product = *mma.product;
  const size_t a_stride = chain.size() * product.a_row_bytes, b_stride = chain.size() * product.b_row_bytes;
  const size_t a_bytes = product.cta_rows() * a_stride, b_bytes = product.descriptor.n * b_stride;
  const auto a = std::make_unique_for_overwrite<std::byte[]>(a_bytes),
             b = std::make_unique_for_overwrite<std::byte[]>(b_bytes);
  std::vector<std::byte> room;
  const auto b_of = [&](size_t i) { return Tile{b.get() + i * product.b_row_bytes, b_stride}; };
  for (size_t i = 0; i < chain.size(); ++i)
    gather_b(chain[i], b_of(i));
  negate(b.get(), b_bytes, product.element_bytes, product.negate_b);
  for (size_t i = 0; i < chain.size(); ++i)
    mask_columns(chain[i], b_of(i));
  const bool has_one_a = std::ranges::all_of(chain, [](const TensorMma& each) { return each.a.has_value(); });
  MatrixOutputs outputs;
  const TensorLanes* disabled = mma.disabled.data();
  for (Cta* cta : mma.ctas) {
    for (uint32_t block = 0; block < product.blocks(); ++block) {
      const Part part{*cta, *disabled, block, chain.size()};
      if (!has_one_a || block == 0) {
        for (size_t i = 0; i < chain.size(); ++i)
          gather_a(chain[i], part, {a.get() + i * product.a_row_bytes, a_stride});
        negate(a.get(), a_bytes, product.element_bytes, product.negate_a);
      }
      const std::byte* columns = &b[block * product.block_columns * b_stride];
      outputs += multiply(mma, part, a.get(), columns, room, scratch);
    }
    ++disabled;
  }
  MatrixOutputs of_all;
  for (size_t i = 0; i < chain.size(); ++i)
    of_all += outputs;
  return of_all;
}

} // namespace lemma::vgpu
