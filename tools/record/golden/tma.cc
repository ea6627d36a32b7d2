// Cases of tensor copies. See matrix.h.
//
// A unit is a CTA of 32 threads; a cluster of two where a load is multicast. Loads: every unit has
// coordinates of its own, on a tensor that they share, and stores the whole of its shared memory, what the
// copy left alone included. Stores and reductions: one unit, its shared memory as generated, onto a tensor
// that has values already; the tensor is the output.
#include "golden/matrix.h"
#include "golden/thread_kernel.h"
#include "layout/tensor_box.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstring>

namespace lemma::golden {
namespace {

using isa::Type;

constexpr uint32_t kLoads = 24; // units of a load
constexpr uint32_t kFillWord = 0xa5a5a5a5;

struct NamedType {
  TensorType tensor;
  const char* name;
  Type type; // of its elements in memory
};
constexpr NamedType kTypes[] = {{TensorType::u8, "u8", Type::u8},
                                {TensorType::u16, "u16", Type::u16},
                                {TensorType::u32, "u32", Type::u32},
                                {TensorType::s32, "s32", Type::s32},
                                {TensorType::u64, "u64", Type::u64},
                                {TensorType::s64, "s64", Type::s64},
                                {TensorType::f16, "f16", Type::f16},
                                {TensorType::f32, "f32", Type::f32},
                                {TensorType::f64, "f64", Type::f64},
                                {TensorType::bf16, "bf16", Type::bf16},
                                {TensorType::f32_ftz, "f32.ftz", Type::f32},
                                {TensorType::tf32, "tf32", Type::f32},
                                {TensorType::tf32_ftz, "tf32.ftz", Type::f32}};

const NamedType& named(TensorType type) {
  const auto* found = std::find_if(std::begin(kTypes), std::end(kTypes),
                                   [&](const NamedType& t) { return t.tensor == type; });
  assert(found != std::end(kTypes));
  return *found;
}

struct TmaCase {
  TensorMap map = {};
  std::string extra = {}; // of the name
  bool store = false;
  std::string reduction = {};   // "add"
  uint32_t multicast = 0;       // CTA mask of a cluster of two
  std::string before = {};      // statements before the copy, which may set %_map0
  std::vector<int32_t> at = {}; // coordinates of every unit; empty: random ones
  uint32_t margin_elems = 0;    // of memory after the tensor
};

uint32_t round_up(uint32_t value, uint32_t of) {
  return (value + of - 1) / of * of;
}

layout::TensorMapFields encoded(const TensorMap& map) {
  return layout::decode(layout::encode(map));
}

// Dense strides, each rounded up to what the rules want, with a gap here and there.
void set_strides(TensorMap& map) {
  map.strides_bytes.clear();
  const uint64_t unit = map.interleave == TensorInterleave::none  ? layout::element_bytes(map.type)
                        : map.interleave == TensorInterleave::b16 ? 16
                                                                  : 32;
  uint64_t bytes = map.dims[0] * unit;
  for (size_t d = 1; d < map.dims.size(); ++d) {
    bytes = (bytes + 31) / 32 * 32 + (d == 1 ? 32 : 0);
    map.strides_bytes.push_back(bytes);
    bytes *= map.dims[d];
  }
}

uint64_t tensor_bytes(const TensorMap& map) {
  return map.dims.size() == 1 ? map.dims[0] * layout::element_bytes(map.type)
                              : map.strides_bytes.back() * map.dims.back();
}

std::string name_of(const TmaCase& t) {
  const char* const swizzles[] = {"", ".swizzle32", ".swizzle64", ".swizzle128"};
  std::string name = fmt::format("{}{}.{}d.{}", t.reduction.empty() ? (t.store ? "store" : "load") : "red.",
                                 t.reduction, t.map.dims.size(), named(t.map.type).name);
  name += swizzles[static_cast<int>(t.map.swizzle)];
  name += t.map.oob_fill == TensorFill::nan ? ".nan" : "";
  name += t.map.im2col ? ".im2col" : "";
  name += t.map.interleave == TensorInterleave::none  ? ""
          : t.map.interleave == TensorInterleave::b16 ? ".interleave16"
                                                      : ".interleave32";
  if (!t.map.element_strides.empty()) {
    name += ".steps";
    for (const uint32_t step : t.map.element_strides)
      name += std::to_string(step);
  }
  return name + t.extra;
}

// The copy's coordinates as registers %_x0, ..., loaded from the plane of them.
std::string load_coordinates(const TensorMap& map, const Plane& plane) {
  std::string text = "  .reg .b32 %_x<5>, %_o<3>;\n  .reg .b16 %_f<3>;\n";
  text += fmt::format("  mad.wide.u32 %_p, %_c, {}, %_in;\n", plane.unit_bytes());
  for (size_t d = 0; d < map.dims.size(); ++d)
    text += fmt::format("  ld.global.b32 %_x{}, [%_p+{}];\n", d, plane.offset_bytes + 4 * d);
  for (size_t d = 0; map.im2col && d + 2 < map.dims.size(); ++d)
    text += fmt::format("  ld.global.b32 %_o{0}, [%_p+{1}];\n  cvt.u16.u32 %_f{0}, %_o{0};\n", d,
                        plane.offset_bytes + 4 * (5 + d));
  return text;
}

std::string list(const char* prefix, size_t count) {
  std::string text = "{";
  for (size_t i = 0; i < count; ++i)
    text += fmt::format("{}%{}{}", i == 0 ? "" : ", ", prefix, i);
  return text + "}";
}

std::string copy_text(const TmaCase& t) {
  const size_t rank = t.map.dims.size();
  const std::string at = fmt::format("[%_map0, {}]", list("_x", rank));
  if (t.store) {
    const std::string op = t.reduction.empty() ? "cp.async.bulk.tensor" : "cp.reduce.async.bulk.tensor";
    return fmt::format(
        "  {}.{}d.global.shared::cta.{}{}.bulk_group {}, [%_s];\n  cp.async.bulk.commit_group;\n"
        "  cp.async.bulk.wait_group 0;\n",
        op, rank, t.reduction.empty() ? "" : t.reduction + ".", t.map.im2col ? "im2col_no_offs" : "tile", at);
  }
  return fmt::format(
      "  cp.async.bulk.tensor.{}d.shared::cluster.global.{}.mbarrier::complete_tx::bytes{} [%_s], {}, "
      "[bar]{}{};\n",
      rank, t.map.im2col ? "im2col" : "tile", t.multicast ? ".multicast::cluster" : "", at,
      t.map.im2col ? ", " + list("_f", rank - 2) : "", t.multicast ? ", %_h" : "");
}

Plane tensor_plane(const TmaCase& t, uint32_t units) {
  const uint32_t element = layout::element_bytes(t.map.type);
  const auto elements = static_cast<uint32_t>((tensor_bytes(t.map) + element - 1) / element) + t.margin_elems;
  return {.name = "tensor",
          .type = named(t.map.type).type,
          .element_bytes = element,
          .per_unit = (elements + units - 1) / units};
}

// Text between the head and the end, which both kinds share: shared memory of `bytes` at %_s, an mbarrier.
std::string shared_text(uint32_t bytes) {
  return fmt::format("  .shared .align 1024 .b8 box[{}];\n  .shared .align 8 .b64 bar;\n  .shared .align 128 "
                     ".b8 copy[128];\n"
                     "  .reg .b32 %_s, %_t, %_v;\n  .reg .b64 %_q;\n  .reg .pred %_ok, %_first;\n"
                     "  mov.u32 %_t, %tid.x;\n  setp.eq.u32 %_first, %_t, 0;\n  mov.u32 %_s, box;\n",
                     bytes);
}

Case make_case(const TmaCase& t) {
  const auto box = static_cast<uint32_t>(layout::box_bytes(encoded(t.map)));
  const uint32_t shared = round_up(static_cast<uint32_t>(layout::shared_bytes(encoded(t.map))), 1024);
  const uint32_t units = t.store ? 1 : t.multicast ? 2 * kLoads : kLoads;
  Case c;
  c.name = name_of(t);
  c.family =
      fmt::format("{}{}d{}", t.store ? "store" : "load", t.map.dims.size(), t.map.im2col ? " im2col" : "");
  c.entry = entry_name(c.name);
  c.unit_name = "CTA";
  c.units = units;
  c.grid[0] = units;
  c.block[0] = 32;
  if (t.multicast)
    c.cluster = {2, 1, 1};
  c.parts = {{"random", 0, units}};
  const Plane coordinates{.name = "coordinates", .type = Type::s32, .element_bytes = 4, .per_unit = 8};
  const Plane memory{.name = "shared", .type = Type::b32, .element_bytes = 4, .per_unit = shared / 4};
  c.inputs = {coordinates, tensor_plane(t, units)};
  if (t.store) {
    Plane box_plane = memory;
    box_plane.type = named(t.map.type).type;
    box_plane.element_bytes = layout::element_bytes(t.map.type);
    box_plane.per_unit = shared / box_plane.element_bytes;
    c.inputs.push_back(box_plane);
    Plane tensor = c.inputs[1];
    tensor.initial = 1;
    c.outputs = {tensor};
  } else {
    c.outputs = {memory};
  }
  if (!t.before.empty())
    c.outputs.push_back({.name = "map", .type = Type::b32, .element_bytes = 4, .per_unit = 32});
  lay_out(c.inputs, units);
  lay_out(c.outputs, units);
  c.maps = {{.map = t.map, .of_output = t.store, .plane = t.store ? size_t{0} : size_t{1}}};

  c.text = kernel_head(c.entry, 1) + shared_text(shared) + load_coordinates(t.map, c.inputs[0]);
  // What shared memory holds before: the box, or words that a load should replace.
  if (t.store)
    c.text += fmt::format("  add.u64 %_q, %_in, {};\n", c.inputs[2].offset_bytes);
  c.text += "  mad.wide.u32 %_q, %_t, 4, %_q;\n  mad.lo.u32 %_s, %_t, 4, %_s;\n";
  for (uint32_t i = 0; i < shared; i += 128)
    c.text += t.store ? fmt::format("  ld.global.b32 %_v, [%_q+{0}];\n  st.shared.b32 [%_s+{0}], %_v;\n", i)
                      : fmt::format("  st.shared.b32 [%_s+{}], {:#x};\n", i, kFillWord);
  c.text += "  mov.u32 %_s, box;\n  @!%_first bra READY;\n  mbarrier.init.shared.b64 [bar], 1;\n";
  if (!t.store)
    c.text += fmt::format("  mbarrier.arrive.expect_tx.shared.b64 _, [bar], {};\n", box);
  c.text += "  fence.mbarrier_init.release.cluster;\nREADY:\n  fence.proxy.async;\n  bar.sync 0;\n";
  if (t.multicast)
    c.text += fmt::format(
        "  barrier.cluster.arrive.aligned;\n  barrier.cluster.wait.aligned;\n  mov.b16 %_h, {};\n",
        t.multicast);
  if (!t.before.empty())
    c.text +=
        fmt::format("  .reg .b64 %_new;\n  add.u64 %_new, %_out, {};\n", c.outputs.back().offset_bytes) +
        t.before;
  // Of a cluster only the first CTA copies.
  if (t.multicast)
    c.text += "  .reg .pred %_cta;\n  mov.u32 %_v, %cluster_ctarank;\n  setp.eq.u32 %_cta, %_v, 0;\n"
              "  and.pred %_first, %_first, %_cta;\n";
  c.text += "  @!%_first bra COPIED;\n" + copy_text(t) + "COPIED:\n  bar.warp.sync -1;\n";
  if (!t.store) {
    if (t.multicast == 2)
      c.text += "  @%_cta bra DONE;\n";
    c.text += "WAIT:\n  mbarrier.try_wait.parity.shared.b64 %_ok, [bar], 0;\n  @!%_ok bra WAIT;\nDONE:\n";
    c.text += fmt::format("  mad.wide.u32 %_q, %_c, {}, %_out;\n  mad.wide.u32 %_q, %_t, 4, %_q;\n"
                          "  mad.lo.u32 %_s, %_t, 4, %_s;\n",
                          c.outputs[0].unit_bytes());
    for (uint32_t i = 0; i < shared; i += 128)
      c.text += fmt::format("  ld.shared.b32 %_v, [%_s+{}];\n  st.global.b32 [%_q+{}], %_v;\n", i,
                            c.outputs[0].offset_bytes + i);
  }
  if (t.multicast)
    c.text += "  barrier.cluster.arrive.aligned;\n  barrier.cluster.wait.aligned;\n";
  if (!t.before.empty()) // the map is the device's own
    c.text += "  mad.wide.u32 %_q, %_t, 4, %_new;\n  bar.warp.sync -1;\n  st.global.b32 [%_q], 0;\n";
  c.text += "  ret;\n}\n";

  c.fill = [t, units, planes = c.inputs](const Part&, numeric::Random& random, Inputs& inputs) {
    const uint32_t align = t.map.interleave != TensorInterleave::none
                               ? 1
                               : 16 / std::min(16u, layout::element_bytes(t.map.type));
    for (uint32_t unit = 0; unit < units; ++unit)
      for (size_t d = 0; d < t.map.dims.size(); ++d) {
        const uint64_t extent = t.map.im2col ? (d == 0 ? t.map.im2col->channels_per_pixel : 3) : t.map.box[d];
        // A third of the boxes hang over the low end, a third over the high one.
        const auto reach = static_cast<int64_t>(extent);
        int64_t at = static_cast<int64_t>(random.below(t.map.dims[d] + 2 * extent)) - reach;
        if (t.store || unit % 4 == 0) // stores take no negative coordinates
          at = std::clamp<int64_t>(at, t.store || unit % 8 == 0 ? 0 : -reach / 2,
                                   static_cast<int64_t>(t.map.dims[d]) - 1);
        if (d == 0)
          at = at / align * align;
        inputs.set(0, unit * 8 + d, static_cast<uint32_t>(t.at.empty() ? at : t.at[d]));
      }
    for (uint32_t unit = 0; t.map.im2col && t.at.empty() && unit < units; ++unit)
      for (size_t s = 0; s + 2 < t.map.dims.size(); ++s) {
        const auto& im2col = *t.map.im2col;
        // Positions within the bounding box, offsets within its margin.
        const size_t d = t.map.interleave == TensorInterleave::none ? s + 1 : s;
        const int64_t span = static_cast<int64_t>(t.map.dims[d]) + im2col.upper[s] - im2col.lower[s];
        inputs.set(0, unit * 8 + d,
                   static_cast<uint32_t>(im2col.lower[s] +
                                         static_cast<int64_t>(random.below(static_cast<uint64_t>(span)))));
        inputs.set(0, unit * 8 + 5 + s,
                   random.below(static_cast<uint64_t>(1 - im2col.lower[s] - im2col.upper[s])));
      }
    const Values values = values_of(named(t.map.type).type);
    for (size_t plane = 1; plane < planes.size(); ++plane) {
      const uint64_t count = uint64_t{planes[plane].per_unit} * units;
      for (uint64_t i = 0; i < count; ++i) {
        // Numbers of every size, some of them special, and now and then a subnormal.
        const numeric::OperandClass oc = values.is_float() && i % 8 == 0 ? numeric::OperandClass::subnormal
                                         : i % 16 == 1                   ? numeric::OperandClass::special
                                                                         : numeric::OperandClass::wide;
        const std::vector<uint64_t> one = values.is_float()
                                              ? numeric::operands(values.floating, oc, random, 1)
                                              : std::vector<uint64_t>{random.next()};
        inputs.set(plane, i, one[0]);
      }
    }
  };
  return c;
}

TensorMap tiled(TensorType type, std::vector<uint64_t> dims, std::vector<uint32_t> box,
                TensorSwizzle swizzle = TensorSwizzle::none) {
  TensorMap map{.type = type, .dims = std::move(dims), .box = std::move(box), .swizzle = swizzle};
  set_strides(map);
  return map;
}

TensorMap im2col(TensorType type, size_t spatial, uint32_t channels, uint32_t pixels, int margin,
                 TensorSwizzle swizzle = TensorSwizzle::none) {
  TensorMap map{.type = type, .dims = {2 * channels}, .swizzle = swizzle};
  for (size_t s = 0; s < spatial; ++s)
    map.dims.push_back(9 - 2 * s);
  map.dims.push_back(3);
  map.im2col = TensorIm2col{.lower = std::vector<int32_t>(spatial, -margin),
                            .upper = std::vector<int32_t>(spatial, -margin),
                            .channels_per_pixel = channels,
                            .pixels_per_column = pixels};
  set_strides(map);
  return map;
}

void add_loads(std::vector<Case>& cases) {
  const auto add = [&](const TmaCase& t) { cases.push_back(make_case(t)); };
  for (const NamedType& type : kTypes)
    for (const TensorFill fill : {TensorFill::zeros, TensorFill::nan}) {
      if (fill == TensorFill::nan && !layout::is_floating(type.tensor))
        continue;
      const uint32_t inner = 32 / layout::element_bytes(type.tensor);
      TensorMap map =
          tiled(type.tensor, {3 * inner + 16 / layout::element_bytes(type.tensor), 19}, {inner, 8});
      map.oob_fill = fill;
      add({.map = map});
    }
  const std::vector<uint64_t> dims{40, 9, 7, 5, 4};
  const std::vector<uint32_t> box{16, 4, 3, 2, 2};
  for (size_t rank = 1; rank <= 5; ++rank)
    for (const TensorSwizzle swizzle :
         {TensorSwizzle::none, TensorSwizzle::b32, TensorSwizzle::b64, TensorSwizzle::b128})
      if (rank != 2)
        add({.map = tiled(TensorType::bf16, {dims.begin(), dims.begin() + static_cast<long>(rank)},
                          {box.begin(), box.begin() + static_cast<long>(rank)}, swizzle)});
  // Rows of every size that a swizzle takes.
  for (const auto& [swizzle, span] : {std::pair{TensorSwizzle::b32, 32u}, std::pair{TensorSwizzle::b64, 64u},
                                      std::pair{TensorSwizzle::b128, 128u}})
    for (uint32_t bytes = 16; bytes <= span; bytes += 16)
      add({.map = tiled(TensorType::u8, {160, 40}, {bytes, 20}, swizzle),
           .extra = fmt::format(".row{}", bytes)});
  for (const std::vector<uint32_t>& steps :
       {std::vector<uint32_t>{1, 2, 1}, std::vector<uint32_t>{1, 3, 2}, std::vector<uint32_t>{2, 1, 1},
        std::vector<uint32_t>{1, 8, 5}}) {
    TensorMap map = tiled(TensorType::f16, {48, 21, 11}, {16, 9, 5});
    map.element_strides = steps;
    add({.map = map});
  }
  for (const uint32_t mask : {2u, 3u})
    add({.map = tiled(TensorType::bf16, {128, 40}, {64, 16}, TensorSwizzle::b128),
         .extra = fmt::format(".multicast{}", mask),
         .multicast = mask});
}

void add_im2col(std::vector<Case>& cases) {
  const auto add = [&](const TmaCase& t) { cases.push_back(make_case(t)); };
  for (size_t spatial = 1; spatial <= 3; ++spatial)
    for (const TensorSwizzle swizzle : {TensorSwizzle::none, TensorSwizzle::b64})
      for (const int margin : {0, 1}) {
        TmaCase t{.map = im2col(TensorType::f16, spatial, 32, 24, margin, swizzle)};
        t.extra = fmt::format(".margin{}", margin);
        add(t);
      }
  TmaCase steps{.map = im2col(TensorType::bf16, 2, 16, 20, 1)};
  steps.map.element_strides = {1, 2, 2, 1};
  steps.map.oob_fill = TensorFill::nan;
  add(steps);
  TmaCase store{.map = im2col(TensorType::f16, 2, 32, 24, 0)};
  store.store = true;
  add(store);
}

void add_stores(std::vector<Case>& cases) {
  const auto add = [&](TmaCase t) {
    t.store = true;
    for (const char* which : {"", ".again", ".once more"}) {
      TmaCase one = t;
      one.extra += which;
      cases.push_back(make_case(one));
    }
  };
  const std::vector<uint64_t> dims{40, 9, 7, 5, 4};
  const std::vector<uint32_t> box{16, 4, 3, 2, 2};
  for (size_t rank = 1; rank <= 5; ++rank)
    for (const TensorSwizzle swizzle : {TensorSwizzle::none, TensorSwizzle::b128})
      add({.map = tiled(TensorType::bf16, {dims.begin(), dims.begin() + static_cast<long>(rank)},
                        {box.begin(), box.begin() + static_cast<long>(rank)}, swizzle)});
  for (const NamedType& type : kTypes)
    add({.map = tiled(type.tensor, {64, 19}, {32 / layout::element_bytes(type.tensor), 8}),
         .extra = ".type"});
  const struct {
    TensorType type;
    std::vector<const char*> operations;
  } reductions[] = {{TensorType::u32, {"add", "min", "max", "inc", "dec", "and", "or", "xor"}},
                    {TensorType::s32, {"add", "min", "max", "and", "or", "xor"}},
                    {TensorType::u64, {"add", "min", "max", "and", "or", "xor"}},
                    {TensorType::s64, {"min", "max"}},
                    {TensorType::f16, {"add", "min", "max"}},
                    {TensorType::bf16, {"add", "min", "max"}},
                    {TensorType::f32, {"add"}},
                    {TensorType::f32_ftz, {"add"}},
                    {TensorType::f64, {"add"}}};
  for (const auto& [type, operations] : reductions)
    for (const char* operation : operations)
      cases.push_back(make_case({.map = tiled(type, {64, 19}, {32 / layout::element_bytes(type), 8}),
                                 .store = true,
                                 .reduction = operation}));
}

// Tensors whose rows end inside a unit of 16 bytes, and boxes over that end. A load takes elements, a store
// and a reduction whole units.
void add_row_ends(std::vector<Case>& cases) {
  const auto add = [&](const TmaCase& t) { cases.push_back(make_case(t)); };
  // One element more than whole units, or one less.
  const auto elements = [](TensorType type, bool more) {
    const uint64_t unit = std::max<uint64_t>(16 / layout::element_bytes(type), 2);
    return more ? 4 * unit + 1 : 5 * unit - 1;
  };
  const auto row = [](TensorType type, uint32_t bytes) { return bytes / layout::element_bytes(type); };
  for (const NamedType& type : kTypes)
    for (const bool more : {true, false})
      for (const TensorSwizzle swizzle : {TensorSwizzle::none, TensorSwizzle::b128}) {
        if (!more && layout::element_bytes(type.tensor) == 8)
          continue; // the same tensor
        TmaCase t{
            .map = tiled(type.tensor, {elements(type.tensor, more), 9}, {row(type.tensor, 32), 8}, swizzle),
            .extra = more ? ".row end" : ".row end less",
            .at = {static_cast<int32_t>(row(type.tensor, 64)), 3}};
        t.map.oob_fill = layout::is_floating(type.tensor) && more ? TensorFill::nan : TensorFill::zeros;
        add(t);
        t.store = true;
        t.map.oob_fill = TensorFill::zeros;
        add(t);
      }
  for (const auto& [type, operations] : {std::pair{TensorType::u32, std::vector{"add", "inc", "xor"}},
                                         {TensorType::s32, {"min"}},
                                         {TensorType::u64, {"add", "max", "or"}},
                                         {TensorType::s64, {"min"}},
                                         {TensorType::f16, {"add", "max"}},
                                         {TensorType::bf16, {"add", "min"}},
                                         {TensorType::f32, {"add"}},
                                         {TensorType::f32_ftz, {"add"}},
                                         {TensorType::tf32, {"add"}},
                                         {TensorType::f64, {"add"}}})
    for (const char* operation : operations)
      for (const TensorSwizzle swizzle : {TensorSwizzle::none, TensorSwizzle::b64})
        add({.map = tiled(type, {elements(type, true), 9}, {row(type, 64), 4}, swizzle),
             .extra = ".row end",
             .store = true,
             .reduction = operation,
             .at = {static_cast<int32_t>(row(type, 32)), 6}});
  // Rows that follow each other as closely as they may; a tensor that is one row; every rank.
  TmaCase tight{.map = tiled(TensorType::u8, {77, 19}, {48, 8}), .extra = ".row end tight", .store = true};
  tight.map.strides_bytes = {80};
  tight.at = {48, 5};
  add(tight);
  add({.map = tiled(TensorType::u8, {77}, {64}),
       .extra = ".row end",
       .store = true,
       .at = {48},
       .margin_elems = 40});
  const std::vector<uint64_t> dims{45, 5, 4, 4, 3};
  const std::vector<uint32_t> box{16, 3, 2, 2, 2};
  for (size_t rank = 3; rank <= 5; ++rank) {
    const auto count = static_cast<long>(rank);
    TmaCase t{.map = tiled(TensorType::bf16, {dims.begin(), dims.begin() + count},
                           {box.begin(), box.begin() + count}),
              .extra = ".row end",
              .store = true,
              .at = {40, 1, 3, 0, 2}};
    add(t);
    t.reduction = "add";
    add(t);
  }
  for (size_t spatial = 1; spatial <= 3; ++spatial)
    for (const TensorSwizzle swizzle : {TensorSwizzle::none, TensorSwizzle::b64}) {
      TmaCase t{.map = im2col(TensorType::f16, spatial, 32, 24, 0, swizzle),
                .extra = ".row end",
                .at = {32, 0, 0, 0, 0}};
      t.map.dims[0] = 45;
      set_strides(t.map);
      add(t);
      t.store = true;
      add(t);
      t.reduction = "add";
      add(t);
    }
}

// Statements that lay 128 bytes out in shared memory, word %_v of each thread, let the first thread change
// them, and copy them to global memory as the map of the copy.
std::string with_copy_of_map(const std::string& word, const std::string& change) {
  return fmt::format(R"(  .reg .b32 %_m;
  .reg .b64 %_g;
{}  mov.u32 %_m, copy;
  mad.lo.u32 %_m, %_t, 4, %_m;
  st.shared.b32 [%_m], %_v;
  bar.warp.sync -1;
  @!%_first bra REPLACED;
  {}
REPLACED:
  bar.warp.sync -1;
  mad.wide.u32 %_new, %_c, 128, %_new;
  mov.u32 %_m, copy;
  tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%_new], [%_m], 128;
  cvta.global.u64 %_map0, %_new;
  fence.proxy.tensormap::generic.acquire.gpu [%_map0], 128;
)",
                     word, change);
}

