// Deterministic text of a kernel, in the look of the assembly:
//
//   kernel name(%x: ptr<f32> {divisibility = 16}, %n: i32)
//       %pid: i32 = program_id {axis = 0}
//       %acc: f32 = for %lo, %hi, %step, %zero
//         body (%i: i32, %carried: f32)
//           ...
//           yield %next
//
// A value is printed by its source name where that name belongs to it alone; else, when several values share the name, as %name@k; else as
// %k, where k counts values in order of definition. Ids of the Kernel do not show, so a pass that only renumbers prints the same text.
#include <cmath>
#include <cstdlib>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "specializer/ir/kernel.h"

namespace tilevm::ir {
namespace {

bool IsPlainName(absl::string_view name) {
  if (name.empty() || absl::ascii_isdigit(name[0])) return false;
  for (char c : name) {
    if (!absl::ascii_isalnum(c) && c != '_' && c != '.') return false;
  }
  return true;
}

std::string FloatText(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text = absl::StrFormat("%.17g", value);
  for (int digits = 1; digits < 17; ++digits) {  // the shortest text that reads back the same
    std::string shorter = absl::StrFormat("%.*g", digits, value);
    if (std::strtod(shorter.c_str(), nullptr) == value) {
      text = shorter;
      break;
    }
  }
  if (text.find_first_of(".e") == std::string::npos) absl::StrAppend(&text, ".0");
  return text;
}

struct AttrText {
  std::string operator()(std::monostate) const { return "none"; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int64_t value) const { return absl::StrCat(value); }
  std::string operator()(double value) const { return FloatText(value); }
  std::string operator()(const std::string& value) const { return absl::StrCat("\"", absl::CEscape(value), "\""); }
  std::string operator()(const std::vector<int64_t>& value) const { return absl::StrCat("[", absl::StrJoin(value, ", "), "]"); }
  std::string operator()(isa::DType value) const { return std::string(isa::Name(value)); }
};

class Printer {
 public:
  explicit Printer(const Kernel& kernel) : kernel_(kernel), names_(kernel.values.size()) {}

  std::string Run() {
    for (const ValueInfo& value : kernel_.values) {
      if (IsPlainName(value.name)) ++uses_of_name_[value.name];
    }
    absl::StrAppend(&out_, "kernel ", kernel_.name, "(");
    for (size_t i = 0; i < kernel_.params.size(); ++i) {
      const Param& param = kernel_.params[i];
      absl::StrAppend(&out_, i == 0 ? "" : ", ", Define(param.value));
      if (param.divisibility != 1) absl::StrAppend(&out_, " {divisibility = ", param.divisibility, "}");
    }
    absl::StrAppend(&out_, ")\n");
    PrintRegion(kernel_.body, 4);
    return std::move(out_);
  }

 private:
  bool Valid(ValueId id) const { return id < names_.size(); }

  std::string Define(ValueId id) {
    if (!Valid(id)) return "%invalid";
    const std::string& name = kernel_.values[id].name;
    const int number = defined_++;
    if (!IsPlainName(name)) {
      names_[id] = absl::StrCat("%", number);
    } else if (uses_of_name_[name] == 1) {
      names_[id] = absl::StrCat("%", name);
    } else {
      names_[id] = absl::StrCat("%", name, "@", number);
    }
    return absl::StrCat(names_[id], ": ", isa::ToString(kernel_.TypeOf(id)));
  }

  std::string Use(ValueId id) const {
    if (id == kNoValue) return "none";
    if (!Valid(id) || names_[id].empty()) return absl::StrCat("%undefined", id);
    return names_[id];
  }

  void PrintRegion(const Region& region, int indent) {
    for (const Op& op : region.ops) PrintOp(op, indent);
  }

  void PrintOp(const Op& op, int indent) {
    const isa::OpInfo& info = isa::Info(op.op);
    // Results are defined after the regions, but their names are needed first: a value cannot be used before its line, so this is safe.
    std::string line(indent, ' ');
    for (size_t i = 0; i < op.results.size(); ++i) absl::StrAppend(&line, i == 0 ? "" : ", ", Define(op.results[i]));
    if (!op.results.empty()) absl::StrAppend(&line, " = ");
    absl::StrAppend(&line, info.mnemonic);
    for (size_t i = 0; i < op.operands.size(); ++i) absl::StrAppend(&line, i == 0 ? " " : ", ", Use(op.operands[i]));
    for (size_t i = 0; i < op.attrs.size(); ++i) {
      absl::StrAppend(&line, i == 0 ? " {" : ", ", op.attrs[i].name, " = ", std::visit(AttrText{}, op.attrs[i].value));
    }
    if (!op.attrs.empty()) absl::StrAppend(&line, "}");
    absl::StrAppend(&out_, line, "\n");
    for (size_t i = 0; i < op.regions.size(); ++i) {
      const Region& region = op.regions[i];
      absl::StrAppend(&out_, std::string(indent + 2, ' '), RegionName(info, i));
      for (size_t j = 0; j < region.args.size(); ++j) absl::StrAppend(&out_, j == 0 ? " (" : ", ", Define(region.args[j]));
      absl::StrAppend(&out_, region.args.empty() ? "\n" : ")\n");
      PrintRegion(region, indent + 4);
    }
  }

  static std::string RegionName(const isa::OpInfo& info, size_t index) {
    for (const isa::OperandSpec& spec : info.operands) {
      if (spec.kind == isa::OperandKind::kRegion && index-- == 0) return std::string(spec.name);
    }
    return "region";
  }

  const Kernel& kernel_;
  std::vector<std::string> names_;
  absl::flat_hash_map<std::string, int> uses_of_name_;
  int defined_ = 0;
  std::string out_;
};

}  // namespace

std::string Print(const Kernel& kernel) { return Printer(kernel).Run(); }

}  // namespace tilevm::ir
