// Dots by wgmma (sm_90): prints the instructions for the shape, dtype and operand order at hand, and the calls.
//
// One asm statement holds fence, all steps along k and commit: the accumulators are its operands once instead of once for each step, which is what
// the compiler's time depends on. Descriptors advance inside it. Operand order, as in specializer/pipeline/schedule.h: a buffer whose rows run along k is
// "K-major", one whose rows run along m or n is "MN-major" and read transposed.
#include "gpu/emit/printer.h"

namespace tilevm::gpu {
namespace {

struct Matrix {
  bool k_major = true;
  int64_t rows = 0, row_bytes = 0;  // of the buffer
  int64_t panel() const { return std::min<int64_t>(row_bytes, 128); }
  // Descriptor fields and distances, bytes. A panel is `rows` rows of panel() bytes; eight rows repeat the swizzle.
  int64_t stride() const { return 8 * panel(); }
  int64_t leading() const { return k_major ? 16 : rows * panel(); }
  int64_t swizzle() const { return panel() == 128 ? 1 : 2; }
  // From the first step along k to step k (16 elements of 2 bytes).
  int64_t Advance(int64_t k) const {
    if (!k_major) return k * 16 * panel();
    return k * 32 % panel() + k * 32 / panel() * rows * panel();
  }
};

std::string Descriptor(const Matrix& matrix, const std::string& address) {
  return absl::StrCat("matrix_descriptor(", address, ", ", matrix.leading(), ", ", matrix.stride(), ", ", matrix.swizzle(), ")");
}

}  // namespace

absl::Status Printer::PrintWgmma(const ir::Op& op, const pipeline::Wgmma& plan, bool zero, const std::string& fresh) {
  const ir::ValueId result = op.results[0];
  const bool a_shared = options_.schedule->operands.count({result, 0}) != 0;
  Matrix matrices[2];
  const pipeline::Copy* copies[2] = {nullptr, nullptr};
  for (int i : {0, 1}) {
    auto found = options_.schedule->operands.find({result, i});
    if (found == options_.schedule->operands.end()) continue;
    const pipeline::Copy& copy = *options_.schedule->CopyOf(found->second.copy);
    const isa::Type& type = TypeOf(copy.value);
    copies[i] = &copy;
    matrices[i].k_major = (found->second.transposed ? 1 - copy.axis : copy.axis) == (i == 0 ? 1 : 0);
    matrices[i].rows = type.shape[1 - copy.axis];
    matrices[i].row_bytes = type.shape[copy.axis] * isa::StorageBytes(type.elem);
  }
  const int64_t regs = plan.n / 2;
  const std::string elem = CudaType(TypeOf(op.operands[0]).elem);

  // The instructions.
  std::string acc, constraints, text = "{\\n.reg .b64 a, b;\\n.reg .pred p;\\n";
  for (int64_t i = 0; i < regs; ++i) {
    absl::StrAppend(&acc, i == 0 ? "" : ", ", "%", i);
    absl::StrAppend(&constraints, i == 0 ? "" : ", ", zero ? "\"=f\"(d[" : "\"+f\"(d[", i, "])");
  }
  const int64_t first = regs;  // number of the first input
  const bool flag = !fresh.empty();
  const std::string inputs = a_shared ? "\"l\"(a), \"l\"(b)" : "\"l\"(b)";
  // Whether the first step adds to what is there: known here, or a flag that the caller gives.
  if (flag) absl::StrAppend(&text, "setp.ne.b32 p, %", first + 2, ", 0;\\n");
  absl::StrAppend(&text, "wgmma.fence.sync.aligned;\\n");
  std::string words;
  for (int64_t k = 0; k < plan.k_steps; ++k) {
    std::string a;
    if (a_shared) {
      absl::StrAppend(&text, "add.s64 a, %", first, ", ", matrices[0].Advance(k) / 16, ";\\n");
      absl::StrAppend(&a, "a");
    } else {
      for (int w = 0; w < 4; ++w) absl::StrAppend(&a, w == 0 ? "{" : ", ", "%", first + 1 + 4 * k + w);
      absl::StrAppend(&a, "}");
      for (int w = 0; w < 4; ++w) absl::StrAppend(&words, ", \"r\"(a[", 4 * k + w, "])");
    }
    absl::StrAppend(&text, "add.s64 b, %", first + (a_shared ? 1 : 0), ", ", matrices[1].Advance(k) / 16, ";\\n", "wgmma.mma_async.sync.aligned.m64n", plan.n,
                    "k16.f32.", elem, ".", elem, " {", acc, "}, ", a, ", b, ", zero && k == 0 ? "0" : flag && k == 0 ? "p" : "1", ", 1, 1", a_shared ? (matrices[0].k_major ? ", 0" : ", 1") : "",
                    matrices[1].k_major ? ", 0" : ", 1", ";\\n");
  }
  absl::StrAppend(&text, "wgmma.commit_group.sync.aligned;\\n}");
  const std::string table = Table(absl::StrCat("\n  static TV_DEV void multiply(f32* d, ", a_shared ? "u64 a" : "const u32* a", ", u64 b", flag ? ", int add" : "", ") {\n    asm volatile(\"", text,
                                               "\"\n                 : ", constraints, "\n                 : ", inputs, words, flag ? ", \"r\"(add)" : "", ");\n  }\n"),
                                  'G');

  // The calls: one for each tile of 64 rows.
  const std::string label = absl::StrCat(next_label_++);
  Line("const u64 b", label, " = ", Descriptor(matrices[1], absl::StrCat(slot_, " + ", copies[1]->offset)), ";");
  for (int64_t tile = 0; tile < plan.m_tiles; ++tile) {
    const std::string d = absl::StrCat(Name(result), ".v + ", tile * regs);
    if (a_shared) {
      const Matrix& a = matrices[0];
      // 64 rows of a K-major buffer, or one panel of an MN-major one.
      const int64_t tile_bytes = a.k_major ? 64 * a.panel() : a.rows * a.panel();
      const std::string address = absl::StrCat(slot_, " + ", copies[0]->offset, " + (warpgroup() + ", tile * plan.groups, ") * ", tile_bytes);
      Line(table, "::multiply(", d, ", ", Descriptor(a, address), ", b", label, flag ? ", " + fresh : "", ");");
    } else {
      const std::string words_name = absl::StrCat("a", label, "_", tile);
      Line("u32 ", words_name, "[", 4 * plan.k_steps, "];");
      Line("fragment(", words_name, ", ", Name(op.operands[0]), ".v + ", tile * plan.k_steps * 8, ", ", 4 * plan.k_steps, ");");
      Line(table, "::multiply(", d, ", ", words_name, ", b", label, ");");
    }
  }
  return absl::OkStatus();
}

}  // namespace tilevm::gpu
