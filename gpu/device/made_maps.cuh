// Tensor maps that a kernel makes itself, of arrays that it finds in memory (sm_90a; specializer/pipeline/roles.h: made maps).
//
// Element type, box and swizzle come with a map that the launcher made of no array. A warp puts address, extents and stride into a copy of it in shared memory
// (one of two, both made at the start by warps that do nothing else: parameters that nothing has read yet take a thousand cycles and more) and copies that to one of two places in global memory,
// by turns, all maps behind one fence; whoever uses it then takes it in by a fence of its own. Beside the copy in shared memory lies what is in it (a *record*), for those who have to do
// without: where the array is not as a map needs it, elements are copied one by one.
#pragma once
#include "device/boxes.cuh"
#include "device/memory.cuh"

namespace tv {

// Places in global memory: a CTA that runs has one, whichever is free. More CTAs than places wait for each other.
constexpr u32 kMapPlaces = 512;
template <u32 Maps>
struct alignas(128) MapPlace { TensorMap maps[2 * Maps]; };

// Between the warp that makes the maps and the three beside it, which copy the models.
constexpr int kModelBarrier = 15;
TV_DEV void models_copied() { asm volatile("bar.arrive %0, 128;" ::"n"(kModelBarrier) : "memory"); }

// Of a whole warp. Asked for at once, needed when the first map is made, as the models are.
struct Claim {
  u32* claims;
  u32 place, taken = 0;
  bool known = false;
  TV_DEV explicit Claim(u32* claims) : claims(claims) {
    asm volatile("mov.u32 %0, %%smid;" : "=r"(place));
    place = 2 * place % kMapPlaces;
    if (lane_id() == 0) taken = atomicCAS(claims + place, 0u, 1u);
  }
  TV_DEV u32 get() {
    if (known) return place;
    asm volatile("bar.sync %0, 128;" ::"n"(kModelBarrier) : "memory");
    if (lane_id() == 0) {
      while (taken != 0) {
        place = (place + 1) % kMapPlaces;
        taken = atomicCAS(claims + place, 0u, 1u);
      }
    }
    place = __shfl_sync(~0u, place, 0);
    known = true;
    return place;
  }
  // All copies by its maps are done.
  TV_DEV void leave() {
    get();
    if (lane_id() == 0) atomicExch(claims + place, 0u);
  }
};

TV_DEV u64 from_shared(u32 address) {
  u64 x;
  asm volatile("ld.shared.u64 %0, [%1];" : "=l"(x) : "r"(address) : "memory");
  return x;
}
TV_DEV void to_shared(u32 address, u64 x) { asm volatile("st.shared.u64 [%0], %1;" ::"r"(address), "l"(x) : "memory"); }
TV_DEV void fence_async() { asm volatile("fence.proxy.async;" ::: "memory"); }

// What a lane is about to write into a record: the map in its first 128 bytes, and the places behind them.
struct MapFields {
  enum : u32 { kLow = 128, kHigh = 136, kBase = 144, kStride = 152, kExtents = 160, kMap = 168 };
  u32 record;
  bool fits;
  u64 base, stride, columns, rows, low, high, map;
};
// Of a whole warp, each lane up to `lanes` with fields of its own: several maps take as long as one.
TV_DEV void set_maps(const MapFields& mine, u32 lanes) {
  __syncwarp();  // all have read what lies in the records
  if (lane_id() < lanes) {
#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ < 1205
    const u64 unit = mine.stride >> 4;
#else
    const u64 unit = mine.stride;
#endif
    if (mine.fits) {
      asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(mine.record), "l"(mine.base) : "memory");
      asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 0, %1;" ::"r"(mine.record), "r"(static_cast<u32>(mine.columns)) : "memory");
      asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 1, %1;" ::"r"(mine.record), "r"(static_cast<u32>(mine.rows)) : "memory");
      asm volatile("tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%0], 0, %1;" ::"r"(mine.record), "l"(unit) : "memory");
    }
    to_shared(mine.record + MapFields::kLow, mine.low);
    to_shared(mine.record + MapFields::kHigh, mine.high);
    to_shared(mine.record + MapFields::kBase, mine.base);
    to_shared(mine.record + MapFields::kStride, mine.stride);
    to_shared(mine.record + MapFields::kExtents, mine.columns | mine.rows << 32);
    to_shared(mine.record + MapFields::kMap, mine.map);
  }
  __syncwarp();
  // To their places in global memory, a word by each lane; one fence for all of them.
  for (u32 i = 0; i < lanes; ++i) {
    const u32 from = __shfl_sync(~0u, mine.record, i);
    const u64 to = __shfl_sync(~0u, mine.map, i);
    u32 word;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(from + 4 * lane_id()) : "memory");
    if (to != 0) reinterpret_cast<volatile u32*>(to)[lane_id()] = word;
  }
  __syncwarp();
  asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory");
  __syncwarp();
}

