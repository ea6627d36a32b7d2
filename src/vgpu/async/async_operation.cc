// What each kind of operation does to memory. See async_operation.h.
#include "vgpu/async/async_operation.h"

#include "layout/smem_descriptor.h"
#include "numeric/arithmetic.h"
#include "vgpu/async/mbarrier.h"
#include "vgpu/async/tensor_cp.h"
#include "vgpu/async/tensor_mma.h"
#include "vgpu/async/tensor_shift.h"
#include "vgpu/async/tensor_st.h"
#include "vgpu/code/program.h"
#include "vgpu/engine/launch_response.h"
#include "vgpu/engine/observer.h"
#include "vgpu/memory/racing_copy.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>

namespace lemma::vgpu {

static MemoryPlace place_of(const TensorBox::Run& run) {
  return {isa::StateSpace::global, nullptr, run.allocation,
          static_cast<uint64_t>(run.host - run.allocation->host), run.host};
}

namespace {

using isa::StateSpace;
using layout::BoxRun;

void write_marks(const MemoryPlace& to, uint64_t bytes) {
  if (to.allocation->init)
    to.allocation->init->set(to.offset, bytes);
}

// --- signals

// The mbarrier may be gone meanwhile, or have no room for the change: then the fault is the instruction's.
void change(const AsyncOperation& operation, const SharedPlace& at, const MbarrierChange& change) {
  const AsyncIssuer& issuer = operation.issuer;
  const std::optional<std::string> wrong =
      is_mbarrier(at) ? wrong_change(at, change) : "mbarrier.inval has ended it before that";
  if (!wrong) {
    const bool parity = read_mbarrier(at).parity;
    const bool completes = change_mbarrier(at, change);
    issuer.cta->cluster->async.watch().tell(&Observer::arrives, {.at = at,
                                                                 .change = change,
                                                                 .parity = parity,
                                                                 .completes_phase = completes,
                                                                 .operation = &operation});
    return;
  }
  Exec x;
  x.launch = issuer.launch;
  x.code = issuer.code;
  x.cta = issuer.cta;
  x.warp = issuer.warp;
  const DecodedInst& in = issuer.code->at(issuer.instruction);
  x.misuse(
      in, "mbarrier.tx",
      fmt::format("when {} completes, it signals the mbarrier at shared address {:#x} of CTA rank {}: {} "
                  "(undefined behaviour)",
                  isa::to_string(x.ptx_instruction(in).opcode), at.offset, at.cta->rank, *wrong),
      issuer.lane, {}, at.offset);
}

void complete_bytes(const AsyncOperation& operation, const SharedPlace& at) {
  change(operation, at, {.expect_bytes = -int64_t{operation.bytes}});
}

void multiply(const AsyncOperation& operation) {
  static thread_local numeric::DotScratch scratch;
  const MatrixOutputs outputs = execute({operation.mma.get(), 1}, scratch);
  mark_written(*operation.mma);
  Launch& launch = *operation.issuer.launch;
  const std::lock_guard lock(launch.report_mutex);
  launch.late_outputs += outputs;
}

// --- runs of bytes

void reduce_elements(std::byte* to, const AsyncOperation& operation) {
  for (size_t at = 0; at < operation.bytes; at += operation.element_bytes)
    operation.reduce(to + at, operation.data.data() + at, false);
}

// Calls f(offset, bytes) for the runs of bytes that a bulk copy moves.
template <class F>
void each_run(const AsyncOperation& operation, uint32_t bytes, F&& f) {
  constexpr uint32_t kMasked = 16;
  if (operation.byte_mask == 0xffff)
    return bytes != 0 ? f(0u, bytes) : void();
  for (uint32_t chunk = 0; chunk < bytes; chunk += kMasked)
    for (uint32_t left = operation.byte_mask; left != 0;) {
      const int first = std::countr_zero(left), count = std::countr_one(left >> first);
      f(chunk + static_cast<uint32_t>(first), static_cast<uint32_t>(count));
      left &= ~(((1u << count) - 1) << first);
    }
}

void write_global(const AsyncOperation& operation) {
  if (operation.reduce)
    reduce_elements(operation.destination.host, operation);
  each_run(operation, operation.bytes, [&](uint32_t at, uint32_t bytes) {
    if (!operation.reduce)
      copy_racing(operation.destination.host + at, operation.data.data() + at, bytes);
    write_marks(operation.destination.at(at), bytes);
  });
}

void write_shared(const SharedPlace& to, const AsyncOperation& operation) {
  if (!operation.reduce) {
    const uint32_t left = operation.ignored_left, right = operation.ignored_right;
    to.cta->async_write(to.offset + left, operation.data.data(), operation.bytes - left - right);
    to.cta->forget_written(to.offset, left);
    to.cta->forget_written(to.offset + operation.bytes - right, right);
    return;
  }
  const std::byte* before = to.cta->async_read(to.offset);
  std::vector<std::byte> values(before, before + operation.bytes);
  reduce_elements(values.data(), operation);
  to.cta->async_write(to.offset, values.data(), operation.bytes);
}

// --- boxes of tensors

void copy_out(const TensorBox& box, std::byte* data) {
  for (size_t i = 0; i < box.runs.size(); ++i)
    if (box.places[i].host)
      copy_racing(data + box.runs[i].box_offset, box.places[i].host, box.runs[i].bytes);
}

void fill_outside(const TensorBox& box, std::byte* data) {
  // Of every type, 16 bits after 16 bits (measured on an H200).
  const uint16_t word = box.map.oob_fill == TensorFill::nan ? numeric::kOobNan : 0;
  for (size_t i = 0; i < box.runs.size(); ++i)
    for (uint32_t at = 0; !box.places[i].host && at < box.runs[i].bytes; ++at)
      data[box.runs[i].box_offset + at] = static_cast<std::byte>(word >> (at % 2 * 8));
}

// Loads of tf32 and tf32_ftz round to nearest even, subnormals too, and have one NaN (measured on an H200).
// f32_ftz loads as f32 does.
void round_to_tf32(const TensorBox& box, std::byte* data) {
  if (box.map.type != TensorType::tf32 && box.map.type != TensorType::tf32_ftz)
    return;
  constexpr uint32_t kNan = 0x7fffe000, kDropped = 0x1fff;
  for (const BoxRun& run : box.runs)
    for (size_t at = run.box_offset; run.inside && at < run.box_offset + run.bytes; at += 4) {
      uint32_t bits;
      std::memcpy(&bits, data + at, 4);
      const bool is_nan = (bits & 0x7fffffff) > 0x7f800000;
      bits = is_nan ? kNan : (bits + (kDropped >> 1) + (bits >> 13 & 1)) & ~kDropped;
      std::memcpy(data + at, &bits, 4);
    }
}

// Whether the box lies in shared memory as it is.
bool is_dense(const layout::TensorMapFields& map) {
  return map.swizzle == TensorSwizzle::none && layout::chunk_payload_bytes(map.type) == layout::kChunkBytes;
}

// Calls f(offset in the box, shared address of the same bytes, bytes) for what stays together.
template <class F>
void each_chunk(const AsyncOperation& operation, uint32_t shared, F&& f) {
  constexpr uint32_t kHalf = layout::kChunkBytes / 2;
  const layout::TensorMapFields& map = operation.box->map;
  if (is_dense(map)) {
    f(0u, shared, operation.bytes);
    return;
  }
  const bool flips = map.swizzle == TensorSwizzle::b128_atom_32b_flip_8b;
  const uint32_t row = row_bytes(map), pitch = row_pitch(map),
                 payload = layout::chunk_payload_bytes(map.type);
  for (uint32_t begin = 0, line = shared; begin < operation.bytes; begin += row, line += pitch)
    for (uint32_t at = 0, chunk = line; at < row; at += payload, chunk += layout::kChunkBytes) {
      const uint32_t address = layout::swizzle_address(chunk, map.swizzle);
      if (!flips) {
        f(begin + at, address, payload);
        continue;
      }
      f(begin + at, address, kHalf); // padded types have no flips
      f(begin + at + kHalf, address ^ kHalf, kHalf);
    }
}

// A box whose rows are whole chunks, to where both proxies see them.
template <layout::Swizzle kSwizzle>
void write_chunks(const AsyncOperation& operation, Cta& cta, uint32_t shared) {
  const uint32_t row = row_bytes(operation.box->map), pitch = row_pitch(operation.box->map);
  for (uint32_t begin = 0, line = shared; begin < operation.bytes; begin += row, line += pitch)
    for (uint32_t at = 0; at < row; at += layout::kChunkBytes) {
      const uint32_t address = layout::swizzle_address(line + at, kSwizzle);
      std::memcpy(cta.shared.data() + address, operation.data.data() + begin + at, layout::kChunkBytes);
      std::memset(cta.shared_written.data() + address, 1, layout::kChunkBytes);
    }
}

void write_box(const AsyncOperation& operation, const SharedPlace& to) {
  const layout::TensorMapFields& map = operation.box->map;
  const bool is_simple =
      to.cta->async_view.empty() && layout::chunk_payload_bytes(map.type) == layout::kChunkBytes;
  if (is_simple && map.swizzle == TensorSwizzle::b128)
    return write_chunks<layout::Swizzle::b128>(operation, *to.cta, to.offset);
  if (is_simple && map.swizzle == TensorSwizzle::b64)
    return write_chunks<layout::Swizzle::b64>(operation, *to.cta, to.offset);
  const uint32_t padding = layout::kChunkBytes - layout::chunk_payload_bytes(operation.box->map.type);
  each_chunk(operation, to.offset, [&](uint32_t at, uint32_t address, uint32_t bytes) {
    to.cta->async_write(address, operation.data.data() + at, bytes);
    if (padding != 0) // it is not initialized
      to.cta->forget_written(address + bytes, padding);
  });
}

// What a store takes from a chunk of shared memory: its elements; of 6 bits, those of a byte each.
void take_chunk(const std::byte* chunk, uint32_t bytes, std::byte* to) {
  if (bytes == layout::kChunkBytes * 6 / 8)
    for (uint32_t i = 0; i < layout::kChunkBytes; i += 4, to += 3) {
      uint32_t four = 0;
      for (uint32_t j = 0; j < 4; ++j)
        four |= (std::to_integer<uint32_t>(chunk[i + j]) & 0x3f) << 6 * j;
      std::memcpy(to, &four, 3);
    }
  else
    std::memcpy(to, chunk, bytes);
}

// What a store or a reduction does to the tensor.
void write_tensor(const AsyncOperation& operation) {
  const TensorBox& box = *operation.box;
  const TensorType type = box.map.type;
  const bool flush = type == TensorType::f32_ftz || type == TensorType::tf32_ftz;
  for (size_t i = 0; i < box.runs.size(); ++i) {
    const BoxRun& run = box.runs[i];
    const TensorBox::Run& to = box.places[i];
    const std::byte* source = operation.data.data() + run.box_offset;
    if (!to.host)
      continue;
    if (!operation.reduce)
      copy_racing(to.host, source, run.bytes);
    else
      for (uint32_t at = 0; at < run.bytes; at += operation.element_bytes)
        operation.reduce(to.host + at, source + at, flush);
    write_marks(place_of(to), run.bytes);
  }
}

// The box of another map, in the place of the one that was checked: true if it has the same shape, and all of
// it is where there is memory.
bool takes_map(const AsyncOperation& operation, const layout::TensorMapFields& map, TensorBox& box) {
  const layout::TensorMapFields& known = box.map;
  if (map.rank != known.rank || map.mode != known.mode || map.type != known.type ||
      map.swizzle != known.swizzle || map.interleave != known.interleave || map.box != known.box ||
      map.element_strides != known.element_strides || box_bytes(map) != operation.bytes)
    return false;
  const bool loads = operation.kind == AsyncKind::tensor_load;
  std::vector<BoxRun> runs = box_runs(map, box.request, loads ? layout::BoxUse::load : layout::BoxUse::store);
  std::vector<TensorBox::Run> places;
  for (const BoxRun& run : runs) {
    places.emplace_back();
    if (!run.inside)
      continue;
    const uint64_t address = map.address + run.global_offset;
    Allocation* allocation = operation.issuer.launch->memory->find(address);
    if (!allocation || !allocation->holds(address, run.bytes) || (!loads && allocation->read_only))
      return false;
    places.back() = {allocation, allocation->host + (address - allocation->base)};
  }
  box.map = map;
  box.runs = std::move(runs);
  box.places = std::move(places);
  return true;
}

// What stands in the map's place now.
void read_map_again(AsyncOperation& operation) {
  TensorBox& box = *operation.box;
  if (operation.issuer.launch->config.async == AsyncMode::eager || !box.map_at.allocation)
    return;
  layout::TensorMapBytes bytes;
  copy_racing(bytes.data(), box.map_at.host, bytes.size());
  const layout::MapReader reader = layout::map_reader(operation.issuer.launch->program->arch().sm);
  if (bytes == std::exchange(box.map_bytes, bytes) || !layout::wrong_with(bytes, reader).empty())
    return;
  const layout::TensorMapFields map = layout::decode(bytes, reader);
  takes_map(operation, box.request.by_row ? layout::map_of_rows(map) : map, box);
}

// --- what was never written

// By byte of the data, those of a copy that were not written when it read them; empty: all were. Asked when
// it has completed: what was written since counts as written.
using Unwritten = std::vector<bool>;

// `bytes` of the data, from `first` on, are from there.
void find_unwritten(size_t first, const MemoryPlace& from, uint64_t bytes, uint32_t data_bytes,
                    Unwritten& unwritten) {
  const auto mark = [&](uint64_t begin, uint64_t end) {
    unwritten.resize(data_bytes);
    const auto at = unwritten.begin() + static_cast<ptrdiff_t>(first);
    std::fill(at + static_cast<ptrdiff_t>(begin), at + static_cast<ptrdiff_t>(end), true);
  };
  if (from.is_shared()) {
    const uint8_t* written = from.cta->shared_written.data() + from.offset;
    if (std::memchr(written, 0, bytes))
      for (uint64_t i = 0; i < bytes; ++i)
        if (written[i] == 0)
          mark(i, i + 1);
  } else if (const WrittenBytes* init = from.allocation->init.get();
             init && !init->all_set(from.offset, bytes)) {
    for (uint64_t i = 0; i < bytes; ++i)
      if (!init->all_set(from.offset + i, 1))
        mark(i, i + 1);
  }
}

// Of a box in shared memory whose elements lie there as they are in the tensor.
void find_unwritten_in_box(const AsyncOperation& operation, Unwritten& unwritten) {
  const SharedPlace from{operation.source.cta, static_cast<uint32_t>(operation.source.offset)};
  const uint8_t* written = from.cta->shared_written.data() + from.offset;
  const layout::TensorMapFields& map = operation.box->map;
  if (layout::chunk_payload_bytes(map.type) == layout::kChunkBytes &&
      std::memchr(written, 0, shared_bytes(map)))
    each_chunk(operation, from.offset, [&](uint32_t at, uint32_t address, uint32_t bytes) {
      find_unwritten(at, place_of({from.cta, address}), bytes, operation.bytes, unwritten);
    });
}

Unwritten unwritten_of(const AsyncOperation& operation) {
  Unwritten unwritten;
  switch (operation.kind) {
  case AsyncKind::bulk_copy:
    each_run(operation, operation.source_bytes, [&](uint32_t at, uint32_t bytes) {
      find_unwritten(operation.ignored_left + at, operation.source.at(at), bytes, operation.bytes, unwritten);
    });
    break;
  case AsyncKind::tensor_load:
    for (size_t i = 0; i < operation.box->runs.size(); ++i)
      if (const TensorBox::Run& from = operation.box->places[i]; from.host)
        find_unwritten(operation.box->runs[i].box_offset, place_of(from), operation.box->runs[i].bytes,
                       operation.bytes, unwritten);
    break;
  case AsyncKind::tensor_store:
    find_unwritten_in_box(operation, unwritten);
    break;
  default: // it has its data, or combines them with others
    break;
  }
  return unwritten;
}

// `bytes` of the data, from `first` on, are at `to` now.
void forget_written(const Unwritten& unwritten, size_t first, const MemoryPlace& to, uint32_t bytes) {
  for (uint32_t i = 0; i < bytes; ++i) {
    if (!unwritten[first + i])
      continue;
    if (to.cta)
      to.cta->forget_written(to.offset + i, 1);
    else if (to.allocation->init)
      to.allocation->init->unset_range(to.offset + i, 1);
  }
}

// What was never written is not by being copied.
void carry_unwritten(const AsyncOperation& operation) {
  const Unwritten unwritten = unwritten_of(operation);
  if (unwritten.empty())
    return;
  for (const AsyncTarget& target : operation.targets)
    if (operation.kind == AsyncKind::tensor_load)
      each_chunk(operation, target.data.offset, [&](uint32_t at, uint32_t address, uint32_t bytes) {
        forget_written(unwritten, at, place_of({target.data.cta, address}), bytes);
      });
    else
      forget_written(unwritten, 0, place_of(target.data), operation.bytes);
  if (operation.destination.host)
    forget_written(unwritten, 0, operation.destination, operation.bytes);
  for (size_t i = 0; operation.kind == AsyncKind::tensor_store && i < operation.box->runs.size(); ++i)
    if (operation.box->places[i].host)
      forget_written(unwritten, operation.box->runs[i].box_offset, place_of(operation.box->places[i]),
                     operation.box->runs[i].bytes);
}

// Visits chunks of shared memory, those of a line that lie side by side in one call, in whatever order a
// swizzle has them.
class ChunkVisits {
public:
  ChunkVisits(Cta* cta, const AsyncOperation::Visit& visit) : cta_(cta), visit_(visit) {}
  ~ChunkVisits() { finish(); }
  ChunkVisits(const ChunkVisits&) = delete;

