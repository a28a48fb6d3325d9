// Rows of an array copied to rows that begin at multiples of 16 bytes, so that tensor maps can describe them. Source rows begin anywhere.
//
// A thread makes 16 bytes at a time from the two aligned 16-byte windows that hold them, shifted into place. Aligned windows that hold a byte of the array do
// not leave its memory; where the second would, past the last row, bytes are taken one by one. What lies behind a row in its last 16 bytes is left as it comes.
//
// turn_array swaps the dimensions as well, for operands of 8 and 32 bits, of which the tensor cores take one order alone.
#pragma once
#include "device/types.cuh"

namespace tv {

struct Window { u32 words[4]; };

TV_DEV Window load_window(const u8* p) {
  Window w;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(w.words[0]), "=r"(w.words[1]), "=r"(w.words[2]), "=r"(w.words[3]) : "l"(p));
  return w;
}
TV_DEV void store_window(u8* p, const Window& w) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(w.words[0]), "r"(w.words[1]), "r"(w.words[2]), "r"(w.words[3]) : "memory");
}

// The 16 bytes that begin `shift` (0 to 15) bytes into the two windows.
TV_DEV Window shifted(const Window& first, const Window& second, u32 shift) {
  u32 w[8];
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    w[i] = first.words[i];
    w[i + 4] = second.words[i];
  }
  #pragma unroll
  for (int i = 0; i < 6; ++i) w[i] = (shift & 8) != 0 ? w[i + 2] : w[i];
  #pragma unroll
  for (int i = 0; i < 5; ++i) w[i] = (shift & 4) != 0 ? w[i + 1] : w[i];
  Window out;
  #pragma unroll
  for (int i = 0; i < 4; ++i) asm("shf.r.wrap.b32 %0, %1, %2, %3;" : "=r"(out.words[i]) : "r"(w[i]), "r"(w[i + 1]), "r"((shift & 3) * 8));
  return out;
}

// Blocks of 64 x 4 threads; a block copies 4 rows. `chunks`: of 16 bytes in a row of the copy. `end`: past the array's last byte.
TV_DEV void repack(const u8* from, u64 from_pitch, u8* to, u64 to_pitch, u32 row_bytes, u32 chunks, u64 rows, const u8* end) {
  const u64 row = static_cast<u64>(blockIdx.x) * 4 + threadIdx.y;
  if (row >= rows) return;
  from += row * from_pitch;
  to += row * to_pitch;
  const u32 shift = static_cast<u32>(reinterpret_cast<u64>(from) & 15);
  #pragma unroll 4
  for (u32 chunk = threadIdx.x; chunk < chunks; chunk += 64) {
    const u8* at = from + chunk * u64{16};
    const u8* window = at - shift;
    Window out;
    if (window + (shift == 0 ? 16 : 32) <= end) {
      const Window first = load_window(window);
      out = shift == 0 ? first : shifted(first, load_window(window + 16), shift);
    } else {
      #pragma unroll
      for (u32 i = 0; i < 4; ++i) {
        out.words[i] = 0;
        for (u32 k = 0; k < 4; ++k) {
          if (chunk * 16 + i * 4 + k < row_bytes) out.words[i] |= static_cast<u32>(at[i * 4 + k]) << (8 * k);
        }
      }
    }
    store_window(to + chunk * u64{16}, out);
  }
}

// Row j of `to` becomes column j of `from`, elements of Bytes (1 or 4). Blocks of 64 x 4 threads and (columns, rows) of squares: 64 elements on a side, or 128 of
// one byte, which move as blocks of 4 x 4. What lies behind a row of `to`, up to a multiple of 16 bytes, becomes 0.
template <int Bytes>
TV_DEV void turn_array(const u8* from, u64 from_pitch, u8* to, u64 to_pitch, u32 row_bytes, u64 rows) {
  constexpr u32 per_word = 4 / Bytes, words = Bytes == 4 ? 64 : 32;  // of a row of the square
  __shared__ u32 square[64 * 2 * 33];
  const u32 thread = threadIdx.x + 64 * threadIdx.y, columns = row_bytes / Bytes;
  const u32 column0 = blockIdx.x * words * per_word;
  const u64 row0 = static_cast<u64>(blockIdx.y) * words * per_word;
  const bool aligned = ((reinterpret_cast<u64>(from) | from_pitch) & 3) == 0;
  const auto word_at = [&](u64 row, u32 column) {
    u32 out = 0;
    if (row >= rows || column >= columns) return out;
    const u8* at = from + row * from_pitch + column * Bytes;
    if (aligned && column + per_word <= columns) return *reinterpret_cast<const u32*>(at);
    for (u32 i = 0; i < 4; ++i) {
      if (column * Bytes + i < row_bytes) out |= static_cast<u32>(at[i]) << (8 * i);
    }
    return out;
  };
#pragma unroll 4
  for (u32 i = thread; i < words * words; i += 256) {
    const u32 w = i % words, block = i / words;  // neighbouring threads along the row
    if constexpr (Bytes == 4) {
      square[w * 65 + block] = word_at(row0 + block, column0 + w);
    } else {
      u32 x[4], turned[4];
#pragma unroll
      for (u32 k = 0; k < 4; ++k) x[k] = word_at(row0 + block * 4 + k, column0 + w * 4);
      turn_bytes(turned, x);
#pragma unroll
      for (u32 k = 0; k < 4; ++k) square[(w * 4 + k) * 33 + block] = turned[k];
    }
  }
  __syncthreads();
#pragma unroll 4
  for (u32 i = thread; i < words * words * per_word; i += 256) {
    const u32 w = i % words, column = i / words;
    const u64 at = row0 * Bytes + w * 4;
    if (column0 + column < columns && at < to_pitch) *reinterpret_cast<u32*>(to + (column0 + column) * to_pitch + at) = square[column * (words + 1) + w];
  }
}

}  // namespace tv
