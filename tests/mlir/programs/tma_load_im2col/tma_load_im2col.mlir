// A tensor copy in im2col mode (TMA): the pixels of images that a 3 x 3 convolution with padding 1 multiplies with one
// of its taps. The tensor is 2 images of 6 x 8 pixels with 16 channels (N, H, W, C); a copy brings 32 pixels in the
// order of the convolution's output, shifted by the tap, and zeros where the tap looks over the edge of an image. The
// kernel makes all nine copies, and the host looks for every pixel where the convolution has it.
//
// The corners of the bounding box are attributes of tma.create.descriptor, innermost dimension first: from -1 before
// the image to 1 before its end, so that it has as many pixels as the image.
//
// Not here: tiled copies (tma_load_*).
// Spec: nvgpu.tma.create.descriptor, nvgpu.tma.async.load; PTX ISA, "Tensor: Im2col mode".
// UPSTREAM: refused: a barrier without an index
// RUN: lemma run %s | FileCheck %s
// CHECK: Correct: 4608 of 4608

!tile = memref<32x16xf16, #gpu.address_space<workgroup>>
!map = !nvgpu.tensormap.descriptor<tensor = memref<1x1x32x16xf16, #gpu.address_space<workgroup>>, swizzle = none,
                                   l2promo = none, oob = zero, interleave = none>
!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

module attributes {gpu.container_module} {
  memref.global "private" @tile : !tile

  // Channel c of pixel (h, w) of image n, small enough to be exact: no two pixels are alike.
  func.func private @entry(%n: index, %h: index, %w: index, %c: index) -> f16 {
    %c6 = arith.constant 6 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %a = arith.muli %n, %c6 : index
    %b = arith.addi %a, %h : index
    %d = arith.muli %b, %c8 : index
    %e = arith.addi %d, %w : index
    %f = arith.muli %e, %c16 : index
    %g = arith.addi %f, %c : index
    %c1 = arith.constant 1 : index
    %k = arith.addi %g, %c1 : index
    %i = arith.index_cast %k : index to i32
    %x = arith.sitofp %i : i32 to f16
    return %x : f16
  }

  func.func @main() -> i32 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c6 = arith.constant 6 : index
    %c8 = arith.constant 8 : index
    %c9 = arith.constant 9 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %c48 = arith.constant 48 : index
    %first_pixel = arith.constant 20 : index
    %bytes = arith.constant 1024 : index
    %ticks = arith.constant 10000000 : index
    %minus1 = arith.constant -1 : index
    %zero = arith.constant 0.0 : f16
    %n0 = arith.constant 0 : i64
    %total = arith.constant 4608 : i64

    %images = memref.alloc() : memref<2x6x8x16xf16>
    %out = memref.alloc() : memref<9x32x16xf16>
    scf.for %n = %c0 to %c2 step %c1 {
      scf.for %h = %c0 to %c6 step %c1 {
        scf.for %w = %c0 to %c8 step %c1 {
          scf.for %c = %c0 to %c16 step %c1 {
            %x = func.call @entry(%n, %h, %w, %c) : (index, index, index, index) -> f16
            memref.store %x, %images[%n, %h, %w, %c] : memref<2x6x8x16xf16>
          }
        }
      }
    }

