#include "device/all.cuh"
using namespace tv;
struct L0 {  // [1024] reg 1 2 lane 4 8 16 32 64 warp 128 256 512
  static constexpr int rank = 1, regs = 4, reg_bits = 2;
  static constexpr bool disjoint = true;
  static constexpr u32 reg[2] = {1, 2};
  static constexpr int shift[1] = {0};
  static constexpr u32 mask[1] = {1023};
  static TV_DEV u32 thread() { return ((threadIdx.x & 255) << 2); }
  static TV_DEV u32 at(u32 thread, int r) { return thread + ((r)); }
};
extern "C" __global__ void __launch_bounds__(256) add_kernel(f32* x_ptr, f32* y_ptr, f32* output_ptr, i32 n_elements) {
  const u32 thread_L0 = L0::thread();
#line 12 "f0"
  const i32 pid = program_id<0>();
#line 14 "f0"
  i32 v5 = 1024;
  const i32 block_start = mul(pid, v5);
  Tile<f32, L0> x;
  Tile<f32, L0> y;
#line 19 "f0"
  RunLoad<f32, L0, 0, 4, 1, true> x_run;
#line 20 "f0"
  RunLoad<f32, L0, 0, 4, 1, true> y_run;
  #pragma unroll
  for (int r = 0; r < 4; r += 4) {
    const int place0 = run_place<L0, 0, 1024>(thread_L0, r);
#line 15 "f0"
    const i32 v7 = static_cast<i32>(L0::at(thread_L0, r));
    const i32 offsets = add(block_start, v7);
#line 19 "f0"
    f32* const v13 = ptr_add(x_ptr, offsets);
    x_run.issue<0, 0>(r, v13, place0, run_below<false, 1024>(sub(offsets, static_cast<i32>(place0)), n_elements));
#line 20 "f0"
    f32* const v16 = ptr_add(y_ptr, offsets);
    y_run.issue<0, 0>(r, v16, place0, run_below<false, 1024>(sub(offsets, static_cast<i32>(place0)), n_elements));
  }
  x_run.take(x.v, zero_of<f32>());
  y_run.take(y.v, zero_of<f32>());
#line 23 "f0"
  Tile<f32, L0> output;
  #pragma unroll
  for (int r = 0; r < 4; r += 1) {
#line 22 "f0"
    output.v[r] = add(x.v[r], y.v[r]);
  }
#line 23 "f0"
  #pragma unroll
  for (int r = 0; r < 4; r += 4) {
    const int place1 = run_place<L0, 0, 1024>(thread_L0, r);
#line 15 "f0"
    const i32 v7 = static_cast<i32>(L0::at(thread_L0, r));
    const i32 offsets = add(block_start, v7);
#line 23 "f0"
    f32* const v20 = ptr_add(output_ptr, offsets);
    run_store_aligned<0, 4, 1, 0, 0, L0>(r, v20, output.v, place1, run_below<false, 1024>(sub(offsets, static_cast<i32>(place1)), n_elements));
  }
#line 7 "f0"
}
