// The state of printing one kernel: names, layouts and tables already declared, shared memory in use. emit.cc drives it; ops.cc, memory.cc,
// fold.cc, order.cc, debug.cc, control.cc and layouts.cc print the families.
#ifndef TILEVM_GPU_EMIT_PRINTER_H_
#define TILEVM_GPU_EMIT_PRINTER_H_

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "gpu/emit/emit.h"

namespace tilevm::gpu {

std::string CudaType(isa::ElemType elem);                 // "f32", "bool", "f16*"
std::string ConstType(isa::ElemType elem);                // "const f32", "f16* const"
std::string CudaConstant(isa::DType dtype, const ir::Attr& value);
// xor of bases[i] over the bits i of the variable, runs of bits that move together as one shift. `exclusive`: no two bases share a bit, and the
// variable has no bits beyond them.
std::string BitExpression(const std::string& variable, const std::vector<uint32_t>& bases, bool exclusive);
// Registers of a thread that are neighbours in the buffer, up to 16 bytes.
int64_t SharedVector(const layout::LinearLayout& layout, const layout::SharedLayout& shared, int elem_bytes);
int CacheCode(const ir::Op& op, bool store);
int EvictCode(const ir::Op& op);

constexpr int64_t kPromotedSteps = 4;  // instructions whose fp8 products are summed by the tensor cores alone: 128 of k

class Printer {
 public:
  Printer(const layout::LayoutKernel& kernel, const EmitOptions& options) : lk_(kernel), options_(options) {}

  absl::StatusOr<Emitted> Run();

 private:
  // What the program has done to memory since its last barrier, by base (memory.cc).
  struct Pending {
    std::set<int> reads, writes;
    bool boxes = false;     // by copies that have to be waited for
    bool acquired = false;  // another thread has taken in what other programs wrote
    void Join(const Pending& other);
  };
  struct BlockLabel {
    int number;
    const ir::Op* op;
    Pending at_exits;
  };

  // --- names and types ---
  const ir::Kernel& kernel() const { return lk_.kernel; }
  const isa::Type& TypeOf(ir::ValueId id) const { return kernel().TypeOf(id); }
  bool IsTile(ir::ValueId id) const { return id != ir::kNoValue && lk_.HasLayout(id); }
  std::string Name(ir::ValueId id);
  std::string Declared(ir::ValueId id);                   // "f32 x" or "Tile<f32, L0> x"
  std::string TypeName(ir::ValueId id);
  const layout::LayoutKernel& at() const { return producing_ ? producer_ : lk_; }
  const layout::LinearLayout& LayoutOf(ir::ValueId id) const { return at().LayoutOf(id); }

  // --- text ---
  template <typename... Parts>
  void Line(const Parts&... parts) {
    absl::StrAppend(&body_, std::string(2 * depth_, ' '), parts..., "\n");
  }
  void Place(Loc loc);                                    // #line, when it changes

  // --- layouts.cc ---
  std::string LayoutName(const layout::LinearLayout& layout);  // declares it on first use
  std::string LayoutName(ir::ValueId id) { return LayoutName(LayoutOf(id)); }
  std::string SourceTable(const std::vector<uint32_t>& source);
  std::string ShuffleTable(const layout::Conversion& conversion);
  std::string Table(const std::string& body, char prefix);     // one struct for each text

  std::string ElementFunction(const ir::Op& op) const;      // "add", "cast<f16>": called with scalars
  std::string ThreadIndexOf(const layout::LinearLayout& layout);  // variable that holds L::thread()