  // `address`: in the chunk.
  void add(uint32_t address) {
    const uint32_t line = address / kLineBytes * kLineBytes;
    if (line != line_)
      finish();
    line_ = line;
    chunks_ |= 1u << (address - line) / layout::kChunkBytes;
  }

private:
  static constexpr uint32_t kLineBytes = 128;

  void finish() {
    while (chunks_ != 0) {
      const int first = std::countr_zero(chunks_), count = std::countr_one(chunks_ >> first);
      visit_(place_of({cta_, line_ + static_cast<uint32_t>(first) * layout::kChunkBytes}),
             static_cast<uint64_t>(count) * layout::kChunkBytes);
      chunks_ &= ~(((1u << count) - 1) << first);
    }
  }

  Cta* cta_;
  const AsyncOperation::Visit& visit_;
  uint32_t line_ = 0;
  uint32_t chunks_ = 0; // of the line
};

// Its `rows` from `first` on, multiples of 8.
void visit_rows(const SharedMatrix& matrix, uint32_t first, uint32_t rows, Cta* cta,
                const AsyncOperation::Visit& visit) {
  const auto descriptor = layout::SmemDescriptor::decode(matrix.descriptor);
  const uint32_t mn_chunks = rows / 8; // of 16-bit elements
  ChunkVisits visits(cta, visit);
  for (uint32_t i = 0; i < rows * matrix.row_chunks; ++i)
    visits.add(matrix.mn_major
                   ? descriptor.mn_major_chunk(first / 8 + i % mn_chunks, i / mn_chunks)
                   : descriptor.k_major_chunk(first + i / matrix.row_chunks, i % matrix.row_chunks));
}

void visit_matrix(const SharedMatrix& matrix, Cta* cta, const AsyncOperation::Visit& visit) {
  visit_rows(matrix, 0, matrix.rows, cta, visit);
}

// What a tensor operation accesses in shared memory, from `at` on.
void visit_box(const AsyncOperation& operation, const SharedPlace& at, const AsyncOperation::Visit& visit) {
  if (is_dense(operation.box->map))
    return visit(place_of(at), operation.bytes);
  ChunkVisits visits(at.cta, visit);
  each_chunk(operation, at.offset, [&](uint32_t, uint32_t address, uint32_t) { visits.add(address); });
}

// --- clusterlaunchcontrol

// What is asked for happens here: the cluster is out of the grid from now on.
void take_response(AsyncOperation& operation) {
  constexpr uint32_t kNoId = LaunchResponse::kUnspecified;
  LaunchResponse response{{kNoId, kNoId, kNoId}, LaunchResponse::kFailed};
  if (const std::optional<Dim3> first = operation.issuer.launch->cancel_cluster())
    response = {*first, LaunchResponse::kCanceled};
  operation.data.resize(kResponseBytes);
  std::memcpy(operation.data.data(), &response, kResponseBytes);
}

uint64_t bytes_inside(const TensorBox& box) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < box.runs.size(); ++i)
    bytes += box.places[i].host ? box.runs[i].bytes : 0;
  return bytes;
}

} // namespace