// Each field of a map changed in shared memory; the copy then uses the changed one in global memory.
void add_replacements(std::vector<Case>& cases) {
  const struct {
    const char* name;
    const char* statement;
  } fields[] = {
      {"global_dim", "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [copy], 0, 24;"},
      {"box_dim", "tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [copy], 1, 8;"}, // as it was
      {"global_stride", "tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [copy], 0, 64;"},
      {"element_stride", "tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [copy], 0, 1;"},
      {"rank", "tensormap.replace.tile.rank.shared::cta.b1024.b32 [copy], 1;"},
      {"elemtype", "tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [copy], 1;"},
      {"swizzle_mode", "tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [copy], 1;"},
      {"interleave_layout", "tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [copy], 0;"},
      {"fill_mode", "tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [copy], 1;"},
      {"global_address", "add.u64 %_q, %_in, 512;\n  cvta.global.u64 %_q, %_q;\n"
                         "  tensormap.replace.tile.global_address.shared::cta.b1024.b64 [copy], %_q;"},
  };
  for (const auto& [name, statement] : fields) {
    TmaCase t{.map = tiled(TensorType::f16, {48, 30}, {16, 8}), .extra = fmt::format(".replace {}", name)};
    t.before = with_copy_of_map("  mad.wide.u32 %_q, %_t, 4, %_map0;\n  ld.b32 %_v, [%_q];\n", statement);
    cases.push_back(make_case(t));
  }
}