    %ready = gpu.wait async
    %dimages, %t0 = gpu.alloc async [%ready] () : memref<2x6x8x16xf16>
    %dout, %t1 = gpu.alloc async [%t0] () : memref<9x32x16xf16>
    %t2 = gpu.memcpy async [%t1] %dimages, %images : memref<2x6x8x16xf16>, memref<2x6x8x16xf16>
    gpu.wait [%t2]
    %any = memref.cast %dimages : memref<2x6x8x16xf16> to memref<*xf16>
    %map = nvgpu.tma.create.descriptor %any box[]
      {pixelBoxLower = array<i32: -1, -1>, pixelBoxUpper = array<i32: -1, -1>, channelsPerPixel = 16 : i32,
       pixelsPerColumn = 32 : i32} : memref<*xf16> -> !map
    %t3 = gpu.wait async
    %t4 = gpu.launch async [%t3] blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
                                 threads(%thread, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
      %tile = memref.get_global @tile : !tile
      %barrier = nvgpu.mbarrier.create -> !barrier
      %first = arith.cmpi eq, %thread, %c0 : index
      nvgpu.mbarrier.init %barrier, %c1, predicate = %first : !barrier
      gpu.barrier
      scf.for %tap = %c0 to %c9 step %c1 {
        // Output pixel 20 is (2, 4) of image 0; the copy starts from the bounding box's corner and adds the tap.
        %r = arith.divui %tap, %c3 : index
        %s = arith.remui %tap, %c3 : index
        %h = arith.constant 1 : index
        %w = arith.constant 3 : index
        nvgpu.mbarrier.arrive.expect_tx %barrier, %bytes, predicate = %first : !barrier
        nvgpu.tma.async.load %map[%c0, %w, %h, %c0] im2col [%s, %r], %barrier to %tile, predicate = %first : !map, !barrier -> !tile
        nvgpu.mbarrier.try_wait.parity %barrier, %tap, %ticks : !barrier
        scf.for %c = %c0 to %c16 step %c1 {
          %x = memref.load %tile[%thread, %c] : !tile
          memref.store %x, %dout[%tap, %thread, %c] : memref<9x32x16xf16>
        }
        // What was read is overwritten in the async proxy.
        nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
        gpu.barrier
      }
      gpu.terminator
    }
    %t5 = gpu.memcpy async [%t4] %out, %dout : memref<9x32x16xf16>, memref<9x32x16xf16>
    %t6 = gpu.dealloc async [%t5] %dimages : memref<2x6x8x16xf16>
    %t7 = gpu.dealloc async [%t6] %dout : memref<9x32x16xf16>
    gpu.wait [%t7]

    %correct = scf.for %tap = %c0 to %c9 step %c1 iter_args(%n_tap = %n0) -> (i64) {
      %n_next_tap = scf.for %p = %c0 to %c32 step %c1 iter_args(%n_pixel = %n_tap) -> (i64) {
        %n_next = scf.for %c = %c0 to %c16 step %c1 iter_args(%n = %n_pixel) -> (i64) {
          %pixel = arith.addi %p, %first_pixel : index
          %image = arith.divui %pixel, %c48 : index
          %in_image = arith.remui %pixel, %c48 : index
          %oh = arith.divui %in_image, %c8 : index
          %ow = arith.remui %in_image, %c8 : index
          %r = arith.divui %tap, %c3 : index
          %s = arith.remui %tap, %c3 : index
          %h0 = arith.addi %oh, %r : index
          %w0 = arith.addi %ow, %s : index
          %h = arith.addi %h0, %minus1 : index
          %w = arith.addi %w0, %minus1 : index
          // As unsigned numbers, -1 lies behind the edge too.
          %h_inside = arith.cmpi ult, %h, %c6 : index
          %w_inside = arith.cmpi ult, %w, %c8 : index
          %inside = arith.andi %h_inside, %w_inside : i1
          %value = func.call @entry(%image, %h, %w, %c) : (index, index, index, index) -> f16
          %want = arith.select %inside, %value, %zero : f16
          %got = memref.load %out[%tap, %p, %c] : memref<9x32x16xf16>
          %same = arith.cmpf oeq, %want, %got : f16
          %one = arith.extui %same : i1 to i64
          %n_new = arith.addi %n, %one : i64
          scf.yield %n_new : i64
        }
        scf.yield %n_next : i64
      }
      scf.yield %n_next_tap : i64
    }
    vector.print str "Correct: "
    vector.print %correct : i64 punctuation <no_punctuation>
    vector.print str " of "
    vector.print %total : i64
    memref.dealloc %images : memref<2x6x8x16xf16>
    memref.dealloc %out : memref<9x32x16xf16>
    %wrong = arith.cmpi ne, %correct, %total : i64
    %status = arith.extui %wrong : i1 to i32
    return %status : i32
  }
}
