// Arrays, textures and surfaces: what a channel is. The rest is refused.
#include "cudart/api.h"

cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind) {
  return {x, y, z, w, kind};
}