// Maps that a kernel makes out of zeros, field by field.
void add_made_maps(std::vector<Case>& cases) {
  // Of tensormap.replace; the driver's numbers are others.
  const std::pair<TensorType, int> types[] = {
      {TensorType::u8, 0},       {TensorType::u16, 1}, {TensorType::u32, 2},   {TensorType::s32, 3},
      {TensorType::u64, 4},      {TensorType::s64, 5}, {TensorType::f16, 6},   {TensorType::f32, 7},
      {TensorType::f32_ftz, 8},  {TensorType::f64, 9}, {TensorType::bf16, 10}, {TensorType::tf32, 11},
      {TensorType::tf32_ftz, 12}};
  const auto add = [&](TmaCase t, int type) {
    t.extra = ".made";
    // Where make_case() has the tensor: after the coordinates.
    std::string text =
        fmt::format("  add.u64 %_q, %_in, {};\n  cvta.global.u64 %_q, %_q;\n", round_up(kLoads * 8 * 4, 256));
    const auto replace = [&](const char* field, const std::string& operands, int bits = 32) {
      text += fmt::format("  tensormap.replace.tile.{}.shared::cta.b1024.b{} [copy], {};\n", field, bits,
                          operands);
    };
    replace("global_address", "%_q", 64);
    replace("rank", std::to_string(t.map.dims.size() - 1));
    for (size_t d = 0; d < t.map.dims.size(); ++d) {
      replace("box_dim", fmt::format("{}, {}", d, t.map.box[d]));
      replace("global_dim", fmt::format("{}, {}", d, t.map.dims[d]));
      replace("element_stride",
              fmt::format("{}, {}", d, t.map.element_strides.empty() ? 1 : t.map.element_strides[d]));
      if (d > 0)
        replace("global_stride", fmt::format("{}, {}", d - 1, t.map.strides_bytes[d - 1]), 64);
    }
    replace("elemtype", std::to_string(type));
    replace("interleave_layout", std::to_string(static_cast<int>(t.map.interleave)));
    replace("swizzle_mode", std::to_string(static_cast<int>(t.map.swizzle)));
    replace("fill_mode", std::to_string(static_cast<int>(t.map.oob_fill)));
    t.before = with_copy_of_map("  mov.u32 %_v, 0;\n", text);
    cases.push_back(make_case(t));
  };
  for (const auto& [type, number] : types)
    add({.map = tiled(type, {96 / layout::element_bytes(type), 30}, {32 / layout::element_bytes(type), 8})},
        number);
  const std::vector<uint64_t> dims{40, 9, 7, 5, 4};
  const std::vector<uint32_t> box{16, 4, 3, 2, 2};
  for (size_t rank = 1; rank <= 5; ++rank)
    add({.map = tiled(TensorType::bf16, {dims.begin(), dims.begin() + static_cast<long>(rank)},
                      {box.begin(), box.begin() + static_cast<long>(rank)},
                      static_cast<TensorSwizzle>(rank % 4))},
        10);
  TmaCase steps{.map = tiled(TensorType::f16, {48, 21, 11}, {16, 9, 5}, TensorSwizzle::b64)};
  steps.map.element_strides = {1, 3, 2};
  steps.map.oob_fill = TensorFill::nan;
  add(steps, 6);
  TmaCase interleaved{.map = tiled(TensorType::bf16, {10, 9, 7}, {8, 4, 3}, TensorSwizzle::b32)};
  interleaved.map.interleave = TensorInterleave::b32;
  set_strides(interleaved.map);
  add(interleaved, 10);
}