MemoryPlace place_of(const SharedPlace& at) {
  // A descriptor of wgmma is checked when all its warps have issued it.
  const bool inside = at.offset < at.cta->shared.size();
  return {isa::StateSpace::shared, at.cta, nullptr, at.offset,
          inside ? at.cta->shared.data() + at.offset : nullptr};
}

const char* to_string(AsyncKind kind) {
  constexpr std::array<const char*, kAsyncKinds> kNames = {"cp.async",         "cp.async.mbarrier.arrive",
                                                           "bulk copy",        "bulk reduction",
                                                           "tensor load",      "tensor store",
                                                           "tensor reduction", "st.async",
                                                           "red.async",        "wgmma",
                                                           "tcgen05.mma",      "tcgen05.cp",
                                                           "tcgen05.shift",    "tcgen05.commit",
                                                           "tcgen05.st",       "launch control"};
  return kNames[static_cast<size_t>(kind)];
}

void AsyncOperation::each_source(const Visit& visit) const {
  if (source_bytes && kind != AsyncKind::tensor_store && kind != AsyncKind::tensor_reduce)
    each_run(*this, source_bytes, [&](uint32_t at, uint32_t count) { visit(source.at(at), count); });
  for (const SharedMatrix& matrix : matrices)
    visit_matrix(matrix, issuer.cta, visit);
  if (mma)
    vgpu::each_source(*mma, visit);
  if (cp)
    vgpu::each_source(*cp, visit);
  if (kind == AsyncKind::tensor_load)
    for (size_t i = 0; i < box->runs.size(); ++i)
      if (box->places[i].host)
        visit(place_of(box->places[i]), box->runs[i].bytes);
  if (kind == AsyncKind::tensor_store || kind == AsyncKind::tensor_reduce)
    visit_box(*this, {source.cta, static_cast<uint32_t>(source.offset)}, visit);
}

