#include "device/all.cuh"
using namespace tv;
struct L0 {  // [64] reg 32 lane 0 0 1 2 4 warp 8 16
  static constexpr int rank = 1, regs = 2, reg_bits = 1;
  static constexpr bool disjoint = true;
  static constexpr u32 reg[1] = {32};
  static constexpr int shift[1] = {0};
  static constexpr u32 mask[1] = {63};
  static TV_DEV u32 thread() { return (threadIdx.x >> 2 & 31); }
  static TV_DEV u32 at(u32 thread, int r) { return thread + (((r) << 5)); }
};
struct L1 {  // [64] reg 1 2 4 lane 8 16 32 0 0 warp 0 0
  static constexpr int rank = 1, regs = 8, reg_bits = 3;
  static constexpr bool disjoint = true;
  static constexpr u32 reg[3] = {1, 2, 4};
  static constexpr int shift[1] = {0};
  static constexpr u32 mask[1] = {63};
  static TV_DEV u32 thread() { return ((threadIdx.x & 7) << 3); }
  static TV_DEV u32 at(u32 thread, int r) { return thread + ((r)); }
};
struct L2 {  // [64, 1] reg 32 lane 0 0 1 2 4 warp 8 16
  static constexpr int rank = 2, regs = 2, reg_bits = 1;
  static constexpr bool disjoint = true;
  static constexpr u32 reg[1] = {32};
  static constexpr int shift[2] = {0, 0};
  static constexpr u32 mask[2] = {63, 0};
  static TV_DEV u32 thread() { return (threadIdx.x >> 2 & 31); }
  static TV_DEV u32 at(u32 thread, int r) { return thread + (((r) << 5)); }
};
struct L3 {  // [1, 32] reg 1 2 4 lane 8 16 0 0 0 warp 0 0
  static constexpr int rank = 2, regs = 8, reg_bits = 3;
  static constexpr bool disjoint = true;
  static constexpr u32 reg[3] = {1, 2, 4};
  static constexpr int shift[2] = {5, 0};
  static constexpr u32 mask[2] = {0, 31};
  static TV_DEV u32 thread() { return ((threadIdx.x & 3) << 3); }
  static TV_DEV u32 at(u32 thread, int r) { return thread + ((r)); }
};
struct L4 {  // [32] reg 1 2 4 lane 8 16 0 0 0 warp 0 0
  static constexpr int rank = 1, regs = 8, reg_bits = 3;
  static constexpr bool disjoint = true;
  static constexpr u32 reg[3] = {1, 2, 4};
  static constexpr int shift[1] = {0};
  static constexpr u32 mask[1] = {31};
  static TV_DEV u32 thread() { return ((threadIdx.x & 3) << 3); }
  static TV_DEV u32 at(u32 thread, int r) { return thread + ((r)); }
};
struct L5 {  // [32, 1] reg 16 lane 0 0 0 1 2 warp 4 8
  static constexpr int rank = 2, regs = 2, reg_bits = 1;
  static constexpr bool disjoint = true;
  static constexpr u32 reg[1] = {16};
  static constexpr int shift[2] = {0, 0};
  static constexpr u32 mask[2] = {31, 0};
  static TV_DEV u32 thread() { return (threadIdx.x >> 3 & 15); }
  static TV_DEV u32 at(u32 thread, int r) { return thread + (((r) << 4)); }
};
struct L6 {  // [32] reg 16 lane 0 0 0 1 2 warp 4 8
  static constexpr int rank = 1, regs = 2, reg_bits = 1;
  static constexpr bool disjoint = true;
  static constexpr u32 reg[1] = {16};
  static constexpr int shift[1] = {0};
  static constexpr u32 mask[1] = {31};
  static TV_DEV u32 thread() { return (threadIdx.x >> 3 & 15); }
  static TV_DEV u32 at(u32 thread, int r) { return thread + (((r) << 4)); }
};
struct L7 {  // [1, 64] reg 1 2 4 lane 8 16 32 0 0 warp 0 0
  static constexpr int rank = 2, regs = 8, reg_bits = 3;
  static constexpr bool disjoint = true;
  static constexpr u32 reg[3] = {1, 2, 4};
  static constexpr int shift[2] = {6, 0};
  static constexpr u32 mask[2] = {0, 63};
  static TV_DEV u32 thread() { return ((threadIdx.x & 7) << 3); }
  static TV_DEV u32 at(u32 thread, int r) { return thread + ((r)); }
};
struct L8 {  // [64, 64] reg 1 512 8 32 2048 lane 2 4 64 128 256 warp 1024 16
  static constexpr int rank = 2, regs = 32, reg_bits = 5;
  static constexpr bool disjoint = true;
  static constexpr u32 reg[5] = {1, 512, 8, 32, 2048};
  static constexpr int shift[2] = {6, 0};
  static constexpr u32 mask[2] = {63, 63};
  static TV_DEV u32 thread() { return ((threadIdx.x & 3) << 1) ^ ((threadIdx.x >> 2 & 7) << 6) ^ ((threadIdx.x >> 5 & 1) << 10) ^ ((threadIdx.x >> 6 & 1) << 4); }
  static TV_DEV u32 at(u32 thread, int r) { return thread + ((r & 1) | ((r >> 1 & 1) << 9) | ((r >> 2 & 1) << 3) | ((r >> 3 & 1) << 5) | ((r >> 4) << 11)); }
};
struct W9 {
  static TV_DEV u32 thread() { return ((threadIdx.x & 7) << 4) ^ (threadIdx.x >> 3 & 1) * 144 ^ (threadIdx.x >> 4 & 1) * 288 ^ ((threadIdx.x >> 5 & 3) << 9); }
  static TV_DEV u32 at(u32 thread, int r) { return thread ^ (((r & 7) << 1) ^ ((r >> 3 & 1) << 11)); }
};
struct W10 {
  static TV_DEV u32 thread() { return ((threadIdx.x & 7) << 4) ^ (threadIdx.x >> 3 & 1) * 144 ^ (threadIdx.x >> 4 & 1) * 288 ^ (threadIdx.x >> 5 & 1) * 576 ^ ((threadIdx.x >> 6 & 1) << 10); }
  static TV_DEV u32 at(u32 thread, int r) { return thread ^ (((r & 7) << 1) ^ ((r >> 3 & 1) << 11)); }
};
struct D11 {
  static constexpr int m_steps = 2, n_steps = 4, k_steps = 2, batches = 1;
  static constexpr u32 warps_m = 2, warps_n = 2, m_tiles = 4, n_tiles = 4;
  static constexpr bool n_pairs = true;
};
struct S12 {
  static constexpr u32 units = 4, shift = 1, panel_bytes = 4096;
};
struct S13 {
  static constexpr u32 units = 8, shift = 0, panel_bytes = 4096;
};
struct W14 {
  static TV_DEV u32 thread() { return ((threadIdx.x & 7) << 4) ^ (threadIdx.x >> 3 & 1) * 144 ^ (threadIdx.x >> 4 & 1) * 288 ^ (threadIdx.x >> 5 & 1) * 576 ^ ((threadIdx.x >> 6 & 1) << 10); }
  static TV_DEV u32 at(u32 thread, int r) { return thread ^ (((r & 7) << 1) ^ ((r >> 3 & 3) << 11)); }
};
struct W15 {
  static TV_DEV u32 thread() { return ((threadIdx.x & 3) << 2) ^ (threadIdx.x >> 2 & 1) * 144 ^ (threadIdx.x >> 3 & 1) * 288 ^ (threadIdx.x >> 4 & 1) * 576 ^ ((threadIdx.x >> 5 & 1) << 11) ^ ((threadIdx.x >> 6 & 1) << 5); }
  static TV_DEV u32 at(u32 thread, int r) { return thread ^ (((r & 1) << 1) ^ ((r >> 1 & 1) << 10) ^ ((r >> 2 & 1) << 4) ^ ((r >> 3 & 1) << 6) ^ ((r >> 4 & 1) << 12)); }
};
struct L16 {  // [64, 64] reg 1 2 4 1024 2048 lane 8 16 32 64 128 warp 256 512
  static constexpr int rank = 2, regs = 32, reg_bits = 5;
  static constexpr bool disjoint = true;
  static constexpr u32 reg[5] = {1, 2, 4, 1024, 2048};
  static constexpr int shift[2] = {6, 0};
  static constexpr u32 mask[2] = {63, 63};
  static TV_DEV u32 thread() { return ((threadIdx.x & 127) << 3); }
  static TV_DEV u32 at(u32 thread, int r) { return thread + ((r & 7) | ((r >> 3) << 10)); }
};
struct L17 {  // [64, 1] reg 16 32 lane 0 0 0 1 2 warp 4 8
  static constexpr int rank = 2, regs = 4, reg_bits = 2;
  static constexpr bool disjoint = true;
  static constexpr u32 reg[2] = {16, 32};
  static constexpr int shift[2] = {0, 0};
  static constexpr u32 mask[2] = {63, 0};
  static TV_DEV u32 thread() { return (threadIdx.x >> 3 & 15); }
  static TV_DEV u32 at(u32 thread, int r) { return thread + (((r) << 4)); }
};
struct L18 {  // [64] reg 16 32 lane 0 0 0 1 2 warp 4 8
  static constexpr int rank = 1, regs = 4, reg_bits = 2;
  static constexpr bool disjoint = true;
  static constexpr u32 reg[2] = {16, 32};
  static constexpr int shift[1] = {0};
  static constexpr u32 mask[1] = {63};
  static TV_DEV u32 thread() { return (threadIdx.x >> 3 & 15); }
  static TV_DEV u32 at(u32 thread, int r) { return thread + (((r) << 4)); }
};
extern "C" __global__ void __launch_bounds__(128) matmul_kernel(f16* a_ptr, f16* b_ptr, f16* c_ptr, i32 M, i32 N, i32 K, i32 stride_am, i32 stride_bk, i32 stride_cm) {
  const u32 thread_L0 = L0::thread();
  const u32 thread_L1 = L1::thread();
  const u32 thread_L4 = L4::thread();
  const u32 thread_L6 = L6::thread();
  const u32 thread_W9 = W9::thread();
  const u32 thread_W10 = W10::thread();
  const u32 thread_L18 = L18::thread();
#line 26 "f0"
  const i32 pid = program_id<0>();
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
  const i32 pid_m = add(first_pid_m, v26);
#line 35 "f0"
  const i32 v28 = divided(pid, num_pid_in_group).rest;
  const i32 pid_n = divided(v28, group_size_m).quotient;
#line 37 "f0"
  const i32 v31 = mul(pid_m, v12);
#line 38 "f0"
  const i32 v38 = mul(pid_n, v12);
  Tile<i32, L0> offs_am;
  #pragma unroll
  for (int r = 0; r < 2; r += 1) {
#line 37 "f0"
    const i32 v191 = static_cast<i32>(L0::at(thread_L0, r));
    const i32 offs_cm = add(v31, v191);
    offs_am.v[r] = mod(offs_cm, M);
  }
  Tile<i32, L1> offs_bn;
  #pragma unroll
  for (int r = 0; r < 8; r += 1) {
    const i32 v32 = static_cast<i32>(L1::at(thread_L1, r));
#line 38 "f0"
    const i32 offs_cn = add(v38, v32);
    offs_bn.v[r] = mod(offs_cn, N);
  }
#line 41 "f0"
  i32 v49 = 1;
  Tile<i32, L0> v152;
  #pragma unroll
  for (int r = 0; r < 2; r += 1) {
    v152.v[r] = mul(offs_am.v[r], stride_am);
  }
  Tile<i32, L2> v153;
  #pragma unroll
  for (int r = 0; r < 2; r += 1) {
    v153.v[r] = v152.v[r];
  }
  Tile<i32, L3> v48;
  #pragma unroll
  for (int r = 0; r < 8; r += 1) {
#line 39 "f0"
    const i32 offs_k = static_cast<i32>(L4::at(thread_L4, r));
    v48.v[r] = offs_k;
  }
#line 42 "f0"
  Tile<i32, L5> v156;
  #pragma unroll
  for (int r = 0; r < 2; r += 1) {
#line 39 "f0"
    const i32 offs_k_44 = static_cast<i32>(L6::at(thread_L6, r));
#line 42 "f0"
    const i32 v155 = mul(offs_k_44, stride_bk);
    v156.v[r] = v155;
  }
  Tile<i32, L7> v60;
  #pragma unroll
  for (int r = 0; r < 8; r += 1) {
    v60.v[r] = offs_bn.v[r];
  }
#line 44 "f0"
  f32 v69 = constant<f32>(0x0u /* 0 */);
#line 45 "f0"
  i32 v71 = 31;
  const i32 v72 = add(K, v71);
  i32 v73 = 32;
  const i32 v74 = floordiv(v72, v73);
  i32 v75 = 0;
#line 46 "f0"
  f16 v149 = constant<f16>(0x0u /* 0 */);
#line 50 "f0"
  const i32 v111 = mul(v73, stride_bk);
#line 45 "f0"
  i64 v176 = i64(0);
  const i64 v177 = cast<i64>(v73);
  i64 v183 = i64(0);
  const i64 v184 = cast<i64>(v111);
  const auto accumulator = splat<L8>(v69);
  Tile<f32, L8> accumulator_114 = accumulator;
  i64 a_ptrs_offset = v176;
  i64 b_ptrs_offset = v183;
  i32 v77 = v75;
  u32 trips0 = trip_count<i32>(v77, v74, static_cast<i32>(v49));
  u32 left0 = trips0;
  const u32 ring0 = shared_address();
  u32 put0 = ring0, take0 = ring0;
  i32 v77_ahead = v77;
  i64 a_ptrs_offset_ahead = a_ptrs_offset;
  i64 b_ptrs_offset_ahead = b_ptrs_offset;
  const auto copies0 = [&]() {
#line 46 "f0"
    const i32 v83 = mul(v77_ahead, v73);
    const i32 v84 = sub(K, v83);
    Tile<bool, L3> v159;
    #pragma unroll
    for (int r = 0; r < 8; r += 1) {
#line 39 "f0"
      const i32 offs_k_run = static_cast<i32>(L4::at(thread_L4, (r & 0)));
#line 46 "f0"
      const bool v197_run = lt(offs_k_run, v84);
      v159.v[r] = v197_run;
    }
#line 47 "f0"
    Tile<bool, L5> v162;
    #pragma unroll
    for (int r = 0; r < 2; r += 1) {
#line 39 "f0"
      const i32 offs_k_44 = static_cast<i32>(L6::at(thread_L6, r));
#line 46 "f0"
      const bool v158 = lt(offs_k_44, v84);
      v162.v[r] = v158;
    }
#line 45 "f0"
    const i64 a_ptrs_offset_179 = add(a_ptrs_offset_ahead, v177);
    const i64 b_ptrs_offset_186 = add(b_ptrs_offset_ahead, v184);
    #pragma unroll
    for (int r = 0; r < 16; r += 8) {
#line 41 "f0"
      const i32 v54 = add(v153.v[(r >> 3 & 1)], v48.v[(r & 7)]);
      f16* const a_ptrs = ptr_add(a_ptr, v54);
#line 45 "f0"
      f16* const a_ptrs_79 = ptr_add(a_ptrs, a_ptrs_offset_ahead);
#line 46 "f0"
      copy_async<16>(put0 + 0 + W9::at(thread_W9, r), a_ptrs_79, v159.v[(r & 7)]);
    }
    #pragma unroll
    for (int r = 0; r < 16; r += 8) {
#line 42 "f0"
      const i32 v66 = add(v156.v[(r >> 3 & 1)], v60.v[(r & 7)]);
      f16* const b_ptrs = ptr_add(b_ptr, v66);
#line 45 "f0"
      f16* const b_ptrs_80 = ptr_add(b_ptrs, b_ptrs_offset_ahead);
#line 47 "f0"
      copy_async<16>(put0 + 4096 + W10::at(thread_W10, r), b_ptrs_80, v162.v[(r >> 3 & 1)]);
    }
    a_ptrs_offset_ahead = a_ptrs_offset_179;
    b_ptrs_offset_ahead = b_ptrs_offset_186;
    v77_ahead = add(v77_ahead, static_cast<i32>(v49));
    --left0;
    put0 = put0 == ring0 + 16384 ? ring0 : put0 + 8192;
  };
  barrier();
  #pragma unroll 1
  for (int r = 0; r < 2; ++r) {
    if (left0 != 0) copies0();
    copies_commit();
  }
  #pragma unroll 1
  for (; trips0 != 0; --trips0, v77 = add(v77, static_cast<i32>(v49))) {
    copies_wait<1>();
    barrier();
    if (left0 != 0) copies0();
    copies_commit();
#line 48 "f0"
    dot_mma<D11, f16>(accumulator_114.v, SharedA<D11, S12, false, f16>(take0 + 0), SharedB<D11, S13, true, f16>(take0 + 4096));
#line 45 "f0"
    const i64 a_ptrs_offset_179 = add(a_ptrs_offset, v177);
    const i64 b_ptrs_offset_186 = add(b_ptrs_offset, v184);
    a_ptrs_offset = a_ptrs_offset_179;
    b_ptrs_offset = b_ptrs_offset_186;
    take0 = take0 == ring0 + 16384 ? ring0 : take0 + 8192;
  }
  copies_wait<0>();
  Tile<f16, L8> c;
  #pragma unroll
  for (int r = 0; r < 32; r += 2) {
#line 52 "f0"
    cast_pair(c.v + r, accumulator_114.v + r);
  }
  auto c_200 = convert_shared<L16, W15, 2, W14, 8>(0, c);
#line 55 "f0"
  Tile<f16*, L17> v168;
  #pragma unroll
  for (int r = 0; r < 4; r += 1) {
#line 37 "f0"
    const i32 v190 = static_cast<i32>(L18::at(thread_L18, r));
    const i32 offs_cm_34 = add(v31, v190);
#line 55 "f0"
    const i32 v164 = mul(stride_cm, offs_cm_34);
    f16* const v167 = ptr_add(c_ptr, v164);
    v168.v[r] = v167;
  }
  Tile<i32, L7> v133;
  #pragma unroll
  for (int r = 0; r < 8; r += 1) {
#line 37 "f0"
    const i32 v32 = static_cast<i32>(L1::at(thread_L1, r));
#line 38 "f0"
    const i32 offs_cn = add(v38, v32);
    v133.v[r] = offs_cn;
  }
#line 56 "f0"
  Tile<bool, L17> v171;
  #pragma unroll
  for (int r = 0; r < 4; r += 1) {
#line 37 "f0"
    const i32 v190 = static_cast<i32>(L18::at(thread_L18, r));
    const i32 offs_cm_34 = add(v31, v190);
#line 56 "f0"
    const bool v170 = lt(offs_cm_34, M);
    v171.v[r] = v170;
  }
  Tile<bool, L7> v174;
  #pragma unroll
  for (int r = 0; r < 8; r += 1) {
#line 37 "f0"
    const i32 v32_run = static_cast<i32>(L1::at(thread_L1, (r & 0)));
#line 38 "f0"
    const i32 offs_cn_run = add(v38, v32_run);
#line 56 "f0"
    const bool v173_run = lt(offs_cn_run, N);
    v174.v[r] = v173_run;
  }
#line 57 "f0"
  #pragma unroll
  for (int r = 0; r < 32; r += 8) {
#line 55 "f0"
    f16* const c_ptrs = ptr_add(v168.v[(r >> 3 & 3)], v133.v[(r & 7)]);
#line 56 "f0"
    const bool c_mask = bit_and(v171.v[(r >> 3 & 3)], v174.v[(r & 7)]);
#line 57 "f0"
    store<8, 0, 0>(c_ptrs, c_200.v + r, c_mask);
  }
#line 18 "f0"
}