// Interleaved tensors: pixels of 16 or 32 bytes, slices of channels as the last dimension but one.
void add_interleaved(std::vector<Case>& cases) {
  const std::vector<uint64_t> dims{10, 9, 7, 5, 4};
  const std::vector<uint32_t> box{8, 4, 3, 2, 2};
  for (const TensorInterleave interleave : {TensorInterleave::b16, TensorInterleave::b32})
    for (size_t rank = 3; rank <= 5; ++rank)
      for (const bool swizzled : {false, true}) {
        if (interleave == TensorInterleave::b32 && !swizzled)
          continue;
        TmaCase t{.map = tiled(TensorType::bf16, {dims.begin(), dims.begin() + static_cast<long>(rank)},
                               {box.begin(), box.begin() + static_cast<long>(rank)},
                               swizzled ? TensorSwizzle::b32 : TensorSwizzle::none)};
        t.map.interleave = interleave;
        t.map.oob_fill = rank == 4 ? TensorFill::nan : TensorFill::zeros;
        set_strides(t.map);
        cases.push_back(make_case(t));
        t.map.element_strides = std::vector<uint32_t>(rank, 1);
        t.map.element_strides[0] = t.map.element_strides[1] = 2;
        cases.push_back(make_case(t));
        t.map.element_strides.clear();
        t.map.oob_fill = TensorFill::zeros;
        t.store = true;
        cases.push_back(make_case(t));
      }
}