void each_source_of_warp(const AsyncOperation& wgmma, uint32_t warp, const AsyncOperation::Visit& visit) {
  const SharedMatrix& a = wgmma.matrices[0];
  const uint32_t rows = a.rows / kWarpsInGroup; // none where A is in registers
  visit_rows(a, warp % kWarpsInGroup * rows, rows, wgmma.issuer.cta, visit);
  visit_matrix(wgmma.matrices[1], wgmma.issuer.cta, visit);
}

void AsyncOperation::each_destination(const Visit& visit) const {
  if (kind == AsyncKind::cp_async_arrive || kind == AsyncKind::tensor_commit)
    return;
  for (const AsyncTarget& target : targets)
    if (kind == AsyncKind::tensor_load)
      visit_box(*this, target.data, visit);
    else
      visit(place_of(target.data), bytes);
  if (destination.host)
    each_run(*this, bytes, [&](uint32_t at, uint32_t count) { visit(destination.at(at), count); });
  if (kind == AsyncKind::tensor_store || kind == AsyncKind::tensor_reduce)
    for (size_t i = 0; i < box->runs.size(); ++i)
      if (box->places[i].host)
        visit(place_of(box->places[i]), box->runs[i].bytes);
}

uint64_t AsyncOperation::bytes_read() const {
  if (kind == AsyncKind::tensor_load)
    return bytes_inside(*box);
  uint64_t count = source_bytes;
  for (const SharedMatrix& matrix : matrices)
    count += uint64_t{matrix.rows} * matrix.row_chunks * layout::kChunkBytes;
  const auto add = [&](const MemoryPlace&, uint64_t bytes) { count += bytes; };
  if (mma)
    vgpu::each_source(*mma, add);
  if (cp)
    vgpu::each_source(*cp, add);
  return count;
}

