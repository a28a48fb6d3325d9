// The kernel around the ops: names, parameters, the entry.
#include "gpu/emit/emit.h"

#include <cctype>
#include <cstring>

#include "gpu/emit/printer.h"
#include "isa/eval.h"
#include "specializer/passes/rewriter.h"

namespace tilevm::gpu {
namespace {

// Words that a name may not be: C++'s and the templates' that the text calls.
bool IsReserved(const std::string& name) {
  static const auto* const kWords = new std::set<std::string>{
      "and_eq", "bitand", "bitor", "char16_t", "char32_t", "compl", "const_cast", "decltype", "dynamic_cast", "export", "main", "noexcept", "not_eq", "nullptr",
      "or_eq", "reinterpret_cast", "static_assert", "static_cast", "thread_local", "typeid", "wchar_t", "xor_eq", "alignof", "threadIdx", "blockIdx", "blockDim",
      "gridDim", "warpSize", "alignas", "asm", "auto", "bool", "break", "case", "catch", "char", "class", "const", "constexpr", "continue", "default", "delete", "do", "double",
      "else", "enum", "explicit", "extern", "false", "float", "for", "friend", "goto", "if", "inline", "int", "long", "mutable", "namespace", "new",
      "operator", "or", "and", "not", "xor", "private", "protected", "public", "register", "return", "short", "signed", "sizeof", "static", "struct",
      "switch", "template", "this", "throw", "true", "try", "typedef", "typename", "union", "unsigned", "using", "virtual", "void", "volatile", "while",
      "exp", "log", "sin", "cos", "sqrt", "abs", "add", "sub", "mul", "load", "store", "where", "cast", "map", "pack", "reduce", "arange", "splat", "zeros",
      "round", "floor", "ceil", "tan", "erf", "lt", "le", "gt", "ge", "eq", "ne", "neg", "mod", "fma", "min", "max", "index", "tv", "barrier", "packed",
      "f16", "bf16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "same", "pick", "number", "stored", "shuffle", "join", "constant",
      "relabel", "convert", "maximum", "minimum", "exp2", "log2", "tanh", "rsqrt", "invert", "bitcast", "program", "programs", "program_stride", "strided", "deal", "deals", "dealer", "told", "member", "other", "others", "claim", "claims", "map_places", "count", "left", "grid_x", "grid_y", "grid_z", "fragment", "mma", "r", "i", "wide", "y0", "y1", "yn", "j0", "j1", "jn",
      // CUDA's own functions, which a kernel may not be called either, and what else the text declares.
      "INFINITY", "NAN", "NDEBUG", "NULL", "acos", "acosf", "acosh", "acoshf", "after", "asin", "asinf", "asinh", "asinhf", "assert", "atan", "atan2f",
      "atanf", "atanh", "atanhf", "cbrt", "cbrtf", "ceilf", "clock", "clock64", "copysignf", "cosf", "cosh", "coshf", "cospi", "cospif", "dim2", "dim3",
      "ends", "erfc", "erfcf", "erfcinv", "erfcinvf", "erfcx", "erfcxf", "erff", "erfinv", "erfinvf", "exp10", "exp10f", "exp2f", "expf", "expm1", "expm1f",
      "fabs", "fabsf", "fdim", "fdimf", "floorf", "fmaf", "fmax", "fmaxf", "fmin", "fminf", "fmod", "fmodf", "free", "frexp", "frexpf", "half", "half2",
      "hypot", "hypotf", "ilogb", "ilogbf", "isfinite", "isinf", "isnan", "j0", "j0f", "j1", "j1f", "jn", "jnf", "labs", "ldexp", "ldexpf", "lgamma",
      "lgammaf", "llabs", "llround", "llroundf", "log10", "log10f", "log1p", "log1pf", "log2f", "logb", "logbf", "logf", "lrint", "lrintf", "lround",
      "lroundf", "malloc", "memcpy", "memset", "modf", "modff", "nan", "nanf", "nearbyint", "nearbyintf", "nextafter", "nextafterf", "norm", "norm3d",
      "norm3df", "norm4d", "norm4df", "normcdf", "normcdff", "normcdfinv", "normcdfinvf", "normf", "pow", "powf", "printf", "ptrdiff_t", "rcbrt", "rcbrtf",
      "remainder", "remainderf", "remquo", "remquof", "rhypot", "rhypotf", "rint", "rintf", "rnorm", "rnorm3d", "rnorm3df", "rnorm4d", "rnorm4df", "rnormf",
      "roundf", "rsqrtf", "scalbln", "scalblnf", "scalbn", "scalbnf", "signbit", "sincos", "sincosf", "sincospi", "sincospif", "sinf", "sinh", "sinhf",
      "sinpi", "sinpif", "size_t", "sqrtf", "std", "tanf", "tanhf", "tgamma", "tgammaf", "there", "trunc", "truncf",
      // What gpu/device declares (emit_test.cc looks).
      "AddOp", "AllTrue", "AndOp", "ArgMaxOp", "ArgMinOp", "AtomicAdd", "Bf16x3", "Bf16x6", "Claim", "Deal", "Dealer", "Divided", "ElementsA", "ElementsB",
      "Fragment", "MadeMap", "MapFields", "MapPlace", "MaxOp", "MergedPrograms", "MinOp", "MulOp", "OrOp", "Pair", "Programs", "Quotients", "Records",
      "RegisterA", "RegisterB", "Ring", "RowsA", "RowsB", "RunLoad", "RunWords", "SharedA", "SharedB", "SharedTail", "SplitBf16", "SplitTf32", "TensorMap", "Tf32x3", "Tile",
      "Told", "ToldLater", "Window", "Word", "Words", "XorOp", "abs_", "add_lanes", "add_results", "add_products", "any_of_warp", "atan2", "atomic",
      "atomic_cas", "atomic_cas_scalar", "atomic_lanes", "atomic_loop", "atomic_scalar", "atomic_thread_0", "barrier_arrive", "barrier_arrive_if",
      "barrier_expect", "barrier_init", "barrier_passed", "barrier_wait", "barriers_made", "bit_and", "bit_cast", "bit_or", "bit_xor", "bits_from", "bits_of",
      "boxes_commit", "boxes_read", "boxes_written", "cast_pair", "cat", "clear_fragments", "compare_and_swap", "convert_shared", "convert_shuffle",
      "coordinate", "copies_commit", "copies_wait", "copy_async", "copy_elements", "copy_guessed", "copysign", "cut_tf32", "divide_by", "divided", "dot_fma", "dot_mma",
      "dot_parts", "dot_parts_carefully", "dot_rows", "f32_of", "f8e4m3", "f8e5m2", "failed_lane", "fdiv", "fence", "fence_async", "fence_shared", "fewer_registers", "first_of", "flip",
      "float_to_int", "floordiv", "fma_", "from_acting", "from_order_key", "from_rows", "from_shared", "gather", "group_barrier", "hand_out", "handed_out",
      "histogram", "hold", "index_of", "is_aligned", "is_i32", "is_finite", "isfinite", "isinf", "isnan", "kDeals", "kMapPlaces", "kModelBarrier",
      "kTurnBarriers", "keep", "keep_in_lanes", "lane_id", "ldmatrix", "ldmatrix_transposed", "let_next_kernel_begin", "lib_pow", "llrint", "load_access",
      "load_b", "load_box", "load_guessed", "load_matrices", "load_scalar", "load_scalar_once", "load_vector", "load_window", "load_word",
      "matrix_descriptor", "models_copied", "more_registers", "move_registers", "move_words", "nan_count", "no_products", "num_programs",
      "open_record", "pack_as", "pack_pairs", "philox_words", "pick_t", "prefetch_line", "prefetch_map", "prefetch_run", "program_id", "program_address", "program_memory",
      "ptr_add", "quotient", "read_shared", "reciprocal", "record_failure", "record_scalar", "record_tile", "reduce_narrow", "reduce_step", "reduce_threads",
      "reduced_part", "repack", "round_to_odd", "rounded_reciprocal", "run_below", "run_distance", "run_least", "run_offset", "run_place", "run_publish",
      "run_store", "run_store_aligned", "same_t", "scalar_of", "scan_step", "second_of", "set_maps", "shared_address", "shared_element", "shift_vectors",
      "shift_words", "shifted", "shl", "shr", "shuffle_xor", "sort", "sort_rows", "store_box", "store_guessed", "store_matrices", "store_scalar",
      "store_vector", "store_window", "store_word", "strided_program", "sum_of_all", "take_fragment", "thread_id", "to_bf16", "to_bf16_rz", "to_f16", "to_f16_rz", "to_f32", "to_f8e4m3",
      "to_f8e5m2", "to_fp8", "to_rows", "to_shared", "trip_count", "truediv", "turn_array", "turn_begin", "turn_bytes", "turn_pass", "turn_rows", "turn_take",
      "two", "umulhi", "unit_further", "unit_offset", "unsigned_of", "unsigned_size", "wait_for_kernel_before", "warp_id", "warpgroup", "wgmma_read",
      "wgmma_results", "wgmma_wait",
      "wide_product", "wrap", "write_shared", "zero_of"};
  // What the emitter numbers: ring0, b12, words3_0, L4.
  static const auto* const kNumbered = new std::set<std::string>{
      "A", "C", "D", "G", "L", "P", "R", "S", "T", "W", "a", "add", "ahead", "asm_", "fields", "fits", "function_", "thread_L", "thread_W", "written", "x_of", "y_of", "b", "before", "behind", "changed", "copies", "drained", "first", "given", "go", "group", "inverse", "kind", "late", "left", "low", "made", "map", "mapped", "most", "none", "old",
      "next", "part", "place", "put", "quotients", "record", "reduced", "ring", "scalar", "slot", "take", "trips", "words", "work"};
  // Macros, CUDA's own, and what the emitter makes of other names.
  for (const char* start : {"TV_", "tv_", "__"}) {
    if (name.compare(0, std::strlen(start), start) == 0) return true;
  }
  if (name.size() > 1 && name[0] == '_' && std::isupper(static_cast<unsigned char>(name[1]))) return true;
  for (const char* end : {"_ahead", "_trip"}) {
    if (name.size() > std::strlen(end) && name.compare(name.size() - std::strlen(end), std::string::npos, end) == 0) return true;
  }
  const size_t digits = name.find_first_of("0123456789");
  if (digits != std::string::npos && kNumbered->count(name.substr(0, digits)) != 0) return true;
  return kWords->count(name) != 0;
}

std::string Identifier(const std::string& name) {
  std::string out;
  for (char c : name) out += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0]))) out = "k" + out;
  return out;
}

}  // namespace

