// Prints layouts and the tables of conversions as structs of constants.
#include <bit>

#include "absl/strings/str_join.h"
#include "gpu/emit/printer.h"

namespace tilevm::gpu {
namespace {

std::string Array(const std::string& type, const std::string& name, const std::vector<uint32_t>& values) {
  std::vector<uint32_t> shown = values.empty() ? std::vector<uint32_t>{0} : values;
  return absl::StrCat("  static constexpr ", type, " ", name, "[", shown.size(), "] = {", absl::StrJoin(shown, ", "), "};\n");
}

std::vector<uint32_t> Ints(const layout::Bases& bases) { return std::vector<uint32_t>(bases.begin(), bases.end()); }

// Index of register 0 of this thread: lane and warp bits are the bits of threadIdx.x.
std::string ThreadIndex(const layout::LinearLayout& layout) {
  std::vector<uint32_t> bases = Ints(layout.lane());
  for (layout::Basis basis : layout.warp()) bases.push_back(basis);
  return BitExpression("threadIdx.x", bases, false);
}

// Whether register bits and thread bits never meet, so that + is as good as ^ (and folds into an address).
bool IsDisjoint(const layout::LinearLayout& layout) {
  uint32_t regs = 0, threads = 0;
  for (layout::Basis basis : layout.reg()) {
    if (regs & basis) return false;
    regs |= basis;
  }
  for (const auto* bases : {&layout.lane(), &layout.warp()}) {
    for (layout::Basis basis : *bases) threads |= basis;
  }
  return (regs & threads) == 0;
}

}  // namespace

std::string Printer::Table(const std::string& body, char prefix) {
  auto found = tables_.find(body);
  if (found != tables_.end()) return found->second;
  const std::string name = absl::StrCat(std::string(1, prefix), tables_.size());
  tables_[body] = name;
  absl::StrAppend(&declarations_, "struct ", name, " {", body, "};\n");
  return name;
}

std::string Printer::LayoutName(const layout::LinearLayout& layout) {
  std::string text = absl::StrCat("  // ", layout.ToString(), "\n");
  const int rank = static_cast<int>(layout.shape().size());
  absl::StrAppend(&text, "  static constexpr int rank = ", rank, ", regs = ", layout.register_count(), ", reg_bits = ", layout.reg().size(), ";\n",
                  "  static constexpr bool disjoint = ", IsDisjoint(layout) ? "true" : "false", ";\n");
  absl::StrAppend(&text, Array("u32", "reg", Ints(layout.reg())));
  std::vector<uint32_t> shift, mask;
  int bit = 0;
  for (int axis = rank - 1; axis >= 0; --axis) {
    shift.insert(shift.begin(), static_cast<uint32_t>(bit));
    mask.insert(mask.begin(), static_cast<uint32_t>(layout.shape()[axis] - 1));
    bit += layout::Log2(layout.shape()[axis]);
  }
  absl::StrAppend(&text, Array("int", "shift", shift), Array("u32", "mask", mask));
  absl::StrAppend(&text, "  static TV_DEV u32 thread() { return ", ThreadIndex(layout), "; }\n");
  // Index of register r, given the thread's part.
  const bool disjoint = IsDisjoint(layout);
  absl::StrAppend(&text, "  static TV_DEV u32 at(u32 thread, int r) { return thread ", disjoint ? "+" : "^", " (", BitExpression("r", Ints(layout.reg()), disjoint),
                  "); }\n");
  return Table(text, 'L');
}

std::string Printer::ThreadIndexOf(const layout::LinearLayout& layout) {
  const std::string name = LayoutName(layout);
  std::string& variable = thread_indices_[name];
  if (variable.empty()) {
    variable = absl::StrCat("thread_", name);
    absl::StrAppend(&prologue_, "  const u32 ", variable, " = ", name, "::thread();\n");
  }
  return variable;
}

std::string Printer::SourceTable(const std::vector<uint32_t>& source) { return Table(absl::StrCat("\n", Array("int", "source", source)), 'C'); }

std::string Printer::ShuffleTable(const layout::Conversion& conversion) {
  // The registers that a receiver may ask for: the span of reg_from_lane.
  std::vector<uint32_t> choices = {0};
  for (layout::Basis basis : conversion.reg_from_lane) {
    bool known = false;
    for (uint32_t choice : choices) known |= choice == basis;
    if (known) continue;
    const size_t count = choices.size();
    for (size_t i = 0; i < count; ++i) choices.push_back(choices[i] ^ basis);
  }
  return Table(absl::StrCat("\n  static constexpr int choices = ", choices.size(), ";\n", Array("u32", "choice", choices),
                            Array("u32", "source", conversion.source), Array("u32", "lane_from_reg", conversion.lane_from_reg),
                            Array("u32", "lane_from_lane", Ints(conversion.lane_from_lane)), Array("u32", "reg_from_lane", Ints(conversion.reg_from_lane))),
               'C');
}

}  // namespace tilevm::gpu
