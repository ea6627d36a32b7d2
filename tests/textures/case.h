// A case: a texture or surface, an instruction, and the coordinates at which it is executed.
#pragma once

#ifdef LEMMA_TEST_WITH_TOOLKIT
#include <cuda.h>
#else
#include "driver/api.h"
#endif

#include "random.h"

#include <string>
#include <vector>

namespace textures {

enum class Shape { d1, d2, d3, a1d, a2d, cube, acube, linear, pitch };

// What the texels are. ramp: 256 times one more than the index on the axis of the channel's number, so that a
// linear fetch tells the coordinate in steps of 1/256 and a point fetch the texel. one_hot: a quarter are 1,
// the others 0. unit: in [0, 1). mixed: signs, exponents of five. wide: exponents of 80, or of half
// precision. bits: any pattern. faces: the ramp with the face or layer in the last channel.
enum class Fill { ramp, saw, one_hot, unit, mixed, wide, bits };

// Where fetches go. lattice: every 1/1024 around the first texels, the last ones, beside every boundary, far
// away, and what is no number. inside: at random between the centres of the first and the last texel. near:
// at random, a fifth outside. whole: whole numbers, inside and outside; bytes: the same, the first axis in
// bytes. directions: for cubes. queries: one.
enum class Where { lattice, inside, near, whole, bytes, elements, directions, queries };

struct Case {
  std::string name = {}, instruction = {};
  Shape shape = Shape::d1;
  CUarray_format format = CU_AD_FORMAT_FLOAT;
  unsigned channels = 1;
  unsigned width = 0, height = 0, depth = 0; // as the driver takes them
  Fill fill = Fill::ramp;
  CUaddress_mode modes[3] = {CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_CLAMP};
  CUfilter_mode filter = CU_TR_FILTER_MODE_POINT;
  unsigned flags = 0;
  float border[4] = {0, 0, 0, 0};
  Where where = Where::lattice;
  unsigned kept = 4096; // fetches whose results are kept whole
  unsigned held = 8192; // fetches of which a sum is kept for each 1024
  unsigned words = 4;   // of each result, that are kept
  bool surface = false;
  bool stores = false; // what is kept is the surface, after one thread has done it all
};

bool normalized(const Case& c);
unsigned element_bytes(const Case& c);
std::vector<std::string> coordinate_names(Shape shape); // "x", "y", "z", "l"
std::vector<unsigned char> texels_of(const Case& c);
// Twelve words a fetch (kernels.h).
std::vector<uint32_t> kept_fetches(const Case& c);
// 1024 fetches; the kinds of coordinates alternate with the number of the part.
std::vector<uint32_t> held_fetches(const Case& c, unsigned part);

std::vector<Case> all_cases();

} // namespace textures