std::string CudaType(isa::ElemType elem) {
  const std::string name = elem.dtype == isa::DType::kI1 ? "bool" : std::string(isa::Name(elem.dtype));
  return elem.pointer ? name + "*" : name;
}

std::string ConstType(isa::ElemType elem) { return elem.pointer ? CudaType(elem) + " const" : "const " + CudaType(elem); }

std::string CudaConstant(isa::DType dtype, const ir::Attr& value) {
  const std::string type = CudaType({dtype, false});
  if (dtype == isa::DType::kI1) {
    const auto* boolean = std::get_if<bool>(&value);
    const auto* integer = std::get_if<int64_t>(&value);
    return (boolean != nullptr && *boolean) || (integer != nullptr && *integer != 0) ? "true" : "false";
  }
  if (isa::IsFloat(dtype)) {
    const double number = std::holds_alternative<double>(value) ? std::get<double>(value) : 0.0;
    uint64_t f64_bits;
    std::memcpy(&f64_bits, &number, sizeof(number));
    const isa::Scalar bits = isa::EvalCast(isa::DType::kF64, dtype, isa::Rounding::kNearestEven, isa::Scalar{f64_bits});
    // As bits, with the value beside them: NaN payloads and -0 survive.
    return absl::StrCat("constant<", type, ">(0x", absl::Hex(bits.bits), "u", isa::BitWidth(dtype) == 64 ? "ll" : "", " /* ", number, " */)");
  }
  int64_t integer = std::holds_alternative<int64_t>(value) ? std::get<int64_t>(value) : 0;
  if (const auto* boolean = std::get_if<bool>(&value)) integer = *boolean ? 1 : 0;
  if (integer >= 0 && integer <= INT32_MAX) return dtype == isa::DType::kI32 ? absl::StrCat(integer) : absl::StrCat(type, "(", integer, ")");
  if (integer < 0 && integer > INT32_MIN) return absl::StrCat(type, "(", integer, ")");
  return absl::StrCat("static_cast<", type, ">(0x", absl::Hex(static_cast<uint64_t>(integer)), "ull)");
}