  // --- loops.cc ---
  enum class GroupKind : uint8_t { kCompute, kPairs, kLoad, kStore, kRunLoad, kRunStore };
  struct Group {                                          // ops that will share a register loop
    GroupKind kind = GroupKind::kCompute;
    int layout = -1;
    int64_t vector = 1;                                   // registers that one step takes
    std::vector<const ir::Op*> ops;
  };
  void CollectUses(const ir::Region& region);
  bool TryLazy(const ir::Op& op);                         // makes the result of the op lazy if it may be
  bool IsUniform(ir::ValueId id) const;                   // lazy, and one scalar in every register
  void Materialise(ir::ValueId id);                       // gives a lazy value a variable
  void EndScope(size_t mark);                             // variables made since materialised_.size() was `mark` go out of scope
  std::string Register(ir::ValueId id, std::map<ir::ValueId, std::string>& locals);
  std::string VariableOf(const ir::Op& op, std::map<ir::ValueId, std::string>& locals);
  std::string RegisterExpression(const ir::Op& op, std::map<ir::ValueId, std::string>& locals);
  bool SharesDivisor(const ir::Op& op) const;
  bool IsAtMostOne(ir::ValueId id) const;
  std::string QuotientsOf(ir::ValueId dividend, absl::Span<const ir::Op* const> divisions, bool* looks) const;
  bool IsWidened(const ir::Op& op) const;
  bool IsLoadedNarrow(ir::ValueId id) const;
  void NameWide(ir::ValueId id);
  void ForgetWide();
  void OpenRegisterLoop(int64_t registers, int64_t step, int64_t from = 0);
  void CloseRegisterLoop();
  void AddToGroup(const ir::Op& op, GroupKind kind, ir::ValueId tile, int64_t vector);
  void PrintGroup(const Group& group, const std::set<ir::ValueId>& kept);
  void PrintRegisters(const Group& group, const std::set<ir::ValueId>& kept, int64_t from, int64_t to);
  void Flush();                                           // prints the loop of the group, if there is one, and what follows its loads
  void PrintGroup();
  void NoteScalar(const ir::Op& op, size_t begin);        // what was printed from there on is the op's
  void SinkScalars();                                     // those that nothing printed since needs are computed here instead
  bool OnlyComputes() const { return group_.kind == GroupKind::kCompute || group_.kind == GroupKind::kPairs; }

  // --- runs.cc ---
  // --- early.cc ---
  void WaitBefore(const ir::Op& op);                      // prints the kernel's wait for the one before it, if the op is the first that may touch memory
  void PrintWaitForKernelBefore();
  void TellAhead(const ir::Op& op);
  void TellNext(const ir::Op& op);                       // of what the load will load
  bool waits_ = false;                                    // it is printed, or not wanted

  bool PrepareRun(const RunAccess& access);
  std::string Unstretched(ir::ValueId id, const layout::LinearLayout& stretched, const std::vector<const ir::Op*>& views,
                          std::map<ir::ValueId, std::string>& locals);
  std::string RunCount(const RunAccess& access, const layout::LinearLayout& layout, const std::string& place, std::map<ir::ValueId, std::string>& locals);
  void PrintRunGroup(const Group& group);

  // --- pipelines.cc ---
  std::string BufferTable(const layout::LinearLayout& layout, const layout::SharedLayout& shared, int elem_bytes);
  std::string RowsTable(const isa::Type& type, int axis);
  const pipeline::Copy* RowBehind(ir::ValueId id) const;
  bool IsReadLater(ir::ValueId id) const;                 // every use of a row is a change of layout: each reads the buffer by itself
  const pipeline::Copy* CopyBehind(ir::ValueId id, bool* transposed) const;
  bool ReadBuffer(ir::ValueId id);                        // false if the value does not lie in a buffer
  bool UsesWgmma(const ir::Region& region) const;
  void PrintCopy(const pipeline::Copy& copy, const std::string& put, bool guessed);
  void PrintAllCopies(const std::vector<const pipeline::Copy*>& copies, const std::string& put);
  // The parts of an address, whose sum it is: tiles and scalars from outside of the loop, and scalars of the loop's own. False if it has others.
  struct AddressParts {
    std::vector<std::pair<ir::ValueId, int64_t>> outside, inside;  // with the bytes that a step of them is
  };
  bool SplitAddress(ir::ValueId id, int64_t bytes, const std::set<ir::ValueId>& in_loop, AddressParts& out) const;
  void PrintLowBits(const ir::Op& loop, const pipeline::Loop& plan);
  absl::Status PrintCopies(const ir::Op& op, const pipeline::Loop& plan, const std::string& put);
  // wgmma.cc; `zero`: the accumulator is not read; `flag`, if not empty: an int that says whether it is (operand a from a buffer only).
  absl::Status PrintWgmma(const ir::Op& op, const pipeline::Wgmma& plan, bool zero, const std::string& flag);
  // A promoted dot that is all its loop does, over two slots of its ring at a time: their products are summed before they are added.
  bool TakesTwoSlots(const ir::Op& loop, const pipeline::Loop& plan) const;
  absl::Status PrintTwoSlots(const ir::Op& loop, const std::string& trips);
  std::string WriteOperand(const ir::Op& op, const pipeline::Wgmma& plan, int i);
  // async_dots.cc
  absl::Status PrintDelayedFor(const ir::Op& op, const pipeline::Loop& plan);
  void PrintLate(const pipeline::Delay& delay);
  bool LateNeedsOldValues(const pipeline::Delay& delay, const ir::Region& body) const;
  bool RangeOf(ir::ValueId id, std::string* low, std::string* high) const;
  std::string WholeMask(ir::ValueId id) const;
  bool PrintUniformWhere(const ir::Op& op, const ir::Region& body);
  // running_dots.cc
  struct Running {
    ir::ValueId result;
    bool before = false;                                  // of the iteration before
  };
  absl::Status OpenOverlap(const ir::Op& op, const pipeline::Overlap& overlap);
  void PrintFragments(const ir::Op& dot);
  void OrderOverlap(std::vector<const ir::Op*>& order);
  void TakeTurn(bool take);
  void WaitForOperands(const ir::Op& op);
  void WaitForFirst(size_t done);
  std::set<int> CloseOverlapBody();
  void CloseOverlap(const std::set<int>& late);
  // The variables and the lambda of the copies that run ahead of a loop, and the first copies.
  absl::Status PrintAhead(const ir::Op& op, const pipeline::Loop& plan, int number);
  int OpenPipelined(const ir::Op& op, const pipeline::Loop& plan, Pending& before);
  absl::Status PrintPipelinedFor(const ir::Op& op, const pipeline::Loop& plan);