// The same in im2col mode: W, H, then the slices of channels, then images.
void add_interleaved_im2col(std::vector<Case>& cases) {
  for (const TensorInterleave interleave : {TensorInterleave::b16, TensorInterleave::b32})
    for (const int margin : {0, 1}) {
      TmaCase t{.map = {.type = TensorType::bf16,
                        .dims = {9, 7, 3, 3},
                        .interleave = interleave,
                        .swizzle = TensorSwizzle::b32}};
      t.map.im2col = TensorIm2col{.lower = {-margin, -margin},
                                  .upper = {-margin, -margin},
                                  .channels_per_pixel = 8,
                                  .pixels_per_column = 24};
      t.extra = fmt::format(".margin{}", margin);
      set_strides(t.map);
      cases.push_back(make_case(t));
      t.map.element_strides = {2, 2, 1, 1};
      cases.push_back(make_case(t));
    }
}

} // namespace

std::vector<Case> tma_cases(std::string_view) {
  std::vector<Case> cases;
  add_loads(cases);
  add_im2col(cases);
  add_stores(cases);
  add_row_ends(cases);
  add_replacements(cases);
  add_made_maps(cases);
  add_interleaved(cases);
  add_interleaved_im2col(cases);
  return cases;
}

} // namespace lemma::golden