// Bytes: of an element. Handed: to the consumers, through a ring of records.
template <int Bytes, bool Handed>
struct MadeMap {
  using T = unsigned_of_size<Bytes>;
  Ring<2, 256> ring;
  u32 record;                       // of the map in use
  const TensorMap* map = nullptr;   // null: the array is not as one needs it
  u32 landed = 0;                   // fills of its slots before the last one was made
  bool held = false;

  TV_DEV MadeMap(u32 records, u32 barriers) : ring(records, barriers), record(records) {}
  // By all threads of the consumers, so many.
  TV_DEV void init(u32 threads) const { ring.init(threads); }
  // Type, box and swizzle into both records, by one thread.
  TV_DEV void copy_model(const TensorMap& model) const {
    const u32* from = reinterpret_cast<const u32*>(&model);
#pragma unroll
    for (u32 i = 0; i < 32; i += 4) {
#pragma unroll
      for (u32 to = record; to <= record + 256; to += 256) {
        asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to + 4 * i), "r"(from[i]), "r"(from[i + 1]), "r"(from[i + 2]), "r"(from[i + 3]) : "memory");
      }
    }
  }

  // ---- the producer, a warp ----

  // Until no copy goes by the map that is about to be overwritten.
  template <class R>
  TV_DEV void begin(const R& slots) {
    slots.wait_landed(landed);
    landed = slots.fills;
    record = ring.address();
  }
  TV_DEV void begin() {
    ring.wait_empty();
    record = ring.address();
  }
  // base, stride: bytes; columns: elements next to each other. The record is written by one lane: see set_maps.
  TV_DEV void set(MapFields& mine, u32 lane, TensorMap* places, u64 base, i64 stride, i64 columns, i64 rows) {
    constexpr i64 kMost = i64{1} << 31;
    const bool fits = (base | static_cast<u64>(stride)) % 16 == 0 && stride > 0 && stride < i64{1} << 40 && columns > 0 && columns <= kMost && rows > 0 && rows <= kMost;
    map = fits ? places + ring.slot : nullptr;
    if (lane_id() != lane) return;
    mine = {record, fits, base, static_cast<u64>(stride), static_cast<u64>(columns < 0 ? 0 : columns > kMost ? kMost : columns),
            static_cast<u64>(rows < 0 ? 0 : rows > kMost ? kMost : rows), fits ? base : 0,
            fits ? base + static_cast<u64>(rows - 1) * static_cast<u64>(stride) + static_cast<u64>(columns) * Bytes : ~u64{0}, reinterpret_cast<u64>(map)};
  }
  TV_DEV void take_in() const {
    if (map != nullptr) asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
  }
  // For its own copies, or for the consumers: by the lane that wrote the record.
  TV_DEV void ready(u32 lane) {
    if (!Handed) take_in();
    else if (lane_id() == lane) barrier_arrive(ring.full());
    ring.advance();
  }
  // Until the consumers have done all by it.
  TV_DEV void end() {
    for (int i = 0; i < 2; ++i) {
      ring.wait_empty();
      ring.advance();
    }
  }

  // ---- the consumers ----

  TV_DEV void give_back() {
    if (!held) return;
    if ((threadIdx.x & 127) == 0) boxes_read<0>();  // a copy that has read its box has read its map
    barrier_arrive(ring.empty());
    ring.advance();
    held = false;
  }
  TV_DEV void take() {
    give_back();
    barrier_wait(ring.full(), ring.round);
    record = ring.address();
    map = reinterpret_cast<const TensorMap*>(from_shared(record + MapFields::kMap));
    if ((threadIdx.x & 127) == 0 && map != nullptr) {
      take_in();
      prefetch_map(map);
    }
    held = true;
  }

  // Whether a box there is copied by the map. What a map cannot do (analysis/boxes.cc): begin between multiples of 16 bytes, store from before the array.
  TV_DEV bool loads(i32 column) const { return map != nullptr && static_cast<u32>(column) * Bytes % 16 == 0; }
  TV_DEV bool stores(i32 column, i32 row) const { return loads(column) && (column | row) >= 0; }

  // ---- both ----

  TV_DEV u64 low() const { return from_shared(record + MapFields::kLow); }
  TV_DEV u64 high() const { return from_shared(record + MapFields::kHigh); }
  // Where an element is; null outside of the array.
  TV_DEV T* element(i32 column, i32 row, u32 c, u32 r) const {
    const u64 extents = from_shared(record + MapFields::kExtents);
    const i64 x = i64{column} + c, y = i64{row} + r;
    if (x < 0 || y < 0 || x >= static_cast<i64>(extents & 0xffffffff) || y >= static_cast<i64>(extents >> 32)) return nullptr;
    return reinterpret_cast<T*>(from_shared(record + MapFields::kBase) + static_cast<u64>(y) * from_shared(record + MapFields::kStride) + static_cast<u64>(x) * Bytes);
  }
  // An element of a box in shared memory: rows of Columns, swizzled.
  template <u32 Columns>
  static TV_DEV T* in_box(u32 box, u32 i) {
    constexpr u32 kMask = Columns * Bytes == 128 ? 7 : Columns * Bytes == 64 ? 3 : Columns * Bytes == 32 ? 1 : 0;
    u32 offset = i * Bytes;
    offset ^= (offset >> 7 & kMask) << 4;
    return reinterpret_cast<T*>(program_memory() + (box - shared_address()) + offset);
  }
  // What a copy by the map would do, by the threads of a warp; to be followed by a fence.
  template <u32 Columns, u32 Rows>
  TV_DEV void load_elements(u32 box, i32 column, i32 row) const {
#pragma unroll 1
    for (u32 i = lane_id(); i < Columns * Rows; i += 32) {
      const T* from = element(column, row, i % Columns, i / Columns);
      *in_box<Columns>(box, i) = from == nullptr ? T{0} : *static_cast<const volatile T*>(from);
    }
  }
  // Of boxes side by side, so many bytes apart; by `threads` threads, numbered.
  template <u32 Columns, u32 Rows>
  TV_DEV void store_elements(u32 boxes, u32 apart, u32 count, i32 column, i32 row, u32 thread, u32 threads) const {
#pragma unroll 1
    for (u32 i = thread; i < count * Columns * Rows; i += threads) {
      const u32 number = i / (Columns * Rows), inside = i % (Columns * Rows);
      if (T* to = element(column, row, number * Columns + inside % Columns, inside / Columns)) *to = *in_box<Columns>(boxes + number * apart, inside);
    }
    fence_async();
  }
};