  // --- roles.cc ---
  bool HasRoles() const { return options_.schedule != nullptr && options_.schedule->roles.groups > 0; }
  const pipeline::Roles& roles() const { return options_.schedule->roles; }
  bool Merged() const { return HasRoles() && roles().programs > 1; }
  void PrintEachMember(const std::vector<ir::ValueId>& needed, const std::function<void()>& body);
  // Of a loop whose bounds differ between merged programs: declares `first`, where the first of them begins (if that differs), and `all`, the iterations from there to the last end.
  void PrintUnion(const ir::Op& loop, const std::string& first, const std::string& all);
  // The grid's extent, where the kernel does not walk over it.
  std::string Programs(int64_t axis) const {
    return options_.packed > 1 && axis == 0 ? "static_cast<i32>(grid_x)" : absl::StrCat("num_programs<", axis, ">()");
  }
  // Of what trip_count gives for a loop.
  const char* CountType(const ir::Op& loop) const { return isa::BitWidth(TypeOf(loop.regions[0].args[0]).elem.dtype) == 64 ? "u64" : "u32"; }
  bool BoundsDiffer(const ir::Op& loop) const { return Merged() && (roles().varies.count(loop.operands[0]) != 0 || roles().varies.count(loop.operands[1]) != 0); }
  std::string BufferOf(const pipeline::Copy& copy) const;  // address of the buffer that the body reads
  absl::Status PrintRoles();                              // the kernel's body, split
  absl::Status PrintProducer(const ir::Region& region);
  void PrintFill(int ring, const std::vector<pipeline::Copy>& copies);
  absl::Status PrintProducerFor(const ir::Op& op, const pipeline::Loop* plan);
  absl::Status PrintProducerWhile(const ir::Op& op);
  absl::Status PrintProducerIf(const ir::Op& op);
  absl::Status PrintProducerRegion(const ir::Region& region);  // with a scope of its own
  absl::Status PrintConsumerFor(const ir::Op& op, const pipeline::Loop& plan);
  std::string Coordinate(const analysis::Polynomial& polynomial, int64_t plus);
  std::set<int> RingsOf(const ir::Op& op) const;          // that the op, or what is in it, reads
  std::string ReleaseBy(int ring) const;                  // which threads release a slot of it, as a condition
  void TakeRings(const ir::Op& op);                       // before an op of a loop's body: waits for slots that it is the first to read
  size_t MapCount() const { return options_.boxes == nullptr ? 0 : options_.boxes->slice().maps.size(); }  // accesses of two loops may share one
  int UseBox(const ir::Op& access, const std::map<int, int64_t>& size, int swizzle, bool turned = false);  // by axis of the tile

  bool producer_waits_ = false;                           // the producer has to wait for the kernel before, and has not touched memory yet
  void WaitBeforeMemory(const ir::Op& op);                // of the producer
  void PrintProducerWait();