std::string Printer::Name(ir::ValueId id) {
  if (!names_[id].empty()) return names_[id];
  std::string name = Identifier(kernel().values[id].name);
  if (kernel().values[id].name.empty()) name = absl::StrCat("v", id);
  for (bool again = false; IsReserved(name) || !taken_.insert(name).second; again = true) name = absl::StrCat(again ? "v_" : "", name, "_", id);
  return names_[id] = name;
}

std::string Printer::TypeName(ir::ValueId id) {
  const std::string elem = CudaType(TypeOf(id).elem);
  return IsTile(id) ? absl::StrCat("Tile<", elem, ", ", LayoutName(id), ">") : elem;
}

std::string Printer::Declared(ir::ValueId id) { return absl::StrCat(TypeName(id), " ", Name(id)); }

void Printer::Place(Loc loc) {
  op_loc_ = loc;
  if (!options_.line_directives || !loc.known() || loc == place_) return;
  if (loc.line != place_.line || loc.file != place_.file) absl::StrAppend(&body_, "#line ", loc.line, " \"f", std::max(loc.file, 0), "\"\n");
  place_ = loc;
}

absl::StatusOr<Emitted> Printer::Run() {
  names_.resize(kernel().values.size());
  base_.assign(kernel().values.size(), -1);
  for (size_t i = 0; i < kernel().params.size(); ++i) base_[kernel().params[i].value] = static_cast<int>(i);
  CollectBases(kernel().body);
  uses_.resize(kernel().values.size());
  def_.assign(kernel().values.size(), nullptr);
  lazy_.assign(kernel().values.size(), nullptr);
  was_lazy_.assign(kernel().values.size(), false);
  CollectUses(kernel().body);
  CollectAccesses(kernel().body, kernel_accesses_);
  std::string params;
  for (const ir::Param& param : kernel().params) absl::StrAppend(&params, params.empty() ? "" : ", ", Declared(param.value));
  waits_ = !options_.begins_early || HasRoles();  // those have it behind the barrier of their start
  if (HasRoles()) TILEVM_RETURN_IF_ERROR(PrintRoles());
  else TILEVM_RETURN_IF_ERROR(PrintRegion(kernel().body, nullptr));

  for (size_t i = 0; i < MapCount(); ++i) absl::StrAppend(&params, params.empty() ? "" : ", ", "const __grid_constant__ TensorMap map", i);
  if (HasRoles() && roles().persistent) absl::StrAppend(&params, params.empty() ? "" : ", ", "u32 grid_x, u32 grid_y, u32 grid_z", roles().dealt ? ", u32 deal" : "");
  const bool strided = Strided();
  if (strided) absl::StrAppend(&params, params.empty() ? "" : ", ", "u32 program_stride");
  const bool packed = options_.packed > 1;
  if (packed) absl::StrAppend(&params, params.empty() ? "" : ", ", "u32 grid_x");
  if (!formats_.empty()) absl::StrAppend(&params, params.empty() ? "" : ", ", "Records* tv_records");
  if (!waits_) PrintWaitForKernelBefore();
  if (packed) prologue_.insert(0, "  if (program_id<0>() >= static_cast<i32>(grid_x)) return;\n");
  Emitted out;
  out.begins_early = options_.begins_early;
  out.records = formats_;
  if (kernel_accesses_.writes.count(-1) == 0) {
    for (size_t i = 0; i < kernel().params.size(); ++i) out.may_write.push_back(kernel_accesses_.writes.count(static_cast<int>(i)) != 0);
  }
  out.entry = Identifier(kernel().name);
  if (IsReserved(out.entry)) out.entry += "_kernel";
  out.threads = HasRoles() ? 128 * (roles().groups + 1) : 32 * options_.num_warps * options_.packed;
  out.packed = options_.packed;
  const int64_t own_bytes = packed ? (smem_bytes_ + 127) / 128 * 128 : smem_bytes_;
  out.smem_bytes = own_bytes * options_.packed;
  out.smem_buffers = smem_buffers_;
  out.smem_loc = smem_loc_;
  if (HasRoles()) {
    if (options_.boxes != nullptr) out.slice = options_.boxes->slice();
    out.persistent = roles().persistent;
    out.programs = roles().programs;
    out.dealt = roles().dealt;
    out.ctas = roles().ctas;
    out.strided = strided;
    out.runs = runs_;
  }
  const std::string head = packed ? absl::StrCat("#define TV_PACKED ", own_bytes, "\n") : HasRoles() ? absl::StrCat("#define TV_CONSUMERS ", 128 * roles().groups, Merged() ? "\n#define TV_MERGED" : "", "\n#include \"device/boxes.cuh\"\n", roles().made.empty() ? "" : "#include \"device/made_maps.cuh\"\n") : "";
  out.text = absl::StrCat(head, "#include \"device/all.cuh\"\nusing namespace tv;\n", declarations_, "extern \"C\" __global__ void __launch_bounds__(", out.threads,
                          HasRoles() ? absl::StrCat(", ", roles().ctas, ") ") : ") ", out.entry, "(", params, ") {\n", prologue_, body_, "}\n");
  return out;
}

absl::StatusOr<Emitted> EmitCuda(const layout::LayoutKernel& kernel, const EmitOptions& options) { return Printer(kernel, options).Run(); }

}  // namespace tilevm::gpu