uint64_t AsyncOperation::bytes_written() const {
  if (kind == AsyncKind::tensor_store || kind == AsyncKind::tensor_reduce)
    return bytes_inside(*box);
  return (targets.size() + (destination.host != nullptr)) * uint64_t{bytes};
}

uint64_t buffer_bytes(const AsyncOperation& operation) {
  const bool takes = operation.kind != AsyncKind::cp_async && operation.kind != AsyncKind::cp_async_arrive;
  return (takes ? operation.bytes : 0) + operation.targets.size() * sizeof(AsyncTarget) +
         (operation.box
              ? sizeof(TensorBox) + operation.box->runs.size() * (sizeof(BoxRun) + sizeof(TensorBox::Run))
              : 0);
}

void read_source(AsyncOperation& operation) {
  switch (operation.kind) {
  case AsyncKind::bulk_copy:
  case AsyncKind::bulk_reduce: {
    const MemoryPlace& from = operation.source;
    const std::byte* bytes = from.cta ? from.cta->async_read(static_cast<uint32_t>(from.offset)) : from.host;
    operation.data.resize(operation.source_bytes);
    copy_racing(operation.data.data(), bytes, operation.source_bytes);
    break;
  }
  case AsyncKind::tensor_load:
    read_map_again(operation);
    operation.data.resize(operation.bytes);
    copy_out(*operation.box, operation.data.data());
    fill_outside(*operation.box, operation.data.data());
    round_to_tf32(*operation.box, operation.data.data());
    break;
  case AsyncKind::tensor_store:
  case AsyncKind::tensor_reduce:
    operation.data.resize(operation.bytes);
    each_chunk(operation, static_cast<uint32_t>(operation.source.offset),
               [&](uint32_t at, uint32_t address, uint32_t bytes) {
                 take_chunk(operation.source.cta->async_read(address), bytes, operation.data.data() + at);
               });
    break;
  case AsyncKind::try_cancel:
    take_response(operation);
    break;
  default: // moves at once, has its data, or has none
    break;
  }
}