  // --- box_stores.cc ---
  // Where a store's panels lie: each group's part of a buffer begins so many bytes behind the one before; whether there are two stores, and groups write to each
  // other's parts.
  struct StoreAreas {
    int64_t apart = 0;
    bool two = false, shared = false;
  };
  void PrintFirstLines();
  absl::Status PrintBoxStore(const ir::Op& op);
  StoreAreas StoreAreasOf(const ir::Op& store) const;
  bool StoresAtOnce(const ir::Op& store) const;
  void PrintStoreWait(const ir::Op& store);
  void PrintWaitOfNextStore();

  // --- made_maps.cc ---
  void PrintModels();
  int MadeFor(const ir::Op& access) const;                // index into Roles::made; -1
  std::string MadeName(const ir::Op& access) const;
  // Axis (-1: none) and start of each dimension of a box, innermost first.
  std::vector<std::pair<int, const analysis::Polynomial*>> StartsOf(const ir::Op& access) const;
  std::pair<int64_t, int64_t> MadeExtents(const ir::Op& access) const;
  std::string NumberText(const analysis::Number& number);
  void DeclareMadeMaps(std::string* init);
  void PrintMakes(const ir::Op& before);
  void TakeMadeMaps(const ir::Op& before);
  void PrintMadeFill(int ring, const std::vector<pipeline::Copy>& copies);
  bool HasPlainAccesses(const ir::Region& region) const;
  // Whose arrays lie where only the kernel knows, so that nobody else can bring programs of the same rows or columns together.
  bool Strided() const { return HasRoles() && !roles().made.empty() && !roles().persistent; }
  bool ToldLater() const { return HasRoles() && !roles().made.empty() && !roles().told.empty(); }
  void WaitForBoxes();                                    // before a barrier, if copies have to be seen behind it

  // --- ops ---
  absl::Status PrintRegion(const ir::Region& region, const ir::Op* owner);
  absl::Status PrintOp(const ir::Op& op, const ir::Op* owner, const ir::Region& region);
  absl::Status PrintElementwise(const ir::Op& op);
  absl::Status PrintShape(const ir::Op& op);
  absl::Status PrintConvert(const ir::Op& op);
  absl::Status PrintLoad(const ir::Op& op);
  bool IsGuessed(const ir::Op& access) const { return options_.guessed && options_.guessed(access); }
  std::vector<ir::ValueId> GuessedScalars(const ir::Op& access) const { return options_.guessed_scalars ? options_.guessed_scalars(access) : std::vector<ir::ValueId>(); }
  std::string BitsOf(ir::ValueId scalar, int64_t times = 1);  // as u64
  void AddGuessed(const ir::Op& access, GroupKind kind, ir::ValueId tile, int64_t vector);
  absl::Status PrintStore(const ir::Op& op);
  struct OperandRows {
    std::string buffer;  // its address
    int axis = 1;        // of the operand, along which rows run
  };
  OperandRows RowsInRing(const ir::Op& op, int i);
  std::array<OperandRows, 2> RowsOfOperands(const ir::Op& op);
  void PrintThreadTiles(const ir::Op& op);
  absl::Status PrintDot(const ir::Op& op, const ir::Region& region);
  bool IsZero(ir::ValueId id) const;                      // a tile full of +0.0
  std::string OperandOfDot(const ir::Op& op, int i, const std::string& table, const OperandRows* rows);
  absl::Status PrintFor(const ir::Op& op);
  absl::Status PrintWhile(const ir::Op& op);
  absl::Status PrintIf(const ir::Op& op);
  absl::Status PrintBlock(const ir::Op& op);
  // fold.cc
  absl::Status PrintReduce(const ir::Op& op);
  absl::Status PrintScan(const ir::Op& op);
  absl::Status PrintMap(const ir::Op& op);
  absl::Status PrintPhilox(const ir::Op& op);
  absl::Status PrintInlineAsm(const ir::Op& op);
  std::string ElementStruct(absl::Span<const ir::ValueId> values, int64_t* bytes);
  absl::StatusOr<std::string> PrintFunction(const ir::Op& op, const std::string& type, int sides, size_t count, const std::string& returns);
  std::string Packed(absl::Span<const ir::ValueId> values, const std::string& type);
  void Unpack(absl::Span<const ir::ValueId> results, const std::string& packed, const std::string& type, bool scalar);
  // order.cc
  absl::Status PrintRegroup(const ir::Op& op);
  absl::Status PrintFlip(const ir::Op& op);
  absl::Status PrintGather(const ir::Op& op);
  absl::Status PrintHistogram(const ir::Op& op);
  absl::Status PrintSort(const ir::Op& op);
  // scalar_loads.cc
  bool IsHandedOut(const ir::Op& op) const;
  size_t GatherScalarLoads(std::vector<const ir::Op*>& order, size_t first, std::vector<const ir::Op*>* loads) const;
  void PrintScalarLoads(const std::vector<const ir::Op*>& loads);
  // scalars_ahead.cc
  struct LoopAhead {
    const ir::Op* loop = nullptr;
    std::vector<const ir::Op*> loads, needed;             // loaded for several iterations at once; what their addresses are made by
    std::string left, name;
  };
  bool MayLoadAhead(const ir::Op& load) const;
  LoopAhead LoadsAhead(const ir::Op& loop) const;
  bool IsLoadedAhead(const ir::Op& load) const {
    return !ahead_.empty() && std::find(ahead_.back().loads.begin(), ahead_.back().loads.end(), &load) != ahead_.back().loads.end();
  }
  void OpenLoadsAhead(const ir::Op& loop, const std::string& left);
  absl::StatusOr<bool> PrintLoadsAhead(const ir::Op& load);
  void SpoilLoadsAhead();                                 // what has been loaded may be stored to
  // debug.cc
  absl::Status PrintPrint(const ir::Op& op);
  absl::Status PrintAssert(const ir::Op& op);
  // memory.cc
  absl::Status PrintAtomic(const ir::Op& op);
  void Release(bool release);
  std::vector<const ir::Op*> PrintOrder(const ir::Region& region, bool may_move, bool* moved_loads) const;
  static absl::Status NotYet(const ir::Op& op);
  void AssignAll(const std::vector<std::string>& targets, const std::vector<ir::ValueId>& values);

