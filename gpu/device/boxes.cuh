// Boxes of arrays copied by tensor maps (TMA), and the rings of buffers that a producer fills with them for consumers (sm_90).
//
// A ring has Stages slots. Each slot has two barriers (mbarrier): `full` completes when the bytes of its copies have arrived, `empty` when every consumer has
// released it. Both sides walk the slots in order and keep their own place; the parity of a barrier's phase flips with every round. Protocol:
//
//   producer:  wait_empty; expect(bytes); load_box... into address(), completing on full(); advance
//   consumer:  wait_full; read address(); release; advance
#pragma once
#include "device/copy_async.cuh"
#include "device/programs.cuh"
#include "device/wgmma.cuh"

namespace tv {

// What cuTensorMapEncodeTiled makes.
struct alignas(64) TensorMap { u64 words[16]; };

TV_DEV void prefetch_map(const TensorMap* map) { asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory"); }

TV_DEV void barrier_init(u32 barrier, u32 arrivals) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory"); }
// Barriers made so far are seen by the copies.
TV_DEV void barriers_made() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
TV_DEV void barrier_expect(u32 barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
TV_DEV void barrier_arrive(u32 barrier) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory"); }
// The same if `on`, without a branch: arithmetic is not moved over branches.
TV_DEV void barrier_arrive_if(bool on, u32 barrier) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %1, 0;\n@p mbarrier.arrive.shared::cta.b64 _, [%0];\n}" ::"r"(barrier), "r"(static_cast<u32>(on)) : "memory");
}
TV_DEV bool barrier_passed(u32 barrier, u32 parity) {
  u32 passed;
  asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(passed) : "r"(barrier), "r"(parity) : "memory");
  return passed != 0;
}
TV_DEV void barrier_wait(u32 barrier, u32 parity) {
  while (!barrier_passed(barrier, parity)) {}
}

// Threads: cp.async of a whole warpgroup fills it too; each thread arrives when its copies have.
template <u32 Stages, u32 SlotBytes, bool Threads = false>
struct Ring {
  u32 slots, barriers;  // addresses of the first slot and of the first full barrier
  u32 slot = 0, round = 0;
  u32 oldest = 0, held = 0;  // slots that a consumer has not released yet
  u32 fills = 0;             // slots that a side has gone through

  TV_DEV Ring(u32 slots, u32 barriers) : slots(slots), barriers(barriers) {}
  TV_DEV void init(u32 consumers, u32 arrivals = 1) const {
    for (u32 i = 0; i < Stages; ++i) {
      barrier_init(barriers + 8 * i, arrivals);
      barrier_init(barriers + 8 * (Stages + i), consumers);
    }
  }
  TV_DEV u32 address() const { return slots + slot * SlotBytes; }
  TV_DEV u32 full() const { return barriers + 8 * slot; }
  TV_DEV u32 empty() const { return barriers + 8 * (Stages + slot); }
  TV_DEV void advance() {
    ++fills;
    if (++slot == Stages) {
      slot = 0;
      round ^= 1;
    }
  }

  // The producer's side; the first round finds all slots empty.
  TV_DEV void wait_empty() const { barrier_wait(empty(), round ^ 1); }
  TV_DEV void expect(u32 bytes) const { barrier_expect(full(), bytes); }
  // Until the first so many fills have arrived. Those whose slots are filled anew have been read.
  TV_DEV void wait_landed(u32 count) const {
    for (u32 i = count < Stages ? 0 : count - Stages; i < count; ++i) {
      if (fills - i <= Stages) barrier_wait(barriers + 8 * (i % Stages), i / Stages & 1);
    }
  }
  // This thread's cp.async so far belong to the slot.
  TV_DEV void copies_started() const { asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(full()) : "memory"); }

  // The consumer's side.
  TV_DEV bool is_full() const {  // without waiting
    u32 passed;
    asm volatile("{\n.reg .pred p;\nmbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(passed) : "r"(full()), "r"(round) : "memory");
    return passed != 0;
  }
  TV_DEV void wait_full() {
    barrier_wait(full(), round);
    if (Threads) fence_shared();  // the tensor cores read by another way than cp.async wrote
    ++held;
  }
  // The oldest slot that is held, if more than `Keep` are; by the threads for which `by` holds.
  template <u32 Keep>
  TV_DEV void release(bool by) {
    const bool more = held > Keep;
    barrier_arrive_if(by && more, barriers + 8 * (Stages + oldest));
    const u32 next = oldest + 1 == Stages ? 0 : oldest + 1;
    oldest = more ? next : oldest;
    held -= static_cast<u32>(more);
  }
};

// A box into shared memory; its bytes complete on the barrier. Coordinates: innermost first.
TV_DEV void load_box(u32 to, const TensorMap* map, u32 barrier, i32 x0) {
  asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3}], [%2];" ::"r"(to), "l"(map), "r"(barrier), "r"(x0) : "memory");
}
TV_DEV void load_box(u32 to, const TensorMap* map, u32 barrier, i32 x0, i32 x1) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(to), "l"(map), "r"(barrier), "r"(x0),
               "r"(x1)
               : "memory");
}
TV_DEV void load_box(u32 to, const TensorMap* map, u32 barrier, i32 x0, i32 x1, i32 x2) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(to), "l"(map), "r"(barrier), "r"(x0),
               "r"(x1), "r"(x2)
               : "memory");
}
TV_DEV void load_box(u32 to, const TensorMap* map, u32 barrier, i32 x0, i32 x1, i32 x2, i32 x3) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(to), "l"(map), "r"(barrier),
               "r"(x0), "r"(x1), "r"(x2), "r"(x3)
               : "memory");
}
TV_DEV void load_box(u32 to, const TensorMap* map, u32 barrier, i32 x0, i32 x1, i32 x2, i32 x3, i32 x4) {
  asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(to), "l"(map), "r"(barrier),
               "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(x4)
               : "memory");
}