void complete(AsyncOperation& operation) {
  switch (operation.kind) {
  case AsyncKind::cp_async:
    copy_cp_async(operation.destination, operation.source, operation.bytes, operation.source_bytes);
    break;
  case AsyncKind::cp_async_arrive: {
    const AsyncIssuer& issuer = operation.issuer;
    const ThreadId thread{issuer.cta->rank, issuer.warp->index, static_cast<uint32_t>(issuer.lane)};
    issuer.cta->cluster->async.complete(thread, AsyncGroup::cp_async);
    issuer.warp->late_copies.complete(LaneMask{1} << issuer.lane);
    change(operation, operation.targets[0].mbarrier, {.arrivals = 1});
    break;
  }
  case AsyncKind::tensor_store:
  case AsyncKind::tensor_reduce:
    read_map_again(operation);
    write_tensor(operation);
    carry_unwritten(operation);
    break;
  case AsyncKind::wgmma:
    break;
  case AsyncKind::tensor_mma:
    multiply(operation);
    break;
  case AsyncKind::tensor_cp:
    execute(*operation.cp);
    break;
  case AsyncKind::tensor_shift:
    execute(*operation.shift);
    break;
  case AsyncKind::tensor_st:
    execute(*operation.st);
    break;
  case AsyncKind::tensor_commit:
    for (const AsyncTarget& target : operation.targets)
      change(operation, target.mbarrier, {.arrivals = 1});
    break;
  default:
    for (const AsyncTarget& target : operation.targets)
      operation.kind == AsyncKind::tensor_load ? write_box(operation, target.data)
                                               : write_shared(target.data, operation);
    if (operation.destination.host)
      write_global(operation);
    carry_unwritten(operation);
    for (const AsyncTarget& target : operation.targets)
      complete_bytes(operation, target.mbarrier);
  }
}

void copy_cp_async(const MemoryPlace& to, const MemoryPlace& from, uint32_t bytes, uint32_t taken) {
  std::array<std::byte, 16> value{};
  if (taken)
    copy_racing(value.data(), from.host, taken);
  std::memcpy(to.host, value.data(), bytes);
  std::memset(to.cta->shared_written.data() + to.offset, 1, bytes);
  if (!to.cta->unpublished.empty())
    std::memset(to.cta->unpublished.data() + to.offset, Cta::kByOwnThread, bytes);
  if (taken && from.allocation->init)
    for_lanes(from.allocation->init->unset_among(from.offset, taken),
              [&](int i) { to.cta->forget_written(to.offset + static_cast<uint64_t>(i), 1); });
}

} // namespace lemma::vgpu