// As Told, for a producer that is one warp and waits late: it remembers between which addresses the stores that it has passed may write, and waits for them only
// if it is about to read there. The consumers say that their boxes are stored when they would otherwise wait for the producer, or at their next store.
struct ToldLater {
  static constexpr u32 kOver = 1u << 30;  // beyond any number of stores
  u32 address, read = 0, written = 0;
  u64 low = ~u64{0}, high = 0;
  bool open = false;
  TV_DEV explicit ToldLater(u32 address) : address(address) {}
  TV_DEV void init() const { asm volatile("st.shared.v2.u32 [%0], {%1, %1};" ::"r"(address), "r"(0) : "memory"); }
  // The producer is about to read there,
  TV_DEV void meet(u64 first, u64 end) { meet_if(first < high && low < end); }
  TV_DEV void meet_if(bool meets) {
    if (!meets) return;
    Told<1, 1>::wait(address + 4, written);
    fence_async();
    low = ~u64{0};
    high = 0;
  }
  template <class... T>
  TV_DEV void meet(const T*... p) { meet_if(((reinterpret_cast<u64>(p) < high && low < reinterpret_cast<u64>(p) + sizeof(T)) || ...)); }
  // or its lanes are, those that are `there`,
  template <class T>
  TV_DEV void meet_any(bool there, const T* p) {
    const u64 first = reinterpret_cast<u64>(p);
    meet_if(__any_sync(~0u, there && first < high && low < first + sizeof(T)));
  }
  // and has come to a store, of which it will be told so many times.
  TV_DEV void pass(u32 times, u64 first = 0, u64 end = ~u64{0}) {
    __syncwarp();
    if (lane_id() == 0) Told<1, 1>::add(address);
    written += times;
    low = low < first ? low : first;
    high = high > end ? high : end;
  }
  // It will not wait again.
  TV_DEV void over() const {
    __syncwarp();
    if (lane_id() == 0) asm volatile("red.release.cta.shared::cta.add.u32 [%0], %1;" ::"r"(address), "r"(kOver) : "memory");
  }
  // A consumer's side: before a store, after one by each warp, after one of boxes by those who copy them.
  TV_DEV void before() {
    tell();
    Told<1, 1>::wait(address, ++read);
  }
  TV_DEV void after() const {
    fence_async();
    __syncwarp();
    if (lane_id() == 0) Told<1, 1>::add(address + 4);
  }
  TV_DEV void after_boxes(bool by) { open = by; }
  TV_DEV void tell() {
    if (!open) return;
    boxes_written();
    Told<1, 1>::add(address + 4);
    open = false;
  }
  TV_DEV void tell_unless(bool goes_on) {
    if (!goes_on) tell();
  }
  // Nothing follows: to a producer that asks no more nothing is told, and boxes are known to be read before they are known to be stored.
  TV_DEV void end() {
    u32 now;
    asm volatile("ld.acquire.cta.shared::cta.u32 %0, [%1];" : "=r"(now) : "r"(address) : "memory");
    if (now < kOver) tell();
  }
};

}  // namespace tv
