// RUN: lemma-opt %s | lemma-opt | FileCheck %s
//
// mbarriers: one and several, and the spellings of 2023.

!one = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
!four = !nvgpu.mbarrier.group<memorySpace = 3, num_barriers = 4>
!old = !nvgpu.mbarrier.barrier<memorySpace = #gpu.address_space<workgroup>>

// CHECK-LABEL: func @several
func.func @several(%i: index, %n: index, %p: i1) {
  // CHECK: %[[G:.*]] = nvgpu.mbarrier.create -> <memorySpace = 3 : i64, num_barriers = 4>
  %g = nvgpu.mbarrier.create -> !four
  // CHECK: nvgpu.mbarrier.init %[[G]][%{{.*}}], %{{.*}}, predicate = %{{.*}} : <memorySpace = 3 : i64, num_barriers = 4>
  nvgpu.mbarrier.init %g[%i], %n, predicate = %p : !four
  // CHECK: nvgpu.mbarrier.get %[[G]][%{{.*}}] : {{.*}} -> i32
  %address = nvgpu.mbarrier.get %g[%i] : !four -> i32
  // CHECK: nvgpu.mbarrier.get %[[G]][%{{.*}}] : {{.*}} -> i64
  %wide = nvgpu.mbarrier.get %g[%i] : !four -> i64
  // CHECK: %[[T:.*]] = nvgpu.mbarrier.arrive %[[G]][%{{.*}}] : {{.*}} -> !nvgpu.mbarrier.token
  %token = nvgpu.mbarrier.arrive %g[%i] : !four -> !nvgpu.mbarrier.token
  // CHECK: nvgpu.mbarrier.arrive.nocomplete %[[G]][%{{.*}}], %{{.*}} : {{.*}} -> !nvgpu.mbarrier.token
  %other = nvgpu.mbarrier.arrive.nocomplete %g[%i], %n : !four -> !nvgpu.mbarrier.token
  // CHECK: nvgpu.mbarrier.arrive.expect_tx %[[G]][%{{.*}}], %{{.*}}, predicate = %{{.*}} :
  nvgpu.mbarrier.arrive.expect_tx %g[%i], %n, predicate = %p : !four
  // CHECK: nvgpu.mbarrier.test.wait %[[G]][%{{.*}}], %[[T]] : {{.*}}, !nvgpu.mbarrier.token
  %complete = nvgpu.mbarrier.test.wait %g[%i], %token : !four, !nvgpu.mbarrier.token
  // CHECK: nvgpu.mbarrier.try_wait.parity %[[G]][%{{.*}}], %{{.*}}, %{{.*}} :
  nvgpu.mbarrier.try_wait.parity %g[%i], %p, %n : !four
  return
}

// CHECK-LABEL: func @one
func.func @one(%n: index, %p: i1) {
  // CHECK: %[[G:.*]] = nvgpu.mbarrier.create -> <memorySpace = #gpu.address_space<workgroup>>
  %g = nvgpu.mbarrier.create -> !one
  // CHECK: nvgpu.mbarrier.init %[[G]], %{{.*}} : <memorySpace = #gpu.address_space<workgroup>>
  nvgpu.mbarrier.init %g, %n : !one
  // CHECK: nvgpu.mbarrier.arrive.expect_tx %[[G]], %{{.*}} : <
  nvgpu.mbarrier.arrive.expect_tx %g, %n : !one
  // CHECK: nvgpu.mbarrier.try_wait.parity %[[G]], %{{.*}}, %{{.*}} : <
  nvgpu.mbarrier.try_wait.parity %g, %p, %n : !one
  return
}

// CHECK-LABEL: func @of_2023
// CHECK-SAME: (%[[N:.*]]: index, %[[PHASE:.*]]: index)
func.func @of_2023(%n: index, %phase: index) {
  // CHECK: %[[G:.*]] = nvgpu.mbarrier.create -> <memorySpace = #gpu.address_space<workgroup>>
  %g = nvgpu.mbarrier.create -> !old
  nvgpu.mbarrier.init %g, %n : !old
  // CHECK: nvgpu.mbarrier.arrive.nocomplete %[[G]], %[[N]] : <memorySpace = #gpu.address_space<workgroup>> -> !nvgpu.mbarrier.token
  %token = nvgpu.mbarrier.arrive.noComplete %g, %n : !old -> !nvgpu.mbarrier.token
  // CHECK: nvgpu.mbarrier.test.wait %[[G]], %{{.*}} :
  %complete = nvgpu.mbarrier.test.wait %g, %token : !old, !nvgpu.mbarrier.token
  // CHECK: nvgpu.mbarrier.try_wait.parity %[[G]], %[[PHASE]], %[[N]] :
  nvgpu.mbarrier.try_wait.parity %g, %phase, %n : !old
  return
}
