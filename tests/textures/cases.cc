// Which cases there are, and their texels.
#include "case.h"

#include "kernels.h"

#include <algorithm>

namespace textures {
namespace {

constexpr unsigned kInteger = 1, kNormalized = 2, kSrgb = 16; // CU_TRSF_READ_AS_INTEGER, ...
constexpr unsigned kLayered = 1, kSurface = 2, kCube = 4;     // CUDA_ARRAY3D_LAYERED, ...

struct Format {
  const char* name;
  CUarray_format format;
  unsigned bytes;
  bool is_signed;
};
constexpr Format kFormats[] = {
    {"u8", CU_AD_FORMAT_UNSIGNED_INT8, 1, false},
    {"s8", CU_AD_FORMAT_SIGNED_INT8, 1, true},
    {"u16", CU_AD_FORMAT_UNSIGNED_INT16, 2, false},
    {"s16", CU_AD_FORMAT_SIGNED_INT16, 2, true},
    {"u32", CU_AD_FORMAT_UNSIGNED_INT32, 4, false},
    {"s32", CU_AD_FORMAT_SIGNED_INT32, 4, true},
    {"f16", CU_AD_FORMAT_HALF, 2, true},
    {"f32", CU_AD_FORMAT_FLOAT, 4, true},
};
constexpr const char* kModes[] = {"wrap", "clamp", "mirror", "border"};
constexpr const char* kGeometries[] = {"1d", "2d", "3d", "a1d", "a2d", "cube", "acube", "1d", "2d"};
constexpr const char* kShapes[] = {"1d", "2d", "3d", "a1d", "a2d", "cube", "acube", "linear", "pitch"};

const char* geometry(Shape shape) {
  return kGeometries[static_cast<int>(shape)];
}

const Format& format_of(CUarray_format format) {
  return *std::find_if(std::begin(kFormats), std::end(kFormats),
                       [&](const Format& f) { return f.format == format; });
}

bool is_float(const Format& format) {
  return format.format == CU_AD_FORMAT_HALF || format.format == CU_AD_FORMAT_FLOAT;
}

void set_modes(Case& c, int mode) {
  for (CUaddress_mode& each : c.modes)
    each = static_cast<CUaddress_mode>(mode);
}

void set_size(Case& c, unsigned width, unsigned height, unsigned depth) {
  c.width = width;
  c.height = height;
  c.depth = depth;
}

// A small texture of the shape, whose sizes differ.
void set_size(Case& c) {
  switch (c.shape) {
  case Shape::d1:
  case Shape::linear:
    return set_size(c, 37, 0, 0);
  case Shape::d2:
  case Shape::pitch:
    return set_size(c, 21, 13, 0);
  case Shape::d3:
    return set_size(c, 11, 7, 5);
  case Shape::a1d:
    return set_size(c, 19, 0, 6);
  case Shape::a2d:
    return set_size(c, 11, 9, 4);
  case Shape::cube:
    return set_size(c, 8, 8, 6);
  case Shape::acube:
    return set_size(c, 8, 8, 18);
  }
}

std::string tex(Shape shape, const std::string& type, const std::string& from = "f32",
                const std::string& how = "") {
  const std::string vector = type == "f16x2" ? ".v2." : ".v4.";
  return "tex" + how + "." + geometry(shape) + vector + type + "." + from;
}

// How a coordinate becomes a texel, or two and a weight.
void add_addressing(std::vector<Case>& cases) {
  for (const unsigned size : {1u, 2u, 3u, 7u, 16u, 100u, 255u, 1000u, 4096u, 50000u})
    for (const unsigned flags : {0u, kNormalized})
      for (int mode = 0; mode < 4; ++mode)
        for (const bool linear : {false, true}) {
          Case c{.instruction = tex(Shape::d1, "f32"), .width = size, .flags = flags, .kept = 0, .words = 1};
          c.name = "address.1d." + std::to_string(size) + "." + kModes[mode] +
                   (flags ? ".normalized" : ".texels") + (linear ? ".linear" : ".point");
          c.filter = linear ? CU_TR_FILTER_MODE_LINEAR : CU_TR_FILTER_MODE_POINT;
          set_modes(c, mode);
          cases.push_back(c);
        }
  for (const Shape shape : {Shape::d2, Shape::d3, Shape::a1d, Shape::a2d, Shape::pitch})
    for (const unsigned flags : {0u, kNormalized})
      for (int mode = 0; mode < 5; ++mode)
        for (const bool linear : {false, true}) {
          Case c{
              .instruction = tex(shape, "f32"), .shape = shape, .channels = 4, .flags = flags, .kept = 1536};
          set_size(c);
          c.name = std::string("address.") + kShapes[static_cast<int>(shape)] + "." +
                   (mode == 4 ? "mixed" : kModes[mode]) + (flags ? ".normalized" : ".texels") +
                   (linear ? ".linear" : ".point");
          c.filter = linear ? CU_TR_FILTER_MODE_LINEAR : CU_TR_FILTER_MODE_POINT;
          set_modes(c, mode);
          if (mode == 4) {
            c.modes[0] = CU_TR_ADDRESS_MODE_MIRROR;
            c.modes[1] = CU_TR_ADDRESS_MODE_WRAP;
            c.modes[2] = CU_TR_ADDRESS_MODE_BORDER;
          }
          c.border[0] = 0.75f, c.border[1] = -3.5f, c.border[2] = 1e30f, c.border[3] = 7.0f;
          cases.push_back(c);
        }
  // How many bits of a normalized coordinate count.
  for (const unsigned size :
       {8193u, 16383u, 16385u, 20011u, 32767u, 32768u, 32769u, 40009u, 65535u, 65537u, 100003u, 131071u})
    for (int mode = 0; mode < 3; ++mode)
      for (const bool tall : {false, true}) {
        if (tall && size > 65536)
          continue;
        Case c{.instruction = tex(tall ? Shape::d2 : Shape::d1, "f32"),
               .shape = tall ? Shape::d2 : Shape::d1,
               .channels = 2,
               .fill = Fill::saw,
               .flags = kNormalized,
               .kept = 2048,
               .words = 2};
        set_size(c, tall ? 3 : size, tall ? size : 0, 0);
        c.name =
            std::string(tall ? "address.tall." : "address.wide.") + std::to_string(size) + "." + kModes[mode];
        c.filter = CU_TR_FILTER_MODE_LINEAR;
        set_modes(c, mode);
        cases.push_back(c);
      }
  for (const Shape shape : {Shape::d2, Shape::d3, Shape::a2d})
    for (int mode = 0; mode < 4; ++mode) {
      Case c{.instruction = tex(shape, "f32"),
             .shape = shape,
             .channels = 4,
             .flags = kNormalized,
             .kept = 1536};
      shape == Shape::d2 ? set_size(c, 1000, 701, 0) : set_size(c, 101, 60, 43);
      c.name = std::string("address.large.") + kShapes[static_cast<int>(shape)] + "." + kModes[mode];
      c.filter = CU_TR_FILTER_MODE_LINEAR;
      set_modes(c, mode);
      cases.push_back(c);
    }
}

// How texels are weighted and summed.
void add_filtering(std::vector<Case>& cases) {
  const auto add = [&](Shape shape, const Format& format, Fill fill, const char* what, unsigned flags) {
    Case c{.instruction = tex(shape, "f32"),
           .shape = shape,
           .format = format.format,
           .channels = 4,
           .fill = fill,
           .flags = flags,
           .where = Where::inside,
           .kept = 2048};
    c.filter = CU_TR_FILTER_MODE_LINEAR;
    if (shape == Shape::d1)
      set_size(c, 1024, 0, 0);
    else if (shape == Shape::d2)
      set_size(c, 64, 32, 0);
    else if (shape == Shape::d3)
      set_size(c, 16, 16, 16);
    else
      set_size(c);
    c.name = std::string("filter.") + kShapes[static_cast<int>(shape)] + "." + format.name + "." + what;
    cases.push_back(c);
  };
  for (const Shape shape : {Shape::d1, Shape::d2, Shape::d3, Shape::a1d, Shape::a2d, Shape::pitch}) {
    for (const Format& format : kFormats) {
      const bool whole =
          format.format == CU_AD_FORMAT_UNSIGNED_INT32 || format.format == CU_AD_FORMAT_SIGNED_INT32;
      if (whole) // the linear filter of these is refused
        continue;
      add(shape, format, Fill::bits, "bits", 0);
      if (is_float(format)) {
        add(shape, format, Fill::one_hot, "one_hot", 0);
        if (shape == Shape::a1d || shape == Shape::a2d || shape == Shape::pitch)
          continue;
        add(shape, format, Fill::unit, "unit", 0);
        add(shape, format, Fill::mixed, "mixed", 0);
        add(shape, format, Fill::wide, "wide", 0);
      }
    }
  }
}

// What a texel becomes: every format, number of channels, way of reading it and type of the result.
void add_formats(std::vector<Case>& cases) {
  for (const Format& format : kFormats)
    for (const unsigned channels : {1u, 2u, 4u})
      for (const bool integer : {false, true}) {
        const bool whole = !is_float(format);
        if (integer && (!whole || format.bytes == 4))
          continue;
        for (const char* type : {"f32", "s32", "u32", "f16", "f16x2"})
          for (const bool border : {false, true}) {
            if (border && (channels != 4 || std::string(type) == "u32"))
              continue;
            const bool linear =
                std::string(type).starts_with("f16") && (!whole || (format.bytes < 4 && !integer));
            Case c{.instruction = tex(Shape::d1, type),
                   .format = format.format,
                   .channels = channels,
                   .width = 1024,
                   .fill = Fill::bits,
                   .flags = integer ? kInteger : 0,
                   .where = border ? Where::near : Where::inside,
                   .kept = 512,
                   .held = 2048};
            c.name = std::string("format.") + format.name + "x" + std::to_string(channels) + "." + type +
                     (integer ? ".integer" : "") + (border ? ".border" : "");
            if (border) {
              set_modes(c, CU_TR_ADDRESS_MODE_BORDER);
              c.width = 64;
              c.border[0] = 0.3f, c.border[1] = -1.7f, c.border[2] = 1000.6f, c.border[3] = 1e20f;
            }
            if (linear)
              c.filter = CU_TR_FILTER_MODE_LINEAR;
            cases.push_back(c);
          }
      }
  for (const unsigned channels : {1u, 2u, 4u}) {
    Case c{.instruction = tex(Shape::d1, "f32"),
           .format = CU_AD_FORMAT_UNSIGNED_INT8,
           .channels = channels,
           .width = 1024,
           .fill = Fill::bits,
           .flags = kSrgb | kNormalized,
           .where = Where::near,
           .kept = 1024};
    c.name = "format.srgbx" + std::to_string(channels) + ".point";
    set_modes(c, CU_TR_ADDRESS_MODE_BORDER);
    c.border[0] = 0.3f, c.border[1] = -1.7f, c.border[2] = 0.02f, c.border[3] = 0.5f;
    cases.push_back(c);
  }
  // The border as texels of each format.
  for (const Format& format : kFormats)
    for (int i = 0; i < 12; ++i)
      for (const bool srgb : {false, true}) {
        if (srgb && (format.bytes != 1 || format.is_signed))
          continue;
        Case c{.instruction = tex(Shape::d1, "f32"),
               .format = format.format,
               .channels = 4,
               .width = 2,
               .fill = Fill::bits,
               .flags = srgb ? kSrgb : 0,
               .where = Where::near,
               .kept = 48,
               .held = 0};
        c.name = std::string("border.") + format.name + (srgb ? ".srgb." : ".") + std::to_string(i);
        set_modes(c, CU_TR_ADDRESS_MODE_BORDER);
        Random random(c.name, 7);
        for (float& value : c.border)
          value = static_cast<float>(random.unit() * 2.25 - 1.125);
        if (i == 0)
          c.border[0] = 1.0f / 510, c.border[1] = 3.0f / 510, c.border[2] = -1.0f,
          c.border[3] = float_of(0x7fc00000);
        if (i == 1)
          c.border[0] = float_of(0x7f800000), c.border[1] = float_of(1), c.border[2] = 1e-6f,
          c.border[3] = -1e-30f;
        cases.push_back(c);
      }
}

// Whole coordinates, from arrays and from linear memory; levels and gradients where there is one level.
void add_fetches(std::vector<Case>& cases) {
  for (const Shape shape : {Shape::linear, Shape::d2, Shape::d3, Shape::a1d, Shape::a2d, Shape::pitch})
    for (int mode = 0; mode < 4; ++mode)
      for (const unsigned flags : {0u, kNormalized}) {
        Case c{.instruction = tex(shape, "f32", "s32"),
               .shape = shape,
               .channels = 4,
               .flags = flags,
               .where = Where::whole,
               .kept = 512,
               .held = 2048};
        set_size(c);
        set_modes(c, mode);
        c.border[0] = 0.75f, c.border[1] = -3.5f, c.border[2] = 1e30f, c.border[3] = 7.0f;
        c.name = std::string("whole.") + kShapes[static_cast<int>(shape)] + "." + kModes[mode] +
                 (flags ? ".normalized" : ".texels");
        if (shape != Shape::linear && mode < 2)
          c.filter = CU_TR_FILTER_MODE_LINEAR;
        cases.push_back(c);
      }
  for (const Format& format : kFormats)
    for (const unsigned channels : {1u, 2u, 4u})
      for (const char* type : {"f32", "s32", "u32"})
        for (const bool integer : {false, true}) {
          const bool whole = !is_float(format);
          if (integer && (!whole || format.bytes == 4))
            continue;
          Case c{.instruction = tex(Shape::linear, type, "s32"),
                 .shape = Shape::linear,
                 .format = format.format,
                 .channels = channels,
                 .width = 301,
                 .fill = Fill::bits,
                 .flags = integer ? kInteger : 0,
                 .where = Where::whole,
                 .kept = 256,
                 .held = 1024};
          c.name = std::string("linear.") + format.name + "x" + std::to_string(channels) + "." + type +
                   (integer ? ".integer" : "");
          cases.push_back(c);
        }
  for (const Shape shape : {Shape::d1, Shape::d2, Shape::d3, Shape::a1d, Shape::a2d})
    for (const char* how : {".base", ".level", ".grad"})
      for (const bool linear : {false, true}) {
        Case c{.instruction = tex(shape, "f32", "f32", how),
               .shape = shape,
               .channels = 4,
               .flags = kNormalized,
               .where = Where::near,
               .kept = 512,
               .held = 2048};
        set_size(c);
        set_modes(c, CU_TR_ADDRESS_MODE_WRAP);
        c.filter = linear ? CU_TR_FILTER_MODE_LINEAR : CU_TR_FILTER_MODE_POINT;
        c.name =
            std::string("levels.") + kShapes[static_cast<int>(shape)] + how + (linear ? ".linear" : ".point");
        cases.push_back(c);
      }
}

void add_gathers(std::vector<Case>& cases) {
  for (const Shape shape : {Shape::d2})
    for (const char* component : {"r", "g", "b", "a"})
      for (int mode = 0; mode < 4; ++mode) {
        Case c{.instruction = std::string("tld4.") + component + "." + geometry(shape) + ".v4.f32.f32",
               .shape = shape,
               .channels = 4,
               .flags = kNormalized,
               .kept = 1024};
        set_size(c);
        set_modes(c, mode);
        c.border[0] = 0.75f, c.border[1] = -3.5f, c.border[2] = 1e30f, c.border[3] = 7.0f;
        c.name =
            std::string("gather.") + kShapes[static_cast<int>(shape)] + "." + component + "." + kModes[mode];
        if (mode & 1)
          c.filter = CU_TR_FILTER_MODE_LINEAR;
        if (mode == 1)
          c.flags = 0;
        cases.push_back(c);
      }
  for (const Format& format : kFormats)
    for (const bool integer : {false, true})
      for (const unsigned channels : {1u, 2u, 4u})
        for (const char* type : {"f32", "s32", "u32"}) {
          const bool whole = !is_float(format);
          if (integer && (!whole || format.bytes == 4))
            continue;
          const char component = "rgba"[(channels + format.bytes) % 4];
          Case c{.instruction = std::string("tld4.") + component + ".2d.v4." + type + ".f32",
                 .shape = Shape::d2,
                 .format = format.format,
                 .channels = channels,
                 .fill = Fill::bits,
                 .flags = integer ? kInteger : 0,
                 .where = Where::near,
                 .kept = 256,
                 .held = 1024};
          set_size(c);
          set_modes(c, CU_TR_ADDRESS_MODE_BORDER);
          c.name = std::string("gather.") + format.name + "x" + std::to_string(channels) + "." + component +
                   "." + type + (integer ? ".integer" : "");
          cases.push_back(c);
        }
}

void add_queries(std::vector<Case>& cases) {
  const std::vector<const char*> queries = {"width", "height", "depth"}; // that there are for handles
  const auto add = [&](const std::string& instruction, Shape shape, bool is_surface, unsigned flags) {
    Case c{.instruction = instruction,
           .shape = shape,
           .channels = 4,
           .flags = flags,
           .where = Where::queries,
           .kept = 1,
           .held = 0,
           .words = 1,
           .surface = is_surface};
    set_size(c);
    set_modes(c, CU_TR_ADDRESS_MODE_MIRROR);
    if (shape != Shape::linear)
      c.filter = CU_TR_FILTER_MODE_LINEAR;
    c.name = "query." + std::string(kShapes[static_cast<int>(shape)]) +
             (is_surface ? ".surface" : ".texture") + (flags ? ".normalized." : ".texels.") + instruction;
    cases.push_back(c);
  };
  for (const Shape shape :
       {Shape::d1, Shape::d2, Shape::d3, Shape::a1d, Shape::a2d, Shape::linear, Shape::pitch})
    for (const unsigned flags : {0u, kNormalized}) {
      for (const char* query : queries)
        add(std::string("txq.") + query + ".b32", shape, false, flags);
      if (shape != Shape::linear && shape != Shape::pitch && !flags)
        for (const char* query : queries)
          add(std::string("suq.") + query + ".b32", shape, true, flags);
    }
}

void add_surfaces(std::vector<Case>& cases) {
  const auto add = [&](const std::string& instruction, Shape shape, CUarray_format format, unsigned channels,
                       Where where, bool stores) {
    Case c{.instruction = instruction,
           .shape = shape,
           .format = format,
           .channels = channels,
           .fill = Fill::bits,
           .where = where,
           .kept = stores ? 128u : 256u,
           .held = 2048,
           .surface = true,
           .stores = stores};
    set_size(c);
    c.name =
        std::string("surface.") + format_of(format).name + "x" + std::to_string(channels) + "." + instruction;
    cases.push_back(c);
  };
  struct Access {
    const char* suffix;
    CUarray_format format;
    unsigned channels;
  };
  const Access accesses[] = {
      {"b8", CU_AD_FORMAT_UNSIGNED_INT8, 1},
      {"v2.b8", CU_AD_FORMAT_UNSIGNED_INT8, 2},
      {"v4.b8", CU_AD_FORMAT_UNSIGNED_INT8, 4},
      {"b16", CU_AD_FORMAT_UNSIGNED_INT16, 1},
      {"v2.b16", CU_AD_FORMAT_UNSIGNED_INT16, 2},
      {"v4.b16", CU_AD_FORMAT_HALF, 4},
      {"b32", CU_AD_FORMAT_FLOAT, 1},
      {"v2.b32", CU_AD_FORMAT_UNSIGNED_INT32, 2},
      {"v4.b32", CU_AD_FORMAT_FLOAT, 4},
      {"b64", CU_AD_FORMAT_UNSIGNED_INT32, 2},
      {"v2.b64", CU_AD_FORMAT_UNSIGNED_INT32, 4},
      {"b32", CU_AD_FORMAT_UNSIGNED_INT8, 4},
      {"b16", CU_AD_FORMAT_UNSIGNED_INT8, 2},
      {"b64", CU_AD_FORMAT_HALF, 4},
  };
  // Narrower than an element.
  const Access others[] = {
      {"b8", CU_AD_FORMAT_UNSIGNED_INT8, 4},
      {"b16", CU_AD_FORMAT_UNSIGNED_INT8, 4},
      {"b32", CU_AD_FORMAT_FLOAT, 4},
  };
  for (const Shape shape : {Shape::d1, Shape::d2, Shape::d3, Shape::a1d, Shape::a2d})
    for (const char* mode : {"clamp", "zero"})
      for (const Access& access : accesses) {
        const std::string tail = std::string(".b.") + geometry(shape) + "." + access.suffix + "." + mode;
        add("suld" + tail, shape, access.format, access.channels, Where::bytes, false);
        add("sust" + tail, shape, access.format, access.channels, Where::bytes, true);
      }
  for (const char* mode : {"clamp", "zero"}) {
    for (const Access& access : others)
      for (const char* opcode : {"suld", "sust"}) {
        add(std::string(opcode) + ".b.2d." + access.suffix + "." + mode, Shape::d2, access.format,
            access.channels, Where::bytes, *(opcode + 2) == 's');
        cases.back().name.insert(0, "odd_");
      }
  }
  for (const Shape shape : {Shape::d1, Shape::d2, Shape::d3}) {
    for (const char* mode : {"clamp", "zero"}) {
      const auto reduce = [&](const std::string& what, CUarray_format format, unsigned channels,
                              Where where) {
        const size_t at = what.find('.', 2);
        add("sured." + what.substr(0, at) + "." + geometry(shape) + what.substr(at) + "." + mode, shape,
            format, channels, where, true);
      };
      for (const char* what : {"b.add.u32", "b.add.s32", "b.min.u32", "b.max.u32", "b.min.s32", "b.max.s32",
                               "b.and.b32", "b.or.b32"})
        reduce(what, CU_AD_FORMAT_UNSIGNED_INT32, 1, Where::bytes);
      for (const char* what : {"b.add.u64", "b.min.u64", "b.max.u64", "b.min.s64", "b.max.s64"})
        reduce(what, CU_AD_FORMAT_UNSIGNED_INT32, 2, Where::bytes);
      for (const char* what : {"p.add.b32", "p.min.b32", "p.max.b32", "p.and.b32", "p.or.b32"}) {
        reduce(what, CU_AD_FORMAT_UNSIGNED_INT32, 1, Where::elements);
        reduce(what, CU_AD_FORMAT_SIGNED_INT32, 1, Where::elements);
      }
      for (const Format& format : kFormats)
        for (const unsigned channels : {1u, 2u, 4u}) {
          const std::string vector = channels == 1 ? "." : ".v" + std::to_string(channels) + ".";
          add(std::string("sust.p.") + geometry(shape) + vector + "b32." + mode, shape, format.format,
              channels, Where::elements, true);
          if (shape == Shape::d1 && channels != 4)
            add(std::string("sust.p.") + geometry(shape) + ".v4.b32." + mode, shape, format.format, channels,
                Where::elements, true);
        }
    }
  }
}

uint32_t random_texel(const Case& c, Random& random, uint32_t index[4], unsigned channel) {
  const bool half = c.format == CU_AD_FORMAT_HALF;
  switch (c.fill) {
  case Fill::ramp:
    return bits_of(256.0f * static_cast<float>(index[channel] + 1));
  case Fill::saw:
    return bits_of(256.0f * static_cast<float>(index[channel] % 64 + 1));
  case Fill::one_hot:
    return random.below(4) ? 0 : half ? 0x3c00u : 0x3f800000u;
  case Fill::unit:
    return half ? random.below(0x3c00) : bits_of(std::ldexp(static_cast<float>(random.below(1u << 24)), -24));
  case Fill::mixed:
    return half ? (random.bits() & 0x83ff) | static_cast<uint32_t>(random.between(13, 17)) << 10
                : bits_of(random_float(random, -2, 2));
  case Fill::wide:
    return half ? (random.bits() & 0x83ff) | random.below(31) << 10 : bits_of(random_float(random, -40, 40));
  case Fill::bits:
    return random.bits();
  }
  return 0;
}

} // namespace

bool normalized(const Case& c) {
  return (c.flags & kNormalized) != 0;
}

unsigned element_bytes(const Case& c) {
  return format_of(c.format).bytes * c.channels;
}

std::vector<std::string> coordinate_names(Shape shape) {
  switch (shape) {
  case Shape::d1:
  case Shape::linear:
    return {"x"};
  case Shape::d2:
  case Shape::pitch:
    return {"x", "y"};
  case Shape::a1d:
    return {"l", "x"};
  case Shape::a2d:
    return {"l", "x", "y"};
  case Shape::acube:
    return {"l", "x", "y", "z"};
  default:
    return {"x", "y", "z"};
  }
}

std::vector<unsigned char> texels_of(const Case& c) {
  Random random(c.name, 0);
  const unsigned bytes = format_of(c.format).bytes;
  std::vector<unsigned char> texels;
  for (uint32_t z = 0; z < std::max(c.depth, 1u); ++z)
    for (uint32_t y = 0; y < std::max(c.height, 1u); ++y)
      for (uint32_t x = 0; x < c.width; ++x)
        for (unsigned channel = 0; channel < c.channels; ++channel) {
          uint32_t index[4] = {x, y, z, x + y + z};
          const uint32_t value = random_texel(c, random, index, channel);
          for (unsigned i = 0; i < bytes; ++i)
            texels.push_back(static_cast<unsigned char>(value >> 8 * i));
        }
  return texels;
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  add_addressing(cases);
  add_filtering(cases);
  add_formats(cases);
  add_fetches(cases);
  add_gathers(cases);
  add_queries(cases);
  add_surfaces(cases);
  return cases;
}

} // namespace textures
