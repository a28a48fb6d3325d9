#define TV_CONSUMERS 128
#include "device/boxes.cuh"
#include "device/all.cuh"
using namespace tv;
struct L0 {  // [64, 64] reg 1 512 8 16 32 lane 2 4 64 128 256 warp 1024 2048
  static constexpr int rank = 2, regs = 32, reg_bits = 5;
  static constexpr bool disjoint = true;
  static constexpr u32 reg[5] = {1, 512, 8, 16, 32};
  static constexpr int shift[2] = {6, 0};
  static constexpr u32 mask[2] = {63, 63};
  static TV_DEV u32 thread() { return ((threadIdx.x & 3) << 1) ^ ((threadIdx.x >> 2 & 7) << 6) ^ ((threadIdx.x >> 5 & 3) << 10); }
  static TV_DEV u32 at(u32 thread, int r) { return thread + ((r & 1) | ((r >> 1 & 1) << 9) | ((r >> 2) << 3)); }
};
struct D1 {
  static constexpr int m_steps = 1, n_steps = 8, k_steps = 2, batches = 1;
  static constexpr u32 warps_m = 4, warps_n = 1, m_tiles = 4, n_tiles = 4;
  static constexpr bool n_pairs = true;
};
struct G2 {
  static TV_DEV void multiply(f32* d, u64 a, u64 b, int add) {
    asm volatile("{\n.reg .b64 a, b;\n.reg .b32 at, a0, a1, b0, b1;\n.reg .pred p;\nmov.b64 {a0, a1}, %32;\nmov.b64 {b0, b1}, %33;\nsetp.ne.b32 p, %34, 0;\nwgmma.fence.sync.aligned;\nadd.s32 at, a0, 0;\nmov.b64 a, {at, a1};\nadd.s32 at, b0, 0;\nmov.b64 b, {at, b1};\nwgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, a, b, p, 1, 1, 0, 1;\nadd.s32 at, a0, 2;\nmov.b64 a, {at, a1};\nadd.s32 at, b0, 128;\nmov.b64 b, {at, b1};\nwgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, a, b, 1, 1, 1, 0, 1;\nwgmma.commit_group.sync.aligned;\n}"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
                 : "l"(a), "l"(b), "r"(add));
  }
};
struct W3 {
  static TV_DEV u32 thread() { return (threadIdx.x >> 0 & 1) * 144 ^ (threadIdx.x >> 1 & 1) * 288 ^ (threadIdx.x >> 2 & 1) * 576 ^ ((threadIdx.x >> 3 & 1) << 10) ^ ((threadIdx.x >> 4 & 1) << 4) ^ ((threadIdx.x >> 5 & 3) << 11); }
  static TV_DEV u32 at(u32 thread, int i) { return thread ^ (((i & 1) << 1) ^ ((i >> 1 & 1) << 10) ^ ((i >> 2 & 7) << 4)); }
};
extern "C" __global__ void __launch_bounds__(256, 2) matmul_kernel(f16* a_ptr, f16* b_ptr, f16* c_ptr, i32 M, i32 N, i32 K, i32 stride_am, i32 stride_bk, i32 stride_cm, const __grid_constant__ TensorMap map0, const __grid_constant__ TensorMap map1, const __grid_constant__ TensorMap map2, u32 grid_x, u32 grid_y, u32 grid_z) {
  Ring<8, 8192> ring0(shared_address() + 0, shared_address() + 81920);
  if (threadIdx.x == 0) { ring0.init(1); barriers_made(); }
  if (threadIdx.x == 128) { prefetch_map(&map0); prefetch_map(&map1); prefetch_map(&map2); }
  __syncthreads();
  let_next_kernel_begin();
  Programs programs{{grid_x, grid_y, grid_z}, {0, 0, 0}};
  if (threadIdx.x >= 128) {
    fewer_registers<24>();
    if (threadIdx.x == 128) for (u32 program = blockIdx.x; program < programs.count(); program += gridDim.x) {
      programs.set(program);
#line 26 "f0"
      const i32 pid = static_cast<i32>(programs.index[0]);
#line 28 "f0"
      i32 v10 = 63;
      const i32 v11 = add(M, v10);
      i32 v12 = 64;
      const i32 num_pid_m = floordiv(v11, v12);
#line 29 "f0"
      const i32 v15 = add(N, v10);
      const i32 num_pid_n = floordiv(v15, v12);
#line 30 "f0"
      i32 v18 = 8;
      const i32 num_pid_in_group = mul(v18, num_pid_n);
#line 31 "f0"
      const i32 group_id = divided(pid, num_pid_in_group).quotient;
#line 32 "f0"
      const i32 first_pid_m = mul(group_id, v18);
#line 33 "f0"
      const i32 v23 = sub(num_pid_m, first_pid_m);
      const i32 group_size_m = minimum<false>(v23, v18);
#line 34 "f0"
      const i32 v26 = divided(pid, group_size_m).rest;
#line 35 "f0"
      const i32 v28 = divided(pid, num_pid_in_group).rest;
      const i32 pid_n = divided(v28, group_size_m).quotient;
#line 41 "f0"
      i32 v49 = 1;
#line 45 "f0"
      i32 v71 = 31;
      const i32 v72 = add(K, v71);
      i32 v73 = 32;
      const i32 v74 = floordiv(v72, v73);
      i32 v75 = 0;
      wait_for_kernel_before();
      i32 v77 = v75;
      i32 v77_trip = 0;
      #pragma unroll 1
      for (u32 left0 = trip_count<i32>(v77, v74, v49); left0 != 0; --left0, ++v77_trip, v77 = add(v77, static_cast<i32>(v49))) {
        ring0.wait_empty();
        ring0.expect(8192);
#line 46 "f0"
        load_box(ring0.address() + 0, &map0, ring0.full(), 32 * v77_trip, 512 * static_cast<i32>(group_id) + 64 * static_cast<i32>(v26));
#line 47 "f0"
        load_box(ring0.address() + 4096, &map1, ring0.full(), 64 * static_cast<i32>(pid_n), 32 * v77_trip);
        ring0.advance();
      }
    }
  } else {
    more_registers<232>();
    wait_for_kernel_before();
    for (u32 program = blockIdx.x; program < programs.count(); program += gridDim.x) {
      programs.set(program);
#line 26 "f0"
      const i32 pid = static_cast<i32>(programs.index[0]);
#line 28 "f0"
      i32 v10 = 63;
      const i32 v11 = add(M, v10);
      i32 v12 = 64;
      const i32 num_pid_m = floordiv(v11, v12);
#line 29 "f0"
      const i32 v15 = add(N, v10);
      const i32 num_pid_n = floordiv(v15, v12);
#line 30 "f0"
      i32 v18 = 8;
      const i32 num_pid_in_group = mul(v18, num_pid_n);
#line 31 "f0"
      const i32 group_id = divided(pid, num_pid_in_group).quotient;
#line 32 "f0"
      const i32 first_pid_m = mul(group_id, v18);
#line 33 "f0"
      const i32 v23 = sub(num_pid_m, first_pid_m);
      const i32 group_size_m = minimum<false>(v23, v18);
#line 34 "f0"
      const i32 v26 = divided(pid, group_size_m).rest;
#line 35 "f0"
      const i32 v28 = divided(pid, num_pid_in_group).rest;
      const i32 pid_n = divided(v28, group_size_m).quotient;
#line 41 "f0"
      i32 v49 = 1;
#line 44 "f0"
      f32 v69 = constant<f32>(0x0u /* 0 */);
#line 45 "f0"
      i32 v71 = 31;
      const i32 v72 = add(K, v71);
      i32 v73 = 32;
      const i32 v74 = floordiv(v72, v73);
      i32 v75 = 0;
#line 50 "f0"
      const i32 v111 = mul(v73, stride_bk);
#line 45 "f0"
      i64 v176 = i64(0);
      const i64 v177 = cast<i64>(v73);
      i64 v183 = i64(0);
      const i64 v184 = cast<i64>(v111);
      Tile<f32, L0> accumulator;
      i64 a_ptrs_offset = v176;
      i64 b_ptrs_offset = v183;
      i32 v77 = v75;
      u32 trips1 = trip_count<i32>(v77, v74, static_cast<i32>(v49));
      int add1 = 0;
      #pragma unroll 1
      for (; trips1 != 0; --trips1, v77 = add(v77, static_cast<i32>(v49))) {
        ring0.wait_full();
#line 48 "f0"
        const u64 b2 = matrix_descriptor(ring0.address() + 4096, 4096, 1024, 1);
        G2::multiply(accumulator.v + 0, matrix_descriptor(ring0.address() + 0 + (warpgroup() + 0) * 4096, 16, 512, 2), b2, add1);
        wgmma_wait<1>();
#line 45 "f0"
        const i64 a_ptrs_offset_179 = add(a_ptrs_offset, v177);
        const i64 b_ptrs_offset_186 = add(b_ptrs_offset, v184);
        a_ptrs_offset = a_ptrs_offset_179;
        b_ptrs_offset = b_ptrs_offset_186;
        ring0.release<1>((threadIdx.x & 127) == 0);
        ring0.advance();
        add1 = 1;
      }
      if ((threadIdx.x & 127) == 0) boxes_read<0>();
      barrier();
      wgmma_wait<0>();
      wgmma_results<32>(accumulator.v);
      ring0.release<0>((threadIdx.x & 127) == 0);
#line 57 "f0"
      Tile<f16, L0> c;
      #pragma unroll
      for (int r = 0; r < 32; r += 2) {
#line 52 "f0"
        cast_pair(c.v + r, accumulator.v + r);
      }
      #pragma unroll
      for (int i = 0; i < 32; i += 8) {
        store_matrices(shared_address() + 65536 + W3::at(W3::thread(), i), c.v + 0 + ((i)), c.v + 2 + ((i)), c.v + 4 + ((i)), c.v + 6 + ((i)));
      }
      fence_shared();
      barrier();
      if (threadIdx.x == 0) {
        store_box(&map2, shared_address() + 65536, 64 * static_cast<i32>(pid_n), 512 * static_cast<i32>(group_id) + 64 * static_cast<i32>(v26));
        boxes_commit();
      }
#line 57 "f0"
#line 18 "f0"
    }
    boxes_read<0>();
  }
}