// A box from shared memory, clipped at the array's extents; asynchronous, in groups of the thread that starts it.
TV_DEV void store_box(const TensorMap* map, u32 from, i32 x0) {
  asm volatile("cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%0, {%2}], [%1];" ::"l"(map), "r"(from), "r"(x0) : "memory");
}
TV_DEV void store_box(const TensorMap* map, u32 from, i32 x0, i32 x1) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(map), "r"(from), "r"(x0), "r"(x1) : "memory");
}
TV_DEV void store_box(const TensorMap* map, u32 from, i32 x0, i32 x1, i32 x2) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(map), "r"(from), "r"(x0), "r"(x1), "r"(x2) : "memory");
}
TV_DEV void store_box(const TensorMap* map, u32 from, i32 x0, i32 x1, i32 x2, i32 x3) {
  asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"(map), "r"(from), "r"(x0), "r"(x1), "r"(x2), "r"(x3) : "memory");
}
TV_DEV void store_box(const TensorMap* map, u32 from, i32 x0, i32 x1, i32 x2, i32 x3, i32 x4) {
  asm volatile("cp.async.bulk.tensor.5d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5, %6}], [%1];" ::"l"(map), "r"(from), "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(x4)
               : "memory");
}
TV_DEV void boxes_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
// Until the shared memory behind all but the last N groups of this thread's stores may be written again.
template <int N>
TV_DEV void boxes_read() { asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory"); }
// Until they are done.
TV_DEV void boxes_written() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

// Four matrices of 8 x 8 elements of two bytes, of which each thread holds two neighbours: lane 8 * m + i gives the address of row i of matrix m.
template <class T>
TV_DEV void store_matrices(u32 address, const T* x0, const T* x1, const T* x2, const T* x3) {
  static_assert(sizeof(T) == 2, "stmatrix moves 16 bits");
  u32 w[4];
  memcpy(&w[0], x0, 4);
  memcpy(&w[1], x1, 4);
  memcpy(&w[2], x2, 4);
  memcpy(&w[3], x3, 4);
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]) : "memory");
}

// Registers move from the producer's warps to the consumers'.
template <int N>
TV_DEV void fewer_registers() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N)); }
template <int N>
TV_DEV void more_registers() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N)); }

// Stores to memory that the producer reads: both sides pass them in the program's order. Two numbers in shared memory that only grow, by one for each warp (of a
// producer of one thread: by one): how far the producer has read, and how far the consumers have written.
//
//   producer:  pass()                consumer:  before(); the store; after()
template <u32 ProducerWarps, u32 ConsumerWarps>
struct Told {
  u32 address, read = 0, written = 0;
  TV_DEV Told(u32 address) : address(address) {}
  TV_DEV void init() const { asm volatile("st.shared.v2.u32 [%0], {%1, %1};" ::"r"(address), "r"(0) : "memory"); }
  static TV_DEV void add(u32 to) { asm volatile("red.release.cta.shared::cta.add.u32 [%0], 1;" ::"r"(to) : "memory"); }
  static TV_DEV void wait(u32 at, u32 least) {
    u32 now;
    do {
      asm volatile("ld.acquire.cta.shared::cta.u32 %0, [%1];" : "=r"(now) : "r"(at) : "memory");
    } while (static_cast<i32>(now - least) < 0);
  }
  TV_DEV void pass() {
    if (ProducerWarps > 1) __syncwarp();
    if (ProducerWarps == 1 || (threadIdx.x & 31) == 0) add(address);
    written += ConsumerWarps;
    wait(address + 4, written);
  }
  TV_DEV void before() {
    read += ProducerWarps;
    wait(address, read);
  }
  TV_DEV void after() const {
    __syncwarp();
    if ((threadIdx.x & 31) == 0) add(address + 4);
  }
};

// Of the 128 threads of this warpgroup. Barrier 0 is the whole CTA's, 1 the consumers'.
TV_DEV void group_barrier() { asm volatile("bar.sync %0, 128;" ::"r"(2 + (threadIdx.x >> 7)) : "memory"); }

// Dealt programs: which one a CTA runs next is decided when it gets there. `given` counts those that have been given beyond each CTA's first, `ended` the CTAs
// that were told that none is left; the last of these puts both back to 0, for the launch after. Numbers go to the consumers through two places.
constexpr u32 kDeals = 1024;  // launches of one kernel that may overlap, each with a deal of its own: the launcher counts
struct Deal { u32 given, ended, padding[6]; };
template <u32 Consumers>
struct Dealer {
  Ring<2, 16> numbers;
  TV_DEV Dealer(u32 address) : numbers(address, address + 32) {}
  TV_DEV void init() const { numbers.init(Consumers); }
  // The producer tells the consumers.
  TV_DEV void tell(u32 program) {
    numbers.wait_empty();
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(numbers.address()), "r"(program) : "memory");
    barrier_arrive(numbers.full());
    numbers.advance();
  }
  static TV_DEV u32 next(Deal* deal) { return gridDim.x + atomicAdd(&deal->given, 1u); }
  static TV_DEV void end(Deal* deal) {
    __threadfence();
    if (atomicAdd(&deal->ended, 1u) + 1 != gridDim.x) return;
    deal->given = 0;
    deal->ended = 0;
  }
  // A consumer's side.
  TV_DEV u32 take() {
    numbers.wait_full();
    u32 program;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(program) : "r"(numbers.address()) : "memory");
    numbers.template release<0>(true);
    numbers.advance();
    return program;
  }
};

}  // namespace tv