  enum class ScratchState : uint8_t { kUnused, kUnknown, kFirstArea, kSecondArea };  // who used it last: a reduction, in which area
  bool TakeReduceScratch(int64_t bytes, int64_t* offset);
  // Shared scratch: every use begins and ends with a barrier, so all share the same bytes.
  int64_t UseShared(int64_t bytes) {                      // returns the offset
    if (scratch_ + bytes > smem_bytes_) {
      smem_bytes_ = scratch_ + bytes;
      smem_loc_ = op_loc_;
      smem_buffers_ = scratch_;
    }
    scratch_state_ = ScratchState::kUnknown;
    return scratch_;
  }
  // A barrier where this access may meet an earlier one of another thread of the program.
  void OrderAccess(ir::ValueId pointer, bool writes);
  int BaseOf(ir::ValueId pointer);                        // parameter that a pointer comes from; -1 if several or unknown
  void CollectBases(const ir::Region& region);
  void CollectAccesses(const ir::Region& region, Pending& out);
  bool MayChange(ir::ValueId pointer) const;              // another thread or program may write there while this one runs

  const layout::LayoutKernel& lk_;
  const EmitOptions& options_;
  std::string declarations_, body_;
  int depth_ = 1;
  std::vector<std::string> names_;
  std::set<std::string> taken_;
  std::map<std::string, std::string> tables_;
  std::vector<BlockLabel> blocks_;
  int next_label_ = 0;
  int64_t bytes_of_next_ = 0;                             // rows of later programs that L2 has been told of
  int64_t smem_bytes_ = 0, smem_buffers_ = 0;
  Loc op_loc_, smem_loc_;                                 // of the op that is printed; of the one that needs most shared memory
  ScratchState scratch_state_ = ScratchState::kUnused;
  int64_t scratch_ = 0;                                   // offset of the scratch, behind the buffers of a pipelined loop
  std::string add_flag_;                                  // set while a deferred dot's sum starts from zero: 0 in the first iteration
  ir::ValueId deferred_ = ir::kNoValue;                   // result of the dot that the loop being printed leaves running
  std::map<ir::ValueId, std::string> written_;            // by dot: address of its operand a, which was written once for a loop
  const pipeline::Overlap* overlap_ = nullptr;            // of the loop being printed
  std::vector<Running> running_;                          // its products under way, in order
  std::string computed_;                                  // an f32 that was computed last; "" if none was since the last wait
  bool turns_ = false;                                    // warpgroups take turns in it
  std::string group_number_;                              // variable that holds warpgroup(), if there is one
  std::set<ir::ValueId> partial_;                         // reductions whose result stays in parts, one in each lane
  std::map<ir::ValueId, std::string> kept_;               // by value: the same, for the rest of the program
  std::map<ir::ValueId, std::string> words_;              // by dot: the fragments of its operand a, an array for each tile of 64 rows
  std::map<ir::ValueId, std::string> fixed_words_;        // by operand a: the same, for the rest of the program
  std::string slot_;                                      // variable with the address of the slot that the body reads
  const pipeline::Loop* consumed_ = nullptr;              // loop of a split kernel whose body is printed
  bool guarded_ = false;                                  // the store being printed stands under a condition
  std::vector<LoopAhead> ahead_;                          // of the loops (`for`, not pipelined) that are being printed
  int loops_ = 0;                                         // around the op that is printed
  // A scalar's line in body_, of the region being printed.
  struct Scalar {
    size_t begin = 0, end = 0;
    std::string name;
  };
  std::vector<Scalar> scalars_;
  std::vector<const ir::Op*> next_ops_;                   // of the same region, behind the op that is printed
  const ir::Op* waited_store_ = nullptr;                  // whose buffers have been waited for
  std::map<int, std::string> slots_;                      // by ring: variable with the address of the slot that is read, where it is not the ring's own
  std::string second_slot_;                               // of a dot over two slots
  std::set<int> taken_rings_;                             // whose slots of this iteration have been waited for
  std::vector<std::pair<ir::ValueId, ir::ValueId>> runs_;  // Emitted::runs
  std::map<const ir::Op*, int> maps_;                     // numbers of the tensor maps in use
  bool producing_ = false;                                // the producer is being printed
  std::set<ir::ValueId> declared_;                        // results of loads whose group does not declare them
  std::string low_bits_;                                  // of the addresses that it copies from in the loop being printed, if they are known so
  layout::LayoutKernel producer_;                         // layouts of its tiles, on one warpgroup
  std::vector<std::vector<const ir::Op*>> uses_;
  std::vector<const ir::Op*> def_;
  std::vector<const ir::Op*> lazy_;                       // by value: the op that is printed where the value is used; null for variables
  std::vector<bool> was_lazy_;                            // its variable, if any, may be constant
  std::vector<std::pair<ir::ValueId, const ir::Op*>> materialised_;
  Group group_;
  struct Interlude {
    ir::ValueId value = ir::kNoValue;
    int64_t every = 0;
    int times = 0;
    std::function<void()> print;                          // null once it is printed
  };
  Interlude interlude_;                                   // what stands in the loop that makes `value`, each time that `every` more of its registers are made
  std::string index_ = "r";                               // the register that a register loop is at, as text
  int64_t step_ = 1;                                      // of the register loop being printed
  std::map<uint32_t, std::map<ir::ValueId, std::string>> of_runs_;                // variables that hold for registers that differ in these bits
  std::map<std::pair<ir::ValueId, std::string>, std::string> run_names_;
  struct Wide {
    ir::ValueId id;
    std::string name;
    size_t materialised;
  };
  bool stay_narrow_ = false;                              // of the region being printed
  std::vector<Wide> wide_;                                // names to give back after the reduction
  std::set<ir::ValueId> widened_;                         // narrow tiles read since the last reduction
  struct Looked {
    std::string name;
    bool looks = false;
  };
  std::map<ir::ValueId, Looked> quotients_;               // what has looked at a dividend where it was made
  std::map<const ir::Op*, std::string> inverses_;         // by division: the reciprocal of its one divisor, in the loop being printed
  bool ordinary_ = false;                                 // the loop being printed divides numbers that were looked at before
  std::map<std::string, std::string> thread_indices_;     // by layout name
  std::string prologue_;                                  // first lines of the kernel
  Loc place_;
  std::vector<int> base_;
  Pending pending_, kernel_accesses_;
  std::vector<RecordFormat> formats_;
  std::string returns_;                                   // struct that a yield of the function in print returns; "" for a plain element
};

}  // namespace tilevm::gpu

#endif  // TILEVM_GPU_EMIT_PRINTER_H_
